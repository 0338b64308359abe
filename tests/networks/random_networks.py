#!/usr/bin/env python3
"""Trains random networks, and compares their training with itself and, if PyTorch 2 is installed, with PyTorch's.

  random_networks.py TEST_NETWORKS [--seed N] [--count N] [--case N] [--no-torch | --device [DEVICE]]

Draws `count` networks of 30 to 80 operations and layers, optimizers and schedules, and trains each for five steps in
the program TEST_NETWORKS, again, resumed, checkpointed, in shards, and with both sets of kernels: bits must be equal.
Fused layers and autocast must agree within a tolerance. PyTorch trains the same network in float64. A failure prints
what repeats it, and a smaller network that fails. The last line is "N passed, N failed".

With --device each network trains on cuda:0 or on the CPU instead, eagerly and again with captured steps, and the bits
of each step must be equal. At least LEAST_CAPTURED of the networks must have been captured, and on cuda:0 fused.
"""
import argparse
import collections
import os
import re
import subprocess
import sys
import threading

from network_recipe import draw
from network_shrink import shrink


LEAST_CAPTURED = 0.8
SHRUNK = 3  # so many failures are made smaller, which takes minutes


class Server:
    """test_networks, started again after a crash or a hang."""

    def __init__(self, program, kernels=None):
        self.program, self.process = program, None
        self.environment = {**os.environ, "TANDEM_REPRODUCIBLE": "on", **({"TANDEM_CPU": kernels} if kernels else {})}

    def ask(self, text, variants, dtype):
        if self.process is None:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                            env=self.environment)
        process = self.process
        late = threading.Timer(120, process.kill)
        late.start()
        lines = []
        try:
            process.stdin.write(f"train {int(variants)} {dtype}\n{text}\nend\n")
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


def kernels(program):
    """The sets of kernels of a build that has several, and that run here."""
    answers = [Server(program, name).ask(str(draw(0, 0)), False, "float64") for name in ("avx512", "avx2")]
    return [None] if any("TANDEM_CPU" in line for answer in answers for line in answer) else ["avx512", "avx2"]


class Comparison:
    tries = 600  # to make a failure smaller

    def __init__(self, program, with_torch):
        self.torch = None
        self.server, *self.others = [Server(program, name) for name in kernels(program)]
        if with_torch:
            import torch_network
            self.torch = torch_network.Comparison(program)

    def problems(self, d, dtype):
        """What differs: a line each."""
        text = str(d)
        lines = self.server.ask(text, True, dtype)
        found = [line for line in lines if line.startswith("differs")]
        results = [line for line in lines if line.startswith(("error", "loss", "value"))]
        for other in self.others:
            if not found and other.ask(text, False, dtype) != results:
                found.append("differs kernels: those for AVX2 and for AVX-512")
        if not self.torch:
            return found + [line for line in results if line.startswith("error")]
        if dtype != "float64":
            results = self.server.ask(text, False, "float64")
        return found + self.torch.differences(d, results)


class DeviceComparison:
    tries = 100  # each compiles kernels

    def __init__(self, program, device):
        self.server = Server(program)
        self.variants = 3 if device == "cpu" else 2
        self.became = ""  # what the last network's steps became

    def problems(self, d, dtype):
        self.became, *found = self.server.ask(str(d), self.variants, dtype)
        return [self.became] if self.became.startswith("error") else found


def captured(became, fused):
    """How many of these steps were captured and, if `fused`, have fewer kernels, after saying what became of all."""
    counts = [list(map(int, line.split()[1:])) for line in became if line.startswith("captured")]
    if fused:
        counts = [(calls, kernels) for calls, kernels in counts if kernels < calls]
        print(f"{len(counts)} networks captured and fused: {sum(calls for calls, _ in counts)} calls became "
              f"{sum(kernels for _, kernels in counts)} kernels")
    else:
        print(f"{len(counts)} networks captured")
    for why, number in collections.Counter(line for line in became if not line.startswith("captured")).most_common():
        print(f"{number} {why}")
    return len(counts)


def kind_of(problem):
    """What a smaller network must share with this problem."""
    return problem[:60] if problem.startswith("error") else problem.split(":")[0]


def report(comparison, d, problems, dtype):
    kinds = {kind_of(p) for p in problems}
    small = shrink(d, lambda other: kinds & {kind_of(p) for p in comparison.problems(other, dtype)},
                   comparison.tries)
    print("    smaller:\n      " + str(small).replace("\n", "\n      "))
    for problem in comparison.problems(small, dtype):
        print(f"      {problem}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="TEST_NETWORKS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--case", type=int, help="train only this network")
    parser.add_argument("--no-torch", action="store_true", help="compare Tandem with itself only")
    parser.add_argument("--device", nargs="?", const="cuda:0", choices=["cuda:0", "cpu"],
                        help="compare eager with captured steps there, by default on cuda:0")
    args = parser.parse_args(arguments)
    try:
        import torch
        with_torch = not args.no_torch and int(torch.__version__.split(".")[0]) >= 2
    except ImportError:
        with_torch = False
    comparison = DeviceComparison(args.program, args.device) if args.device else Comparison(args.program, with_torch)
    if re.search(rb"__[at]san_init", open(args.program, "rb").read()):
        args.count //= 10
    passed = failed = 0
    became = []
    for number in range(args.count) if args.case is None else [args.case]:
        d, dtype = draw(args.seed, number), ("float64", "float32")[number % 2]
        problems = comparison.problems(d, dtype)
        if args.device:
            if comparison.became.startswith("skipped"):
                print(comparison.became)
                return 77
            became.append(comparison.became)
        passed += not problems
        failed += bool(problems)
        if problems:
            print(f"FAILED network {number}: " + "\n    ".join(problems) + "\n    repeat with: "
                  f"--seed {args.seed} --case {number}{f' --device {args.device}' if args.device else ''}", flush=True)
            if failed <= SHRUNK:
                report(comparison, d, problems, dtype)
                sys.stdout.flush()
    if args.device:
        if captured(became, args.device != "cpu") < LEAST_CAPTURED * len(became):
            print("FAILED: too few networks were captured")
            failed += 1
    else:
        print(f"networks of seed {args.seed}, {f'PyTorch {torch.__version__}' if with_torch else 'without PyTorch'}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
