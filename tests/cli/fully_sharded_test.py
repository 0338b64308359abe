#!/usr/bin/env python3
"""Trains with --fully-sharded: bits, other numbers of processes, its checkpoints in other commands, failures.

    fully_sharded_test.py TANDEM      ends with the line "N passed, N failed"
"""
import glob
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys

from checks import check, finish, in_new_folder, refused
from picture_files import write_gray_png

tandem = os.path.abspath(sys.argv[1])
FOREIGN = re.compile("^(RANK|WORLD_SIZE|LOCAL_|GROUP_|MASTER_|TORCHELASTIC_|TANDEM_NUM_THREADS|TANDEM_JOB_KEY)")
# Without a GPU, which would serve one process only.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)} | {
    "CUDA_VISIBLE_DEVICES": ""}
IMAGES = ["--model", "lenet", "--data", "data", "--batch-size", "50", "--recipe", "best", "--augment", "flip",
          "--epochs", "2", "--seed", "7", "--threads", "2"]
TEXT = ["--model", "gpt2", "--data", "book.txt", "--layers", "2", "--width", "32", "--heads", "2", "--context", "32",
        "--batch-size", "8", "--steps", "20", "--epochs", "2", "--threads", "2"]


skipped = 0


def write_data(folder):
    """Images whose class is a bright row."""
    os.makedirs(folder)
    for part, n in (("train", 500), ("t10k", 150)):
        draw = random.Random(n)
        images = b"".join(bytes(draw.randrange(100) + 150 * (row == 2 * (i % 10) + 3) for row in range(28)
                                for _ in range(28)) for i in range(n))
        for kind, sizes, content in (("images-idx3", (n, 28, 28), images),
                                     ("labels-idx1", (n,), bytes(i % 10 for i in range(n)))):
            with open(f"{folder}/{part}-{kind}-ubyte", "wb") as file:
                file.write(struct.pack(">HBB", 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + content)


def tool(*words, **more):
    return subprocess.run([tandem, *words], env=ENVIRONMENT, capture_output=True, text=True, timeout=200,
                          stdin=subprocess.DEVNULL, **more)


def sharded(processes, out, *words):
    done = tool("train", "--fully-sharded", "--processes", str(processes), "--out", out, *words)
    check(f"{out}: trains", done.returncode == 0 and done.stderr == "", (done.returncode, done.stderr))
    return done.stdout


def metrics(run):
    """Without times and hashes."""
    other = ("seconds", "images_per_second", "tokens_per_second", "processes", "chain", "within_epoch", "state_sha256",
             "tensor_hashes")
    with open(f"{run}/metrics.jsonl") as file:
        return [{key: value for key, value in json.loads(line).items() if key not in other} for line in file]


def hashes(run):
    """Of the start and of each epoch."""
    with open(f"{run}/metrics.jsonl") as file:
        lines = [json.loads(line) for line in file]
    return [json.loads(content(f"{run}/config.json"))["start_sha256"],
            *({key: value for key, value in line.items() if "hash" in key or "sha256" in key} for line in lines)]


def content(path):
    with open(path, "rb") as file:
        return file.read()


def tensors(path):
    """The bytes of each tensor in a safetensors file, or in the files of an index."""
    if path.endswith(".json"):
        with open(path) as file:
            names = set(json.load(file)["weight_map"].values())
        folder = os.path.dirname(path)
        return {key: value for name in names for key, value in tensors(os.path.join(folder, name)).items()}
    data = content(path)
    end = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:end])
    return {name: data[end + entry["data_offsets"][0]:end + entry["data_offsets"][1]] for name, entry in head.items()
            if name != "__metadata__"}


def model(run):
    return tensors(f"{run}/model.safetensors.index.json")


def close(a, b):
    """Whether losses differ by rounding only."""
    return len(a) == len(b) and all(abs(x[key] - y[key]) < 1e-3 for x, y in zip(a, b) for key in ("train_loss",
                                                                                               "test_loss"))


