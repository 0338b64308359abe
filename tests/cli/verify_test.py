#!/usr/bin/env python3
"""tandem verify: the same bits from any start, on any number of threads and processes; what it says of changed files.

  verify_test.py TANDEM      ends with the line "N passed, N failed"
"""
import hashlib
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

from checks import check, finish
from idx_files import write_data

tandem = os.path.abspath(sys.argv[1])
clean = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")} | {"CUDA_VISIBLE_DEVICES": ""}


def tool(*words):
    return subprocess.run([tandem, *words], capture_output=True, text=True, timeout=120, env=clean,
                          stdin=subprocess.DEVNULL)


def train(folder, *words, model="linear", threads="1", epochs="3"):
    it = tool("train", "--model", model, "--data", "data", "--batch-size", "20", "--epochs", epochs,
              "--threads", threads, "--out", folder, *words)
    check(f"train {folder}", it.returncode == 0, it)


def verify(*words):
    return tool("verify", *words, *([] if "--threads" in words or "--processes" in words else ["--threads", "1"]))


def epochs(output):
    return [line for line in output.splitlines() if line.startswith("epoch")]


def same(what, *words, numbers=(1, 2, 3)):
    before = contents(words[0])
    it = verify(*words)
    check(what, it.returncode == 0 and epochs(it.stdout) == [f"epoch {n}: same bits" for n in numbers], it)
    check(what + ": nothing is written", contents(words[0]) == before)


def differs(what, parts, *words, code=1):
    """The command ends with this code, and says all parts, in one line if it is an error."""
    it = verify(*words)
    said = it.stdout + it.stderr
    check(what, it.returncode == code and all(p in said for p in parts) and it.stderr.count("\n") <= 1, it)


def contents(folder):
    found = {}
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                found[os.path.join(base, name)] = file.read()
    return found


def lines_of(folder):
    with open(f"{folder}/metrics.jsonl") as file:
        return [json.loads(line) for line in file]


def parsed(content):
    """JSON with its floating point numbers as they are written: the tool's are not always the shortest, as Python's are."""
    return json.loads(content, parse_float=lambda number: f"<{number}>")


def text(value, separators=(",", ":"), indent=None):
    return re.sub(r'"<([-+.\deE]+)>"', r"\1",
                  json.dumps(value, separators=separators, indent=indent, ensure_ascii=False))


SUMS = "tandem.crc32"  # the entry with the checksums, which other programs do not write


def read_checkpoint(path):
    with open(path, "rb") as file:
        size, = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(size)), file.read()


def write_checkpoint(path, header, data):
    packed = text(header).encode()
    packed += b" " * (-len(packed) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(packed)) + packed + data)


def rewritten(source, folder, change, chain=False):
    """A copy of a run with other lines or another configuration, in all its files; `chain`: also a chain that fits."""
    shutil.copytree(source, folder)
    path = f"{folder}/checkpoint.safetensors"
    header, data = read_checkpoint(path)
    metadata = header["__metadata__"]
    config, progress = parsed(metadata["config"]), parsed(metadata["progress"])
    lines = progress["history"]
    change(config, lines)
    if chain:
        free = {k: v for k, v in config.items() if k not in ("data", "data_folder", "classes", "devices", "root")}
        link = hashlib.sha256(text(free).encode()).hexdigest()
        for line in lines:
            line.pop("chain")
            link = line["chain"] = hashlib.sha256((link + text(line)).encode()).hexdigest()
    metadata["config"], metadata["progress"] = text(config), text(progress)
    del metadata[SUMS]
    write_checkpoint(path, header, data)
    with open(f"{folder}/metrics.jsonl", "w") as file:
        file.writelines(text(line) + "\n" for line in lines)
    with open(f"{folder}/config.json", "w") as file:
        file.write(text(config, None, indent=2) + "\n")


