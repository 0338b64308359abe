#!/usr/bin/env python3
"""Runs the tool as a user does, on a small data set: folders, resuming, broken checkpoints, usage errors.

  tool_test.py TANDEM [NAME]        ends with the line "N passed, N failed"
"""
import fcntl
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

from checks import check, finish, refused
from idx_files import idx

tandem = os.path.abspath(sys.argv[1])
jpeg = os.path.abspath(os.path.join(os.path.dirname(__file__), "../datasets/vision/files/progressive.jpg"))
sanitized = re.search(rb"__[at]san_init", open(tandem, "rb").read()) is not None


def tool(*args, **options):
    options.setdefault("timeout", 120)
    if "--processes" in args:  # a GPU serves one of them only
        options.setdefault("env", os.environ | {"CUDA_VISIBLE_DEVICES": ""})
    try:
        return subprocess.run([tandem, *args], capture_output=True, text=True, errors="replace", **options)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, "timeout", "", "")


def limit_of(name, value):
    """For preexec_fn: sets a resource limit of the child. Sanitizers need unlimited address space."""
    if name == "RLIMIT_AS" and sanitized:
        return None
    return lambda: resource.setrlimit(getattr(resource, name), (value, value))


def write_data(folder, count=200, size=28, seed=1):
    os.makedirs(folder)
    draw = random.Random(seed)
    for part, n in (("train", count), ("t10k", 50)):
        idx(f"{folder}/{part}-images-idx3-ubyte", (n, size, size), draw.randbytes(n * size * size))
        labels = bytes(range(10)) + bytes(draw.randrange(10) for _ in range(n - 10))
        idx(f"{folder}/{part}-labels-idx1-ubyte", (n,), labels)


def recipe(args):
    """Most tests use the recipe source, whose runs can go on for more epochs."""
    return [] if "--recipe" in args or "--resume" in args else ["--recipe", "source"]


def train(*args, **options):
    return tool("train", "--model", "linear", "--threads", "1", "--epochs", "1", "--batch-size", "50", *recipe(args),
                *args, **options)


