#!/usr/bin/env python3
"""Groups of real processes: ranks that are killed, stopped, leave early or never come.

    group_processes_test.py WORKER     ends with the line "N passed, N failed"

The others must end within the timeout of 5 s plus 3 s, with exit code 3 and a message that names the rank.
"""
import os
import re
import signal
import socket
import subprocess
import sys
import time

worker = os.path.abspath(sys.argv[1])
LIMIT = 8.0
passed = failed = 0


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what, flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Job:
    """The processes of a job; none is left when the block ends."""

    def __init__(self, size, *arguments, ranks=None):
        port = free_port()
        self.ranks = {}
        for rank in range(size) if ranks is None else ranks:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMI_", "TORCHELASTIC_"))}
            env.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size),
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TANDEM_NUM_THREADS="1")
            self.ranks[rank] = subprocess.Popen([worker, *arguments], env=env, stdout=subprocess.PIPE,
                                                stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.ranks.values():
            if process.poll() is None:
                process.kill()
            process.communicate()

    def wait_for_step(self, step):
        for process in self.ranks.values():
            for line in process.stdout:
                if line.strip() == f"step {step}":
                    break

    def results(self, limit, but=()):
        """Exit codes and messages of the ranks except `but`; a rank that does not end has the code "hangs"."""
        end = time.time() + limit
        out = {}
        for rank, process in self.ranks.items():
            if rank in but:
                continue
            try:
                _, error = process.communicate(timeout=max(0.1, end - time.time()))
                out[rank] = (process.returncode, error)
            except subprocess.TimeoutExpired:
                out[rank] = ("hangs", "")
        return out


def check_failed(what, results, *patterns):
    for rank, (code, error) in results.items():
        check(f"{what}: rank {rank} ends with 3: {code} {error}", code == 3)
        for pattern in patterns:
            check(f"{what}: rank {rank} says {pattern!r}: {error!r}", re.search(pattern, error))


def check_signal(what, rank, how, *patterns):
    with Job(4, "100000") as job:
        job.wait_for_step(20)
        job.ranks[rank].send_signal(how)
        began = time.time()
        results = job.results(LIMIT, but=[rank])
        print(f"{what}: {time.time() - began:.1f} s;", results[1][1].strip(), flush=True)
        check_failed(what, results, *patterns)


for end in ("end", "exit"):
    with Job(4, "30", end) as job:
        for rank, (code, error) in job.results(30).items():
            check(f"{end}: rank {rank}: {code} {error}", code == 0 and error == "")

check_signal("kill rank 3", 3, signal.SIGKILL, "^rank 3 ended without a word", r"ranks 0-2 wait since \d\.\d s")
check_signal("stop rank 2", 2, signal.SIGSTOP, r"^rank 2 did not reach all_reduce \d+ \(bucket [01]\); ranks 0-1, 3 wait since 5\.\d s")
check_signal("kill rank 0", 0, signal.SIGKILL, "rank 0", "the store cannot say which rank is missing")
check_signal("stop rank 0", 0, signal.SIGSTOP, r"all_reduce \d+ \(bucket [01]\) failed after 5", "the store cannot say which rank is missing")

with Job(4, "100000", "leave=2") as job:
    results = job.results(LIMIT)
    check(f"leave: {results[2]}", results.pop(2)[0] == 0)
    check_failed("leave", results, r"^rank 2 left the group .* before all_reduce 20")

with Job(4, "100000", "late=1") as job:
    results = job.results(LIMIT, but=[1])
    check_failed("late", results, r"^rank 1 did not reach all_reduce 20 \(bucket 0\); ranks 0, 2-3 wait since 5\.\d s")

with Job(4, "10", ranks=[0, 2]) as job:
    check_failed("absent", job.results(LIMIT), "ranks 1, 3 of 4 did not connect within 5000 ms")

print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
