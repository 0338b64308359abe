#!/usr/bin/env python3
"""Training when a process is killed, stops, throws, or does something else than the others: nobody hangs.

    training_failures_test.py WORKER [NAME]...     ends with the line "N passed, N failed"

Every other rank must end within the timeout of 5 s plus 45 s for a busy machine, with exit code 3 and a message that
says which rank did what.
"""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jobs
from jobs import Job, check, finish

worker = os.path.abspath(sys.argv[1])
LIMIT = 5 + 45
LONG = "steps=1000000"


def check_failed(what, results, *patterns):
    print(f"{what}: rank {max(results)} says: {results[max(results)][2].strip()}", flush=True)
    jobs.check_failed(what, results, *patterns)


def results_after(size, step, *options, but=()):
    """The results of a job whose ranks fail by themselves after `step`."""
    with Job(size, [worker, *options]) as job:
        check(f"{options}: all ranks reach step {step}", step is None or job.wait_for(f"step {step}"))
        return job.results(LIMIT if step is not None else 2 * LIMIT, but)


def check_signal(kind, how, rank, pattern, devices=1):
    what = f"{kind}, {devices} devices, {how.name} to rank {rank}"
    with Job(4 if kind == "ddp" and devices == 1 else 3, [worker, kind, LONG, f"devices={devices}"]) as job:
        check(f"{what}: it begins", job.wait_for("step 5"))
        time.sleep(random.random() / 10)
        job.ranks[rank].send_signal(how)
        began = time.time()
        check_failed(what, job.results(LIMIT, but=[rank]), pattern)
        print(f"{what}: {time.time() - began:.1f} s", flush=True)


def test_kill():
    check_signal("ddp", signal.SIGKILL, 2, "^rank 2 ended without a word")
    check_signal("ddp", signal.SIGKILL, 1, "^rank 1 ended without a word", devices=2)
    check_signal("fsdp", signal.SIGKILL, 1, "^rank 1 ended without a word")
    check_signal("server", signal.SIGKILL, 1, "rank 1 ended without a word")
    check_signal("server", signal.SIGKILL, 0, "rank 0", devices=2)


def test_stop():
    check_signal("ddp", signal.SIGSTOP, 1, "^rank 1 did not reach (all_reduce|broadcast)")


def test_stop_with_several_devices():
    check_signal("ddp", signal.SIGSTOP, 2, "^rank 2 did not reach (all_reduce|broadcast)", devices=2)


def test_stop_server():
    check_signal("server", signal.SIGSTOP, 2, "rank 2 (did not reach|made no matching call)")


def test_throw():
    for kind, devices, where in [("ddp", 1, ""), ("ddp", 2, ""), ("fsdp", 1, ""), ("server", 1, "rank 1, cpu: "),
                                 ("server", 2, "rank 1, cpu:0: ")]:
        what = f"{kind}, {devices} devices, exception"
        results = results_after(3, 9, kind, LONG, f"devices={devices}", "fault=throw", "rank=1")
        check_failed(what, {1: results.pop(1)}, f"{where}sample 7 is broken")
        check_failed(what, results, f"^rank 1 aborted: .*{where}sample 7 is broken")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def check_full_disk(what, folder, reason, *options):
    path = os.path.join(folder, "checkpoint.safetensors")
    with Job(3, [worker, "server", LONG, "save_every=5", f"save={path}", *options]) as job:
        check(f"{what}: it begins", job.wait_for("step 4"))
        first = read(path)
        results = job.results(LIMIT)
    check_failed(what, {0: results.pop(0)}, f"checkpoint.safetensors.*{reason}")
    check_failed(what, results, f"^rank 0 aborted: .*checkpoint.safetensors.*{reason}")
    check(f"{what}: the old checkpoint is left alone: {os.listdir(folder)}",
          os.listdir(folder) == ["checkpoint.safetensors"] and read(path) == first and len(first) > 100_000)


def test_full_disk():
    with tempfile.TemporaryDirectory() as folder:
        check_full_disk("file too large", folder, "File too large", "fault=disk", "rank=0", "at=6")
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() != 0 or not shutil.which("mount") or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=250k", "tmpfs", folder], capture_output=True).returncode != 0:
            print("a full file system is not tested: it cannot be mounted here")
            return
        try:
            check_full_disk("no space left", folder, "No space left on device")
        finally:
            subprocess.run(["umount", folder], check=True)