def read_checkpoint(folder):
    with open(f"{folder}/checkpoint.safetensors", "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(size)), file.read()


def write_checkpoint(folder, header, content):
    os.makedirs(folder, exist_ok=True)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(f"{folder}/checkpoint.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + content)


def changed(source, target, **entries):
    """Copies a run with changed metadata: a text replaces an entry, a dictionary changes entries of its JSON."""
    header, content = read_checkpoint(source)
    meta = header["__metadata__"]
    meta.pop("tandem.crc32")  # the checksums would refuse the change first
    for key, value in entries.items():
        meta[key] = json.dumps(json.loads(meta[key]) | value) if isinstance(value, dict) else value
    shutil.rmtree(target, ignore_errors=True)
    write_checkpoint(target, header, content)


def files(folder):
    return sorted(os.listdir(folder))


RUN_FILES = ["checkpoint.safetensors", "config.json", "curve.svg", "metrics.jsonl", "model.safetensors"]


def test_data_from_another_folder():
    os.makedirs("elsewhere")
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    check("the data's path is absolute", json.load(open("a/config.json"))["data"] == os.path.abspath("data"))
    check("eval elsewhere", tool("eval", "../a", cwd="elsewhere").returncode == 0)
    check("resumed elsewhere", tool("train", "--resume", "../a", "--epochs", "2", cwd="elsewhere").returncode == 0)
    shutil.copytree("data", "moved/data")
    check("its copy", tool("train", "--resume", "a", "--epochs", "3", "--data", "moved/data/").returncode == 0)
    check("the copy stays", json.load(open("a/config.json"))["data"] == os.path.abspath("moved/data"))
    write_data("other", seed=2)
    refused("other data", tool("train", "--resume", "a", "--data", "other"),
            "not the data that the run was started with")
    shutil.rmtree("moved")
    refused("data gone", tool("train", "--resume", "a"), "no such folder exists", "give its new location with --data")
    check("a complete run", tool("train", "--resume", "a", "--data", "data").returncode == 0)
    os.makedirs("deep/er")
    shutil.copytree("data", "deep/data")
    os.symlink("deep/er", "link")
    check("through a link", train("--data", "link/../data", "--out", "l").returncode == 0)
    check("through a link", json.load(open("l/config.json"))["data"] == os.path.realpath("deep/data"))
    os.symlink("deep/data", "named")
    check("a link", train("--data", "named", "--out", "n").returncode == 0)
    check("a link", json.load(open("n/config.json"))["data"] == os.path.abspath("named"))
    check("the default folder", train("--data", "data/").returncode == 0 and files("runs/linear-data-1") == RUN_FILES)


def test_folders_are_not_overwritten():
    for name in RUN_FILES[1:]:
        os.makedirs("foreign", exist_ok=True)
        open(f"foreign/{name}", "w").write("mine")
        refused(name, train("--data", "data", "--out", "foreign"), "--out foreign: contains " + name, "--resume")
        check(name + " is untouched", open(f"foreign/{name}").read() == "mine" and files("foreign") == [name])
        shutil.rmtree("foreign")
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    refused("a run", train("--data", "data", "--out", "a"), "continue it with --resume a")
    refused("no data", train("--data", "none", "--out", "new/b"), "unknown data set")
    write_data("tiny", size=8)
    refused("too small", tool("train", "--data", "tiny", "--out", "new/b"), "at least 14 x 14")
    check("nothing is created", not os.path.exists("new"))
    refused("empty --out", train("--data", "data", "--out", ""), "--out")
    refused("empty --resume", train("--data", "data", "--resume", ""), "--resume")
    refused("overlong", train("--data", "data", "--out", "x" * 5000), "File name too long")
    refused("overlong", tool("eval", "x" * 5000), "File name too long")
    refused("a file", train("--data", "data", "--out", tandem), "not a folder")


def test_hostile_checkpoints():
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    deep = "[" * 1000000 + "]" * 1000000
    header, _ = read_checkpoint("a")
    progress = header["__metadata__"]["progress"]
    changed("a", "b", progress=re.sub(r'"history":.*', '"history":[' + deep + "]}", progress))
    for command in (("train", "--resume", "b"), ("eval", "b")):
        refused("deep", tool(*command), "nested deeper")
    changed("a", "b", config=deep)
    refused("deep", tool("eval", "b"), "nested deeper")
    limit = limit_of("RLIMIT_AS", 3 << 30)
    for entry in ({"input": [65536, 65536, 1]}, {"class_count": 1 << 20}, {"model": "mlp"}):
        changed("a", "b", config=entry)
        refused(f"{entry}", tool("predict", "b", "x.png", preexec_fn=limit), "the stored parameters do not fit model")
    changed("a", "b", config={"input": [60000, 60000, 60000]})
    refused("huge", tool("eval", "b", "--data", "data"))
    for entry in ({"history": [{}]}, {"history": [1]}, {"epoch": -1}, {"epoch": 1 << 62}, {"batch": 1 << 40},
                  {"seconds": -1}):
        changed("a", "b", progress=entry)
        refused(f"{entry}", tool("train", "--resume", "b", "--epochs", str(10**9)), "--resume")
    for entry in ({"lr": -1}, {"lr": None}, {"lr": 1e300}, {"momentum": -1}, {"batch_size": 0}, {"seed": -1},
                  {"epochs": 1.5}):
        changed("a", "b", config=entry)
        refused(f"{entry}", tool("train", "--resume", "b"), "b/checkpoint.safetensors: ")
    changed("a", "b", **{"optimizer.param_groups.0.lr": "inf", "optimizer.param_groups.0.momentum": "1e30"})
    check("the optimizer uses the recipe's values", tool("train", "--resume", "b", "--epochs", "2").returncode == 0)
    check("the original run", tool("train", "--resume", "a", "--epochs", "2").returncode == 0)
    check("bitwise identical", open("a/model.safetensors", "rb").read() == open("b/model.safetensors", "rb").read())
    changed("a", "b", format="tandem-run-1")
    refused("older", tool("eval", "b"), "older version")
    changed("a", "b", format="tandem-run-999")
    refused("newer", tool("eval", "b"), "newer version")
    changed("a", "b", format="else")
    refused("other", tool("eval", "b"), "unknown format")
    changed("a", "b", config={"classes": ["\x1b[2J\u009b", *"123456789"]})
    picture()
    shown = tool("predict", "b", "x.png", "--top", "10").stdout
    said = tool("predict", "b", jpeg)
    check("a JPEG", (said.returncode == 0 and "progressive.jpg" in said.stdout) or "no libjpeg" in said.stderr,
          said.stderr)
    check("no escape sequence is printed", "\x1b" not in shown and "\u009b" not in shown and "?[2J" in shown, shown)
    for make in (lambda: os.mkfifo("b/checkpoint.safetensors"), lambda: os.mkdir("b/checkpoint.safetensors")):
        shutil.rmtree("b")
        os.mkdir("b")
        make()
        refused("no file", tool("eval", "b"), "not a regular file")


def picture(name="x.png", light=False):
    def chunk(kind, content):
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    flip = bytes(range(255, -1, -1) if light else range(256))
    rows = b"".join(b"\0" + bytes(range(28 * y % 196, 28 * y % 196 + 28)).translate(flip) for y in range(28))
    with open(name, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 28, 28, 8, 0, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def test_light_background():
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    picture()
    picture("light.png", light=True)
    said = lambda *words: (lambda run: (run.returncode, run.stderr))(tool("predict", "a", *words))
    check("dark", said("x.png") == (0, ""), said("x.png"))
    check("light", said("light.png")[1].startswith("note: light.png: the background is light; ") and
          "use --invert" in said("light.png")[1] and said("light.png")[0] == 0, said("light.png"))
    check("some", said("light.png", "x.png", "light.png")[1].startswith("note: 2 images: the background"))
    check("inverted", said("light.png", "--invert") == (0, ""), said("light.png", "--invert"))
    run = tool("predict", "a", "light.png", "--json")
    check("JSON", json.loads(run.stdout)[0]["file"] == "light.png" and "--invert" in run.stderr, run.stdout)


def start(*args):
    run = subprocess.Popen([tandem, "train", "--model", "linear", "--data", "data", "--batch-size", "1",
                            "--threads", "1", "--recipe", "source", "--epochs", "100000", *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return run


def wait_for(path):
    for _ in range(2000):
        if os.path.exists(path):
            return
        time.sleep(0.05)


def test_one_process_a_folder():
    run = start("--out", "a")
    wait_for("a/curve.svg")
    refused("the second", tool("train", "--resume", "a"), f"process {run.pid} is training in this folder")
    refused("the second", train("--data", "data", "--out", "a"), "--resume")
    check("eval works during training", tool("eval", "a").returncode == 0)
    run.kill()
    run.wait()
    for name in (".checkpoint.safetensors.1-2.tmp", ".curve.svg.77-0.tmp", ".mine.tmp"):
        open("a/" + name, "w").write("x")
    check("one epoch more", tool("train", "--resume", "a",
                                 "--epochs", str(len(open("a/metrics.jsonl").readlines()) + 60)).returncode in (0, 2))
    check("only leftovers are removed",
          files("a")[0] == ".mine.tmp" and not any(f.startswith(".c") for f in files("a")), files("a"))
    check("no lock is left", ".lock" not in files("a"))


def test_signals():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored, and the tool leaves it so
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        run = start("--out", number.name)
        wait_for(number.name + "/curve.svg")
        run.send_signal(number)
        try:
            run.wait(timeout=60)
        except subprocess.TimeoutExpired:
            run.kill()
        check(f"{number.name}: exit code", run.returncode == 128 + number, run.returncode)
        check(f"{number.name}: resumable", tool("eval", number.name).returncode == 0)


def sha(folder):
    return hashlib.sha256(open(f"{folder}/model.safetensors", "rb").read()).hexdigest()


def lenet(*args):
    return tool("train", "--model", "lenet", "--data", "data", "--batch-size", "50", "--augment", "flip", *recipe(args),
                *args)


def test_devices():
    run = tool("devices", env=dict(os.environ, TANDEM_NUM_THREADS="3", TANDEM_CPU_DEVICES="2"))
    check("devices", run.returncode == 0 and run.stdout.count("own kernels for ") == 2, (run.returncode, run.stdout))
    check("threads of all devices", run.stdout.count(", 3 threads") == 2, run.stdout)


def test_several_devices():
    lists = ("cpu:0", "cpu:0,cpu:1", "cpu:0,cpu:1,cpu:2,cpu:3")
    for number, devices in enumerate(lists):
        run = lenet("--epochs", "2", "--shards", "8", "--devices", devices, "--out", f"s{number}")
        check(f"8 shards on {devices}", run.returncode == 0, run.stderr)
    check("8 shards: bitwise identical on 1, 2 and 4 devices", len({sha(f"s{n}") for n in range(3)}) == 1)
    check("and the same metrics",
          len({json.loads(open(f"s{n}/metrics.jsonl").readlines()[-1])["train_loss"] for n in range(3)}) == 1)
    config = json.load(open("s1/config.json"))
    check("config.json", (config["devices"], config["root"], config["shards"]) == (["cpu:0", "cpu:1"], "cpu:0", 8),
          config)
    check("root", lenet("--epochs", "1", "--shards", "8", "--devices", "cpu:0,cpu:1", "--root", "cpu:1",
                        "--out", "r").returncode == 0)
    shutil.copytree("r", "r1")
    run = tool("train", "--resume", "r", "--epochs", "2")
    check("resumed on its devices", run.returncode == 0 and "cpu:0,cpu:1, root cpu:1, 8 shards" in run.stdout,
          run.stderr)
    run = tool("train", "--resume", "r1", "--epochs", "2", "--devices", "cpu:0", "--threads", "1")
    check("resumed on one device", run.returncode == 0 and "device   cpu:0, 8 shards" in run.stdout, run.stderr)
    check("bitwise identical", sha("r") == sha("r1") == sha("s0"))
    check("without shards", lenet("--epochs", "1", "--devices", "cpu:0,cpu:1", "--out", "n").returncode == 0)
    check("on one device again", tool("train", "--resume", "n", "--epochs", "2", "--devices", "cpu:0").returncode == 0)
    refused("other shards", tool("train", "--resume", "r", "--shards", "4"), "--shards: ", "another value")
    two = dict(os.environ, TANDEM_CPU_DEVICES="2")
    refused("absent", tool("train", "--data", "data", "--devices", "cpu:0,cpu:3", env=two),
            "no device cpu:3; available: cpu:0 and cpu:1", "TANDEM_CPU_DEVICES=4")
    one = dict(os.environ, TANDEM_CPU_DEVICES="1")
    refused("gone", tool("train", "--resume", "r", "--epochs", "3", env=one), "no device cpu:1; available: cpu:0")
    for wrong, part in (("cpu:0,cpu:0", "device cpu:0 is listed twice"), ("cpu:0,cpuu:1", "unknown device"),
                        ("cpu:0,cpu:99", "index from 0 to 63"), ("gpu:0,cpu:0", "did you mean cuda?"),
                        ("mps", "no tensors on devices of type mps")):
        refused(wrong, tool("train", "--data", "data", "--devices", wrong, "--out", "w"), "--devices: ", part)
    refused("root", tool("train", "--data", "data", "--devices", "cpu:0,cpu:1", "--root", "cpu:2"),
            "--root cpu:2: not one of the devices cpu:0,cpu:1")
    picture()
    for command in (("eval", "r", "--device", "cpu:3", "--json"), ("predict", "r", "x.png", "--devices", "cpu:3"),
                    ("report", "r", "--devices", "cpu:3")):
        run = tool(*command)
        check(f"{command[0]} creates the device that it names", run.returncode == 0, run.stderr)
    check("and uses it", json.loads(tool("eval", "r", "--device", "cpu:3", "--json").stdout)["device"] == "cpu:3")
    two = dict(os.environ, TANDEM_CPU_DEVICES="2")
    refused("their number is fixed", tool("eval", "r", "--device", "cpu:3", env=two), "--device: no device cpu:3",
            "TANDEM_CPU_DEVICES=4 makes 4")
    refused("too many", tool("eval", "r", "--device", "cpu:64"), "--device: ", "index from 0 to 63")
    check("nothing is created", not os.path.exists("w") and not os.path.exists("runs"))


def tensors(path):
    """The tensors of a file: their bytes, by name."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, content = json.loads(file.read(size)), file.read()
    return {name: content[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


def values(path):
    """The values of a file's tensors, by name."""
    return {name: struct.unpack(f"{len(t) // 4}f", t) for name, t in tensors(path).items()}


def metrics(folder):
    """The lines of metrics.jsonl without times."""
    other = ("seconds", "images_per_second", "processes", "device", "chain", "within_epoch")
    return [{k: v for k, v in json.loads(line).items() if k not in other} for line in open(f"{folder}/metrics.jsonl")]


def test_what_comes_next():
    run = tool("train", "--model", "linear", "--data", "data", "--epochs", "2", "--recipe", "source", "--out", "a b")
    check("next steps", "next     tandem report 'a b'\n         tandem predict 'a b' IMAGE\n" in run.stdout, run.stdout)
    check("a chart of two epochs", "\ntest accuracy\n" in run.stdout and "epoch\n" in run.stdout, run.stdout)
    run = tool("train", "--resume", "a b", env=os.environ | {"TANDEM_CALLED_AS": "./run"})
    check("a complete run", run.returncode == 0 and "the run has completed all its epochs, so there is nothing to do; "
          "for more: ./run train --resume 'a b' --epochs 4\n" in run.stdout and
          "./run report 'a b'" in run.stdout and "\ntest accuracy\n" not in run.stdout, run.stdout + run.stderr)
    check("more of it", tool("train", "--resume", "a b", "--epochs", "4").returncode == 0)
    mlp = lambda *words: tool("train", "--model", "mlp", "--epochs", "1", "--data", "data", *words)
    run = mlp("--out", "c")
    check("no chart of one epoch", run.returncode == 0 and "test accuracy\n" not in run.stdout, run.stdout)
    run = tool("train", "--resume", "c")
    check("a complete run whose rate is 0", run.returncode == 0 and "its epoch, so there is nothing to do; to train its "
          "model further, start a new run: tandem train --weights c/model.safetensors --model mlp --data "
          in run.stdout, run.stdout + run.stderr)
    words = run.stdout.split("start a new run: tandem ")[1].split("\n")[0].split()
    check("as advised", tool(*words, "--epochs", "1", "--out", "d").returncode == 0, words)
    run = tool("train", "--model", "linear", "--data", "data", "--epochs", "1", "--out", "e")
    run = tool("train", "--resume", "e")
    check("no new run of a model whose only layer --weights leaves out", run.returncode == 0 and
          "so there is nothing to do\n" in run.stdout, run.stdout + run.stderr)
    run = tool("train", "--resume", "a b", env=os.environ | {"TANDEM_CALLED_AS": "my clone/run"})
    check("another name of the tool, for a shell", "'my clone/run' train --resume 'a b' --epochs 8\n" in run.stdout,
          run.stdout)
    refused("a run in the folder", train("--data", "data", "--out", "a b"), "continue it with --resume 'a b'")
    run = mlp("--momentum", "0.5", "--out", "f")
    check("momentum means sgd", "recipe best: sgd, batch 64, learning rate 0.05, cosine, momentum 0.5" in run.stdout, run.stdout + run.stderr)


def test_accumulation():
    def difference(a, b):
        a, b = values(f"{a}/model.safetensors"), values(f"{b}/model.safetensors")
        return max(abs(x - y) for name in a for x, y in zip(a[name], b[name]))

    # 200 images: groups of 120 and 80, also with a short last batch.
    # On the CPU: on a GPU the convolutions of different batch sizes use different algorithms.
    common = ["--recipe", "best", "--augment", "none", "--epochs", "2"]
    for name, devices, options in (("large", "cpu:0", ["--batch-size", "120"]),
                                   ("of3", "cpu:0", ["--batch-size", "40", "--accumulate", "3"]),
                                   ("of4", "cpu:0", ["--batch-size", "30", "--accumulate", "4"]),
                                   ("devices", "cpu:0,cpu:1", ["--batch-size", "40", "--accumulate", "3"]),
                                   ("small", "cpu:0", ["--batch-size", "40"])):
        run = tool("train", "--data", "data", *common, *options, "--devices", devices, "--out", name)
        check(name, run.returncode == 0, run.stderr)
    run = tool("train", "--data", "data", *common, "--batch-size", "40", "--accumulate", "3", "--processes", "2",
               "--shards", "0", "--out", "ranks")
    check("ranks", run.returncode == 0, run.stderr)
    for name in ("of3", "of4", "devices", "ranks"):
        check(f"{name}: as one large batch", difference(name, "large") < 2e-5, difference(name, "large"))
        theirs = metrics("large")[-1]["train_loss"]
        check(f"{name}: the same loss", abs(metrics(name)[-1]["train_loss"] - theirs) < 1e-4 * theirs, metrics(name))
    check("unlike small ones", difference("small", "large") > 1e-3, difference("small", "large"))


def test_what_options_do():
    # One step per epoch, and the model after each.
    for name, options in (("plain", []), ("clipped", ["--clip", "0.01"]), ("unclipped", ["--clip", "1e6"]),
                          ("averaged", ["--ema", "0.8"]),
                          ("several", ["--clip", "0.01", "--devices", "cpu:0,cpu:1"]),
                          ("frozen", ["--freeze", "conv*,fc1.bias"])):
        run = tool("train", "--data", "data", "--recipe", "source", "--batch-size", "200", "--epochs", "3",
                   "--keep", "all", "--init", "default", "--lr", "0.5", *options, "--out", name)
        check(name, run.returncode == 0, run.stderr)
    after = lambda name, epoch: values(f"{name}/epochs/{epoch}.safetensors")

    def step(name):
        a, b = after(name, 2), after(name, 3)
        return sum((x - y)**2 for layer in a for x, y in zip(a[layer], b[layer]))**0.5

    for name in ("clipped", "several"):
        check(f"{name}: a step has the length of its gradient", abs(step(name) - 0.5 * 0.01) < 1e-5, step(name))
    check("which was longer", step("plain") > 0.02, step("plain"))
    check("a large limit changes nothing", sha("unclipped") == sha("plain"))
    average = after("plain", 1)
    for epoch in (2, 3):
        decay = min(0.8, epoch / (9 + epoch))  # which rises with the steps
        average = {name: [decay * a + (1 - decay) * x for a, x in zip(average[name], layer)]
                   for name, layer in after("plain", epoch).items()}
    found = after("averaged", 3)
    check("the averages are saved",
          max(abs(a - x) for name in found for a, x in zip(average[name], found[name])) < 1e-6)
    check("and evaluated", metrics("averaged")[2]["test_loss"] != metrics("plain")[2]["test_loss"] and
          metrics("averaged")[2]["train_loss"] == metrics("plain")[2]["train_loss"])
    check("beside the model itself", all(line["test_loss_without_average"] == plain["test_loss"]
                                         for line, plain in zip(metrics("averaged"), metrics("plain"))))
    said = json.loads(tool("eval", "averaged", "--json").stdout)
    check("also by eval", abs(said["loss"] - metrics("averaged")[2]["test_loss"]) < 1e-6, said)
    first, last = after("frozen", 1), after("frozen", 3)
    check("what is frozen stays", sorted(name for name in first if first[name] == last[name]) ==
          ["conv1.bias", "conv1.weight", "conv2.bias", "conv2.weight", "fc1.bias"])


EVERYTHING = ["--recipe", "source", "--accumulate", "2", "--clip", "0.05", "--ema", "0.8", "--keep", "best", "--freeze", "conv1",
              "--momentum", "0.9"]


def test_training_options():
    whole = ["--epochs", "3", *EVERYTHING]
    run = lenet(*whole, "--out", "w")
    check("all options", run.returncode == 0, run.stderr)
    check("they are said",
          all(part in run.stdout for part in ("2 batches per step", "gradient norm at most 0.05", "moving average 0.8",
          "frozen conv1", "keeps best", "129,068 parameters, of which 128,868 train")), run.stdout)
    config = json.load(open("w/config.json"))
    check("and in config.json", [config[k] for k in ("accumulate", "clip", "ema", "keep", "freeze", "patience")] ==
          [2, 0.05, 0.8, "best", "conv1", 0], config)
    header, _ = read_checkpoint("w")
    check("no state for what is frozen", [n for n in header if n.startswith("optimizer.state")] ==
          [f"optimizer.state.{i}.momentum_buffer" for i in range(6)], [n for n in header if "optimizer" in n])
    check("what a checkpoint has",
          {n.split(".")[0] for n in header} == {"__metadata__", "model", "optimizer", "average", "best"}, header.keys())
    # Stopped within an epoch, and continued: nothing may differ.
    stopped = subprocess.Popen([tandem, "train", "--data", "data", "--batch-size", "50", "--augment", "flip",
                                "--save-every", "0.0001",
                                *whole, "--out", "p"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_for("p/curve.svg")
    stopped.send_signal(signal.SIGINT)
    error = stopped.communicate(timeout=60)[1]
    check("stopped", stopped.returncode in (0, 130), (stopped.returncode, error))
    run = tool("train", "--resume", "p")
    check("resumed", run.returncode == 0, run.stderr)
    check("the same model", sha("p") == sha("w"))
    check("the same metrics", metrics("p") == metrics("w"))
    parts = [tensors(f"{name}/checkpoint.safetensors") for name in "pw"]
    check("the same average, best and optimizer", parts[0] == parts[1])
    for option, value in (("--accumulate", "3"), ("--clip", "1"), ("--ema", "0.9"), ("--keep", "last"),
                          ("--freeze", "conv2"), ("--patience", "2")):
        refused(f"another {option}", tool("train", "--resume", "p", option, value), option + " " + value,
                "leave it out")
    check("the same value", tool("train", "--resume", "p", "--ema", "0.8").returncode == 0)
    for name in ("average.fc2.bias", "best.fc2.bias", "model.fc2.bias"):
        header, content = read_checkpoint("p")
        header[name + "x"] = header.pop(name)
        header["__metadata__"].pop("tandem.crc32")
        write_checkpoint("x", header, content)
        refused(f"{name} under another name", tool("train", "--resume", "x"), "broken checkpoint", "fc2.bias")
    for entry in ({"accumulate": 0}, {"ema": 1}, {"keep": "none"}, {"patience": -1}, {"clip": -1}, {"freeze": "conv7"}):
        changed("p", "x", config=entry)
        refused(f"{entry}", tool("train", "--resume", "x"), "--" + next(iter(entry)))
    changed("p", "x", progress={"batch": 3})
    refused("a checkpoint within a step", tool("train", "--resume", "x", "--epochs", "4"), "within a step of 2 batches")
    # The same bits on any number of devices and processes.
    for number, options in enumerate((["--devices", "cpu:0"], ["--devices", "cpu:0,cpu:1"], ["--processes", "2"])):
        run = lenet(*whole, "--shards", "8", *options, "--out", f"s{number}")
        check(f"{options}", run.returncode == 0, run.stderr)
    check("bitwise identical", len({sha(f"s{n}") for n in range(3)}) == 1)
    check("the same metrics", metrics("s0") == metrics("s1") == metrics("s2"))
    refused("clip", tool("train", "--clip", "-1"), "--clip -1: expected")
    refused("ema", lenet("--ema", "1"), "--ema 1: expected a number from 0 to below 1")
    refused("keep", lenet("--keep", "bset"), "did you mean best?")
    refused("an unknown layer", lenet("--freeze", "convv1", "--out", "n"), "--freeze convv1: ", "conv1, conv2")
    refused("nothing to train", lenet("--freeze", "*", "--out", "n"), "no parameter of lenet is left to train")
    refused("one layer", train("--data", "data", "--freeze", "all-but-head", "--out", "n"), "has only one layer")
    check("nothing is created", not os.path.exists("n"))


def test_precision():
    refused("tf32", lenet("--precision", "tf32", "--devices", "cpu:0", "--out", "n"), "a CPU computes in float32")
    check("fp32", lenet("--epochs", "2", "--out", "fp32").returncode == 0)
    for precision in ("bf16", "fp16"):
        whole = ["--epochs", "2", "--precision", precision]
        run = lenet(*whole, "--out", precision)
        check(precision, run.returncode == 0 and "precision " + precision in run.stdout, run.stderr)
        check("the results are others, but close",
              0 < abs(metrics(precision)[-1]["test_loss"] - metrics("fp32")[-1]["test_loss"]) < 0.02)
        kinds = {e["dtype"] for n, e in read_checkpoint(precision)[0].items() if n.startswith("model.")}
        check("parameters are float32", kinds == {"F32"}, kinds)
        loss = json.loads(tool("eval", precision, "--json").stdout)["loss"]
        check("eval uses it", loss == metrics(precision)[-1]["test_loss"], loss)
        # Stopped within an epoch, and continued: nothing may differ, nor the scale of the loss.
        stopped = subprocess.Popen([tandem, "train", "--model", "lenet", "--data", "data", "--batch-size", "50",
                                    "--augment", "flip", "--recipe", "source",
                                    "--save-every", "0.0001", *whole, "--out", "p" + precision],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_for(f"p{precision}/curve.svg")
        stopped.send_signal(signal.SIGINT)
        stopped.communicate(timeout=60)
        check("resumed", tool("train", "--resume", "p" + precision).returncode == 0)
        check("the same model", sha("p" + precision) == sha(precision))
        for number, options in enumerate((["--devices", "cpu:0"], ["--devices", "cpu:0,cpu:1"], ["--processes", "2"])):
            run = lenet(*whole, "--shards", "4", "--clip", "1", *options, "--out", f"{precision}{number}")
            check(f"{options}", run.returncode == 0, run.stderr)
        check("bitwise identical", len({sha(f"{precision}{n}") for n in range(3)}) == 1)
        check("the same metrics", metrics(precision + "0") == metrics(precision + "1") == metrics(precision + "2"))
    # A scale at which float16 overflows is halved until steps are taken; the checkpoint has it.
    changed("fp16", "x", progress={"loss_scale": 2.0**100, "epoch": 0, "batch": 0, "images": 0, "history": []})
    before = values("x/checkpoint.safetensors")
    check("a run whose steps overflow", tool("train", "--resume", "x", "--epochs", "2").returncode == 0)
    check("its steps were skipped", values("x/checkpoint.safetensors") == before)
    header, _ = read_checkpoint("x")
    check("the scale has shrunk", json.loads(header["__metadata__"]["progress"])["loss_scale"] < 2.0**100)
    refused("another precision", tool("train", "--resume", "bf16", "--precision", "fp16"),
            "--precision fp16", "leave it out")
    refused("unknown", lenet("--precision", "fp8"), "--precision fp8")
    changed("fp16", "y", progress={"loss_scale": 0})
    refused("a broken scale", tool("train", "--resume", "y"), "loss_scale")


def test_patience_and_best():
    linear = lambda *args: tool("train", "--model", "linear", "--data", "data", "--batch-size", "50", "--recipe", "source",
                                *args)
    run = linear("--out", "a", "--keep", "all", "--epochs", "6", "--lr", "0.5")
    check("keep all", run.returncode == 0 and files("a") == sorted([*RUN_FILES, "epochs"]), run.stderr)
    check("a file for each epoch", files("a/epochs") == sorted([f"{n}.safetensors" for n in range(1, 7)] + [str(n) for n in range(1, 7)]))
    check("the last one is the run's",
          open("a/epochs/6.safetensors", "rb").read() == open("a/model.safetensors", "rb").read())
    accuracies = [line["test_accuracy"] for line in metrics("a")]
    best = accuracies.index(max(accuracies)) + 1
    run = linear("--out", "b", "--keep", "best", "--validation", "0", "--epochs", "6", "--lr", "0.5")
    check("keep best",
          run.returncode == 0 and f"test accuracy {max(accuracies):.4f} after {best} epoch" in run.stdout and
          "the best of 6" in run.stdout, run.stdout + run.stderr)
    check("its model", open(f"a/epochs/{best}.safetensors", "rb").read() == open("b/model.safetensors", "rb").read())
    check("eval uses it", f"accuracy {max(accuracies):.4f}" in tool("eval", "b").stdout)
    refused("a folder with epochs", train("--data", "data", "--out", "a"), "already contains a run")
    # So small a rate changes no prediction.
    run = linear("--out", "p", "--patience", "2", "--validation", "0", "--epochs", "9", "--lr", "1e-9")
    check("stops early", run.returncode == 0 and
          run.stdout.count("stopped early: the test accuracy has not improved for 2 epochs since") == 2,
          run.stdout + run.stderr)
    check("in the run's files",
          len(metrics("p")) == 3 and "after epoch 1" in metrics("p")[-1].get("stopped_early", "") and
          "stopped early" in open("p/curve.svg").read(), metrics("p"))
    run = tool("train", "--resume", "p", "--epochs", "12")
    check("a resumed run stays so", run.returncode == 0 and "stopped early" in run.stdout and len(metrics("p")) == 3,
          run.stdout + run.stderr)


def compare(*args):
    return ("compare", "--model", "linear", "--data", "data", "--batch-size", "10", "--devices", "cpu:0",
            "--devices", "cpu:0,cpu:1", *args)


def test_compare():
    run = tool(*compare("--epochs", "2", "--images", "150", "--scaling", "both", "--out", "c"))
    check("compare", run.returncode == 0, run.stderr)
    for part in ("seconds per epoch", "20 = 2 x 10", "parts of one CPU", "broadcast",
                 "cpu:0,cpu:1, 20 images per step: "):
        check(part, part in run.stdout, run.stdout)
    said = json.load(open("c/compare.json"))
    check("compare.json", [(r["devices"], r["batch_size"], len(r["seconds"])) for r in said["runs"]] ==
          [(["cpu:0"], 10, 2), (["cpu:0", "cpu:1"], 10, 2), (["cpu:0", "cpu:1"], 20, 2)], said)
    check("threads", {r["threads_a_device"] for r in said["runs"]} == {max(1, len(os.sched_getaffinity(0)) // 2)})
    check("phases", all(sum(r["step_ms"].values()) > 0 for r in said["runs"]))
    check("images", said["images"] == 150 and said["stopped_by_signal"] == 0)
    check("compare.svg",
          open("c/compare.svg").read().endswith("</svg>\n") and files("c") == ["compare.json", "compare.svg"])
    refused("again", tool(*compare("--out", "c")), "already contains compare.json")
    check("a run's folder", tool(*compare("--epochs", "1", "--scaling", "weak")).returncode == 0 and
          files("runs/compare-1") == ["compare.json", "compare.svg"])
    run = tool(*compare("--epochs", "1", "--accumulate", "3", "--clip", "1", "--ema", "0.9", "--out", "o"))
    check("with options of train", run.returncode == 0 and "3 batches per step" in run.stdout, run.stdout + run.stderr)
    refused("patience", tool(*compare("--patience", "3")), "unknown option --patience")
    refused("one list", tool("compare", "--devices", "cpu:0"), "got only one")
    refused("none", tool("compare"), "--devices: expected two or more lists to compare")
    refused("twice", tool(*compare("--devices", "cpu")), "this list is given twice")
    refused("scaling", tool(*compare("--scaling", "stong")), "did you mean strong?")
    refused("an option", tool("compare", "--device", "cpu:0"), "did you mean --devices?")
    refused("images", tool(*compare("--images", "1000")), "the number of training images is only 200")
    refused("threads", tool(*compare("--threads", "4000")), "--threads 4000: too many")
    refused("a list", tool(*compare("--devices", "cpu:0,,cpu:1")), 'unknown device ""')


def test_compare_is_stopped():
    for name, seconds in (("late", 5), ("at once", 0)):
        run = subprocess.Popen([tandem, *compare("--epochs", "100000", "--out", name)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        wait_for(name + "/compare.json" if seconds else name)
        time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
        check(name + ": exit code", run.returncode == 130 or (not seconds and run.returncode == -signal.SIGINT),
              (run.returncode, err))
        if seconds:
            said = json.load(open(name + "/compare.json"))
            check("what was measured", said["stopped_by_signal"] == 2 and len(said["runs"][0]["seconds"]) >= 1 and
                  "stopped early" in out, out)
            check("nothing else is left", files(name) == ["compare.json", "compare.svg"])


def test_recipes():
    recipe_of = lambda folder: [json.load(open(f"{folder}/config.json"))[k] for k in ("optimizer", "schedule", "lr")]
    for options, wanted in (([], ["adamw", "cosine", 0.003]), (["--recipe", "source"], ["sgd", "constant", 0.2]),
                            (["--optimizer", "sgd"], ["sgd", "cosine", 0.05]),
                            (["--recipe", "source", "--optimizer", "adamw"], ["adamw", "constant", 0.001]),
                            (["--optimizer", "sgd", "--batch-size", "16"], ["sgd", "cosine", 0.0125]),
                            (["--batch-size", "4", "--accumulate", "4"], ["adamw", "cosine", 0.0015]),
                            (["--recipe", "source", "--batch-size", "4"], ["sgd", "constant", 0.2])):
        run = tool("train", "--model", "linear", "--data", "data", "--epochs", "1", *options, "--out", "a")
        check(f"the recipe of {options}", run.returncode == 0 and recipe_of("a") == wanted, run.stderr)
        shutil.rmtree("a", ignore_errors=True)
    run = tool(*compare("--epochs", "1", "--out", "c"))
    check("compare: source", run.returncode == 0 and ", recipe source: sgd, batch 10, learning rate 0.2" in run.stdout, run.stdout)


def test_cosine():
    check("train", train("--data", "data", "--out", "a", "--recipe", "best").returncode == 0)
    refused("more epochs", tool("train", "--resume", "a", "--epochs", "2"), "cosine", "learning rate")
    check("as many", tool("train", "--resume", "a", "--epochs", "1").returncode == 0)


def test_threads_that_cannot_start():
    for path in (".", "data", *(f"data/{name}" for name in os.listdir("data"))):
        os.chmod(path, 0o777)  # another user reads them, whatever the umask is

    def limit():
        if os.getuid() == 0:  # the limit does not apply to root
            os.setgid(65534)
            os.setuid(65534)
        resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))

    for option in ("--threads", "--workers"):
        other = {"--threads": "--workers", "--workers": "--threads"}[option]
        try:
            run = tool("train", "--data", "data", "--out", "a", option, "50", other, "1", preexec_fn=limit)
        except PermissionError:
            continue  # another user may not use this build
        if run.returncode == 127:
            continue
        refused(option, run, option + " 50: ", "could be started")
    try:
        run = tool(*compare("--threads", "50", "--out", "a"), preexec_fn=limit)
    except PermissionError:
        run = None
    if run and run.returncode != 127:
        refused("compare", run, "--threads 50: ", "could be started")
    check("nothing is created", not os.path.exists("a"))


def test_full_disk():
    with open("/dev/full", "w") as full:
        run = subprocess.run([tandem, "summary"], stdout=full, stderr=subprocess.PIPE, text=True)
    refused("standard output", run, "standard output", code=1)
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    run = tool("train", "--resume", "a", "--epochs", "2", preexec_fn=limit_of("RLIMIT_FSIZE", 9999))
    refused("cannot write", run, "cannot write a/checkpoint.safetensors: File too large",
            "the checkpoint of 1 epoch and 0 batches is intact", code=1)
    check("no temporary file is left", files("a") == RUN_FILES, files("a"))
    check("it is intact", tool("eval", "a").returncode == 0)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    size = os.stat("a/checkpoint.safetensors").st_size + 100  # another epoch's line does not fit
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    run = tool("train", "--resume", "a", "--epochs", "4", preexec_fn=limit)
    check("each epoch tries again, and the last one ends the run", run.returncode == 1 and
          run.stderr.count("\nwarning: saving is tried again later: ") + run.stderr.startswith("warning: ") == 2 and
          run.stderr.count("the checkpoint of 1 epoch and 0 batches is intact") == 3, run.stderr)
    read, write = os.pipe()
    fcntl.fcntl(write, 1031, 4096)  # F_SETPIPE_SZ: it waits after some 20 warnings that nobody reads
    going = subprocess.Popen([tandem, "train", "--resume", "a", "--epochs", "300"], stdout=subprocess.DEVNULL, stderr=write,
                             preexec_fn=limit)
    os.close(write)
    with os.fdopen(read) as said:
        first = said.readline()
        resource.prlimit(going.pid, resource.RLIMIT_FSIZE, (hard, hard))
        rest = said.read()
    check("a disk that was full for a moment", going.wait() == 0 and "tried again later" in first, first + rest)
    check("all is there", len(read_checkpoint("a")[0]["__metadata__"]["progress"]) > 300 * 50, rest)
    check("and the metrics fit", tool("verify", "a", "--epochs", "300").returncode == 0)
    with open("out", "w") as out:
        limit = limit_of("RLIMIT_FSIZE", 10)
        run = subprocess.run([tandem, "summary"], stdout=out, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    refused("a limited standard output", run, "standard output", code=1)


def test_diverged():
    wild = ("train", "--data", "data", "--model", "mlp", "--batch-size", "20", "--epochs", "2", "--recipe", "source", "--lr", "1000000",
            "--weight-decay", "1")
    for name, more in (("one", ()), ("two", ("--devices", "cpu:0,cpu:1")), ("accumulated", ("--accumulate", "2"))):
        run = tool(*wild, *more, "--out", name)
        refused(name, run, "the training has diverged", f"continue with tandem train --resume {name}", code=1)
        found = re.search(r"from batch (\d+) of epoch 1 on, the loss is (nan|infinite)", run.stderr)
        check(f"{name}: the first bad batch", found and int(found[1]) == (9 if more[:1] == ("--accumulate",) else 5), run.stderr)
        run = tool("eval", name)
        check(f"{name}: the checkpoint before is kept", run.returncode == 0 and run.stderr == "", run.stderr)
    run = tool(*wild, "--processes", "2", "--out", "processes")
    check("two processes", run.returncode == 1 and "on, the loss is" in run.stderr, (run.returncode, run.stderr))
    run = tool(*wild, "--keep-going", "--out", "kept")
    check("--keep-going", run.returncode == 0, run.stderr)
    picture()
    for words in (("eval", "kept"), ("predict", "kept", "x.png"), ("report", "kept"),
                  ("convert", "kept/model.safetensors", "kept.pt")):
        run = tool(*words)
        check(f"{words[0]} says it", run.returncode == 0 and "weights are not finite, the first in" in run.stderr,
              (run.returncode, run.stderr))


def test_what_is_replaced():
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    os.mkdir("elsewhere")
    os.rename("a/checkpoint.safetensors", "elsewhere/kept.safetensors")
    os.symlink("../elsewhere/kept.safetensors", "a/checkpoint.safetensors")
    os.chmod("elsewhere/kept.safetensors", 0o600)
    os.chmod("a/metrics.jsonl", 0o640)
    for name in ("elsewhere/.kept.safetensors.12-0.tmp", "a/.curve.svg.12-0.tmp"):
        open(name, "w").close()
    before = open("elsewhere/kept.safetensors", "rb").read()
    run = tool("train", "--resume", "a", "--epochs", "2", env=dict(os.environ, TANDEM_PROFILE="/dev/null"))
    check("resumed", run.returncode == 0, run.stderr)
    check("the link is kept", os.path.islink("a/checkpoint.safetensors"))
    check("its target is written", open("elsewhere/kept.safetensors", "rb").read() != before)
    check("no leftovers", files("elsewhere") == ["kept.safetensors"] and files("a") == RUN_FILES)
    modes = [os.stat(f"a/{name}").st_mode & 0o777 for name in ("checkpoint.safetensors", "metrics.jsonl")]
    check("the file modes are kept", modes == [0o600, 0o640], modes)
    check("/dev/null is still a device", stat.S_ISCHR(os.stat("/dev/null").st_mode))


def test_numbers():
    for command, option in ((("train",), "--seed -1"), (("train",), "--epochs 010"), (("train",), "--threads 100000"),
                            (("train",), "--workers 100000"), (("train",), "--seed 99999999999999999999"),
                            (("train",), "--lr inf"), (("train",), "--lr nan"), (("train",), "--lr -1"),
                            (("train",), "--momentum 1"), (("train",), "--batch-size 1e3"),
                            (("train",), "--save-every 0"),
                            (("eval", "a"), "--batch-size 0"), (("eval", "a"), "--threads -1"),
                            (("summary",), "--classes 0"),
                            (("predict", "a", "b.png"), "--top 0"), (("summary",), "--input 1,28,x"),
                            (("summary",), "--input 3x32x"), (("summary",), "--input 3x32"),
                            (("summary",), "--batch-size 99999999999")):
        run = tool(*command, *option.split())
        refused(option, run, option.split()[0] + " ", ": expected ")
        check(option + " is short", len(run.stderr) < 120, run.stderr)
    limit = limit_of("RLIMIT_AS", 3 << 30)
    run = tool("summary", "--batch-size", "1000000000", preexec_fn=limit)
    check("a summary needs no memory for its batch", run.returncode == 0 and "1000000000" in run.stdout, run.stderr)
    refused("what sizes", tool("summary", "--input", "3x0x32"), "channels,height,width such as 3,32,32")
    refused("four sizes", tool("summary", "--input", "3,32,32,1"), "expected channels,height,width")
    refused("two sizes", tool("summary", "--input", "3x32"), "--input [3, 32]: expected channels,height,width")
    check("3x32x32", "[1, 3, 32, 32]" in tool("summary", "--input", "3x32x32").stdout and
          tool("summary", "--input", "3x32x32").stdout == tool("summary", "--input", "3,32,32").stdout)
    refused("a huge model", tool("summary", "--input", "9,999,999", "--model", "mlp", preexec_fn=limit), "parameters")
    refused("a huge image", tool("summary", "--input", "65536,65536,65536", preexec_fn=limit), "2^26")
    run = tool("train", "--devices", "gpu:0")
    refused("one suggestion", run, "did you mean cuda")
    check("one suggestion", run.stderr.count("did you mean") == 1, run.stderr)


def test_published_models():
    # Counts as published with the weights.
    for model, parameters, multiply_adds in (("resnet50", "25,557,032", "4,089,184,256"),
                                             ("mobilenet_v2", "3,504,872", "300,774,272"),
                                             ("gpt2 --input 8", "124,439,808", "")):
        run = tool("summary", "--model", *model.split())
        check(f"a summary of {model}", run.returncode == 0 and parameters in run.stdout and multiply_adds in run.stdout,
              run.stdout + run.stderr)
    refused("an unknown model", tool("summary", "--model", "resnt50"), "did you mean resnet50?")
    refused("an image of another size", tool("summary", "--model", "vit_b_16", "--input", "3,32,32"),
            "[N, 3, 224, 224]")
    refused("no number of tokens", tool("summary", "--model", "gpt2", "--input", "3,32,32"), "number of tokens")
    refused("classes of a language model", tool("summary", "--model", "gpt2", "--classes", "5"), "no classes")


def inside(given, wanted, key):
    """Puts the value of a .pt file into a dictionary with more."""
    with zipfile.ZipFile(given) as old, zipfile.ZipFile(wanted, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("data.pkl"):
                text = lambda t: b"X" + struct.pack("<I", len(t)) + t.encode()
                content = b"\x80\x02}(" + text("epoch") + b"K\x03" + text(key) + content[2:-1] + b"u."
            new.writestr(name, content)


def test_weight_files():
    checkpoint = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "nn", "files", "checkpoint.pt")
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    shown = tool("inspect", "a/model.safetensors")
    check("inspect a model",
          all(part in shown.stdout for part in ("fc.weight", "[10, 784]", "30.6 KiB", "7,850 values")), shown.stdout)
    refused("convert to what?", tool("convert", "a/model.safetensors", "x"), "must end with")
    refused("nothing to inspect", tool("inspect", "none"), "none: cannot be opened", code=1)
    run = tool("convert", "a/model.safetensors", "s/x.safetensors", "--shard-size", "20KiB")
    refused("no folder for shards", run, "no such folder", code=1)
    os.mkdir("s")
    run = tool("convert", "a/model.safetensors", "s/x.safetensors", "--shard-size", "20KB", "--prefix", "fc.")
    check("split a file", run.returncode == 0 and "2 tensors in 2 files" in run.stdout and
          sorted(os.listdir("s")) == ["x-00001-of-00002.safetensors", "x-00002-of-00002.safetensors",
                                      "x.safetensors.index.json"],
          run.stdout + run.stderr + str(os.listdir("s")))
    for name in ("s", "s/x.safetensors.index.json"):
        shown = tool("inspect", name)
        check(f"inspect {name}", "7,850 values" in shown.stdout and "fc." not in shown.stdout,
              shown.stdout + shown.stderr)
    run = tool("summary", "--model", "linear", "--weights", "a/model.safetensors")
    check("weights that fit", run.returncode == 0 and
          "a/model.safetensors: 2 tensors, which fit the model" in run.stdout, run.stdout + run.stderr)
    refused("weights of other names", tool("summary", "--model", "linear", "--weights", "s"), "missing:", "fc.weight",
            "; unexpected: ", code=1)
    refused("weights of another shape",
            tool("summary", "--model", "linear", "--classes", "3", "--weights", "a/model.safetensors"),
            "shape mismatch:", code=1)
    run = tool("convert", "s", "joined.safetensors")
    check("join shards", run.returncode == 0 and "7,850 values" in tool("inspect", "joined.safetensors").stdout,
          run.stderr)
    refused("a shard size of 0", tool("convert", "s", "y.safetensors", "--shard-size", "0"), "--shard-size")
    refused("shards of a .pt file", tool("convert", "s", "y.pt", "--shard-size", "1MB"), "--shard-size")
    with open("s/x.safetensors.index.json") as file:
        index = file.read()
    with open("s/x.safetensors.index.json", "w") as file:
        file.write(index.replace("x-00002", "../x-00002"))
    refused("a shard elsewhere", tool("inspect", "s"), "not the name of a file", code=1)
    run = tool("convert", "a", "whole.safetensors")
    check("the weights of a run", tensors("whole.safetensors") == tensors("a/model.safetensors"), run.stderr)
    shutil.copytree("a", "stopped")
    os.remove("stopped/model.safetensors")
    run = tool("convert", "stopped", "stopped.safetensors", "--prefix", "fc.")
    check("of one that is not complete, with other names", run.returncode == 0 and
          sorted(tensors("stopped.safetensors")) == ["bias", "weight"], run.stderr)
    os.remove("stopped/checkpoint.safetensors")
    refused("no run", tool("convert", "stopped", "y.safetensors"), "stopped: is a folder without", code=1)
    shown = tool("inspect", checkpoint)
    if "without libzip" in shown.stderr:
        return
    check("a run as a .pt file", tool("convert", "a", "run.pt").returncode == 0 and
          tool("convert", "run.pt", "back.safetensors").returncode == 0 and
          tensors("back.safetensors") == tensors("a/model.safetensors"))
    check("inspect a checkpoint",
          all(part in shown.stdout
              for part in ("epoch", "0.5", "state_dict.weight", "bfloat16", "[0, 3]", "9 tensors")),
          shown.stdout)
    for name in ("b.pt", "c.safetensors"):
        run = tool("convert", "a/model.safetensors" if name == "b.pt" else "b.pt", name)
        check(f"convert to {name}", run.returncode == 0 and "2 tensors" in run.stdout, run.stderr)
    check("back again", tool("inspect", "c.safetensors").stdout.split("total")[1].split() ==
          tool("inspect", "b.pt").stdout.split("total")[1].split())
    tool("convert", "c.safetensors", "d.pt")
    check("the same bytes", open("b.pt", "rb").read() == open("d.pt", "rb").read())
    refused("a checkpoint with more", tool("convert", checkpoint, "x.safetensors"), "'epoch' has type int64",
            "state_dict", code=1)
    refused("a key of safetensors", tool("convert", "c.safetensors", "x.pt", "--key", "a"), "--key")
    run = tool("convert", checkpoint, "x.safetensors", "--key", "state_dict", "--prefix", "w")
    check("key and prefix", run.returncode == 0 and "eight" in tool("inspect", "x.safetensors").stdout, run.stderr)
    inside("b.pt", "whole.pt", "model")
    refused("weights inside of a checkpoint", train("--data", "data", "--weights", "whole.pt", "--out", "e"),
            "--weights whole.pt", "'epoch' has type int64", "a key: epoch, model")
    run = train("--data", "data", "--weights", "whole.pt", "--key", "model", "--out", "e")
    check("train with a key", run.returncode == 0, run.stderr)
    run = train("--data", "data", "--weights", "b.pt", "--out", "f")
    check("the same weights", tensors("e/model.safetensors") == tensors("f/model.safetensors"), run.stderr)
    run = tool("summary", "--model", "linear", "--weights", "whole.pt", "--key", "model")
    check("summary with a key", run.returncode == 0 and "whole.pt: 2 tensors" in run.stdout, run.stdout + run.stderr)
    refused("an unknown key", tool("summary", "--model", "linear", "--weights", "whole.pt", "--key", "net"), "no 'net'",
            "epoch, model", code=1)
    for command in (train("--data", "data", "--key", "model"), tool("summary", "--key", "model"),
                    tool("predict", "a", "x.png", "--key", "model")):
        refused("a key without weights", command, "--key: names a state dict in the file of --weights")
    for name, model in (("data", "lenet"), ("cifar10", "lenet"), ("no.txt", "gpt2")):
        refused("broken files of what is no folder of images",
                tool("train", "--model", model, "--data", name, "--skip-broken"),
                "--skip-broken: leaves out image files", name)


def test_help():
    commands = re.findall(r"^  ([a-z]+) ", tool("--help").stdout.split("Options:")[0], re.M)
    check("all commands are listed", {"train", "compare", "devices", "launch"} <= set(commands), commands)
    for words in ([], *([command] for command in commands)):
        for columns, most in ((None, 100), ("80", 80), ("500", 120), ("wide", 100)):
            run = tool(*words, "--help", env=os.environ | {"COLUMNS": columns} if columns else
                       {k: v for k, v in os.environ.items() if k != "COLUMNS"})
            longest = max(run.stdout.split("\n"), key=len)
            check(f"help of {words} in {columns} columns", run.returncode == 0 and run.stderr == "" and
                  len(longest) <= most and "-h, --help" in run.stdout, longest)
        check(f"the tool's examples are not those of {words}", ("tandem COMMAND" in run.stdout) == (words == []),
              run.stdout)
    shown = tool("train", "--help").stdout
    groups = ["Model and data:", "Optimisation:", "Images:", "Text:", "Devices:", "Output:", "Examples:"]
    check("the groups of train", re.findall(r"^[A-Z].*:$", shown, re.M) == groups, shown)
    for text in (shown, tool("--help").stdout):
        check("three examples", len(re.findall(r"^  tandem ", text.split("Examples:")[1], re.M)) == 3, text)
    check("a default ends the text", re.search(r"--epochs NUMBER  .*\n?.*; default: 10\n", shown), shown)


def test_other_ways_to_ask():
    for words, wanted in ((("help",), ("--help",)), (("help", "train"), ("train", "--help")),
                          (("help", "launch"), ("launch", "--help")), (("version",), ("--version",))):
        run = tool(*words)
        check(f"tandem {' '.join(words)}", run.returncode == 0 and len(run.stdout) > 10 and run.stderr == "" and
              run.stdout == tool(*wanted).stdout, (run.stdout, run.stderr))
    refused("help for what?", tool("help", "trian"), "unknown command trian", "did you mean train?")


def completed(*words):
    """What bash's completion makes of the last word."""
    script = ("source script.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _tandem; "
              "[ -z \"${COMPREPLY[*]}\" ] || printf '%s\\n' \"${COMPREPLY[@]}\"")
    return subprocess.run(["bash", "-c", script, "bash", *words], capture_output=True, text=True).stdout.split()


def test_completion():
    for shell in ("bash", "zsh", "fish"):
        run = tool("completion", shell)
        check(f"completion {shell}", run.returncode == 0 and "resnet50" in run.stdout, run.stderr)
        open(f"script.{shell}", "w").write(run.stdout)
        if shutil.which(shell):
            run = subprocess.run([shell, "-n", f"script.{shell}"], capture_output=True, text=True)
            check(f"{shell} reads it", run.returncode == 0 and run.stderr == "", run.stderr)
    for words, wanted in ((("tr",), ["train"]), (("train", "--mo"), ["--model", "--momentum"]),
                          (("train", "--model", "resnet1"), ["resnet18", "resnet101", "resnet152"]),
                          (("train", "--model", "=", "vit_l"), ["vit_l_16"]), (("train", "--model", "="), None),
                          (("compare", "--recipe", "b"), ["best"]), (("train", "--data", "ci"), ["cifar10", "cifar100"]),
                          (("hel",), ["help"]), (("help", "tr"), ["train"]), (("completion", "z"), ["zsh"]),
                          (("predict", "run", "im"), []),
                          (("train", "--weights", "x"), []), (("trian", "--mo"), [])):
        found = completed("tandem", *words)
        check(f"bash: {words}", found == wanted or (wanted is None and "lenet" in found), found)
    if shutil.which("fish"):
        for words, wanted in (("tr", ["train"]), ("help tr", ["train"]), ("train --mo", ["--model", "--momentum"]),
                              ("train --recipe b", ["best"])):
            run = subprocess.run(["fish", "--no-config", "-c", f'source script.fish; complete -C "tandem {words}"'],
                                 capture_output=True, text=True)
            found = [line.split("\t")[0] for line in run.stdout.splitlines()]
            check(f"fish: {words}", found == wanted, (found, run.stderr))
    refused("a shell", tool("completion", "bahs"), "did you mean bash?")
    refused("no shell", tool("completion"), "SHELL")


def test_run_script():
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../run")
    if not os.path.exists(script) or not shutil.which("bash"):
        return
    listed = subprocess.run(["bash", "-c", f"eval \"$(sed -n '/^tool_commands()/,/^$/p' '{script}')\"; "
                             f"root=$(dirname '{script}'); tool_commands"], capture_output=True, text=True)
    commands = re.findall(r"^  ([a-z]+) ", tool("--help").stdout.split("Options:")[0], re.M)
    check("./run knows every command", listed.stdout.split() == commands, (listed.stdout, listed.stderr))


def test_version():
    with open(os.path.join(os.path.dirname(__file__), "../../core/version.h"), encoding="utf-8") as file:
        header = file.read()
    numbers = [re.search(f"#define TANDEM_VERSION_{part} (\\d+)\n", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    version = ".".join(numbers)
    run = tool("--version")
    check("version", (run.returncode, run.stdout) == (0, f"tandem {version}\n"), run.stdout)
    check("the header's text is that of its numbers", f'#define TANDEM_VERSION "{version}"\n' in header, header)


def test_typing_mistakes():
    refused("no command", tool(), "expected a command: train, compare, eval")
    refused("a command", tool("trian"), "did you mean train?")
    refused("an option", tool("train", "--epoch", "3"), "did you mean --epochs?")
    for words, line in ((("--epochs", "1", "train"), "train --epochs 1"), (("--epochs=1", "train"), "train --epochs=1"),
                        (("--out", "a b", "train", "--epochs", "1"), "train --out 'a b' --epochs 1"),
                        (("--data", "report", "train"), "train --data report"),
                        (("-n", "2", "launch", "ls", "train"), "launch -n 2 ls train")):
        refused(f"tandem {words}", tool(*words),
                f"tandem: {words[0].split('=')[0]} comes after the command: tandem {line}\n")
    refused("no option of it", tool("--epochs", "1", "devices"), "unknown option --epochs")
    refused("no command behind it", tool("--epochs", "1"), "unknown option --epochs")
    refused("twice", tool("train", "--lr", "1", "--lr", "2"), "--lr: given more than once")
    refused("no value", tool("train", "--lr"), "--lr")
    refused("no folder", tool("eval"), "DIR")
    refused("no run", tool("eval", "data"), "data does not contain a run")


def cut_and_flipped(content, draw):
    for end in (0, 7, 8, 100, len(content) // 2, len(content) - 1):
        yield content[:end]
    for _ in range(20):
        flipped = bytearray(content)
        for _ in range(draw.choice((1, 3, 30))):
            flipped[draw.randrange(4000)] ^= 1 << draw.randrange(8)
        yield bytes(flipped)


def test_damaged_checkpoints():
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    content = open("a/checkpoint.safetensors", "rb").read()
    os.mkdir("b")
    seed = int(os.environ.get("TANDEM_TEST_SEED", 1))
    for number, broken in enumerate(cut_and_flipped(content, random.Random(seed))):
        open("b/checkpoint.safetensors", "wb").write(broken)
        for command in (("train", "--resume", "b", "--data", "data"), ("eval", "b", "--data", "data")):
            run = tool(*command)
            check(f"damage {number} of seed {seed}: {command[0]}", run.returncode in (0, 2),
                  (run.returncode, run.stderr))
            check("one line", run.stderr.count("\n") == (run.returncode != 0), run.stderr)


def test_names_that_are_no_utf8():
    bad = "bad\udcff\x1b[2J"  # a byte 0xff and an escape sequence that clears the terminal
    write_data(bad)
    open(bad + "/classes.txt", "wb").write(b"caf\xe9\n" + b"".join(b"%d\n" % i for i in range(1, 10)))
    run = train("--data", bad, "--out", "a")
    check("train", run.returncode == 0 and "\x1b" not in run.stdout and "\ufffd" not in run.stdout,
          run.stderr + run.stdout)
    check("config.json", json.load(open("a/config.json"))["classes"][0] == "caf\ufffd")
    check("curve.svg", "\x1b" not in open("a/curve.svg").read())
    check("its location is given again", tool("train", "--resume", "a", "--epochs", "2", "--data", bad).returncode == 0)
    run = tool("eval", "none\udcff\x1b[2J")
    refused("an error's text", run)
    check("an error's text", "\x1b" not in run.stderr and "?[2J" in run.stderr)


def test_broken_data():
    for name in ("train-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        shutil.copytree("data", "cut")
        content = open(f"cut/{name}", "rb").read()
        for end in (0, 3, 10, len(content) - 1):
            open(f"cut/{name}", "wb").write(content[:end])
            refused(f"{name} of {end} bytes", train("--data", "cut", "--out", "b"), name)
        os.remove(f"cut/{name}")
        refused("a file is missing", train("--data", "cut", "--out", "b"), "lacks " + name)
        shutil.rmtree("cut")
    os.mkdir("empty")
    refused("an empty folder", train("--data", "empty", "--out", "b"), "has neither a folder of images for each class nor the four files")
    refused("unknown", train("--data", "fashion-mnits"), "did you mean fashion-mnist?", "cifar100", "folder of images",
            "expected fashion-mnist, mnist, cifar10,", "a file of text is for train --model gpt2")
    refused("unknown", train("--data", "cifar01"), "did you mean cifar10?")
    refused("a file", train("--data", "data/t10k-labels-idx1-ubyte"), "is a file, not a data set of images")
    nowhere = dict(os.environ, TANDEM_DATA="/none", TANDEM_OFFLINE="1", TANDEM_CACHE="/none")
    refused("nowhere", train("--data", "mnist", env=nowhere), "not found on this machine", "TANDEM_OFFLINE")
    check("nothing is created", not os.path.exists("b"))
    check("train", train("--data", "data", "--out", "a").returncode == 0)
    write_data("small", size=20)
    refused("other image sizes", tool("eval", "a", "--data", "small"), "the run expects [1, 28, 28]")


def main():
    for name, test in list(globals().items()):
        if not name.startswith("test_") or (len(sys.argv) > 2 and sys.argv[2] not in name):
            continue
        with tempfile.TemporaryDirectory() as work:
            os.chdir(work)
            write_data("data")
            try:
                test()
            except Exception as error:
                check(f"{name}: {type(error).__name__}: {error}", False)
            os.chdir("/")
    sys.exit(finish())


main()
