#!/usr/bin/env python3
"""Strict runs of the tool on a GPU, real or emulated: a CPU confirms their hashes, and the other way round.

  strict_test.py TANDEM      ends with the line "N passed, N failed"
"""
import json
import os
import subprocess
import sys

from checks import check, finish, in_new_folder, refused
from idx_files import write_data

tandem = os.path.abspath(sys.argv[1])
CPU, GPU = "cpu:0", "cuda:0"
os.environ.pop("TANDEM_REPRODUCIBLE", None)


def tool(*words):
    return subprocess.run([tandem, *words], capture_output=True, text=True, timeout=300)


def train(folder, device, *words):
    it = tool("train", "--epochs", "2", "--devices", device, "--out", folder, *words)
    check(f"train {folder}", it.returncode == 0, it)


def confirmed(folder, device, *words):
    it = tool("verify", folder, "--devices", device, *words)
    check(f"{folder} on {device}", it.returncode == 0 and it.stdout.count("same bits") == 2, it)


def run(name, *words):
    train(f"{name}-gpu", GPU, "--reproducible", "strict", *words)
    confirmed(f"{name}-gpu", CPU)
    confirmed(f"{name}-gpu", GPU)
    train(f"{name}-cpu", CPU, *words)
    confirmed(f"{name}-cpu", GPU, "--reproducible", "strict")


def test_runs():
    write_data("data", 60)
    run("lenet", "--model", "lenet", "--data", "data", "--batch-size", "20", "--augment", "crop", "--threads", "1")
    with open("book.txt", "w") as file:
        file.write("".join(chr(97 + i * i % 23) for i in range(2000)))
    run("gpt2", "--model", "gpt2", "--data", "book.txt", "--layers", "1", "--width", "16", "--heads", "2", "--context", "12",
        "--steps", "4", "--batch-size", "3", "--threads", "1")


def test_mode():
    with open("lenet-gpu/config.json") as file:
        check("a run keeps its mode", json.load(file)["reproducible"] == "strict")
    it = tool("train", "--resume", "lenet-gpu")
    check("a resumed run has it", it.returncode == 0 and "reproducible: strict" in it.stdout, it)
    refused("another mode of a resumed run", tool("train", "--resume", "lenet-gpu", "--reproducible", "on"), "--reproducible",
            "another value")
    refused("an unknown mode", tool("train", "--reproducible", "stric"), "expected off, on or strict", "did you mean strict")


if not any(line.split()[:1] == [GPU] for line in tool("devices").stdout.splitlines()):
    sys.exit(finish(skipped=1))
in_new_folder([test_runs, test_mode])
sys.exit(finish())
