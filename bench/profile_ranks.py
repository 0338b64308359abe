#!/usr/bin/env python3
"""Lays the profiles of the processes of one group, on one machine, beside each other. Prints for each collective how
long the first rank waited for the last one, and how long the call took once all had begun; and writes one profile
with all ranks' tracks.

  TANDEM_PROFILE=trace-%p.json tandem launch -n 2 ./prog
  bench/profile_ranks.py all.json trace-*.json      times in milliseconds
"""
import collections
import json
import statistics
import sys


def read(path):
    """The events of a profile with times of the machine's clock, in microseconds."""
    try:
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
        start, events = trace["otherData"]["start_us"], trace["traceEvents"]
        for event in events:
            if "ts" in event:
                event["ts"] += start
        return events
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"{path}: not a profile: {error}")


def calls_of(events):
    """The collectives, in order; whichever thread made them."""
    calls = [e for e in events if e.get("cat") == "communication" and not e["name"].startswith("wait for ")]
    return sorted(calls, key=lambda e: e["ts"])


def main():
    if len(sys.argv) < 4 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__.strip())
    ranks = [(path, read(path)) for path in sys.argv[2:]]
    ranks = [(path, events) for path, events in ranks if calls_of(events)]  # a launcher has none
    calls = [calls_of(events) for _, events in ranks]
    counts, names = {len(c) for c in calls}, {tuple(e["name"] for e in c) for c in calls}
    if len(ranks) < 2 or len(counts) != 1 or len(names) != 1:
        sys.exit(f"expected profiles of at least two ranks that made the same calls, got {len(ranks)} with "
                 f"{', '.join(str(len(c)) for c in calls) or 'no'} calls; profile one group's whole run")
    rows = collections.defaultdict(lambda: ([], []))
    for call in zip(*calls):
        begins, ends = [e["ts"] for e in call], [e["ts"] + e["dur"] for e in call]
        waits, works = rows[call[0]["name"]]
        waits.append((max(begins) - min(begins)) / 1e3)
        works.append((max(ends) - max(begins)) / 1e3)
    print(f"{'call':<16} {'calls':>8} {'waiting for the last rank':>28} {'then':>20}")
    print(f"{'':<16} {'':>8} {'mean':>17} {'median':>10} {'mean':>9} {'median':>10}")
    for name, (waits, works) in sorted(rows.items(), key=lambda item: -sum(item[1][0]) - sum(item[1][1])):
        print(f"{name:<16} {len(waits):>8} {statistics.mean(waits):>17.3f} {statistics.median(waits):>10.3f} "
              f"{statistics.mean(works):>9.3f} {statistics.median(works):>10.3f}")
    first = min(e["ts"] for _, events in ranks for e in events if "ts" in e)
    joined = []
    for rank, (path, events) in enumerate(ranks):
        for event in events:
            event["pid"] = rank + 1
            if "ts" in event:
                event["ts"] = round(event["ts"] - first, 3)
            if event["name"] == "process_name":
                event["args"] = {"name": path}
        joined += events
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"displayTimeUnit": "ms", "traceEvents": joined}, file)


main()
