#!/usr/bin/env python3
"""Fits the cost model to measurements of few ranks and compares its prediction with a measurement of more.

    fit.py FILE [--cores N] [--fit P ...] [--check P ...] [--from BYTES]

FILE: what measure.py wrote. Non-negative least squares on relative errors. Prints the parameters and a table.
"""
import argparse
import itertools
import json
import os

import numpy as np

import model

def features(row, cores):
    counts = model.SCHEDULES[row["what"]](row["bytes"], row["ranks"])
    return model.on_cores(counts, row["bytes"], row["ranks"], cores)


def non_negative(a, b):
    """The x >= 0 that minimizes |a x - b|: the best solution over all choices of columns, of which there are few."""
    best, least = np.zeros(a.shape[1]), np.linalg.norm(b)
    for count in range(1, a.shape[1] + 1):
        for chosen in map(list, itertools.combinations(range(a.shape[1]), count)):
            x = np.zeros(a.shape[1])
            x[chosen] = np.linalg.lstsq(a[:, chosen], b, rcond=None)[0]
            residual = np.linalg.norm(a @ x - b)
            if (x >= 0).all() and residual < least:
                best, least = x, residual
    return best


def fit(rows, cores):
    seconds = np.array([row["seconds"] for row in rows])
    a = np.array([list(features(row, cores).values()) for row in rows]) / seconds[:, None]
    scale = np.maximum(a.max(axis=0), 1e-300)
    return non_negative(a / scale, np.ones(len(rows))) / scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--fit", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--from", type=int, default=0, dest="least", help="leave out sums of fewer bytes")
    parser.add_argument("--check", type=int, nargs="+", default=[8])
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in open(arguments.file)]
    rows = [row for row in rows if row["bytes"] >= arguments.least]
    known = [row for row in rows if row["ranks"] in arguments.fit]
    x = fit(known, arguments.cores)
    print("seconds per:",
          "; ".join(f"{name} {value:.3g}" for name, value in zip(features(rows[0], arguments.cores), x)))
    print("\n| P | | bytes | measured, ms | from ... to | model, ms | model / measured | |\n"
          "|---|---|---|---|---|---|---|---|")
    errors = {"fitted": [], "predicted": []}
    for row in sorted(rows, key=lambda row: (row["ranks"], row["what"], row["bytes"])):
        kind = "fitted" if row in known else "predicted"
        if row not in known and row["ranks"] not in arguments.check:
            continue
        seconds = float(np.dot(x, list(features(row, arguments.cores).values())))
        errors[kind].append(abs(seconds / row["seconds"] - 1))
        print(
            f"| {row['ranks']} | {row['what']} | {row['bytes']:,} | {row['seconds'] * 1e3:.3f} | "
            f"{row['least'] * 1e3:.3f} ... "
              f"{row['most'] * 1e3:.3f} | {seconds * 1e3:.3f} | {seconds / row['seconds']:.2f} | {kind} |")
    for kind, found in errors.items():
        if found:
            print(f"\n{kind}: error {np.mean(found):.0%} on average, {max(found):.0%} at most; "
                  f"{sum(e <= 0.2 for e in found)} of {len(found)} within 20 %")


if __name__ == "__main__":
    main()
