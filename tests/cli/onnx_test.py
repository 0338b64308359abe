#!/usr/bin/env python3
"""ONNX models in the tool: inspect, convert, summary, predict, eval, train.

  onnx_test.py TANDEM                               ends with the line "N passed, N failed"
"""
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile

from checks import check, finish
import onnx_files
from picture_files import write_pictures

tandem = os.path.abspath(sys.argv[1])


def run(*command):
    env = {**os.environ, "TANDEM_CPU_DEVICES": "2"}
    return subprocess.run([tandem, *command], capture_output=True, text=True, errors="replace", timeout=300, env=env)


def refused(what, r, *parts, code=2):
    good = r.returncode == code and r.stderr.count("\n") == 1 and all(p in r.stderr for p in parts)
    check(what, good, (r.returncode, r.stderr))


def tensors(path):
    with open(path, "rb") as file:
        raw = file.read()
    size = 8 + struct.unpack("<Q", raw[:8])[0]
    return {name: raw[size + entry["data_offsets"][0]:size + entry["data_offsets"][1]]
            for name, entry in json.loads(raw[8:size]).items() if name != "__metadata__"}


def probabilities(*command):
    r = run("predict", *command, "pictures/val/red/0.png", "--json")
    try:
        return {c["class"]: c["probability"] for c in json.loads(r.stdout)[0]["classes"]}
    except (ValueError, IndexError):
        return r.stderr


def test_looking():
    shown = run("inspect", "net.onnx").stdout
    for part in ("by tests 1.0, IR version 8", "ai.onnx 17", "image: float32 [N, 3, 8, 8]", "scores: float32 [N, 2]",
                 "5: 1 BatchNormalization, 1 Conv, 1 Flatten, 1 Gemm, 1 Relu", "642 values"):
        check("inspect", part in shown, (part, shown))
    lines = {line.split()[0]: line.split() for line in shown.split("\n") if line.strip()}
    check("inspect a parameter", lines["fc.weight"][1:] == ["float32", "[2,", "256]", "parameter", "2.0", "KiB"], shown)
    check("inspect a buffer", "buffer" in lines["bn.running_var"], shown)
    shown = run("inspect", "bare.onnx").stdout
    check("what is joined counts as in the file", "1 Conv" in shown and "1 Relu" in shown, shown)
    r = run("convert", "net.onnx", "weights.safetensors")
    check("convert", r.returncode == 0 and "8 tensors" in r.stdout, r.stderr)
    names = list(tensors("weights.safetensors"))
    check("with ONNX's names", sorted(names) == sorted(n for n in lines if "." in n and n != "ai.onnx"), names)
    r = run("summary", "net.onnx", "--batch-size", "3")
    check("summary", "[3, 4, 8, 8]" in r.stdout and "Gemm" in r.stdout and "634" in r.stdout and
          "7,424 multiply-adds per input" in r.stdout, r.stdout + r.stderr)
    check("summary of --model", run("summary", "--model", "net.onnx", "--batch-size", "3").stdout == r.stdout)
    refused("a summary of another size", run("summary", "net.onnx", "--input", "3,9,9"), "net.onnx", "[N, 3, 8, 8]")


def test_predicting():
    own = probabilities("--model", "net.onnx")
    check("predict", len(own) == 2 and abs(sum(own.values()) - 1) < 1e-5, own)
    check("in the place of a run", probabilities("net.onnx") == own)
    check("a Softmax at the end", probabilities("soft.onnx") == own)
    check("data in another file", probabilities("data.onnx") == own)
    check("a file in training mode", probabilities("training.onnx") == own)
    named = probabilities("named.onnx")
    check("names of classes, and another range", set(named) == {"rot", "blau"} and
          sorted(named.values()) != sorted(own.values()), named)
    check("float16", set(probabilities("half.onnx")) == {"class 0", "class 1"}, probabilities("half.onnx"))
    r = run("eval", "net.onnx", "--data", "pictures")
    check("eval", r.returncode == 0 and "4 test images" in r.stdout, r.stderr)
    check("a batch of one", run("eval", "soft.onnx", "--data", "pictures").stdout == r.stdout)
    refused("eval without images", run("eval", "net.onnx"), "--data")


