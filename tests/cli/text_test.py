#!/usr/bin/env python3
"""Trains GPT-2 on texts made here: learning, resuming, devices and processes, generation, fine-tuning, wrong input.

    text_test.py TANDEM    ends with the line "N passed, N failed, N skipped"
"""
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from checks import check, finish

tandem = os.path.abspath(sys.argv[1])
skipped = 0
SMALL = ["--layers", "2", "--width", "32", "--heads", "2", "--context", "32", "--batch-size", "8"]


def tool(*words):
    env = {**os.environ, "HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "TANDEM_CPU_DEVICES": "2"}
    if "--processes" in words:  # a GPU serves one of them only
        env["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run([tandem, *words], capture_output=True, text=True, errors="replace", timeout=200, env=env)


def train(out, *words):
    done = tool("train", "--model", "gpt2", "--data", "book.txt", "--out", out, *SMALL, *words)
    check(f"{out}: exit code", done.returncode == 0, done.stderr)
    return done.stdout


def refused(what, done, *parts):
    message = done.stderr.strip()
    check(what, done.returncode == 2 and message.count("\n") == 0 and all(p in message for p in parts),
          (done.returncode, message))


def generated(run, *words):
    done = tool("generate", run, *words)
    check(f"generate {words}", done.returncode == 0, done.stderr)
    return done.stdout


def metrics(run):
    return [json.loads(line) for line in open(f"{run}/metrics.jsonl")]


def weights(run):
    return open(f"{run}/model.safetensors", "rb").read()


def tensor(run, name):
    """The bytes of a tensor in a file of weights."""
    content = weights(run)
    end = 8 + int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8:end])[name]["data_offsets"]
    return content[end + first:end + last]


def sentences(count, seed):
    draw = random.Random(seed)
    people = ["the old man", "a small dog", "my sister", "the café owner"]
    verbs = ["sees", "likes", "follows", "paints"]
    things = ["the blue house", "a green tree", "the sea", "every morning"]
    return "".join(f"{draw.choice(people)} {draw.choice(verbs)} {draw.choice(things)}.\n" for _ in range(count))


def unigram_loss(text):
    return -sum(text.count(c) / len(text) * math.log(text.count(c) / len(text)) for c in set(text))


