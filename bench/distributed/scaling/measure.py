#!/usr/bin/env python3
"""Measures both collectives for the cost model: appends one JSON line per case to FILE, which fit.py reads.

    measure.py BUILD FILE [--turns N] P ...

For P = 1 it measures what an addition in one process costs. Ranks are processes on this machine, connected by Gloo
over TCP.
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import jobs  # noqa: E402

SIZES = (16_384, 131_072, 516_272, 2 << 20, 8 << 20, 25 << 20)
PART = 4 << 20  # of the exchange


def repeats(size):
    return max(8, min(60, (32 << 20) // size))


def measured(command, ranks, turns):
    """Of the turns that others disturbed least: the median of the times, each the mean over the ranks of their
    medians."""
    found = []
    for _ in range(turns):
        result, share = jobs.others(lambda: jobs.run(command, ranks, TANDEM_SHARED_MEMORY="0"))
        found.append((share, statistics.fmean(rank["median"] for rank in result)))
    least = min(share for share, _ in found)
    seconds = [time for share, time in found if share <= least + jobs.FOREIGN]
    return {"seconds": statistics.median(seconds), "least": min(seconds), "most": max(seconds), "others": least}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("ranks", type=int, nargs="+")
    arguments = parser.parse_args()
    worker = arguments.build.resolve() / "bench/bench_distributed"
    for ranks in arguments.ranks:
        for size in SIZES:
            for what in ("all_reduce", "exchange") if ranks > 1 else ("add",):
                command = [worker, what, f"bytes={size}", f"part={PART}", f"shards={ranks}", f"repeats={repeats(size)}"]
                row = {"what": what, "ranks": ranks, "bytes": size, **measured(command, ranks, arguments.turns)}
                with arguments.file.open("a") as file:
                    print(json.dumps(row), file=file)
                print(row, flush=True)


if __name__ == "__main__":
    main()