def test_training():
    start = ["--data", "pictures", "--batch-size", "4", "--augment", "flip"]
    check("train", (r := run("train", "--model", "net.onnx", *start, "--epochs", "2", "--out", "a")).returncode == 0 and
          "images of 8 x 8" in r.stdout and "learning rate 3.13e-05," in r.stdout, r.stdout + r.stderr)
    with open("net.onnx", "rb") as one, open("a/network.onnx", "rb") as other:
        check("the run has the file", one.read() == other.read())
    check("ONNX's names", tensors("a/model.safetensors").keys() == tensors("weights.safetensors").keys())
    r = run("verify", "a")
    check("verify", r.returncode == 0 and r.stdout.count("same bits") == 2, r.stdout + r.stderr)
    constant = ["--schedule", "constant", "--save-every", "0.0001"]
    run("train", "--model", "net.onnx", *start, *constant, "--epochs", "2", "--out", "whole")
    run("train", "--model", "net.onnx", *start, *constant, "--epochs", "1", "--out", "part")
    os.rename("net.onnx", "moved.onnx")
    refused("another model", run("train", "--resume", "part", "--model", "bare.onnx"), "--model")
    r = run("train", "--resume", "part", "--model", "moved/net.onnx", "--epochs", "2")
    check("resume without the file", r.returncode == 0 and
          tensors("part/model.safetensors") == tensors("whole/model.safetensors"), r.stderr)
    for words in (["eval", "a"], ["predict", "a", "pictures/val/red/0.png"], ["summary", "a"], ["report", "a"]):
        r = run(*words)
        check(words[0], r.returncode == 0, r.stderr)
    os.rename("moved.onnx", "net.onnx")
    r = run("train", "--model", "net.onnx", *start, "--epochs", "1", "--freeze", "all-but-head", "--ema", "0.5",
            "--devices", "cpu:0,cpu:1", "--out", "head")
    before, after = tensors("weights.safetensors"), tensors("head/model.safetensors")
    check("only the last layer trains, also not the statistics", "of which 514 train" in r.stdout and
          [n for n in before if before[n] != after[n]] == ["fc.weight", "fc.bias"], r.stdout + r.stderr)
    r = run("train", "--model", "merged.onnx", *start, "--epochs", "1", "--out", "merged")
    own = tensors("merged/model.safetensors")
    check("a variance that is the copy of a factor", r.returncode == 0 and " 634 parameters" in r.stdout and
          own["bn.weight"] != own["bn.running_var"], r.stdout + r.stderr)
    r = run("train", "--model", "training.onnx", *start, "--epochs", "1", "--out", "trained")
    check("train a file in training mode", r.returncode == 0 and " 634 parameters" in r.stdout, r.stdout + r.stderr)
    r = run("train", "--resume", "a")
    advised = r.stdout.split("start a new run: tandem ")[-1].split("\n")[0]
    r = run(*shlex.split(advised), "--epochs", "1", "--out", "advised")
    check("the advice of a complete run", r.returncode == 0, advised + r.stderr)
    with open("part/network.onnx", "r+b") as file:
        file.write(b"\x08\x07")
    refused("another network", run("train", "--resume", "part"), "part/network.onnx", "not the network")
    refused("another network", run("eval", "part"), "part/network.onnx", "not the network")
    os.remove("part/network.onnx")
    refused("no network", run("eval", "part"), "part/network.onnx")


def test_writing():
    run("train", "--data", "pictures", "--image-size", "16", "--epochs", "1", "--batch-size", "4", "--out", "lenet")
    run("train", "--model", "resnet18", "--data", "pictures", "--image-size", "32", "--epochs", "1", "--batch-size", "4",
        "--out", "resnet")
    for name in ("lenet", "resnet", "a", "trained"):
        r = run("convert", name, f"{name}.onnx")
        check(f"convert the run {name}", r.returncode == 0 and "2 classes" in r.stdout, r.stdout + r.stderr)
        own = probabilities(name)
        check("with the names of its classes", set(own) == {"red", "sea"} and probabilities(f"{name}.onnx") == own,
              (own, probabilities(f"{name}.onnx")))
        check("for any number of images",
              run("eval", f"{name}.onnx", "--data", "pictures").stdout == run("eval", name).stdout.replace(os.getcwd() + "/", ""),
              run("eval", f"{name}.onnx", "--data", "pictures"))
    r = run("train", "--model", "resnet.onnx", "--data", "pictures", "--epochs", "1", "--batch-size", "4", "--out", "again")
    check("train what was written", r.returncode == 0 and "images of 32 x 32" in r.stdout, r.stdout + r.stderr)
    names = tensors("again/model.safetensors")
    check("its names", "net.layer4.1.bn2.running_var" in names and "net.fc.weight" in names, sorted(names)[:9])
    run("convert", "resnet.onnx", "before.safetensors")
    before = tensors("before.safetensors")
    check("but for what prepares the images", names["normalize.mean"] == before["normalize.mean"] and
          names["normalize.std"] == before["normalize.std"] and names["net.fc.weight"] != before["net.fc.weight"])
    for name in ("lenet", "resnet", "trained"):
        r = run("convert", name, f"{name}.safetensors")
        check(f"weights of the run {name}", tensors(f"{name}.safetensors") == tensors(f"{name}/model.safetensors"),
              r.stdout + r.stderr)
    refused("no run", run("convert", "weights.safetensors", "x.onnx"), "weights.safetensors", "folder of a run")
    refused("no run", run("convert", "pictures", "x.onnx"), "pictures does not contain a run")
    refused("options of weights", run("convert", "lenet", "x.onnx", "--prefix", "fc."), "--prefix")
    refused("no folder", run("convert", "lenet", "nowhere/x.onnx"), "nowhere/x.onnx", code=1)
    check("nothing was written", not [name for name in os.listdir(".") if name.startswith((".", "x."))], os.listdir("."))


