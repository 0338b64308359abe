"""The pipeline over two processes: its losses have the bits of those of one process."""
import re
import sys

from jobs import Job, check, finish

program = sys.argv[1]


def run(size, *arguments):
    """The exit codes, and what the last process wrote."""
    with Job(size, [program, *arguments]) as job:
        results = job.results(120)
    code, output, errors = results[size - 1]
    return [results[rank][0] for rank in range(size)], output + errors


for micro_batches in ["1", "4", "5"]:
    codes, out = run(2, micro_batches)
    losses = re.findall(r"loss (\S+) in two processes, (\S+) in one", out)
    check(f"{micro_batches} micro-batches: exit codes {codes}, output\n{out}", codes == [0, 0] and len(losses) == 5)
    check(f"{micro_batches} micro-batches: equal losses\n{out}", all(a == b for a, b in losses))
    check(f"{micro_batches} micro-batches: the loss falls\n{out}",
          losses and float(losses[-1][0]) < float(losses[0][0]))
codes, out = run(1)
check(f"one process: {codes} {out}", codes == [1] and "expected 2 processes, got 1" in out)
sys.exit(finish())
