#!/usr/bin/env python3
"""Texts and files with numbers do not depend on the locale: the library and the tool, in a German locale and in C.

  locale_test.py TANDEM LOCALE_TEXTS        ends with the line "N passed, N failed"

The locale is compiled into a temporary folder (Debian's package locales has its source).
"""
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

from checks import check, finish

tandem, locale_texts = map(os.path.abspath, sys.argv[1:3])
GERMAN = "de_DE.UTF-8"


def skip(reason):
    print("[skipped] locale:", reason)
    sys.exit(77)


def make_locale(folder):
    if shutil.which("localedef") is None:
        skip("no localedef")
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/{GERMAN}"], capture_output=True,
                          text=True)
    if not os.path.exists(f"{folder}/{GERMAN}/LC_NUMERIC"):
        skip("no source of the locale de_DE (Debian: package locales): " + made.stderr.strip())


def content_of(path):
    with open(path, "rb") as file:
        return file.read()


def texts(name, env):
    os.makedirs(name)
    run = subprocess.run([locale_texts, name, name], capture_output=True, text=True, env=env)
    return run, {file: content_of(f"{name}/{file}") for file in sorted(os.listdir(name))}


def idx(path, sizes, content):
    with open(path, "wb") as file:
        file.write(struct.pack(">HBB", 0, 8, len(sizes)) + struct.pack(f">{len(sizes)}I", *sizes) + content)


def write_data(folder):
    os.makedirs(folder)
    draw = random.Random(1)
    for part, n in (("train", 200), ("t10k", 50)):
        idx(f"{folder}/{part}-images-idx3-ubyte", (n, 28, 28), draw.randbytes(n * 28 * 28))
        idx(f"{folder}/{part}-labels-idx1-ubyte", (n,), bytes(i % 10 for i in range(n)))


def session(name, env):
    """The part of the tool's output and files that does not depend on timing."""
    os.makedirs(f"runs-{name}")
    os.chdir(f"runs-{name}")

    def tool(*args):
        run = subprocess.run([tandem, *args], capture_output=True, text=True, env=env, timeout=100)
        check(f"{name}: {args[0]}", run.returncode == 0, run.stderr)
        return run.stdout

    train = ["--model", "linear", "--data", "../data", "--epochs", "2", "--lr", "0.0625", "--recipe", "best",
             "--threads", "1"]
    tool("train", *train, "--save-every", "0.5", "--out", "a")
    said = [tool("summary"), tool("eval", "a", "--json", "--threads", "1"), tool("eval", "a", "--threads", "1")]
    refused = subprocess.run([tandem, "train", "--lr", "0,5"], capture_output=True, text=True, env=env)
    said.append((refused.returncode, refused.stderr))
    lines = [json.loads(line) for line in open("a/metrics.jsonl", encoding="utf-8")]
    said.append([{k: v for k, v in line.items() if k not in ("seconds", "images_per_second", "chain")} for line in lines])
    said += [content_of("a/" + file) for file in ("config.json", "curve.svg", "model.safetensors")]
    os.chdir("..")
    return said


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        os.mkdir("locales")
        make_locale(work + "/locales")
        plain = {k: v for k, v in os.environ.items() if k != "LANG" and not k.startswith("LC_")}
        german = dict(plain, LOCPATH=work + "/locales", LC_ALL=GERMAN, LANG=GERMAN)
        (c, c_files), (de, de_files) = texts("C", plain), texts(GERMAN, german)
        if de.returncode == 77:
            skip("the compiled locale does not load")
        check("the texts in C", c.returncode == 0 and len(c.stdout) > 1000, c.stderr)
        check("the texts in German", de.returncode == 0 and de.stdout.count("\n") == c.stdout.count("\n"), de.stderr)
        for a, b in zip(c.stdout.splitlines(), de.stdout.splitlines()):
            check("a line of the library", a == b, f"{a!r} and {b!r}")
        check("the library's files", c_files == de_files and len(c_files) == 2)
        write_data("data")
        # In a UTF-8 locale the tool draws with other characters, so both sessions use one.
        utf8 = dict(plain, LC_ALL="C.UTF-8")
        for a, b in zip(session("c", utf8), session("de", german)):
            check("the tool", a == b, f"{a!r} and {b!r}")
        os.chdir("/")
    sys.exit(finish())


main()
