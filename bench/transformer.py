#!/usr/bin/env python3
"""Training steps of a transformer encoder in Tandem and in PyTorch, alternately; needs torch.

    transformer.py BUILD [--threads N] [--turns N] [--dropout P]

BUILD is Tandem's build folder. Prints one line per turn and the medians: milliseconds of forward and backward
(processor time on one thread), and how much faster Tandem is.
"""
import argparse
import pathlib
import statistics
import subprocess
import sys
import time

LAYERS, WIDTH, HEADS, TOKENS, BATCH, REPETITIONS = 6, 512, 8, 128, 8, 5


def torch_worker(threads, dropout):
    import torch
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=dropout)
    encoder = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    x, target = torch.randn(TOKENS, BATCH, WIDTH), torch.randn(TOKENS, BATCH, WIDTH)

    def step():
        encoder.zero_grad()
        torch.nn.functional.mse_loss(encoder(x), target).backward()

    step()
    now = time.process_time if threads == 1 else time.perf_counter
    times = []
    for _ in range(REPETITIONS):
        begin = now()
        step()
        times.append((now() - begin) * 1e3)
    times.sort()
    print(f"{times[0]:.2f} {times[len(times) // 2]:.2f}")


def median_of(command):
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[1])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("build", nargs="?")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--torch-worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch_worker:
        return torch_worker(options.threads, options.dropout)
    if options.build is None:
        parser.error("BUILD is missing")
    ours = [str(pathlib.Path(options.build) / "bench/bench_transformer")]
    ours += [str(v) for v in (options.threads, REPETITIONS, LAYERS, WIDTH, HEADS, TOKENS, BATCH, options.dropout)]
    theirs = [sys.executable, __file__, "--torch-worker", "--threads", str(options.threads), "--dropout",
              str(options.dropout)]
    rows = []
    for turn in range(options.turns):
        commands = [ours, theirs] if turn % 2 == 0 else [theirs, ours]
        times = {id(command): median_of(command) for command in commands}
        rows.append((times[id(ours)], times[id(theirs)]))
        print(f"turn {turn + 1}: Tandem {rows[-1][0]:.1f} ms, PyTorch {rows[-1][1]:.1f} ms, "
              f"{rows[-1][1] / rows[-1][0]:.2f} x",
              flush=True)
    tandem, torch = (statistics.median(column) for column in zip(*rows))
    ratio = statistics.median(b / a for a, b in rows)
    print(f"median: Tandem {tandem:.1f} ms, PyTorch {torch:.1f} ms, {ratio:.2f} x")


main()