def test_images():
    said = sharded(2, "two", *IMAGES)
    check("it says how", "in 2 processes, fully sharded" in said and "memory   in each process" in said, said)
    whole = tool("train", "--processes", "2", "--shards", "0", "--out", "whole", *IMAGES)
    check("the same bits as with two whole models", model("two") == tensors("whole/model.safetensors"), whole.stderr)
    check("and losses", [line["train_loss"] for line in metrics("two")] ==
          [line["train_loss"] for line in metrics("whole")], (metrics("two"), metrics("whole")))
    check("and hashes", hashes("two") == hashes("whole"), (hashes("two"), hashes("whole")))
    check("files", sorted(glob.glob("two/*.safetensors")) == [
        "two/checkpoint.safetensors", "two/model-00001-of-00002.safetensors", "two/model-00002-of-00002.safetensors"])
    check("one folder of tensors", glob.glob("two/.*") + glob.glob("two/checkpoint-*") == ["two/checkpoint-2-0"],
          os.listdir("two"))
    check("recorded", json.loads(content("two/config.json"))["fully_sharded"] is True)
    losses = [line["test_loss"] for line in metrics("two")]
    check("it learns", losses[1] < losses[0] < 2.3, losses)
    plain = [word if word != "flip" else "none" for word in IMAGES]  # one process has other random numbers
    sharded(1, "one", *plain)
    tool("train", "--devices", "cpu:0", "--out", "one-whole", *plain)
    check("one process has the bits of a whole model", model("one") == tensors("one-whole/model.safetensors"))


def test_half():
    plain = [word if word != "best" else "source" for word in IMAGES]
    for precision in ("bf16", "fp16"):
        sharded(2, precision, *plain, "--precision", precision)
        tool("train", "--processes", "2", "--shards", "0", "--out", f"whole-{precision}", *plain, "--precision",
             precision)
        check(f"{precision}: the same bits", model(precision) == tensors(f"whole-{precision}/model.safetensors"))
        check(f"{precision}: and losses", metrics(precision) == metrics(f"whole-{precision}"),
              (metrics(precision), metrics(f"whole-{precision}")))


def test_resume():
    options = [word if word != "best" else "source" for word in IMAGES]
    options[options.index("--epochs") + 1] = "1"
    options += ["--optimizer", "adamw", "--lr", "0.001", "--accumulate", "2", "--clip", "1"]
    for then in (2, 1, 3):
        run = f"resumed{then}"
        sharded(2, run, *options)
        done = tool("train", "--resume", run, "--epochs", "2", "--processes", str(then), "--threads", "3")
        good = done.returncode == 0 and done.stderr == "" and "resumed  after 1 epoch" in done.stdout
        check(f"resumed in {then}", good, done)
        check(f"files of {then}", len(glob.glob(f"{run}/model-*.safetensors")) == then, os.listdir(run))
    options[options.index("--epochs") + 1] = "2"
    sharded(2, "straight", *options)
    check("the same bits with as many processes", model("resumed2") == model("straight"))
    for then in (1, 3):
        check(f"nearly the same in {then}", close(metrics(f"resumed{then}"), metrics("straight")))


def test_shards():
    options = [word if word != "best" else "source" for word in IMAGES]
    options[options.index("--epochs") + 1] = "1"
    options += ["--shards", "8", "--optimizer", "adamw", "--lr", "0.001", "--accumulate", "2", "--clip", "1"]
    two = list(options)
    two[two.index("--epochs") + 1] = "2"
    tool("train", "--devices", "cpu:0", "--out", "sums-whole", *two)
    whole = tensors("sums-whole/model.safetensors")
    said = sharded(3, "sums3", *two)
    check("it says what sums take", "of sums over shards" in said, said)
    check("one device's bits", model("sums3") == whole)
    check("and losses", metrics("sums3") == metrics("sums-whole"), (metrics("sums3"), metrics("sums-whole")))
    sharded(2, "sums", *options)
    for then in (1, 3, 2):
        shutil.copytree("sums", f"sums-then{then}")
        done = tool("train", "--resume", f"sums-then{then}", "--epochs", "2", "--processes", str(then), "--threads",
                    "3")
        check(f"the same bits when it goes on in {then}", model(f"sums-then{then}") == whole, done)
    sharded(2, "sums-text", *TEXT, "--shards", "4")
    tool("train", "--devices", "cpu:0", "--out", "sums-whole-text", *TEXT, "--shards", "4")
    check("a text's bits", model("sums-text") == tensors("sums-whole-text/model.safetensors"))


