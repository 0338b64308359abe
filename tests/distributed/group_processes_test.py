#!/usr/bin/env python3
"""Groups of real processes: ranks that are killed, stopped, leave early or never come.

    group_processes_test.py WORKER [NAME]...     ends with the line "N passed, N failed"

The others must end within the timeout of 5 s plus 45 s for a busy machine, with exit code 3 and a message that names
the rank.
"""
import os
import signal
import sys
import time

import jobs
from jobs import Job, check, check_failed, finish

worker = os.path.abspath(sys.argv[1])
LIMIT = 5 + 45


def check_signal(what, rank, how, *patterns):
    with Job(4, [worker, "100000"]) as job:
        check(f"{what}: it begins", job.wait_for("step 20"))
        job.ranks[rank].send_signal(how)
        began = time.time()
        results = job.results(LIMIT, but=[rank])
        print(f"{what}: {time.time() - began:.1f} s;", results[1][2].strip(), flush=True)
        check_failed(what, results, *patterns)


def test_end():
    for end in ("end", "exit"):
        with Job(4, [worker, "30", end]) as job:
            for rank, (code, _, error) in job.results(LIMIT).items():
                check(f"{end}: rank {rank}: {code} {error}", code == 0 and error == "")


def test_kill():
    check_signal("kill rank 3", 3, signal.SIGKILL, "^rank 3 ended without a word", r"ranks 0-2 wait since \d\.\d s")
    check_signal("kill rank 0", 0, signal.SIGKILL, "rank 0", "the store cannot say which rank is missing")


def test_stop():
    check_signal("stop rank 2", 2, signal.SIGSTOP,
                 r"^rank 2 did not reach all_reduce \d+ \(bucket [01]\); ranks 0-1, 3 wait since ([5-9]|\d\d)\.\d s")


def test_stop_store():
    check_signal("stop rank 0", 0, signal.SIGSTOP, r"all_reduce \d+ \(bucket [01]\) failed after ([5-9]|\d\d)\.",
                 "the store cannot say which rank is missing")


def test_leave():
    with Job(4, [worker, "100000", "leave=2"]) as job:
        results = job.results(LIMIT)
        check(f"leave: {results[2]}", results.pop(2)[0] == 0)
        check_failed("leave", results, r"^rank 2 left the group .* before all_reduce 20")


def test_late():
    with Job(4, [worker, "100000", "late=1"]) as job:
        check_failed("late", job.results(LIMIT, but=[1]),
                     r"^rank 1 did not reach all_reduce 20 \(bucket 0\); ranks 0, 2-3 wait since ([5-9]|\d\d)\.\d s")


def test_absent():
    with Job(4, [worker, "10"], ranks=[0, 2]) as job:
        check_failed("absent", job.results(LIMIT), "ranks 1, 3 of 4 did not connect within 5000 ms")


tests = {name: test for name, test in globals().items() if name.startswith("test_")}
jobs.run_tests([tests[name] for name in sys.argv[2:] or tests])
sys.exit(finish())