def test_mistakes():
    start = ["--data", "pictures", "--epochs", "1", "--out", "none"]
    refused("a name", run("inspect", "nett.onnx"), "nett.onnx: cannot be opened", code=1)
    refused("a name", run("train", "--model", "nett.onnx", *start), "nett.onnx")
    refused("a name", run("predict", "--model", "nett.onnx", "x.png"), "nett.onnx: cannot be opened")
    refused("a name", run("summary", "nett.onnx"), "nett.onnx: cannot be opened", code=1)
    refused("a name", run("convert", "nett.onnx", "x.pt"), "nett.onnx: cannot be opened", code=1)
    for name, content in (("text.onnx", b"some text"), ("cut.onnx", open("net.onnx", "rb").read()[:-99])):
        onnx_files.write(name, content)
        refused(name, run("inspect", name), name, code=1)
        refused(name, run("train", "--model", name, *start), name)
        refused(name, run("predict", name, "x.png"), name)
    refused("three classes", run("train", "--model", "three.onnx", *start), "three.onnx", "3 classes", "have 2")
    refused("three classes", run("eval", "three.onnx", "--data", "pictures"), "three.onnx", "3 classes", "have 2")
    refused("another size", run("train", "--model", "net.onnx", "--image-size", "16", *start), "3 x 8 x 8", "3 x 16 x 16")
    refused("initialisation", run("train", "--model", "net.onnx", "--init", "normal", *start), "--init")
    refused("data in another file", run("train", "--model", "data.onnx", *start), "data.onnx", "another file")
    refused("float16", run("train", "--model", "half.onnx", *start), "half.onnx", "float32")
    refused("batches of 2", run("predict", "two.onnx", "x.png"), "two.onnx", "batches of 2")
    refused("tokens", run("predict", "tokens.onnx", "x.png"), "tokens.onnx", "int64 [N, T]", "network for images")
    refused("names of classes", run("predict", "wrong.onnx", "x.png"), "wrong.onnx", "tandem.classes")
    refused("a range", run("predict", "range.onnx", "x.png"), "range.onnx", "NominalRange_16_235")
    refused("sizes of tokens", run("summary", "tokens.onnx"), "--input", "[N, T]")
    check("sizes of tokens", "[1, 5]" in run("summary", "tokens.onnx", "--input", "5").stdout)
    check("nothing was created for runs that did not start", not os.path.exists("none"))


def write_models():
    classes, span = "tandem.classes", "Image.NominalPixelRange"
    onnx_files.classifier("net.onnx")
    onnx_files.classifier("bare.onnx", norm=False)
    onnx_files.classifier("merged.onnx", merged=True)
    onnx_files.classifier("training.onnx", training=True)
    onnx_files.classifier("soft.onnx", end="Softmax", batch=1)
    onnx_files.classifier("data.onnx", data="data.bin")
    onnx_files.classifier("named.onnx", metadata={classes: '["rot", "blau"]', span: "Normalized_0_1"})
    onnx_files.classifier("half.onnx", dtype=onnx_files.FLOAT16)
    onnx_files.classifier("three.onnx", classes=3)
    onnx_files.classifier("two.onnx", batch=2)
    onnx_files.classifier("wrong.onnx", metadata={classes: '{"a": 1}'})
    onnx_files.classifier("range.onnx", metadata={span: "NominalRange_16_235"})
    table = onnx_files.tensor("table", [9, 3], [0.5] * 27)
    onnx_files.write("tokens.onnx", onnx_files.model([onnx_files.node("Gather", ["table", "ids"], ["y"])], [table],
                                                     [("ids", onnx_files.INT64, ["N", "T"])],
                                                     [("y", onnx_files.FLOAT, ["N", "T", 3])]))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    write_models()
    write_pictures("pictures")
    if "built without" in (said := run("inspect", "net.onnx").stderr):
        check("a build without ONNX says what it needs", "net.onnx" in said and "libonnx-dev" in said, said)
    else:
        for name, test in list(globals().items()):
            if name.startswith("test_"):
                test()
    os.chdir("/")

sys.exit(finish())