def test_average_and_best():
    options = [word if word != "best" else "source" for word in IMAGES] + ["--lr", "0.05", "--init", "default"]
    for kind, more in (("average", ["--ema", "0.9"]), ("best", ["--keep", "best", "--validation", "0.1"]),
                       ("both", ["--ema", "0.9", "--keep", "best", "--validation", "0.1"])):
        sharded(2, kind, *options, *more)
        tool("train", "--processes", "2", "--shards", "0", "--out", f"whole-{kind}", *options, *more)
        check(f"{kind}: the same bits", model(kind) == tensors(f"whole-{kind}/model.safetensors"))
        check(f"{kind}: the same epochs", metrics(kind) == metrics(f"whole-{kind}"),
              (metrics(kind), metrics(f"whole-{kind}")))
        done = tool("convert", kind, f"{kind}.safetensors")
        check(f"{kind}: converted", done.returncode == 0 and tensors(f"{kind}.safetensors") == model(kind), done)
        for name in (kind, f"whole-{kind}"):
            done = tool("train", "--resume", name, "--epochs", "3", "--processes", "2", "--threads", "2")
            check(f"{name}: resumed", done.returncode == 0, done)
        check(f"{kind}: the same bits after it was resumed", model(kind) == tensors(f"whole-{kind}/model.safetensors"))
    check("folders", {os.path.basename(name)[:7] for name in glob.glob("both/*-*[0-9e]")} >= {"checkpo"} and
          len(glob.glob("both/best-*")) == 1 and len(glob.glob("both/checkpoint-*")) == 2, os.listdir("both"))
    # Three processes write what two have written: the model, its average, the optimizer and the best model.
    before = {path: tensors(path) for path in glob.glob("both/**/*.index.json", recursive=True)}
    done = tool("train", "--resume", "both", "--processes", "3", "--threads", "3")
    check("read and written by three", done.returncode == 0 and "nothing to do" in done.stdout and
          len(glob.glob("both/checkpoint-3-0/model-*-of-00003.safetensors")) == 3, done)
    check("have the same bits", len(before) == 5 and all(tensors(path) == before[path] for path in before),
          list(before))
    sharded(2, "all", *options, "--keep", "all")
    check("every epoch", model("all/epochs/2") == model("all") != model("all/epochs/1"), os.listdir("all/epochs"))
    check("and its checkpoint", os.path.isdir("all/epochs/1/checkpoint-1-0"))


def test_stopped():
    words = [tandem, "train", "--fully-sharded", "--processes", "2", *IMAGES, "--out", "stopped"]
    words[words.index("--batch-size") + 1] = "10"
    whole = [word if word != "stopped" else "not-stopped" for word in words]
    with subprocess.Popen(words, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as job:
        for line in job.stdout:
            if line.startswith("epoch 1/"):
                job.send_signal(signal.SIGTERM)
                break
        rest, error = job.communicate(timeout=120)
    # It may have ended before the signal came.
    check("it stops", job.returncode in (0, 128 + signal.SIGTERM) and error == "", (job.returncode, rest, error))
    left = ["stopped/.checkpoint-9-0.new", "stopped/checkpoint-9-0", "stopped/best-9"]  # of a run that was killed
    for name in left:
        os.mkdir(name)
    left.append("stopped/.model-00001-of-00009.safetensors.1-0.tmp")
    open(left[-1], "w").close()
    done = tool("train", "--resume", "stopped", "--processes", "2", "--threads", "2")
    check("it goes on", done.returncode == 0, done)
    check("leftovers are removed", not any(map(os.path.exists, left)), os.listdir("stopped"))
    subprocess.run(whole, env=ENVIRONMENT, capture_output=True, timeout=120)
    check("with the bits of a run that never stopped", model("stopped") == model("not-stopped"))


def test_full_disk():
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    before = tensors("resumed2/checkpoint-2-0/model-00001-of-00002.safetensors")
    for processes in ("1", "2"):
        run = tool("train", "--resume", "resumed2", "--epochs", "3", "--processes", processes,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9999, hard)))
        refused(f"a full disk, {processes}", run, "File too large",
                "the checkpoint of 2 epochs and 0 batches is intact", code=1)
    check("the old checkpoint stays", glob.glob("resumed2/.*") + glob.glob("resumed2/checkpoint-*") == [
        "resumed2/checkpoint-2-0"], os.listdir("resumed2"))
    check("as it was", tensors("resumed2/checkpoint-2-0/model-00001-of-00002.safetensors") == before)
    check("and is read", tool("eval", "resumed2", "--data", "data").returncode == 0)


