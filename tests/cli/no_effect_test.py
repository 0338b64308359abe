#!/usr/bin/env python3
"""No option is ignored without a word: one that would have no effect is refused.

  no_effect_test.py TANDEM        ends with the line "N passed, N failed"
"""
import os
import shutil
import subprocess
import sys

from checks import check, finish, in_new_folder, refused
from idx_files import write_data

tandem = os.path.abspath(sys.argv[1])


def tool(*args, **environment):
    return subprocess.run([tandem, *args], capture_output=True, text=True, timeout=120, env=os.environ | environment)


def train(*args):
    return tool("train", "--model", "linear", "--data", "data", "--epochs", "2", "--batch-size", "20", *args)


def test_training():
    check("a run", train("--recipe", "source", "--keep", "all", "--out", "a").returncode == 0)
    for options, parts in ((["--image-size", "64"], ["only image files are resized; those of ", "data are 28 x 28"]),
                           (["--decay", "matrices", "--recipe", "source"], ["nothing decays"]),
                           (["--decay", "matrices", "--weight-decay", "0"], ["nothing decays"]),
                           (["--patience", "2"], ["--patience 2: the run has only 2 epochs"]),
                           (["--hash-steps", "6"], ["--hash-steps 6: an epoch has only 5 steps"]),
                           (["--weights", "a/model.safetensors", "--init", "normal"], ["--init normal", "--weights"]),
                           (["--momentum", "0.9", "--optimizer", "adamw"], ["--momentum 0.9: only valid with"])):
        refused(f"train {options}", train(*options, "--out", "x"), *parts)
    check("nothing is left of them", not os.path.exists("x"))
    for options in (["--decay", "matrices"], ["--patience", "2", "--recipe", "source"], ["--hash-steps", "5"],
                    ["--weights", "a/model.safetensors", "--init", "default"]):
        check(f"train {options}", train(*options, "--out", "x").returncode == 0)
        shutil.rmtree("x", ignore_errors=True)
    refused("weights of another number of classes, of an only layer",
            tool("train", "--model", "linear", "--data", "five", "--weights", "a/model.safetensors"), "nothing in it fits linear")
    refused("weights for images of another size",
            tool("train", "--model", "mlp", "--data", "data", "--weights", "a/model.safetensors"), "--weights")
    refused("verify", tool("verify", "a", "--epochs", "2", "--weights", "a/model.safetensors"),
            "--weights", "these epochs start from kept checkpoints")
    check("where they have an effect", tool("verify", "a", "--epochs", "1").returncode == 0)


def test_one_of_several_processes():
    def two(*words):
        run = tool("launch", "-n", "2", tandem, *words)
        return run.returncode == 2 and "--processes 1: this is one of 2 processes" in run.stderr, run.stderr

    check("train", *two("train", "--model", "linear", "--data", "data", "--epochs", "1", "--processes", "1", "--out", "y"))
    check("verify", *two("verify", "a", "--processes", "1"))


def test_comparing():
    both = ["compare", "--model", "linear", "--data", "data", "--epochs", "1", "--devices", "cpu:0"]
    refused("the same number of devices", tool(*both, "--devices", "cpu:1", "--scaling", "weak"), "--scaling weak")
    refused("tf32 on a CPU", tool(*both, "--devices", "cpu:0,cpu:1", "--precision", "tf32"), "--precision tf32")
    run = tool(*both, "--processes", "2", "--shards", "0", "--out", "c", CUDA_VISIBLE_DEVICES="")
    with open("c/compare.json") as file:
        check("shards 0", '"shards": 0' in file.read(), run.stderr)


def test_empty_values():
    for words in (["train", "--weights", ""], ["train", "--recipe", ""], ["train", "--out", ""], ["train", "--freeze", ""],
                  ["eval", "a", "--data", ""], ["report", "a", "--out", ""], ["convert", "a", "x.pt", "--prefix", ""],
                  ["generate", "a", "--key", ""], ["launch", "--log-dir", "", "true"], ["verify", "a", "--weights", ""]):
        option = next(word for word in words if word.startswith("--"))
        refused(f"an empty value: {words}", tool(*words), f"{option}: the value is empty")
    refused("an empty folder", tool("eval", ""), "DIR: the value is empty")
    refused("nothing given", tool("summary", ""), "the value is empty")


def test_other_commands():
    refused("predict", tool("predict", "a", "x.png", "--classes", "missing.txt"), "--classes: not for a run")
    refused("predict", tool("predict", "a", "x.png", "--weights", "missing.pt"), "--weights: not for a run")
    refused("summary", tool("summary", "a", "--model", "mlp"), "--model: not with a, which has its own")
    refused("convert", tool("convert", "a", "x.pt", "--prefix", "net."), "--prefix net.: no name in a begins with it; the first is fc.weight")
    check("a prefix that is there", tool("convert", "a", "x.safetensors", "--prefix", "fc.").returncode == 0)
    refused("report", tool("report", "a", "--data", "nowhere"), "--data nowhere: ", "nowhere")
    check("a report of other data", tool("report", "a", "--data", "data").returncode == 0)


def make_data():
    write_data("data", 100)
    write_data("five", 100, classes=5)


if __name__ == "__main__":
    in_new_folder((make_data, test_training, test_empty_values, test_other_commands, test_one_of_several_processes, test_comparing))
    sys.exit(finish())