def test_same_bits():
    train("a", "--hash-steps", "2")
    lines = lines_of("a")
    check("hashes", all(len(l["state_sha256"]) == 64 and len(l["chain"]) == 64 and len(l["tensor_hashes"]) % 8 == 0 and
                        len(l["step_hashes"]) == 16 * 5 for l in lines), lines)
    check("the start", len(json.load(open("a/config.json"))["start_sha256"]) == 64)
    same("from the start", "a")
    same("with other threads", "a", "--threads", "2", "--workers", "1")
    same("one epoch", "a", "--epochs", "2", numbers=(2,))
    same("the folder last", "a", "--epochs=1,3", numbers=(1, 3))
    it = tool("verify", "--epochs", "2", "a")
    check("the option first", it.returncode == 0 and epochs(it.stdout) == ["epoch 2: same bits"], it)
    train("b", threads="2")
    train("c")
    state = lambda folder: [line["state_sha256"] for line in lines_of(folder)]
    check("the same hashes for any threads, with and without those of steps", state("a") == state("b") == state("c"))
    check("the time is in the chain", lines_of("b")[0]["chain"] != lines_of("c")[0]["chain"])


def test_recipes():
    train("ema", "--ema", "0.9", "--accumulate", "3", "--clip", "1", "--hash-steps", "1", model="mlp")
    same("accumulation and an average", "ema")
    train("sgd", "--recipe", "source", "--momentum", "0.9", "--augment", "crop")
    same("momentum and augmentation", "sgd")
    it = tool("train", "--resume", "sgd", "--epochs", "4", "--threads", "1")
    check("a fourth epoch", it.returncode == 0, it)
    same("a run with more epochs than it was started with", "sgd", numbers=(1, 2, 3, 4))
    train("early", "--patience", "1", "--lr", "1e-9", epochs="9")
    check("stops early", len(lines_of("early")) == 2)
    same("a run that has stopped early", "early", numbers=(1, 2))
    train("pieces", "--devices", "cpu:0,cpu:1", "--shards", "4", "--hash-steps", "1", model="mlp")
    same("several devices", "pieces")
    same("one device instead", "pieces", "--devices", "cpu:0")
    train("two", "--devices", "cpu:0,cpu:1")
    same("the devices of the run", "two")


def test_text():
    with open("book.txt", "w") as file:
        file.write("It was a bright cold day in April, and the clocks were striking thirteen. " * 40)
    it = tool("train", "--model", "gpt2", "--data", "book.txt", "--layers", "1", "--width", "16", "--heads", "2",
              "--context", "16", "--steps", "5", "--batch-size", "4", "--epochs", "2", "--dropout", "0.1",
              "--out", "text", "--threads", "1")
    check("a text", it.returncode == 0, it)
    same("a text", "text", numbers=(1, 2))


def test_weights():
    train("donor", model="mlp")
    train("more", "--weights", "donor/model.safetensors", model="mlp")
    same("the weights are named", "more", "--weights", "donor/model.safetensors")
    differs("they are not", ["more: was not started from the parameters of its seed", "--weights"], "more")
    differs("others are", ["--weights a/", "a/model.safetensors"], "more", "--weights", "a/model.safetensors", code=2)
    train("other", "--seed", "5", model="mlp")
    differs("of another run", ["--weights other/model.safetensors: are not what"], "more", "--weights",
            "other/model.safetensors")
    differs("a key alone", ["--key"], "a", "--key", "x", code=2)


def stop(folder, *words):
    """Stops a training in the middle of an epoch."""
    going = subprocess.Popen([tandem, "train", "--save-every", "0.001", "--epochs", "3", "--out", folder, *words],
                             stdout=subprocess.PIPE, env=clean)
    for _ in range(2000):
        time.sleep(0.005)
        try:
            progress = json.loads(read_checkpoint(f"{folder}/checkpoint.safetensors")[0]["__metadata__"]["progress"])
            if progress["batch"] > 10:
                break
        except OSError:
            pass
    going.send_signal(signal.SIGTERM)
    try:
        going.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        going.kill()
        going.communicate()
    check(f"{folder}: stopped", going.returncode == 128 + signal.SIGTERM, going.returncode)


def test_stop_and_resume():
    words = ["--model", "mlp", "--data", "data", "--batch-size", "2", "--recipe", "best", "--hash-steps", "7"]
    stop("cut", *words, "--threads", "1")
    it = tool("train", "--resume", "cut", "--threads", "1", "--hash-steps", "8")
    check("another number of steps", it.returncode == 2 and "--hash-steps" in it.stderr, it)
    it = tool("train", "--resume", "cut", "--threads", "1")
    check("resumed", it.returncode == 0, it)
    same("stopped and resumed", "cut")
    it = tool("train", "--resume", "cut", "--threads", "1")
    check("resumed after its end", it.returncode == 0 and "nothing to do" in it.stdout, it)
    same("resumed after its end, where the learning rate is that of the last step", "cut")
    it = tool("train", *words, "--epochs", "3", "--out", "whole", "--threads", "1")
    hashes = lambda folder: [(l["state_sha256"], l["tensor_hashes"], l["step_hashes"]) for l in lines_of(folder)]
    check("the hashes of a run that was not stopped", hashes("cut") == hashes("whole"), it)