def test_published():
    words = ["--model", "resnet18", "--data", "data", "--batch-size", "250", "--epochs", "1", "--threads", "2",
             "--augment", "none"]
    sharded(2, "resnet", *words)
    tool("train", "--processes", "2", "--shards", "0", "--out", "whole-resnet", *words)
    check("a published network: the same bits", model("resnet") == tensors("whole-resnet/model.safetensors"))
    check("its own names", "layer1.0.bn1.running_mean" in model("resnet"), sorted(model("resnet"))[:5])
    losses = [metrics(run)[0]["test_loss"] for run in ("resnet", "whole-resnet")]
    check("and losses", losses[0] == losses[1], losses)


def test_frozen():
    """Values from another initialisation, which are set when all blocks have been cut."""
    options = [word if word != "best" else "source" for word in IMAGES] + ["--init", "normal", "--freeze", "conv1"]
    sharded(2, "frozen", *options)
    tool("train", "--processes", "2", "--shards", "0", "--out", "whole-frozen", *options)
    check("frozen layers: the same bits", model("frozen") == tensors("whole-frozen/model.safetensors"))
    done = tool("train", "--resume", "frozen", "--epochs", "3", "--processes", "2", "--threads", "2")
    check("frozen layers: resumed", done.returncode == 0 and model("frozen")["conv1.weight"] ==
          tensors("whole-frozen/model.safetensors")["conv1.weight"], done)


def test_other_commands():
    done = tool("eval", "two", "--data", "data")
    accuracy = f"{metrics('two')[-1]['test_accuracy']:.4f}"
    check("eval", done.returncode == 0 and accuracy in done.stdout, (accuracy, done))
    for path, size in (("two.safetensors", 1), ("two.pt", 0)):
        done = tool("convert", "two", path)
        check(f"convert to {path}", done.returncode == 0 and os.path.exists(path), done)
    if os.path.exists("two.safetensors"):
        check("its tensors", tensors("two.safetensors") == model("two"))
    write_gray_png("image.png", 28, 28, bytes(784))
    done = tool("predict", "two", "image.png")
    check("predict", done.returncode == 0, done)
    done = tool("report", "two")
    check("report", done.returncode == 0 and done.stderr == "", done)
    done = tool("summary", "two", "--processes", "4")
    check("summary", done.returncode == 0 and done.stderr == "" and "each of 4 processes has" in done.stdout, done)
    done = tool("train", "--weights", "two/model.safetensors.index.json", *IMAGES, "--out", "further")
    check("weights of another run", done.returncode == 0, done.stderr)


def verified(run, *words, processes=2):
    """The exit code of verify, and what it says of the epochs and of errors."""
    done = tool("verify", run, "--processes", str(processes), "--threads", "2", *words)
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith("epoch")], done.stderr


def test_verify():
    before = os.listdir("two")
    check("verify", verified("two") == (0, ["epoch 1: same bits", "epoch 2: same bits"], ""), verified("two"))
    check("it writes nothing", os.listdir("two") == before and not os.path.exists("epochs"), os.listdir("two"))
    code, said, _ = verified("two", processes=1)
    check("another number of processes", code == 1 and all("differs; first in tensor model." in line for line in said),
          said)
    check("with shards, in any number", verified("sums3", processes=1)[0] == verified("sums3", processes=2)[0] == 0,
          verified("sums3", processes=1))
    check("a kept epoch", verified("all", "--epochs", "2") == (0, ["epoch 2: same bits"], ""),
          verified("all", "--epochs", "2"))
    check("the best epoch and an average", verified("both")[0] == 0, verified("both"))
    options = [word if word != "best" else "source" for word in IMAGES] + ["--lr", "0.05", "--hash-steps", "2"]
    sharded(2, "steps", *options, "--keep", "all")
    tool("train", "--processes", "2", "--shards", "0", "--out", "whole-steps", *options)
    check("hashes of steps", hashes("steps") == hashes("whole-steps") and len(hashes("steps")[1]["step_hashes"]) == 80,
          (hashes("steps"), hashes("whole-steps")))
    check("with its steps", verified("steps")[0] == 0, verified("steps"))

    shutil.copytree("steps", "flipped")
    path = glob.glob("flipped/checkpoint-2-0/optimizer/optimizer-*")[0]
    data = bytearray(content(path))
    data[-5] ^= 1
    with open(path, "wb") as file:
        file.write(data)
    code, _, error = verified("flipped")
    check("a changed byte", code == 1 and path in error and "CRC-32" in error, error)
    shutil.copytree("steps", "exchanged")
    shutil.rmtree("exchanged/checkpoint-2-0")
    shutil.copytree("steps/epochs/1/checkpoint-1-0", "exchanged/checkpoint-2-0")
    code, _, error = verified("exchanged")
    check("an older state", code == 1 and "exchanged/checkpoint-2-0: model." in error and
          "is not what epoch 2 ended with" in error, error)
    shutil.copytree("steps", "kept")
    shutil.rmtree("kept/epochs/1/checkpoint-1-0")
    shutil.copytree("steps/checkpoint-2-0", "kept/epochs/1/checkpoint-1-0")
    code, _, error = verified("kept", "--epochs", "2")
    check("another kept state", code == 1 and "is not what epoch 1 ended with" in error, error)


