#!/usr/bin/env python3
"""This project's models, trained in real processes by FullyShardedDataParallel: the bits of DistributedDataParallel on
two processes, and the same bits on each engine.

    models_test.py WORKER [--mpirun PROGRAM]

Without mpirun only Gloo runs. Ends with the line "N passed, N failed".
"""
import argparse
import os
import re
import sys
import tempfile

from jobs import Job, check, finish, run, run_tests

parser = argparse.ArgumentParser()
parser.add_argument("worker", type=os.path.abspath)
parser.add_argument("--mpirun")
args = parser.parse_args()
ENGINES = ["gloo"] + (["mpi"] if args.mpirun else [])


def hashes(engine, size, kind, model, *options):
    """By rank."""
    command = [args.worker, kind, model, engine, *options]
    what = f"{kind} {model} on {size} processes, {engine}"
    if engine == "gloo":
        with Job(size, command) as job:
            results = list(job.results(120).values())
    else:
        command = [args.mpirun, "--oversubscribe", "--bind-to", "none", "-n", str(size), *command]
        leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # Open MPI never frees some of its memory
        results = [run(command, 120, {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                                      "TANDEM_NUM_THREADS": "1", "ASAN_OPTIONS": leaks})]
    check(f"{what}: {results}", all(code == 0 for code, _, _ in results))
    found = [line for _, out, _ in results for line in re.findall(r"^hash (\d+) (\w{64})$", out, re.M)]
    check(f"{what}: every rank prints its hash: {found}", sorted(int(rank) for rank, _ in found) == list(range(size)))
    return [digest for _, digest in sorted(found)]


def test_model(model):
    expected = hashes("gloo", 2, "ddp", model)
    for engine in ENGINES:
        seen = hashes(engine, 2, "fsdp", model)
        check(f"{model} on 2 processes, {engine}: {seen} instead of {expected}", seen == expected)


# Sums are added in the order of the ranks whatever the engine.
def test_three():
    seen = {engine: hashes(engine, 3, "fsdp", "gpt2") for engine in ENGINES}
    check(f"gpt2 on 3 processes: {seen}", all(each == seen["gloo"] for each in seen.values()))


def test_checkpoint():
    for engine in ENGINES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "checkpoint")
            saved = hashes(engine, 2, "fsdp", "gpt2", f"save={path}")
            loaded = hashes(engine, 3, "fsdp", "gpt2", f"load={path}")
            check(f"a checkpoint of 2 processes on 3, {engine}: {loaded} instead of {saved}",
                  set(loaded) == set(saved) and len(set(saved)) == 1)


run_tests([lambda: test_model("lenet"), lambda: test_model("resnet18"), lambda: test_model("gpt2"), test_three,
           test_checkpoint])
sys.exit(finish())