def test_processes():
    train("p", "--processes", "2", "--hash-steps", "1", model="mlp", threads="2")
    same("one process for two", "p", "--threads", "2")
    same("two processes", "p", "--processes", "2", "--threads", "2")
    rewritten("p", "p1", lambda config, lines: lines[1].update(test_loss=1.0), chain=True)
    differs("found by two processes", ["epoch 1: same bits", "epoch 2: differs", '"test_loss"', "epoch 3: same bits"],
            "p1", "--processes", "2", "--threads", "2")
    stop("pcut", "--model", "mlp", "--data", "data", "--batch-size", "4", "--processes", "2", "--hash-steps", "1",
         "--threads", "2")
    it = tool("train", "--resume", "pcut", "--threads", "1")
    check("resumed by one process", it.returncode == 0, it)
    same("two processes, then one", "pcut")
    differs("refused by two processes", ["nowhere"], "nowhere", "--processes", "2", code=2)


def test_kept_epochs():
    train("k", "--keep", "all")
    check("checkpoints", all(os.path.exists(f"k/epochs/{n}/checkpoint.safetensors") for n in (1, 2, 3)))
    same("the last epoch", "k", "--epochs", "3", numbers=(3,))
    same("two epochs", "k", "--epochs", "1,3", numbers=(1, 3))
    same("all", "k")
    shutil.copytree("k", "k1")
    shutil.copy("k/epochs/1/checkpoint.safetensors", "k1/epochs/2/checkpoint.safetensors")
    differs("another epoch's", ["k1/epochs/2/checkpoint.safetensors: is not the checkpoint"], "k1", "--epochs", "3")
    same("from the one before", "k1", "--epochs", "2", numbers=(2,))
    shutil.copytree("k", "k2")
    flip("k2/epochs/2/checkpoint.safetensors")
    differs("a broken one", ["k2/epochs/2/checkpoint.safetensors"], "k2", "--epochs", "3")
    shutil.copytree("k", "k3")
    flip("k3/epochs/2/checkpoint.safetensors", sums=True)
    differs("a forged one", ["k3/epochs/2/checkpoint.safetensors: model.", "is not what epoch 2 ended with"], "k3",
            "--epochs", "3")


def flip(path, sums=False):
    """Changes a byte of the first tensor; `sums`: and removes the checksums, as another program might."""
    header, data = read_checkpoint(path)
    if sums:
        del header["__metadata__"][SUMS]
    at = next(v["data_offsets"][0] for k, v in header.items() if k.startswith("model.")) + 1
    write_checkpoint(path, header, data[:at] + bytes([data[at] ^ 1]) + data[at + 1:])