def test_text():
    said = sharded(2, "text", *TEXT)
    check("its memory", "up to three of 2 units" in said, said)
    done = tool("generate", "text", "--prompt", "the ", "--tokens", "10")
    check("generate", done.returncode == 0 and done.stdout.startswith("the "), done)
    check("Hugging Face's names", "transformer.h.1.ln_1.weight" in model("text") and not any(
        name.startswith("lm_head") for name in model("text")), sorted(model("text")))
    tool("train", "--processes", "2", "--shards", "0", "--out", "whole-text", *TEXT)
    check("nearly the same as two whole models", close(metrics("text"), metrics("whole-text")),
          (metrics("text"), metrics("whole-text")))
    check("verify a text", verified("text") == (0, ["epoch 1: same bits", "epoch 2: same bits"], ""), verified("text"))
    for precision in ("bf16", "fp16"):
        sharded(2, f"text-{precision}", *TEXT, "--precision", precision)
        losses = [line["test_loss"] for line in metrics(f"text-{precision}")]
        check(f"{precision} learns", losses[1] < losses[0], losses)


def test_refusals():
    for words, part in ((["--tensorboard"], "--tensorboard"), (["--devices", "cpu:0,cpu:1"], "--devices")):
        done = tool("train", "--fully-sharded", "--processes", "2", *IMAGES, *words, "--out", "refused")
        refused(" ".join(words), done, part, "--fully-sharded")
        check("no folder", not os.path.exists("refused"))
    refused("another run", tool("train", "--resume", "whole", "--fully-sharded", "--processes", "2"), "--fully-sharded")


def test_killed():
    options = list(IMAGES)
    options[options.index("--epochs") + 1] = "1000"
    words = [tandem, "launch", "-n", "2", tandem, "train", "--fully-sharded", "--save-every", "0.001", *options,
             "--out", "killed"]
    with subprocess.Popen(words, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as job:
        for line in job.stdout:  # the job's end closes it
            if "epoch 1/" in line:
                children = content(f"/proc/{job.pid}/task/{job.pid}/children").split()
                last = next(pid for pid in map(int, children) if b"\0RANK=1\0" in content(f"/proc/{pid}/environ"))
                os.kill(last, signal.SIGKILL)
                break
        rest, error = job.communicate(timeout=120)
    check("a killed rank ends the others", job.returncode != 0 and "SIGKILL" in error, (job.returncode, rest, error))
    found = re.search(rb'epoch\\*":(\d+),\\*"batch\\*":(\d+)', content("killed/checkpoint.safetensors"))
    check("its checkpoint is whole", found is not None and os.path.exists(
        f"killed/checkpoint-{int(found[1])}-{int(found[2])}/optimizer/optimizer.safetensors.index.json"),
          os.listdir("killed"))
    done = tool("eval", "killed", "--data", "data")
    check("and can be read", done.returncode == 0, done)


def main():
    write_data("data")
    draw = random.Random(3)
    with open("book.txt", "w") as file:
        file.write("".join(f"the {draw.choice(['dog', 'cat', 'sea'])} is {draw.choice(['old', 'blue'])}.\n"
                           for _ in range(800)))
    probe = tool("launch", "-n", "2", tandem, "train", "--fully-sharded", *IMAGES, "--out", "probe")
    global skipped
    if "libtandem_gloo" in probe.stderr:
        skipped = 1
        return
    for test in (test_images, test_half, test_published, test_frozen, test_resume, test_shards, test_average_and_best,
                 test_stopped, test_full_disk, test_other_commands, test_verify, test_text, test_refusals, test_killed):
        test()


in_new_folder([main])
sys.exit(finish(skipped))
