#!/usr/bin/env python3
"""The LeNet of several processes: started by `tandem launch`, by mpirun, and by environment variables alone.

    examples_test.py DISTRIBUTED_LENET [--mpirun PROGRAM] [--tandem PROGRAM]    ends with the line "N passed, N failed"
"""
import argparse
import os
import re
import sys

from jobs import Job, check, finish, run

parser = argparse.ArgumentParser()
parser.add_argument("program", type=os.path.abspath)
parser.add_argument("--mpirun")
parser.add_argument("--tandem", type=os.path.abspath)
args = parser.parse_args()
COMMAND = [args.program, "2", "6000"]  # epochs, images
LINE = re.compile(r"epoch (\d): loss (\S+), test accuracy (\S+)")
LIMIT = 120


def check_output(what, code, out, error):
    epochs = LINE.findall(out)
    check(f"{what}: exit code {code}, {error}", code == 0)
    check(f"{what}: two epochs, by rank 0 only: {out}", [epoch for epoch, _, _ in epochs] == ["1", "2"])
    check(f"{what}: the loss falls: {out}", len(epochs) == 2 and 0 < float(epochs[1][1]) < float(epochs[0][1]))
    check(f"{what}: it learns: {out}", len(epochs) == 2 and float(epochs[1][2]) > 0.4)
    return epochs


one = run(COMMAND, LIMIT, {"TANDEM_NUM_THREADS": "1"})
if "fashion-mnist" in one[2]:
    print("[skipped] no Fashion-MNIST:", one[2].strip().splitlines()[0])
    sys.exit(77)
alone = check_output("one process", *one)

with Job(2, COMMAND) as job:
    results = job.results(LIMIT)
check(f"environment variables: rank 1 prints nothing: {results[1]}", results[1] == (0, "", ""))
two = check_output("environment variables", *results[0])
# The batches are the same, and only the order of sums differs.
check(f"the loss of the first epoch is that of one process: {alone} {two}",
      alone and two and abs(float(alone[0][1]) - float(two[0][1])) < 0.05)

if args.tandem:
    launched = run([args.tandem, "launch", "-n", "2", *COMMAND], LIMIT, {"TANDEM_NUM_THREADS": "1"})
    check(f"tandem launch: the same output: {launched} {two}", check_output("tandem launch", *launched) == two)
if args.mpirun:
    for backend in ("gloo", "mpi"):
        env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TANDEM_NUM_THREADS": "1",
               "TANDEM_BACKEND": backend}
        options = ["--oversubscribe", "--bind-to", "none", "-n", "2"]
        check_output(f"mpirun, {backend}", *run([args.mpirun, *options, *COMMAND], LIMIT, env))
sys.exit(finish())