def write_vocabulary(folder):
    """All bytes, as GPT-2's files write them, and the merge of " t", which is token 256."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    letters = [chr(b if b in plain else next(others)) for b in range(256)]
    os.makedirs(folder)
    with open(f"{folder}/vocab.json", "w", encoding="utf-8") as file:
        json.dump({word: number for number, word in enumerate([*letters, letters[32] + "t", "<|endoftext|>"])}, file)
    with open(f"{folder}/merges.txt", "w", encoding="utf-8") as file:
        file.write(f"#version: 0.2\n{letters[32]} t\n")


def test_learning():
    out = train("run", "--epochs", "4", "--lr", "0.005")
    lines = metrics("run")
    least = unigram_loss(open("book.txt", encoding="utf-8").read())
    check("it learns more than the frequencies of characters", lines[-1]["test_loss"] < 0.5 * least,
          (lines[-1]["test_loss"], least))
    check("loss and perplexity", all(abs(l["test_perplexity"] - math.exp(l["test_loss"])) < 1e-6 for l in lines), lines)
    check("the output names them", "perplexity" in out and "accuracy" not in out and "tokens to train" in out, out)
    files = ["checkpoint.safetensors", "config.json", "curve.svg", "metrics.jsonl", "model.safetensors",
             "tokenizer.json"]
    check("files", sorted(os.listdir("run")) == files, os.listdir("run"))
    check("the curve",
          ">perplexity<" in open("run/curve.svg").read() and "nats per token" in open("run/curve.svg").read())
    check("the same seed, the same bits",
          train("again", "--epochs", "4", "--lr", "0.005") and weights("again") == weights("run"))
    said = json.loads(tool("eval", "run", "--json").stdout)
    check("eval", abs(said["loss"] - lines[-1]["test_loss"]) < 1e-6, (said, lines[-1]))
    check("eval in words", "nats per token" in tool("eval", "run").stdout)
    with open("other.txt", "w", encoding="utf-8") as file:
        file.write(sentences(50, 7))
    other = json.loads(tool("eval", "run", "--data", "other.txt", "--json").stdout)
    check("another text", abs(other["loss"] - said["loss"]) < 0.3, (other, said))
    check("summary", "wte" in tool("summary", "run").stdout)
    check("inspect", "transformer.h.1.mlp.c_fc.weight" in tool("inspect", "run/model.safetensors").stdout)
    done = tool("convert", "run", "whole.safetensors")
    check("the run's weights", open("whole.safetensors", "rb").read() == weights("run"), done.stderr)
    done = tool("convert", "run", "narrow.safetensors", "--weights-bits", "8")
    check("and with 8 bits", done.returncode == 0 and
          os.path.getsize("narrow.safetensors") < 0.45 * os.path.getsize("whole.safetensors"), done.stderr)
    refused("not as ONNX", tool("convert", "run", "x.onnx"), "the run of a text", ".safetensors and .pt")
    refused("predict", tool("predict", "run", "book.txt"), "tandem generate run")


def test_quantised():
    """Weights of one byte: made while reading, and in a file."""
    book = ["--data", "book.txt", "--json"]
    plain, narrow = (json.loads(tool("eval", "run", *book, *bits).stdout) for bits in ([], ["--weights-bits", "8"]))
    check("nearly the same perplexity", plain["loss"] != narrow["loss"] and
          abs(narrow["perplexity"] / plain["perplexity"] - 1) < 0.005, (plain, narrow))
    os.mkdir("int8")
    done = tool("convert", "run/model.safetensors", "int8/model.safetensors", "--weights-bits", "8")
    check("convert", done.returncode == 0 and "int8/model.safetensors" in done.stdout, (done.stdout, done.stderr))
    check("its size", os.path.getsize("int8/model.safetensors") < 0.45 * os.path.getsize("run/model.safetensors"))
    listed = tool("inspect", "int8/model.safetensors").stdout
    check("its names", "transformer.h.1.mlp.c_fc.weight_int8" in listed and "c_fc.weight " not in listed and
          "lm_head" not in listed, listed)
    refused("no tokenizer", tool("eval", "int8", "--heads", "2", *book), "no tokenizer")
    shutil.copy("run/tokenizer.json", "int8")
    refused("heads", tool("eval", "int8", *book), "--heads")
    for name in "int8", "int8/model.safetensors":
        done = tool("eval", name, "--heads", "2", *book)
        check(f"eval {name}", done.returncode == 0 and json.loads(done.stdout)["loss"] == narrow["loss"],
              (done.stdout, done.stderr, narrow))
    said = json.loads(tool("eval", "run/model.safetensors", "--heads", "2", *book).stdout)
    check("eval of float weights", abs(said["loss"] - plain["loss"]) < 1e-6, (said, plain))
    words = ["--prompt", "the old", "--tokens", "40", "--seed", "3"]
    text = generated("run", *words, "--weights-bits", "8")
    check("generate from the file", generated("int8", *words, "--heads", "2") == text)
    check("quantised twice is quantised once",
          generated("int8", *words, "--heads", "2", "--weights-bits", "8") == text)
    again = tool("convert", "int8/model.safetensors", "again.safetensors", "--weights-bits", "8")
    check("and in a file", again.returncode == 0 and open("again.safetensors", "rb").read() ==
          open("int8/model.safetensors", "rb").read(), again.stderr)
    refused("other bits", tool("generate", "run", *words, "--weights-bits", "4"), "--weights-bits")
    refused("other weights", tool("convert", "run/checkpoint.safetensors", "x.safetensors", "--weights-bits", "8"),
            "--weights-bits", "not those of a GPT-2")
    refused("a run has its heads", tool("eval", "run", "--heads", "2"), "--heads")
    refused("no training", tool("train", "--model", "gpt2", "--data", "book.txt", "--out", "tuned", "--weights",
                                "int8/model.safetensors", "--heads", "2", "--context", "32"), "int8")


def test_generation():
    greedy = generated("run", "--prompt", "the old", "--tokens", "60", "--temperature", "0")
    check("it continues with words of the text",
          greedy.startswith("the old man ") and len(greedy) == 7 + 60 + 1, greedy)
    drawn = [generated("run", "--prompt", "my", "--seed", str(seed), "--top-k", "5") for seed in (1, 1, 2)]
    check("the seed decides", drawn[0] == drawn[1] != drawn[2], drawn)
    refused("a character that the text does not have", tool("generate", "run", "--prompt", "Žen"), "--prompt", "Ž")
    refused("no prompt", tool("generate", "run"), "empty")
    for option, value in (("--heads", "3"), ("--key", "model")):
        refused(f"{option} of a run", tool("generate", "run", "--prompt", "a", option, value),
                f"{option}: not for a run")
    refused("no run", tool("generate", "none", "--prompt", "a"), "none")
    os.makedirs("folder")
    refused("a folder with nothing", tool("generate", "folder", "--prompt", "a"), "folder")
    shutil.copytree("run", "plain")
    os.remove("plain/checkpoint.safetensors")
    check("the weights suffice",
          generated("plain", "--prompt", "the old", "--tokens", "60", "--temperature", "0") == greedy)
    os.remove("plain/tokenizer.json")
    refused("without the tokenizer", tool("generate", "plain", "--prompt", "a"), "tokenizer")
    done = tool("convert", "run/model.safetensors", "folder/model.safetensors", "--shard-size", "20kB")
    check("convert", done.returncode == 0, done.stderr)
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(f"run/{name}", "folder")
    check("a sharded checkpoint",
          generated("folder", "--prompt", "the old", "--tokens", "60", "--temperature", "0") == greedy)


def test_resume():
    train("whole", "--epochs", "6", "--steps", "30")
    command = [tandem, "train", "--model", "gpt2", "--data", "book.txt", "--out", "parts", *SMALL, "--epochs", "6",
               "--steps", "30"]
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.time() + 60
    while time.time() < until and not (os.path.exists("parts/metrics.jsonl") and len(metrics("parts")) >= 2):
        time.sleep(0.005)
    run.send_signal(signal.SIGINT)
    check("interrupted", run.wait(timeout=60) == 130, run.returncode)
    check("before the end", not os.path.exists("parts/model.safetensors"))
    check("an incomplete run writes", generated("parts", "--prompt", "my ", "--tokens", "5"))
    refused("another option", tool("train", "--resume", "parts", "--width", "64"), "--width 64")
    refused("a head of its own", tool(*command[1:6], "--out", "none", *SMALL, "--freeze", "all-but-head"),
            "the embedding")
    frozen = tool(*command[1:6], "--out", "several_options", *SMALL, "--epochs", "1", "--steps", "4",
                  "--accumulate", "2", "--ema", "0.5", "--keep", "best", "--freeze", "transformer.wpe,transformer.h.0")
    check("the options of other models", frozen.returncode == 0 and ", of which " in frozen.stdout,
          frozen.stdout + frozen.stderr)
    refused("another tokenizer", tool("train", "--resume", "parts", "--tokenizer", "char"), "--tokenizer")
    refused("more epochs", tool("train", "--resume", "parts", "--epochs", "9"), "cosine")
    refused("another text", tool("train", "--resume", "parts", "--data", "other.txt"), "not the text")
    done = tool("train", "--resume", "parts")
    check("resumed", done.returncode == 0, done.stderr)
    check("the same bits as without a break", weights("parts") == weights("whole"))
    check("the same losses", [l["train_loss"] for l in metrics("parts")] == [l["train_loss"] for l in metrics("whole")])


def test_devices():
    few = ["--epochs", "2", "--steps", "4"]
    train("one", *few, "--shards", "8", "--devices", "cpu:0")
    train("two", *few, "--shards", "8", "--devices", "cpu:0,cpu:1")
    check("two devices, the same bits", weights("one") == weights("two"))
    train("processes", *few, "--processes", "2")
    check("two processes, the same bits", weights("one") == weights("processes"))


def test_byte_pairs():
    write_vocabulary("vocabulary")
    train("pairs", "--epochs", "1", "--steps", "5", "--tokenizer", "vocabulary")
    config = json.load(open("pairs/config.json"))
    check("the vocabulary", (config["vocab_size"], config["eos_token_id"]) == (258, 257), config)
    check("its files", open("pairs/vocab.json").read() == open("vocabulary/vocab.json").read() and
          os.path.exists("pairs/merges.txt"))
    check("a prompt with any character", generated("pairs", "--prompt", "Ž t", "--tokens", "3").startswith("Ž t"))
    refused("no such folder", tool("train", "--model", "gpt2", "--data", "book.txt", "--tokenizer", "nowhere"),
            "--tokenizer nowhere")


def test_records():
    said = train("seen", "--epochs", "1", "--steps", "5", "--tensorboard")
    check("the end of a text is for validation", "validation loss" in said and "test" not in said, said)
    check("also in the curves", ">validation<" in open("seen/curve.svg").read())
    check("events", any("tfevents" in name for name in os.listdir("seen")), os.listdir("seen"))
    done = tool("report", "seen")
    check("a report", done.returncode == 0 and "on a text" in done.stdout, (done.stdout, done.stderr))
    page = open("seen/report.html", encoding="utf-8").read()
    check("with perplexities of the validation", "Validation perplexity" in page and '"part":"validation"' in page and
          "Test " not in page and '"part":"test"' not in page, page[:3000])


def test_recipe():
    few = ["--epochs", "1", "--steps", "4"]
    out = train("frozen", *few, "--weights", "run", "--freeze", "transformer.wte,transformer.h.0")
    check("some of the parameters train", "of which" in out, out)
    check("the others are those of the weights",
          tensor("frozen", "transformer.wte.weight") == tensor("run", "transformer.wte.weight")
          and tensor("frozen", "transformer.h.1.mlp.c_fc.weight") != tensor("run", "transformer.h.1.mlp.c_fc.weight"))
    check("gradients are clipped", json.load(open("run/config.json"))["clip"] == 1)
    train("pairwise", *few, "--accumulate", "2")
    train("fewer", *few, "--accumulate", "2", "--processes", "2")
    train("eight", *few, "--accumulate", "2", "--shards", "8", "--devices", "cpu:0")
    check("groups of batches in two processes, the same bits", weights("fewer") == weights("eight"))
    train("mean", *few, "--ema", "0.5")
    check("an average", weights("mean") != weights("pairwise") and generated("mean", "--prompt", "my", "--tokens", "3"))


def test_fine_tuning():
    done = tool("train", "--model", "gpt2", "--data", "other.txt", "--weights", "run", "--out", "fine", "--epochs", "1",
                "--steps", "3", "--validation", "0.2")
    check("fine-tuning", done.returncode == 0, done.stderr)
    check("begins with what the weights know", metrics("fine")[0]["train_loss"] < 1, metrics("fine"))
    check("with the weights' tokenizer", open("fine/tokenizer.json").read() == open("run/tokenizer.json").read())
    base = ["train", "--model", "gpt2", "--data", "book.txt"]
    refused("other sizes", tool(*base, "--weights", "run", "--width", "64"), "--width 64", "32")
    refused("a longer context", tool(*base, "--weights", "run", "--context", "64"), "32 positions")
    refused("no weights", tool(*base, "--weights", "nowhere"), "nowhere")
    refused("no tokenizer", tool(*base, "--weights", "plain"), "--tokenizer")
    said = tool("summary", "--model", "resnet18", "--weights", "run/model.safetensors")
    check("weights of a text for images", said.returncode == 1 and
          said.stderr.endswith("; the file looks like gpt2: --model gpt2\n"), said.stderr)
    refused("another size by name", tool("train", "--model", "gpt2-small", "--data", "book.txt", "--weights", "run"),
            "gpt2-small")


def test_memory():
    huge = ["--layers", "1000", "--width", "8192", "--context", "4", "--devices", "cpu:0"]
    refused("more than the machine has", tool("train", "--model", "gpt2", "--data", "book.txt", *huge),
            "training needs about ", "TiB of memory, but this machine has ", "lower --batch-size", "--width")
    if re.search(rb"__[at]san_init", open(tandem, "rb").read()):
        return  # a sanitizer adds memory of its own, and training takes minutes
    many = [chr(number) for number in range(0x4e00, 0x4e00 + 12000)]
    with open("characters.txt", "w", encoding="utf-8") as file:
        file.write("".join(many + random.Random(1).choices(many, k=30000)))
    base = ["train", "--model", "gpt2", "--epochs", "1", "--steps", "2", "--layers", "2"]
    one = ["--devices", "cpu:0"]
    small = ["--data", "book.txt", "--context", "128", "--width", "256", *one]
    with open("long.txt", "w") as file:
        file.write(("abcdefghij" * 9 + "\n") * 300000)
    # Here the logits take most, of an evaluation and of a step.
    large = ["--data", "characters.txt", "--context", "64", "--width", "64"]
    env = {**os.environ, "TANDEM_CPU_DEVICES": "2"}

    def run(*words):
        """Standard output, and the most resident memory in KiB."""
        process = subprocess.Popen([tandem, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env=env)
        said = process.stdout.read()
        return said, os.wait4(process.pid, 0)[2].ru_maxrss

    def estimate(said):
        """In KiB."""
        about = re.search(r"^memory   about ([0-9.]+) MiB to train, of [0-9.]+ [MGT]iB available$", said, re.M)
        check("an estimate of the memory", about, said)
        return float(about[1]) * 1024 if about else 0

    # The estimate counts 36 MiB for the program itself. CUDA's libraries, where it is linked to them, take more than
    # this script, whose own memory a child's peak includes, as it was when the child began. The smallest training
    # measures them, because listing the devices does not use all that training uses.
    libraries = 0
    if run("devices")[1] > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss:
        said, peak = run(*base, "--data", "book.txt", "--context", "8", "--width", "8", *one, "--out", "smallest")
        libraries = peak - estimate(said)
    for number, words in enumerate([[*small, "--dropout", "0"], [*small, "--dropout", "0.1"], [*small, "--shards", "8"],
                                    [*large, *one, "--batch-size", "1"], [*large, *one, "--batch-size", "64"],
                                    [*large, *one, "--batch-size", "32", "--precision", "bf16"],
                                    [*large, "--batch-size", "16", "--devices", "cpu:0,cpu:1"],
                                    ["--data", "long.txt", "--context", "32", "--width", "32", *one]]):
        said, peak = run(*base, *words, "--out", f"memory{number}")
        ratio = estimate(said) / (peak - libraries)
        check(f"which is near the peak {words}", 0.75 < ratio < 1.25, ratio)


def test_wrong_texts():
    def text(content, *words):
        with open("wrong.txt", "wb") as file:
            file.write(content)
        return tool("train", "--model", "gpt2", "--data", "wrong.txt", "--out", "never", *words)

    refused("empty", text(b""), "wrong.txt", "empty")
    refused("short", text(b"abc" * 50), "150 tokens are too few", "--context")
    refused("NUL", text(b"abc\n\0def" * 1000), "wrong.txt:2", "NUL")
    refused("Latin-1", text("é".encode("latin-1") * 9), "wrong.txt:1", "UTF-8")
    refused("a folder", tool("train", "--model", "gpt2", "--data", "run"), "folder")
    refused("no file", tool("train", "--model", "gpt2", "--data", "nowhere.txt"), "nowhere.txt")
    refused("no data", tool("train", "--model", "gpt2"), "--data")
    refused("images", tool("train", "--model", "gpt2", "--data", "mnist"), "--data book.txt")
    refused("an option for texts", tool("train", "--model", "lenet", "--layers", "2"), "--layers", "lenet")
    refused("heads", text(b"abc " * 1000, "--heads", "3"), "--heads 3")
    refused("an initialisation", text(b"abc " * 1000, "--recipe", "source"), "--init")
    refused("changes of images", text(b"abc " * 1000, "--augment", "flip"), "--augment")
    refused("a name", tool("train", "--model", "gtp2", "--data", "book.txt"), "gtp2")
    check("nothing is left", not os.path.exists("never") and not os.path.exists("runs"))


def test_transformers():
    global skipped
    try:
        import torch
        import transformers
    except ImportError as error:
        print(f"[skipped] transformers: {error}")
        skipped += 1
        return
    model, said = transformers.GPT2LMHeadModel.from_pretrained("run", output_loading_info=True)
    model.eval()
    check("all names fit", not any(said[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")), said)
    check("the sizes", (model.config.n_layer, model.config.n_head, model.config.n_positions) == (2, 2, 32),
          model.config)
    text = open("book.txt", encoding="utf-8").read()
    vocabulary = json.load(open("run/tokenizer.json"))["model"]["vocab"]
    ids = torch.tensor([[vocabulary[c] for c in text[-320:]]]).view(10, 32)
    with torch.no_grad():
        logits = model(ids).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).item()
    check("the loss", loss < 0.6 * unigram_loss(text), loss)
    with torch.no_grad():
        prompt = torch.tensor([[vocabulary[c] for c in "the old"]])
        tokens = model.generate(prompt, do_sample=False, max_new_tokens=25, pad_token_id=0)[0].tolist()
    letters = {number: character for character, number in vocabulary.items()}
    own = generated("run", "--prompt", "the old", "--tokens", "25", "--temperature", "0")
    check("the same continuation", "".join(letters[t] for t in tokens) == own[:-1], own)
    reader = transformers.PreTrainedTokenizerFast(tokenizer_file="run/tokenizer.json")
    check("the tokenizer", reader.encode("the café\n") == [vocabulary[c] for c in "the café\n"])


with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    with open("book.txt", "w", encoding="utf-8") as file:
        file.write(sentences(1500, 1))
    for test in (test_learning, test_quantised, test_generation, test_resume, test_devices, test_byte_pairs,
                 test_records, test_recipe, test_fine_tuning, test_memory, test_wrong_texts, test_transformers):
        test()
    os.chdir("/")
sys.exit(finish(skipped))
