#!/usr/bin/env python3
"""Tests the engine of a plugin with processes as ranks.

  engine_test.py PROGRAM PLUGIN [--mpirun PATH] [--no-device] [--transports] [--timing RANKS]
                             ends with the line "N passed, N failed"

With --mpirun, mpirun starts the ranks. --no-device only tests what an engine for devices says without one,
--transports only that sums have the same bits through shared memory and over TCP. --timing prints the time of
all_reduce instead.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("plugin")
parser.add_argument("--mpirun")
parser.add_argument("--no-device", action="store_true")
parser.add_argument("--transports", action="store_true")
parser.add_argument("--timing", type=int)
args = parser.parse_args()
program, plugin = os.path.abspath(args.program), os.path.abspath(args.plugin)
passed = failed = 0
environment = dict(os.environ)
if args.mpirun and os.geteuid() == 0:
    environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
if args.mpirun:  # Open MPI never frees some of what it allocates
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what)


class Job:
    """Ranks that run one part of the program: their exit codes, reports and seconds."""

    def __init__(self, what, size=3, limit=120, mpirun=args.mpirun, claimed=None):
        self.what = what
        folder = self.folder = tempfile.mkdtemp()
        alone = [program, plugin, folder, what]
        if mpirun:
            commands = [[mpirun, "-n", str(size), "--oversubscribe", "--bind-to", "none", *alone,
                         *(["0", str(claimed)] if claimed else [])]]
        else:
            commands = [[*alone, str(rank), str(claimed or size)] for rank in range(size)]
        start = time.monotonic()
        output = open(os.path.join(folder, "output"), "w+")
        processes = [subprocess.Popen(c, env=environment, stdout=output, stderr=output) for c in commands]
        try:
            self.codes = [p.wait(max(0.1, start + limit - time.monotonic())) for p in processes]
        except subprocess.TimeoutExpired:
            self.codes = []
            check(f"{what}: the job did not end within {limit} s", False)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        self.seconds = time.monotonic() - start
        output.seek(0)
        self.output = output.read()
        output.close()
        self.reports = [self.read(os.path.join(folder, f"report-{rank}")) for rank in range(size)]
        shutil.rmtree(folder)

    @staticmethod
    def read(path):
        try:
            with open(path) as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def count(self, ranks):
        """Adds the checks of these ranks."""
        global passed, failed
        for rank in ranks:
            counts = re.search(r"(\d+) passed, (\d+) failed\n$", self.reports[rank])
            check(f"{self.what}: rank {rank} left no report; output:\n{self.output}", counts)
            if counts:
                passed, failed = passed + int(counts[1]), failed + int(counts[2])
                if int(counts[2]):
                    print(f"FAILED: {self.what}:\n{self.reports[rank]}")


def processes_left(job):
    """Ranks of a job that still run, zombies aside."""
    out = subprocess.run(["ps", "-eo", "stat=,args="], capture_output=True, text=True).stdout
    return [line for line in out.split("\n") if f" {program} {plugin} {job.folder} " in line and not line.startswith("Z")
            and "python" not in line]


def test_without_device():
    if glob.glob("/dev/nvidia[0-9]*"):
        print("[skipped] no_device: there is a GPU")
        check("", True)
        return
    job = Job("refused", size=1)
    job.count([0])
    check("the message names the missing device: " + job.reports[0], "nccl: no CUDA device" in job.reports[0])


def test_mpirun():
    """What mpirun must have done."""
    for mpirun, size in ((None, 2), (args.mpirun, 2)):
        job = Job("refused", size=size, mpirun=mpirun, claimed=3)
        job.count([0])
        check("the message says how to start: " + job.reports[0], "mpirun -n 3" in job.reports[0])
    job = Job("collectives", size=1)
    job.count([0])


def test():
    for what in ("collectives", "groups", "messages_fail"):
        job = Job(what)
        job.count(range(3))
        check(f"{what}: exit codes {job.codes}; output:\n{job.output}", set(job.codes) == {0})
    # mpirun ends all ranks when one has gone; with other launchers the rest must notice.
    for what, ranks in (("stall", (0, 1)), ("aborted", (0, 1)), ("killed", (0, 2)), ("leaves", (0, 2))):
        job = Job(what, limit=40)
        if not args.mpirun or what in ("stall", "aborted"):
            job.count(ranks)
        if what in ("killed", "leaves"):
            check(f"{what}: exit codes {job.codes}", any(job.codes))
        check(f"{what}: took {job.seconds:.1f} s", job.seconds < 20)
        check(f"{what}: processes left: {processes_left(job)}", not processes_left(job))


def test_transports():
    for size in (2, 3, 4, 6, 8):
        job = Job("transports", size=size)
        job.count(range(size))


if args.timing:
    print(Job("timing", size=args.timing).reports[0], end="")
    sys.exit()
if args.no_device:
    test_without_device()
elif args.transports:
    test_transports()
else:
    test()
    if args.mpirun:
        test_mpirun()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
