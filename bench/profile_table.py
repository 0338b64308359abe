#!/usr/bin/env python3
"""Prints a profile as a table: calls, total time and self time (without nested spans) of each span name; and the
largest tensors at the peak of each device's memory.

  TANDEM_PROFILE=trace.json build/cli/tandem train --epochs 1
  bench/profile_table.py trace.json [ROWS]        times in milliseconds; the busiest tracks first
"""
import collections
import json
import sys


class Row:
    def __init__(self):
        self.count = 0
        self.total = self.own = 0.0


def rows_of(spans):
    """The rows of one track by name; spans nest."""
    rows, open_spans = collections.defaultdict(Row), []
    for span in sorted(spans, key=lambda s: (s["ts"], -s["dur"])):
        while open_spans and span["ts"] >= open_spans[-1][0] - 1e-3:
            open_spans.pop()
        row = rows[span["name"]]
        row.count += 1
        row.own += span["dur"]
        if all(other is not row for _, other in open_spans):  # recursion counts once
            row.total += span["dur"]
        if open_spans:
            open_spans[-1][1].own -= span["dur"]
        open_spans.append((span["ts"] + span["dur"], row))
    return rows


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    most = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            trace = json.load(file)
        events = trace["traceEvents"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{sys.argv[1]}: not a profile: {error}")
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    tracks = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["tid"]].append(event)
    tables = sorted(((names.get(t, str(t)), rows_of(spans)) for t, spans in tracks.items()),
                    key=lambda table: -sum(row.own for row in table[1].values()))
    for track, rows in tables:
        print(f"\n{track + ': name':<40} {'calls':>8} {'total':>10} {'self':>10} {'per call':>10}")
        for name, row in sorted(rows.items(), key=lambda item: -item[1].own)[:most]:
            print(f"{name:<40} {row.count:>8} {row.total / 1e3:>10.2f} {row.own / 1e3:>10.2f} "
                  f"{row.total / 1e3 / row.count:>10.4f}")
    for peak in trace.get("otherData", {}).get("memory", []):
        print(f"\n{'tensors on ' + peak['device'] + ' at the peak':<40} {'MiB':>8} {'since, s':>10} written by")
        print(f"{'all':<40} {peak['peak_bytes'] / 2**20:>8.1f} {peak['peak_us'] / 1e6:>10.3f} (time of the peak)")
        if peak["held_before"]:
            print(f"{'before the profile':<40} {peak['held_before'] / 2**20:>8.1f}")
        for tensor in peak["largest"]:
            print(f"{tensor['inside']:<40} {tensor['bytes'] / 2**20:>8.1f} {tensor['since_us'] / 1e6:>10.3f} "
                  f"{tensor['kernel']} {tensor['detail']}")
    dropped = trace.get("otherData", {}).get("dropped_spans", 0)
    if dropped:
        print(f"\n{dropped} more spans did not fit in the profile")


main()
