#!/usr/bin/env python3
"""Simulates the schedules on many ranks with SimGrid and compares the cost model with them.

    simulate.py [--ranks P ...] [--bytes N ...] [--gbit RATE] [--latency SECONDS] [--spines N]
    [--local SECONDS_PER_BYTE]

The network is a fat tree of two levels: 32 hosts per switch, one rank per host, and `spines` links up from every
switch, each as fast as a host's (32: full bandwidth between all halves of the hosts). Needs smpicxx and smpirun of
SimGrid 3.32.
"""
import argparse
import pathlib
import re
import subprocess
import tempfile
import time

import model

HERE = pathlib.Path(__file__).resolve().parent
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="n" suffix="" radical="0-1023" speed="1Gf" bw="{bytes}Bps" lat="{latency}s"
           topology="FAT_TREE" topo_parameters="2;32,32;1,{spines};1,1" sharing_policy="SPLITDUPLEX"/>
</platform>
"""
# Flows share links fairly and use all of the bandwidth; computation takes only the time that the program states.
OPTIONS = ["--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0", "--cfg=network/weight-S:0",
           "--cfg=network/crosstraffic:0", "--cfg=network/bandwidth-factor:1", "--cfg=network/latency-factor:1",
           "--cfg=smpi/simulate-computation:no", "--log=root.thres:warning"]
LINKS = 4  # between hosts of different switches
LIMIT = 900  # seconds per simulation


def simulated(folder, schedule, size, chunk, ranks, local, window):
    command = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts", *OPTIONS,
               folder / "schedule", schedule, str(size), str(chunk), repr(local), str(window)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    found = re.search(r"seconds ([\d.e-]+)", done.stdout)
    if not found:
        raise SystemExit(f"simulate.py: smpirun failed: {done.stderr.strip()[-800:]}")
    return float(found[1])


def modelled(schedule, size, ranks, part, latency, byte, local):
    counts = model.exchange(size, ranks, part) if schedule == "exchange" else model.SCHEDULES[schedule](size, ranks)
    return LINKS * latency * counts.rounds + byte * counts.bytes + local * (counts.local - counts.hidden)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 128, 256, 512, 1024])
    parser.add_argument("--bytes", type=int, nargs="+", default=[516_272, 25 << 20])
    parser.add_argument("--gbit", type=float, default=10)
    parser.add_argument("--latency", type=float, default=1e-6,
                        help="of a link; four are between hosts of different switches")
    parser.add_argument("--spines", type=int, default=32)
    parser.add_argument("--local", type=float, default=4e-11, help="seconds per byte that is added or copied")
    parser.add_argument("--part", type=int, default=model.PART, help="of the exchange, in bytes")
    parser.add_argument("--window", type=int, default=1 << 20,
                        help="messages of an all_to_all that a rank has in flight")
    parser.add_argument("--schedules", nargs="+", default=["ring", "halving", "exchange"])
    arguments = parser.parse_args()
    byte = 8e-9 / arguments.gbit
    print(
        "| P | bytes | schedule | simulated, ms | model, ms | model / simulated | s to simulate |\n"
        "|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run(["smpicxx", "-std=c++20", "-O2", "-o", folder / "schedule", HERE / "schedule.cpp"], check=True)
        (folder / "platform.xml").write_text(PLATFORM.format(bytes=1 / byte, latency=arguments.latency,
                                                             spines=arguments.spines))
        (folder / "hosts").write_text("".join(f"n{i}\n" for i in range(1024)))
        for ranks in arguments.ranks:
            for size in arguments.bytes:
                for schedule in arguments.schedules:
                    begin = time.monotonic()
                    chunk = arguments.part if schedule == "exchange" else model.SEGMENT
                    try:
                        seconds = simulated(folder, schedule, size, chunk, ranks, arguments.local, arguments.window)
                    except subprocess.TimeoutExpired:
                        print(f"| {ranks} | {size:,} | {schedule} | more than {LIMIT} s to simulate | | | |",
                              flush=True)
                        continue
                    estimate = modelled(schedule, size, ranks, arguments.part, arguments.latency, byte, arguments.local)
                    print(
                        f"| {ranks} | {size:,} | {schedule} | {seconds * 1e3:.3f} | {estimate * 1e3:.3f} | "
                        f"{estimate / seconds:.3f} | "
                          f"{time.monotonic() - begin:.0f} |", flush=True)


if __name__ == "__main__":
    main()
