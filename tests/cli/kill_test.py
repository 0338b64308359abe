#!/usr/bin/env python3
"""Stops training runs at random moments, resumes them, and compares the result bitwise with an uninterrupted run.

  kill_test.py TANDEM [--count N] [--save-every SECONDS] [--small] [--seed S]
                             ends with the line "N passed, N failed"

Stops runs at least N times, with SIGKILL, SIGTERM and SIGINT. After each stop the checkpoint must load (`eval`); after
the last resumption no temporary file may be left. --small trains on a few random images: with --save-every 0.001 a run
then does little but save, so most stops happen during a save.
"""
import argparse
import collections
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from checks import check, finish

parser = argparse.ArgumentParser()
parser.add_argument("tandem")
parser.add_argument("--count", type=int, default=4)
parser.add_argument("--save-every", default="0.1")
parser.add_argument("--small", action="store_true")
parser.add_argument("--seed", type=int, default=random.randrange(10**6))
args = parser.parse_args()
tandem = os.path.abspath(args.tandem)
SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


def command(*arguments):
    return [tandem, "train", *arguments, "--save-every", args.save_every]


def bytes_of(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        return file.read()


def metrics(folder):
    with open(os.path.join(folder, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    return [{k: v for k, v in line.items() if k not in ("seconds", "images_per_second", "chain")} for line in lines]


def write_data(folder):
    os.makedirs(folder)
    for part, n in (("train", 2000), ("t10k", 50)):
        for kind, sizes, content in (("images-idx3", (n, 28, 28), random.Random(1).randbytes(n * 784)),
                                     ("labels-idx1", (n,), bytes(i % 10 for i in range(n)))):
            with open(f"{folder}/{part}-{kind}-ubyte", "wb") as file:
                file.write(struct.pack(">HBB", 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + content)


def leftovers(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def stopped(arguments, most, counts):
    """Runs until a random moment. Returns True if the run was stopped before its end."""
    how = random.choice(SIGNALS)
    run = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL)
    time.sleep(random.random() * most)
    run.send_signal(how)
    code = run.wait()
    check(f"a stop by {how.name}: exit code {code}", code in (-how, 128 + how, 0))
    counts[how.name if code != 0 else "already finished"] += 1
    if os.path.exists("cut/checkpoint.safetensors"):
        counts["left a temporary file"] += bool(leftovers("cut"))
        score = subprocess.run([tandem, "eval", "cut", "--threads", "1"], capture_output=True, text=True)
        begun = score.returncode == 0 or "contains no parameters" in score.stderr
        check(f"the checkpoint loads after {how.name}: {score.stderr}", begun)
    return code != 0


def cut_run(options, whole, counts):
    """One run, stopped repeatedly until it finishes; the result must equal the folder `whole`."""
    arguments = [*options, "--out", "cut"]
    for _ in range(args.count):
        going = stopped(arguments, whole, counts)
        if os.path.exists("cut/checkpoint.safetensors"):
            threads, workers = random.choice(["1", "2"]), random.choice(["0", "2"])
            arguments = ["--resume", "cut", "--threads", threads, "--workers", workers]
        if not going:
            break
    last = subprocess.run(command(*arguments), capture_output=True, text=True)
    check("the last resumption: " + last.stderr, last.returncode == 0)
    check("parameters are bitwise identical", bytes_of("whole") == bytes_of("cut"))
    check("metrics are equal", metrics("whole") == metrics("cut"))
    check(f"temporary files are left by the last run: {leftovers('cut')}", leftovers("cut") == [])
    shutil.rmtree("cut")


def closed_output(options):
    """tandem train | head -1"""
    read, write = os.pipe()
    os.close(read)
    code = subprocess.run(command(*options, "--out", "cut"), stdout=write, stderr=subprocess.DEVNULL).returncode
    os.close(write)
    check(f"a closed output stops the run: exit code {code}", code == 128 + signal.SIGPIPE)
    last = subprocess.run(command("--resume", "cut"), capture_output=True, text=True)
    check("and is resumed: " + last.stderr, last.returncode == 0)
    check("with the same bits", bytes_of("whole") == bytes_of("cut"))
    shutil.rmtree("cut")


def main():
    random.seed(args.seed)
    print("random seed of the moments:", args.seed)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        options = ["--model", "mlp", "--epochs", "2", "--batch-size", "100", "--recipe", "best"]
        if args.small:
            write_data("data")
            options += ["--data", "data"]
        began = time.time()
        first = subprocess.run(command(*options, "--out", "whole"), capture_output=True, text=True)
        if "fashion-mnist" in first.stderr:
            print("[skipped] no Fashion-MNIST:", first.stderr.strip().splitlines()[0])
            sys.exit(77)
        whole = time.time() - began
        check("the uninterrupted run: " + first.stderr, first.returncode == 0)
        counts = collections.Counter()
        runs = 0
        while sum(counts[how.name] for how in SIGNALS) < args.count:
            cut_run(options, whole if args.small else 0.3 + 0.3 * whole, counts)
            runs += 1
        closed_output(options)
        print(f"{runs} runs stopped:", ", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
        os.chdir("/")
    sys.exit(finish())


main()