def test_other_models():
    for kind, name in [("ddp", "DistributedDataParallel"), ("fsdp", "FullyShardedDataParallel"),
                       ("server", "ParameterServer")]:
        for fault, first, other in [("shape", r"first\.weight \[256, 64\] \S+", r"first\.weight \[257, 64\] \S+"),
                                    ("order", r"first\.weight \S+ \S+ \S+", r"second\.weight \S+ \S+ \S+"),
                                    ("dtype", r"first\.weight \[256, 64\] float32",
                                     r"first\.weight \[256, 64\] float64")]:
            check_failed(f"{kind}, other {fault}", results_after(3, None, kind, f"fault={fault}", "rank=2"),
                         f"^{name}: the model of rank 2 differs from that of rank 0\n"
                         f"  rank 0: parameter {first}\n  rank 2: parameter {other}")


def test_nan():
    results = results_after(3, 9, "server", LONG, "fault=nan", "rank=1")
    check_failed("NaN", results, r"rank 1, cpu: the loss of shard 3 \(samples 0 to 31 of the batch\) is -?nan")
    results = results_after(3, None, "server", "steps=15", "fault=nan", "rank=1", "skip=1")
    for rank, (code, out, error) in results.items():
        skipped = re.findall(r"^skipped (\d+)$", out, re.M)
        check(f"NaN, skipped: rank {rank}: {code} {error} {out}", code == 0 and skipped == ["10"] and "step 14" in out)
    check("NaN, skipped: the same bits", len({re.search("hash .*", out)[0] for _, out, _ in results.values()}) == 1)


# DistributedDataParallel averages what it gets: NaN reaches all ranks in the same step, and they stay equal.
def test_nan_is_averaged():
    for devices in (1, 2):
        results = results_after(3, None, "ddp", "steps=15", f"devices={devices}", "fault=nan", "rank=1")
        for rank, (code, out, error) in results.items():
            finite = re.findall(r"^step (\d+)( not finite)?$", out, re.M)
            check(f"NaN, averaged: rank {rank}: {code} {error} {out}",
                  code == 0 and [int(step) for step, bad in finite if bad] == list(range(10, 15)) and len(finite) == 15)
        check("NaN, averaged: the same bits",
              len({re.search("hash .*", out)[0] for _, out, _ in results.values()}) == 1)


def test_short():
    results = results_after(3, 9, "ddp", LONG, "fault=short", "rank=1")
    check_failed("fewer batches", {1: results.pop(1)},
                 "^destroy_process_group: ranks 0, 2 did not call it within 5000 ms")
    check_failed("fewer batches", results, "^rank 1 left the group .* before broadcast",
                 "DistributedDataParallel::join")
    for devices in (1, 2):
        results = results_after(3, None, "ddp", "steps=15", f"devices={devices}", "fault=short", "rank=1", "join=1")
        for rank, (code, out, error) in results.items():
            check(f"fewer batches, join: rank {rank}: {code} {error}", code == 0 and ("step 14" in out) == (rank != 1))
        check("fewer batches, join: the same bits",
              len({re.search("hash .*", out)[0] for _, out, _ in results.values()}) == 1)


# Before their first use calls are compared; later the ranks notice after the timeout that theirs do not fit.
def test_other_calls():
    check_failed("another first call", results_after(3, None, "ddp", LONG, "fault=other", "rank=1", "at=-1"),
                 r"^\w+ 0: ranks do different things\n", r"\n  rank 1: all_reduce \[3\] float32 sum",
                 r"\n  ranks 0, 2: all_gather \[1, 1\] int64")
    check_failed("another call", results_after(3, 9, "ddp", LONG, "fault=other", "rank=1"),
                 r"^ranks wait in different calls\n", r"\n  rank 1: all_reduce \d+: all_reduce \[3\] float32 sum",
                 r"\n  ranks? 0.*: broadcast \d+: broadcast \[512\] float32 from rank 0")
    check_failed("a broadcast of another size", results_after(3, 9, "ddp", LONG, "fault=again", "rank=1"),
                 r"^ranks wait in different calls\n", r"\n  rank 1: broadcast \d+: broadcast \[256\]")


tests = {name: test for name, test in globals().items() if name.startswith("test_")}
jobs.run_tests([tests[name] for name in sys.argv[2:] or tests])
sys.exit(finish())