def test_changed_files():
    def copy(folder):
        shutil.copytree("a", folder)

    copy("m1")
    with open("m1/metrics.jsonl") as file:
        lines = file.readlines()
    with open("m1/metrics.jsonl", "w") as file:
        file.writelines([*lines[:2], lines[2].replace('"epoch":3', '"epoch":4')])
    differs("a line", ["m1/metrics.jsonl: line 3 differs from the checkpoint's record"], "m1")
    with open("m1/metrics.jsonl", "w") as file:
        file.writelines(lines[:2])
    differs("a line less", ["m1/metrics.jsonl: has 2 lines, but the checkpoint records 3 epochs"], "m1")
    with open("m1/metrics.jsonl", "w") as file:
        file.writelines([*lines, lines[2]])
    differs("a line more", ["m1/metrics.jsonl: line 4 is not in"], "m1")

    better = lambda config, lines: lines[1].update(test_accuracy=0.99)
    rewritten("a", "m2", better)
    differs("a line, everywhere", ["m2/metrics.jsonl: line 2 does not fit into the chain of hashes: it was changed"],
            "m2")
    rewritten("a", "m3", better, chain=True)
    differs("with its chain", ["epoch 1: same bits", "epoch 3: same bits",
                               'epoch 2: differs; the state has the same bits, but "test_accuracy"'], "m3")

    def forge(config, lines):
        first = lines[1]
        first["state_sha256"] = "0" * 64
        first["tensor_hashes"] = first["tensor_hashes"][:8] + "0" * 8 + first["tensor_hashes"][16:]
        first["step_hashes"] = first["step_hashes"][:32] + "0" * 48
    rewritten("a", "m4", forge, chain=True)
    differs("hashes", ["epoch 1: same bits", "epoch 2: differs; first in tensor model.", "epoch 3: same bits",
                       "bias; first at step 6 (of those recorded, one in 2)"], "m4")

    copy("s1")
    flip("s1/checkpoint.safetensors")
    differs("a byte of the checkpoint", ["s1/checkpoint.safetensors"], "s1")
    copy("s2")
    flip("s2/checkpoint.safetensors", sums=True)
    differs("without checksums", ["s2/checkpoint.safetensors: model.", "is not what epoch 3 ended with"], "s2")

    copy("c1")
    with open("c1/config.json") as file:
        config = file.read()
    with open("c1/config.json", "w") as file:
        file.write(config.replace('"seed": 0', '"seed": 1'))
    differs("the seed", ['c1/config.json: "seed" differs from the checkpoint\'s record'], "c1")
    with open("c1/config.json", "w") as file:
        file.write("{")
    differs("no JSON", ["c1/config.json: "], "c1")
    seed = lambda config, lines: config.update(seed=1)
    rewritten("a", "c2", seed)
    differs("the seed, everywhere", ["line 1 does not fit", "or the configuration was"], "c2")
    rewritten("a", "c3", seed, chain=True)
    differs("with the chain", ["c3: was not started from the parameters of its seed"], "c3")
    rewritten("a", "c4", lambda config, lines: config.update(lr=0.01), chain=True)
    differs("the learning rate", ["epoch 1: differs; first in tensor model.", "first at step 2 (of those"], "c4")


def test_data():
    shutil.copytree("data", "moved")
    same("the data elsewhere", "a", "--data", "moved")
    path = "moved/train-images-idx3-ubyte"
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:-1] + bytes([content[-1] ^ 1]))
    differs("other data", ["moved: not the data that the run was started with"], "a", "--data", "moved", code=2)


def test_refused():
    differs("no folder", ["nowhere"], "nowhere", code=2)
    differs("no run", ["data does not contain a run"], "data", code=2)
    differs("a typing mistake", ["--epoch", "did you mean --epochs?"], "a", "--epoch", "3", code=2)
    differs("too many epochs", ["--epochs 4", "only 3 epochs"], "a", "--epochs", "2,4", code=2)
    differs("no number", ["--epochs x"], "a", "--epochs", "x", code=2)
    check("no run is named", tool("verify").returncode == 2)

    def strip(config, lines):
        config.pop("start_sha256")
        for line in lines:
            for key in ("state_sha256", "tensor_hashes", "step_hashes", "chain"):
                line.pop(key, None)
    rewritten("a", "old", strip)
    differs("an older version", ["old: epoch 1 has no hashes", "older version"], "old", code=2)
    rewritten("sgd", "grown", strip)
    it = tool("train", "--resume", "grown", "--epochs", "5", "--threads", "1")
    check("an old run goes on", it.returncode == 0, it)
    differs("its first epochs", ["epoch 1 has no hashes"], "grown", code=2)
    same("its new one", "grown", "--epochs", "5", numbers=(5,))


def test_report():
    it = tool("report", "a", "b", "--out", "page.html")
    with open("page.html") as file:
        page = file.read()
    first = lines_of("a")[0]
    check("the report", it.returncode == 0 and first["state_sha256"][:12] in page and first["chain"][:12] in page and
          "tandem verify a" in page and "Same state" in page, it)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        write_data("data", 200)
        for test in (test_same_bits, test_recipes, test_text, test_weights, test_stop_and_resume, test_processes,
                     test_kept_epochs, test_changed_files, test_data, test_refused, test_report):
            try:
                test()
            except (OSError, ValueError, KeyError, IndexError, StopIteration, subprocess.TimeoutExpired) as error:
                check(f"{test.__name__}: {type(error).__name__}", False, str(error))
        os.chdir("/")
    sys.exit(finish())


main()
