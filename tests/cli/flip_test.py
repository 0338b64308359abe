#!/usr/bin/env python3
"""Corrupts bytes of a run's checkpoint and model: each flip must be refused with an error, or change nothing.

  flip_test.py TANDEM FLIP_FILES [--count N] [--file-count N] [--model NAME] [--seed S]
                                                    ends with the line "N passed, N failed"

A flip replaces one byte anywhere in the file; half of the flips are in its header. N flipped checkpoints (--count) are
scored by `eval` and resumed by `train`, which rewrites the tensors, the optimizer's state, the metrics and the
settings; all of these are compared. Many more flips of both files (--file-count; 0: every bit in turn) are loaded with
the library (FLIP_FILES), and the contents are compared.
"""
import argparse
import collections
import hashlib
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from checks import check, finish

parser = argparse.ArgumentParser()
parser.add_argument("tandem")
parser.add_argument("flip_files")
parser.add_argument("--count", type=int, default=40)
parser.add_argument("--file-count", type=int, default=4000)
parser.add_argument("--seed", type=int, default=random.randrange(10**6))
parser.add_argument("--model", default="linear")
args = parser.parse_args()
tandem, flip_files = os.path.abspath(args.tandem), os.path.abspath(args.flip_files)


def run(*command):
    return subprocess.run([tandem, *command], capture_output=True, text=True, errors="replace", timeout=300)


def idx(path, sizes, content):
    with open(path, "wb") as file:
        file.write(struct.pack(">HBB", 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + content)


def write_data(folder):
    os.makedirs(folder)
    draw = random.Random(1)
    for part, n in (("train", 200), ("t10k", 50)):
        idx(f"{folder}/{part}-images-idx3-ubyte", (n, 28, 28), draw.randbytes(n * 28 * 28))
        idx(f"{folder}/{part}-labels-idx1-ubyte", (n,), bytes(i % 10 for i in range(n)))


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


def outcome(folder, flipped):
    """The tool's reaction to a checkpoint: "refused", or a hash of everything that it writes and prints."""
    os.mkdir(folder)
    with open(f"{folder}/checkpoint.safetensors", "wb") as file:
        file.write(flipped)
    score = run("eval", folder, "--json", "--threads", "1")
    resumed = run("train", "--resume", folder, "--threads", "1")
    said = hashlib.sha256()
    for name in ("checkpoint", "model"):
        if resumed.returncode == 0:
            said.update(content_of(f"{folder}/{name}.safetensors"))
    shutil.rmtree(folder)
    codes = {score.returncode, resumed.returncode}
    if codes == {2} and score.stderr.count("\n") == resumed.stderr.count("\n") == 1:
        return "refused"
    if codes != {0}:
        return f"exit codes {score.returncode} and {resumed.returncode}: {score.stderr}{resumed.stderr}"
    return said.hexdigest() + score.stdout


def flips(content, count, draw):
    end = 8 + struct.unpack("<Q", content[:8])[0]
    for number in range(count):
        at = draw.randrange(end if number % 2 else len(content))
        flipped = bytearray(content)
        flipped[at] ^= draw.choice([1 << draw.randrange(8), draw.randrange(1, 256)])
        yield at, bytes(flipped)


def flip(name, content, count, draw):
    whole = outcome("whole", content)
    check(f"{name}: the undamaged file loads: {whole}", len(whole) > 64 and not whole.startswith("exit"))
    counts = collections.Counter()

    def one(numbered):
        number, (at, flipped) = numbered
        return number, at, outcome(f"flip{number}", flipped)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for number, at, result in threads.map(one, enumerate(flips(content, count, draw))):
            kind = "refused" if result == "refused" else "identical" if result == whole else "different"
            counts[kind] += 1
            check(f"{name}: flip {number} (byte {at}, seed {args.seed}): {result}", kind != "different")
    print(f"{name} ({len(content)} bytes), with the tool: {counts['refused']} refused, {counts['identical']} "
          f"identical, {counts['different']} silently different or crashed")


def main():
    draw = random.Random(args.seed)
    print("random seed of the flips:", args.seed)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        write_data("data")
        options = ["--model", args.model, "--recipe", "best", "--batch-size", "50", "--threads", "1"]
        first = run("train", "--data", "data", "--epochs", "1", *options, "--out", "a")
        check("train: " + first.stderr, first.returncode == 0)
        flip("checkpoint", content_of("a/checkpoint.safetensors"), args.count, draw)
        for name in ("checkpoint", "model"):
            path = f"a/{name}.safetensors"
            flipped = subprocess.run([flip_files, path, str(args.file_count), str(args.seed)], capture_output=True,
                                     text=True)
            print(f"{name} ({os.path.getsize(path)} bytes), with the library:", flipped.stdout.strip())
            check(f"{name}, with the library: {flipped.stderr}", flipped.returncode == 0)
        os.chdir("/")
    sys.exit(finish())


main()
