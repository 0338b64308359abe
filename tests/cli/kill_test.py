#!/usr/bin/env python3
"""Kills training runs at random moments, resumes them, and holds the result against an uninterrupted run, bit for bit.

  kill_test.py TANDEM        ends with the line "N passed, N failed"
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

tandem = os.path.abspath(sys.argv[1])
passed = failed = 0


def check(what, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what)


def command(*args):
    return [tandem, "train", *args, "--save-every", "0.1"]


def bytes_of(folder):
    with open(os.path.join(folder, "model.safetensors"), "rb") as file:
        return file.read()


def metrics(folder):
    with open(os.path.join(folder, "metrics.jsonl")) as file:
        lines = [json.loads(line) for line in file]
    return [{k: v for k, v in line.items() if k not in ("seconds", "images_per_second")} for line in lines]


def main():
    seed = random.randrange(10**6)
    random.seed(seed)
    print("moments from seed", seed)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        options = ["--model", "mlp", "--epochs", "2", "--batch-size", "100", "--recipe", "best"]
        began = time.time()
        first = subprocess.run(command(*options, "--out", "whole"), capture_output=True, text=True)
        if "fashion-mnist" in first.stderr:
            print("[skipped] no Fashion-MNIST:", first.stderr.strip().splitlines()[0])
            sys.exit(77)
        whole = time.time() - began
        check("the uninterrupted run: " + first.stderr, first.returncode == 0)
        arguments = [*options, "--out", "cut"]
        for number in range(4):
            how = random.choice([signal.SIGKILL, signal.SIGINT])
            run = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL)
            time.sleep(0.3 + random.random() * 0.3 * whole)
            run.send_signal(how)
            code = run.wait()
            check(f"stop {number} by {how.name}: exit code {code}", code in (-how, 128 + how, 0))
            if os.path.exists("cut/checkpoint.safetensors"):
                arguments = ["--resume", "cut", "--threads", random.choice(["1", "2"]), "--workers", random.choice(["0", "2"])]
        last = subprocess.run(command(*arguments), capture_output=True, text=True)
        check("the last resumption: " + last.stderr, last.returncode == 0)
        check("parameters equal bit for bit", bytes_of("whole") == bytes_of("cut"))
        check("metrics equal", metrics("whole") == metrics("cut"))
        check("no temporary file is left by the last run", "checkpoint.safetensors" in os.listdir("cut"))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
