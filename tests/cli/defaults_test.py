#!/usr/bin/env python3
"""Trains as somebody does who names a model and an optimizer, and nothing else: every default must learn.

  defaults_test.py TANDEM        ends with the line "N passed, N failed"
"""
import gzip
import json
import os
import re
import subprocess
import sys

from checks import check, finish, in_new_folder
from idx_files import idx
from picture_files import write_gray_png

tandem = os.path.abspath(sys.argv[1])
FOLDERS = ("/usr/share/datasets/fashion-mnist", os.path.join(os.environ.get("TANDEM_DATA") or "-", "fashion-mnist"))
CHANCE = 0.1


def tool(*args):
    return subprocess.run([tandem, *args], capture_output=True, text=True, timeout=280)


def content(folder, name):
    path = f"{folder}/{name}"
    with gzip.open(path + ".gz") if os.path.exists(path + ".gz") else open(path, "rb") as file:
        return file.read()


def images_of(folder, part, count):
    pixels, labels = content(folder, f"{part}-images-idx3-ubyte")[16:], content(folder, f"{part}-labels-idx1-ubyte")[8:]
    return [(pixels[784 * i:784 * i + 784], labels[i]) for i in range(count)]


def write_parts(folder):
    """The first images, as a data set in memory and as files."""
    os.makedirs("few")
    for part, few, files in (("train", 12000, 2400), ("t10k", 1000, 400)):
        images = images_of(folder, part, few)
        idx(f"few/{part}-images-idx3-ubyte", (few, 28, 28), b"".join(pixels for pixels, _ in images))
        idx(f"few/{part}-labels-idx1-ubyte", (few,), bytes(label for _, label in images))
        for i, (pixels, label) in enumerate(images[:files]):
            place = f"files/{'train' if part == 'train' else 'test'}/{label}"
            os.makedirs(place, exist_ok=True)
            write_gray_png(f"{place}/{i}.png", 28, 28, pixels)


def metrics(folder):
    with open(f"{folder}/metrics.jsonl") as file:
        return [json.loads(line) for line in file]


def test_every_default_learns():
    for model in ("lenet", "mlp", "linear", "resnet18"):
        data = ["--data", "files", "--image-size", "32"] if model == "resnet18" else ["--data", "few"]
        for optimizer in ("sgd", "adamw"):
            out = f"{model}-{optimizer}"
            run = tool("train", "--model", model, "--optimizer", optimizer, "--epochs", "1", "--out", out, *data)
            reached = metrics(out)[0]["test_accuracy"] if run.returncode == 0 else run.stderr
            check(f"{model} with {optimizer}", run.returncode == 0 and reached >= 3 * CHANCE, reached)
            recipe = "images" if model == "resnet18" else "best"
            check(f"{model} with {optimizer} says how", f", recipe {recipe}: {optimizer}, batch " in run.stdout
                  and ", initialisation default, seed 0\n" in run.stdout, run.stdout)


def test_small_batches():
    """The rate falls with the batch: with that of large batches this diverges."""
    run = tool("train", "--model", "resnet18", "--data", "files", "--image-size", "32", "--batch-size", "8", "--epochs", "1",
               "--out", "small")
    check("batches of 8", run.returncode == 0 and "learning rate 0.00125," in run.stdout
          and metrics("small")[0]["test_accuracy"] >= 3 * CHANCE, run.stdout + run.stderr)


def test_moving_average():
    """A decay of 0.999 averages a thousand steps; an epoch here has 188."""
    run = tool("train", "--model", "mlp", "--data", "few", "--ema", "0.999", "--epochs", "1", "--out", "average")
    line = metrics("average")[0]
    check("the average keeps up", run.returncode == 0
          and line["test_accuracy"] > line["test_accuracy_without_average"] - 0.03 and line["test_accuracy"] > 0.7, line)
    shown = re.search(r"test loss [\d.]+  accuracy ([\d.]+) \(without average ([\d.]+)\)", run.stdout)
    check("both are printed", shown and shown.groups() == tuple(
        f"{line[name]:.4f}" for name in ("test_accuracy", "test_accuracy_without_average")), run.stdout)


def main():
    folder = next((f for f in FOLDERS if os.path.exists(f"{f}/train-images-idx3-ubyte.gz")
                   or os.path.exists(f"{f}/train-images-idx3-ubyte")), None)
    if folder is None:
        print("Fashion-MNIST is missing: nothing is trained")
        return finish(skipped=3)
    in_new_folder((lambda: write_parts(folder), test_every_default_learns, test_small_batches, test_moving_average))
    return finish()


if __name__ == "__main__":
    sys.exit(main())
