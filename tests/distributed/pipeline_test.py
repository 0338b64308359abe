"""The pipeline over two processes: its losses have the bits of those of one process."""
import os
import re
import socket
import subprocess
import sys

program = sys.argv[1]
passed = failed = 0


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(size, *arguments):
    """The exit codes, and what the last process wrote."""
    port, processes = free_port(), []
    for rank in range(size):
        environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank),
                       "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        processes.append(subprocess.Popen([program, *arguments], env=environment, text=True,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    try:
        out = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return [process.returncode for process in processes], out[-1]


for micro_batches in ["1", "4", "5"]:
    codes, out = run(2, micro_batches)
    losses = re.findall(r"loss (\S+) in two processes, (\S+) in one", out)
    check(f"{micro_batches} micro-batches: exit codes {codes}, output\n{out}", codes == [0, 0] and len(losses) == 5)
    check(f"{micro_batches} micro-batches: equal losses\n{out}", all(a == b for a, b in losses))
    check(f"{micro_batches} micro-batches: the loss falls\n{out}", losses and float(losses[-1][0]) < float(losses[0][0]))
codes, out = run(1)
check(f"one process: {codes} {out}", codes == [1] and "expected 2 processes, got 1" in out)
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
