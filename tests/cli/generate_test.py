"""tandem generate with a small GPT-2 of random weights.

    generate_test.py TANDEM    ends with the line "N passed, N failed"
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

tool = os.path.abspath(sys.argv[1])
WIDTH, LAYERS, VOCABULARY, POSITIONS = 8, 2, 20, 32
checks = 0


def check(what, right):
    global checks
    checks += 1
    if not right:
        sys.exit(f"failed: {what}")


def shapes(vocabulary):
    yield "wte.weight", (vocabulary, WIDTH)
    yield "wpe.weight", (POSITIONS, WIDTH)
    for i in range(LAYERS):
        for norm in "ln_1", "ln_2":
            yield f"h.{i}.{norm}.weight", (WIDTH,)
            yield f"h.{i}.{norm}.bias", (WIDTH,)
        for name, wide, narrow in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                                   ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)):
            yield f"h.{i}.{name}.weight", (wide, narrow)
            yield f"h.{i}.{name}.bias", (narrow,)
    yield "ln_f.weight", (WIDTH,)
    yield "ln_f.bias", (WIDTH,)


def write_weights(path, leave_out=(), vocabulary=VOCABULARY):
    draw = random.Random(1)
    header, data = {}, b""
    for name, shape in shapes(vocabulary):
        if name in leave_out:
            continue
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = struct.pack(f"<{count}f", *(draw.gauss(0, 0.5) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_vocabulary(folder):
    """All bytes, as GPT-2's files write them, and two merges: "on" is 256 and "once" 258."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    letters = [chr(b if b in plain else next(others)) for b in range(256)]
    words = letters + ["on", "ce", "once"]
    with open(os.path.join(folder, "vocab.json"), "w", encoding="utf-8") as file:
        json.dump({word: number for number, word in enumerate(words)}, file)
    with open(os.path.join(folder, "merges.txt"), "w") as file:
        file.write("#version: 0.2\no n\nc e\non ce\n")


def generate(*arguments):
    done = subprocess.run([tool, "generate", *arguments], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def tokens(*arguments):
    code, out, error = generate(*arguments)
    check(f"{arguments}: exit code {code}, {error}", code == 0)
    return [int(word) for word in out.split()]


def refused(part, *arguments):
    code, out, error = generate(*arguments)
    check(f"{arguments}: exit code {code}, {out}, {error}",
          code == 2 and out == "" and part in error and error.count("\n") == 1)


with tempfile.TemporaryDirectory() as folder:
    weights = os.path.join(folder, "model.safetensors")
    write_weights(weights)
    some = [weights, "--heads", "2", "--prompt-ids", "3,1,4", "--tokens", "20"]
    drawn = tokens(*some, "--seed", "7")
    check(f"20 tokens: {drawn}", len(drawn) == 20 and all(0 <= t < VOCABULARY for t in drawn))
    check("the same seed, the same tokens", tokens(*some, "--seed", "7") == drawn)
    check("another seed, other tokens", tokens(*some, "--seed", "8") != drawn)
    check("fewer tokens are the first ones", tokens(*some[:-1], "5", "--seed", "7") == drawn[:5])
    greedy = tokens(*some, "--temperature", "0")
    check("the seed does not matter for the most probable tokens",
          tokens(*some, "--temperature", "0", "--seed", "9") == greedy)
    check("the most probable of one", tokens(*some, "--top-k", "1") == greedy)
    _, _, error = generate(*some, "--temperature", "0", "--seed", "9", "--top-p", "0.5")
    check(f"what then has no effect is named: {error}", all(
        f"warning: --{name} has no effect: --temperature 0 always takes" in error for name in ("seed", "top-p")))
    check("only that", "no effect" not in generate(*some, "--temperature", "0")[2] + generate(*some, "--top-k", "1")[2])
    check("a small probability has one token", tokens(*some, "--top-p", "1e-9") == greedy)
    code, _, error = generate(*some)
    check(f"the speed is on standard error: {error}", code == 0 and "3 tokens read" in error and "20 new ones" in error)

    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump({"n_head": 2, "model_type": "gpt2"}, file)
    check("a folder with its configuration", tokens(folder, *some[3:], "--seed", "7") == drawn)
    with open(os.path.join(folder, "config.json"), "w") as file:
        file.write('{"n_head": "two"}')
    refused("config.json", folder, *some[3:])
    os.remove(os.path.join(folder, "config.json"))

    words = os.path.join(folder, "words")
    os.mkdir(words)
    write_weights(os.path.join(words, "model.safetensors"), vocabulary=260)
    write_vocabulary(words)
    code, out, error = generate(words, "--heads", "2", "--prompt", "once é", "--tokens", "6")
    check(f"a prompt in words: {out!r} {error}", code == 0 and out.startswith("once é") and "4 tokens read" in error)
    numbers = [words, "--heads", "2", "--prompt-ids", "258,32,195,169", "--tokens", "6"]
    check("the same as numbers", "once é" + generate(*numbers)[1] == out)
    with open(os.path.join(words, "merges.txt"), "a") as file:
        file.write("x unknown\n")
    refused("merges.txt", *numbers)

    refused("--heads", weights, "--prompt-ids", "1")
    refused("--heads", weights, "--heads", "3", "--prompt-ids", "1")
    refused("20 is not a token", weights, "--heads", "2", "--prompt-ids", "20")
    refused("prompt is empty", weights, "--heads", "2")
    refused("no tokenizer", weights, "--heads", "2", "--prompt", "once")
    refused("either", weights, "--heads", "2", "--prompt", "once", "--prompt-ids", "1")
    long = tokens(*some[:-1], "60", "--seed", "7")
    check("more tokens than positions", len(long) == 60 and long[:20] == drawn)
    refused("did you mean gpt2", *some, "--model", "gtp2")
    refused("--top-p", *some, "--top-p", "0")
    refused("--temperature", *some, "--temperature", "-1")
    refused("--prompt-ids -1", weights, "--prompt-ids", "-1")
    refused("cannot be opened", os.path.join(folder, "none"), *some[3:])
    for missing, part in (("wte.weight", "not those of a GPT-2"), ("h.0.mlp.c_fc.weight", "c_fc"),
                          ("h.1.ln_2.bias", "h.1.ln_2.bias")):
        broken = os.path.join(folder, "broken.safetensors")
        write_weights(broken, {missing})
        refused(part, broken, *some[1:])
print(f"{checks} passed, 0 failed")
