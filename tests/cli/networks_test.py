#!/usr/bin/env python3
"""Trains published networks on small data sets in the formats of CIFAR and of folders of images; fine-tunes; resumes.

  networks_test.py TANDEM                           ends with the line "N passed, N failed"
"""
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile

from checks import check, finish
from picture_files import write_cifar10, write_cifar100, write_pictures, write_png

tandem = os.path.abspath(sys.argv[1])


def run(*command, data=None, **more):
    one_gpu = {"CUDA_VISIBLE_DEVICES": ""} if "--processes" in command else {}  # it serves one of them only
    env = {**os.environ, **one_gpu, **more, "XDG_CACHE_HOME": "/nonexistent", "HOME": "/nonexistent", "TANDEM_DATA": data or "",
           "TANDEM_CPU_DEVICES": "4"}
    return subprocess.run([tandem, *command], capture_output=True, text=True, errors="replace", timeout=300, env=env)


def names_in(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    return {name: entry["shape"] for name, entry in header.items() if name != "__metadata__"}


def content(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        return str(error)


def tensors(path):
    """The bytes of each tensor."""
    raw = content(path)
    size = 8 + struct.unpack("<Q", raw[:8])[0]
    return {name: raw[size + entry["data_offsets"][0]:size + entry["data_offsets"][1]]
            for name, entry in json.loads(raw[8:size]).items() if name != "__metadata__"}


def wrapped(path, prefix, to):
    """Writes the file's tensors with the prefix before their names."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        values = file.read()
    header = json.dumps({prefix + name: entry for name, entry in header.items() if name != "__metadata__"})  # nor sums
    header += " " * (-len(header) % 8)
    with open(to, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header.encode() + values)
    return to


def metrics(folder):
    """The figures of each epoch."""
    with open(f"{folder}/metrics.jsonl") as file:
        return [{k: v for k, v in json.loads(line).items() if "loss" in k or "accuracy" in k} for line in file]


with tempfile.TemporaryDirectory() as folder:
    at = lambda name: os.path.join(folder, name)
    write_cifar10(at("cifar-10-batches-bin"))
    write_cifar100(at("cifar-100-binary"))
    write_pictures(at("pictures"))
    batches = ["--batch-size", "10"]
    quick = [*batches, "--epochs", "1"]

    r = run("train", "--model", "resnet18", "--data", "cifar10", *batches, "--epochs", "2", "--out", at("whole"),
            data=folder)
    check("resnet18 trains on cifar10", r.returncode == 0, r.stderr)
    check("it says what it trains", "resnet18, 11,181,642 parameters" in r.stdout and
          "40 training and 8 test images of 32 x 32, 10 classes" in r.stdout and "crop" in r.stdout, r.stdout)
    weights = at("whole/model.safetensors")
    if os.path.exists(weights):
        names = names_in(weights)
        check("the weights have torchvision's names", names.get("fc.weight") == [10, 512] and
              "layer4.1.bn2.running_var" in names and not any("normalize" in name for name in names), sorted(names)[:5])
    r = run("train", "--model", "resnet18", "--data", at("cifar-10-batches-bin"), *batches, "--epochs", "2",
            "--out", at("part"), "--save-every", "0.001")
    check("the folder of the files works as well", r.returncode == 0, r.stderr)
    check("with the same result",
          os.path.exists(at("part/model.safetensors")) and content(weights) == content(at("part/model.safetensors")))
    r = run("eval", at("part"))
    check("eval finds the data again", r.returncode == 0 and "8 test images" in r.stdout, r.stdout + r.stderr)

    r = run("train", "--model", "resnet18", "--data", at("cifar-100-binary"), *quick, "--weights",
            wrapped(weights, "_orig_mod.module.", at("wrapped.safetensors")), "--out", at("fine"))
    check("fine-tuning, with the names of wrappers, gets a new last layer",
          r.returncode == 0 and "learning rate 0.000781," in r.stdout,  # 0.01 for batches of 128
          r.stdout + r.stderr)
    check("with the classes of the data", names_in(at("fine/model.safetensors")).get("fc.weight") == [100, 512]
          if os.path.exists(at("fine/model.safetensors")) else False)
    r = run("train", "--model", "resnet18", "--data", at("cifar-100-binary"), *quick, "--weights", weights,
            "--freeze", "all-but-head", "--augment", "randaugment", "--accumulate", "2", "--out", at("head"))
    check("only the last layer trains", r.returncode == 0 and "of which 51,300 train" in r.stdout, r.stdout + r.stderr)
    if r.returncode == 0:
        before, after = tensors(weights), tensors(at("head/model.safetensors"))
        check("the others stay, also their statistics",
              all(before[name] == after[name] for name in before if not name.startswith("fc.")))
    r = run("train", "--model", "resnet18", "--data", "cifar10", "--batch-size", "13", "--out", at("one"), data=folder)
    check("a last batch of one image", r.returncode == 2 and "choose another --batch-size than 13" in r.stderr
          and not os.path.exists(at("one")), r.stderr)
    r = run("train", "--model", "resnet18", "--data", "cifar10", "--freeze", "layer5,fc", data=folder)
    check("an unknown layer",
          r.returncode == 2 and "--freeze layer5" in r.stderr and "layer1, layer2, layer3" in r.stderr, r.stderr)
    r = run("compare", "--model", "resnet18", "--data", "cifar10", "--devices", "cpu:0", "--devices", "cpu:0,cpu:1",
            "--epochs", "1", "--images", "20", *batches, "--freeze", "conv1", "--out", at("compared"), data=folder)
    check("compare uses the recipe of train",
          r.returncode == 0 and "momentum 0.9" in r.stdout and "augmentation crop" in r.stdout,
          r.stdout + r.stderr)
    r = run("train", "--model", "vgg11", "--data", at("cifar-100-binary"), *quick, "--weights", weights,
            "--out", at("bad"))
    check("weights of another network are refused",
          r.returncode == 2 and "--weights" in r.stderr and "features.0.weight" in r.stderr
          and not os.path.exists(at("bad")), r.stderr)
    check("with what they are, in few words", "features.6.weight, and 17 more; unexpected: " in r.stderr and
          "; the file looks like resnet18: --model resnet18\n" in r.stderr and len(r.stderr) < 800, r.stderr)
    for words in (["summary", "--model", "resnet34", "--weights", weights],
                  ["predict", "--model", "resnet50", "--weights", at("fine/model.safetensors"), "x.png"]):
        r = run(*words)
        check(f"{words[0]}: what the file looks like", r.returncode in (1, 2) and
              "; the file looks like resnet18: --model resnet18\n" in r.stderr, r.stderr)

    # Averages of running statistics, which shards update in order.
    for name, devices in (("one_device", "cpu:0"), ("two_devices", "cpu:0,cpu:1")):
        r = run("train", "--model", "mobilenet_v2", "--data", at("cifar-100-binary"), "--batch-size", "8",
                "--epochs", "1", "--lr", "0.01",
                "--shards", "2", "--accumulate", "2", "--clip", "1", "--ema", "0.9",
                "--freeze", "features.0,features.1*", "--devices", devices, "--out", at(name))
        check(f"averages on {devices}", r.returncode == 0, r.stderr)
    check("have the same bits",
          content(at("one_device/model.safetensors")) == content(at("two_devices/model.safetensors")))

    # Clipped: with planes of one pixel and a last batch of two images, batch normalisation makes gradients of 1e20.
    quick_clipped = [*quick, "--clip", "1"]
    pictures = ["train", "--model", "mobilenet_v2", "--data", at("pictures"), *quick_clipped, "--image-size", "32"]
    r = run(*pictures, "--out", at("pictures_run"))
    check("a folder of images",
          r.returncode == 0 and "12 training and 4 test images of 32 x 32, 2 classes" in r.stdout and
          "augmentation resized-crop" in r.stdout and "files read in each epoch" in r.stdout, r.stdout + r.stderr)
    r = run("train", "--resume", at("pictures_run"), "--epochs", "1")
    check("resumes with its image size", r.returncode == 0, r.stderr)
    advised = r.stdout.split("start a new run: tandem ")[-1].split("\n")[0]
    r = run(*shlex.split(advised), *quick_clipped, "--out", at("advised"))
    check("a complete run's advice has it, too", r.returncode == 0 and " 32 x 32," in r.stdout, advised + r.stderr)
    r = run(*pictures, "--workers", "2", "--out", at("workers"), TANDEM_IMAGE_MEMORY="0")
    check("workers, and test images in files", r.returncode == 0, r.stderr)
    check("with the same result",
          content(at("workers/model.safetensors")) == content(at("pictures_run/model.safetensors")))
    check("and the same metrics", metrics(at("workers")) == metrics(at("pictures_run")), metrics(at("workers")))
    r = run("eval", at("pictures_run"), TANDEM_IMAGE_MEMORY="0")
    check("eval reads files", r.returncode == 0 and "4 test images" in r.stdout, r.stdout + r.stderr)
    r = run("eval", at("pictures_run"), TANDEM_IMAGE_MEMORY="x")
    check("an invalid limit", r.returncode == 2 and "TANDEM_IMAGE_MEMORY" in r.stderr, r.stderr)
    small = ["train", "--data", at("pictures"), "--image-size", "32", "--batch-size", "4", "--shards", "4",
             "--epochs", "2", "--recipe", "images", "--lr", "0.01"]
    for name, more in (("one", ["--devices", "cpu:0"]), ("two", ["--processes", "2"]),
                       ("kept", ["--augment", "flip"])):
        r = run(*small, *more, "--out", at(name))
        check(f"LeNet on image files: {name}", r.returncode == 0, r.stderr)
    check("two processes, the same bits", content(at("one/model.safetensors")) == content(at("two/model.safetensors")))
    check("another augmentation, another result",
          content(at("one/model.safetensors")) != content(at("kept/model.safetensors")))
    r = run(*small, "--augment", "flip", "--out", at("unkept"), TANDEM_IMAGE_MEMORY="0")
    check("in memory or not, the same bits",
          content(at("unkept/model.safetensors")) == content(at("kept/model.safetensors")), r.stderr)
    red = at("pictures/val/red/0.png")
    r = run("predict", at("pictures_run"), red, at("pictures/val/sea"), "--json")
    try:
        found = json.loads(r.stdout)
    except ValueError:
        found = []
    check("predict classifies files and folders", r.returncode == 0 and [os.path.basename(f["file"]) for f in found] ==
          ["0.png", "0.png", "1.png"] and {c["class"] for c in found[0]["classes"]} == {"red", "sea"} and
          abs(sum(c["probability"] for c in found[0]["classes"]) - 1) < 1e-5, r.stdout + r.stderr)
    network = ["predict", "--model", "mobilenet_v2", "--weights", at("pictures_run/model.safetensors"),
               "--devices", "cpu:3"]
    with open(at("names.txt"), "w") as file:
        file.write("rot\nblau\n")
    r = run(*network, "--classes", at("names.txt"), red, at("none.png"))
    check("a network with its weights, and the other files if one is missing",
          r.returncode == 1 and "rot" in r.stdout and
          "none.png" in r.stderr, r.stdout + r.stderr)
    r = run(*network, "--classes", os.devnull, red)
    check("an empty file of names", r.returncode == 2 and "--classes" in r.stderr, r.stderr)
    r = run("predict", "--model", "resnet18", "--weights", at("pictures_run/model.safetensors"), red)
    check("weights of another network", r.returncode == 2 and "--weights" in r.stderr and "conv1.weight" in r.stderr,
          r.stderr)
    with open(at("pictures/train/sea/0.png"), "r+b") as file:
        file.truncate(40)
    r = run(*pictures, "--out", at("broken"))
    check("a broken image is named", r.returncode == 2 and "sea/0.png" in r.stderr and "--skip-broken" in r.stderr and
          not os.path.exists(at("broken")), r.stderr)
    for name, content_of_it in (("val/sea/empty.png", ""), ("train/red/named.jpg", "some text")):
        with open(at("pictures/" + name), "w") as file:
            file.write(content_of_it)
    write_png(at("pictures/train/red/thin.png"), 1, 5000, (200, 30, 30))
    listed = ("3 broken images:", "sea/0.png: ", "sea/empty.png: the file is empty",
              "red/named.jpg: another kind of file")
    for name, memory in (("skipped", ""), ("skipped_files", "0")):
        r = run(*small, "--skip-broken", "--out", at(name), TANDEM_IMAGE_MEMORY=memory)
        check("broken images are left out and listed, a thin one is not",
              r.returncode == 0 and all(part in r.stderr for part in listed) and
              "12 training and 4 test images" in r.stdout, r.stdout + r.stderr)
    check("in memory or not",
          content(at("skipped/model.safetensors")) == content(at("skipped_files/model.safetensors")))
    r = run("eval", at("skipped"))
    check("eval leaves them out, too",
          r.returncode == 0 and "1 broken image:" in r.stderr and "4 test images" in r.stdout, r.stdout + r.stderr)
    r = run("report", at("skipped"))
    check("and report", r.returncode == 0 and "no predictions" not in r.stdout, r.stdout + r.stderr)
    r = run("train", "--resume", at("skipped"))
    check("and a resumed run", r.returncode == 0 and "3 broken images:" in r.stderr, r.stderr)
    r = run("train", "--resume", at("one"), "--skip-broken")
    check("which was started with it", r.returncode == 2 and "--skip-broken" in r.stderr, r.stderr)
    r = run("predict", at("skipped"), at("pictures/train/red"))
    check("a thin image and a broken one",
          r.returncode == 1 and "thin.png" in r.stdout and "named.jpg: another kind" in r.stderr,
          r.stdout + r.stderr)
    os.rename(at("pictures/val/sea"), at("pictures/val/see"))
    r = run(*pictures, "--out", at("broken"))
    check("classes of one part only are named", r.returncode == 2 and "only in train: sea" in r.stderr and
          "only in val: see" in r.stderr, r.stderr)

    r = run("train", "--model", "resnet18", "--data", "cifar10", "--out", at("none"))
    check("a missing data set says where to get it", r.returncode == 2 and "cifar-10-binary.tar.gz" in r.stderr,
          r.stderr)
    r = run("train", "--model", "vit_b_16", "--data", at("cifar-100-binary"), "--out", at("none"))
    check("images of the wrong size are refused", r.returncode == 2 and "224 x 224" in r.stderr, r.stderr)
    r = run("train", "--model", "resnet19", "--data", "cifar10", data=folder)
    check("a misspelt name gets a suggestion", r.returncode == 2 and "resnet18" in r.stderr, r.stderr)
    check("nothing was created for runs that did not start", not os.path.exists(at("none")))

sys.exit(finish())
