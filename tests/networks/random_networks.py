#!/usr/bin/env python3
"""Trains random networks, and compares their training with PyTorch's.

  random_networks.py TEST_NETWORKS [--seed N] [--count N] [--case N]

Draws `count` networks of 30 to 80 operations and layers, optimizers and schedules, and trains each for five steps in
the program TEST_NETWORKS and, in float64, in PyTorch. A failure prints what repeats it. The last line is "N passed,
N failed".
"""
import argparse
import os
import subprocess
import sys
import threading

from network_recipe import draw


class Server:
    """test_networks, started again after a crash or a hang."""

    def __init__(self, program):
        self.program, self.process = program, None
        self.environment = {**os.environ, "TANDEM_REPRODUCIBLE": "on"}

    def ask(self, text, dtype):
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env=self.environment)
        process = self.process
        late = threading.Timer(120, process.kill)
        late.start()
        lines = []
        try:
            process.stdin.write(f"train {dtype}\n{text}\nend\n")
            process.stdin.flush()
            for line in process.stdout:
                if line == "end\n":
                    return lines
                lines.append(line.rstrip("\n"))
        except BrokenPipeError:
            pass
        finally:
            late.cancel()
        self.process = None
        return [f"error the program ended with {process.wait()}"]


class Comparison:
    def __init__(self, program):
        import torch_network
        self.server, self.torch = Server(program), torch_network.Comparison(program)

    def problems(self, d):
        """What differs: a line each."""
        return self.torch.differences(d, self.server.ask(str(d), "float64"))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TEST_NETWORKS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--case", type=int, help="train only this network")
    args = parser.parse_args(arguments)
    comparison = Comparison(args.program)
    passed = failed = 0
    for number in range(args.count) if args.case is None else [args.case]:
        problems = comparison.problems(draw(args.seed, number))
        passed += not problems
        failed += bool(problems)
        if problems:
            print(f"FAILED network {number}: " + "\n    ".join(problems) + "\n    repeat with: "
                  f"--seed {args.seed} --case {number}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
