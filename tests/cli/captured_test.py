#!/usr/bin/env python3
"""Runs of the tool: a captured step has the bits of an eager one, and --verbose.

  captured_test.py TANDEM [DEVICE]        on cuda:0, real or emulated, or cpu:0; ends with the line "N passed, N failed"

The first three steps of each kind in a process are eager. So a run that is resumed for every epoch, which has at most
three, is eager as a whole.
"""
import json
import math
import os
import re
import struct
import subprocess
import sys

from checks import check, finish, in_new_folder
from idx_files import write_data

tandem = os.path.abspath(sys.argv[1])
device = sys.argv[2] if len(sys.argv) > 2 else "cuda:0"
EPOCHS = 6
EAGER = "captured step: none: it needs one device, more than three steps of a kind, and --accumulate up to 32\n"
LINE = re.compile("captured step: its kernels are called without tape and allocations\n" if device == "cpu:0" else
                  r"captured step: [\d,]+ elementwise kernels? became \d+; they move [\d.]+ \w+ instead of [\d.]+ \w+\n")


def tool(*args):
    return subprocess.run([tandem, *args], capture_output=True, text=True, timeout=120)


def start(out, *args):
    return tool("train", "--model", "linear", "--data", "data", "--recipe", "source", "--devices", device, "--augment", "flip",
                "--hash-steps", "1", "--verbose", "--epochs", "1", *args, "--out", out)


def resume(folder, epochs, *args):
    return tool("train", "--resume", folder, "--epochs", str(epochs), "--devices", device, *args)


def copy_with(source, target, **progress):
    """Copies a run's checkpoint with other entries of its progress."""
    with open(f"{source}/checkpoint.safetensors", "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        header, content = json.loads(file.read(size)), file.read()
    meta = header["__metadata__"]
    del meta["tandem.crc32"]  # the checksums would refuse the change
    meta["progress"] = json.dumps(json.loads(meta["progress"]) | progress)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    os.makedirs(target)
    with open(f"{target}/checkpoint.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


def progress_of(folder):
    with open(f"{folder}/checkpoint.safetensors", "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        return json.loads(json.loads(file.read(size))["__metadata__"]["progress"])


def results(folder):
    """All that must not differ."""
    p = progress_of(folder)
    return [[line[key] for key in ("train_loss", "train_accuracy", "test_loss", "state_sha256", "step_hashes")]
            for line in p["history"]] + [p["loss_scale"], p["loss_scale_steps"], p["random_offset"]]


def compare(name, *args, **changes):
    run = start(f"{name} first", *args)
    check(f"{name}: the first epoch is eager", run.returncode == 0 and run.stderr == EAGER, run.stderr)
    for kind in ("eager", "captured"):
        copy_with(f"{name} first", f"{name} {kind}", **changes)
    for epoch in range(2, EPOCHS + 1):
        run = resume(f"{name} eager", epoch, "--verbose")
        check(f"{name}: epoch {epoch} is eager", run.returncode == 0 and run.stderr == EAGER, run.stderr)
    run = resume(f"{name} captured", EPOCHS, "--verbose")
    check(f"{name}: --verbose prints one line", run.returncode == 0 and LINE.fullmatch(run.stderr), run.stderr)
    eager, captured = results(f"{name} eager"), results(f"{name} captured")
    check(f"{name}: the same bits", captured == eager, [captured, eager])
    return captured


def test_one_batch():
    compare("one", "--batch-size", "40", "--clip", "0.5")
    run = start("quiet", "--batch-size", "10")
    check("a first epoch of many steps is captured", LINE.fullmatch(run.stderr), run.stderr)
    run = resume("quiet", 2)
    check("without --verbose nothing is said", run.returncode == 0 and run.stderr == "", run.stderr)


def test_accumulation():
    # 110 images: groups of 40, 40 and 30, of which the last batch has 10.
    compare("groups", "--batch-size", "20", "--accumulate", "2", "--clip", "0.5", "--ema", "0.9")
    run = start("many", "--batch-size", "1", "--accumulate", "40")
    check("groups of many batches are not captured", run.returncode == 0 and run.stderr == EAGER, run.stderr)


def test_loss_scale():
    # At this scale gradients overflow, and it is halved: more often than the six eager steps of two kinds.
    for name, more in (("scaled", ["--batch-size", "40", "--clip", "0.5"]),
                       ("scaled groups", ["--batch-size", "20", "--accumulate", "2"])):
        *_, scale, _, _ = compare(name, "--precision", "fp16", *more, loss_scale=2.0**27)
        skipped = 27 - math.log2(scale)
        check(f"{name}: steps were skipped, and taken", 6 < skipped < 3 * (EPOCHS - 1), skipped)


if not any(line.split()[:1] == [device] for line in tool("devices").stdout.splitlines()):
    sys.exit(finish(skipped=1))
in_new_folder([lambda: write_data("data", 110), test_one_batch, test_accumulation] +
              [test_loss_scale] * (device != "cpu:0"))
sys.exit(finish())
