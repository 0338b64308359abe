#!/usr/bin/env python3
"""Compiles and runs what README.md, the guide and the other pages show.

    guide_test.py BUILD SOURCE COMPILER [PAGE...]    ends with the line "N passed, N failed, N skipped"

A block of C++ that has a main() is a program: it is built and run. The other blocks of a page are compiled together, in
their order: declarations at namespace scope, statements in a function for each block. A block of shell commands is run
in a folder that the blocks of its page share, with small data sets in place of the real ones. A comment before a block
says what else holds for it:

    <!-- context ... -->                 C++ that the following blocks of the page take as given
    <!-- data: fashion-mnist -->         it needs the real data set, and is not run where that is missing
    <!-- output -->                      the block is what the program or the commands before it print
    <!-- not run: REASON -->             the block is only read

In such an output, a line with "…" alone stands for any lines, and "…" in a line for any text.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

build, source, compiler = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3].split()
sys.path.insert(0, os.path.join(source, "tests/cli"))
import idx_files  # noqa: E402
import picture_files  # noqa: E402

COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.S)
BLOCK = re.compile(r"(?P<comments>(?:<!--(?:(?!-->).)*-->\s*\n)*)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M)
LIBRARIES = {"models": "tandem_models", "onnx": "tandem_onnx", "nn/files/pt": "tandem_pt", "datasets/vision": "tandem_vision",
             "datasets/text": "tandem_text", "nn/files/tensorboard": "tandem_tensorboard"}  # by their folder
DECLARES = re.compile(r"(struct|class|template|namespace|TANDEM_MODULE)\b|(?!for|if|while)\w[\w:<>&* ]* [&*]?\w+\(.*\) \{$", re.M)

counts = {"passed": 0, "failed": 0, "skipped": 0}
lock = threading.Lock()


def report(kind, what, shown=""):
    with lock:
        counts[kind] += 1
        if kind == "failed":
            print("FAILED:", what, "\n" + shown if shown else "", flush=True)


class Block:
    def __init__(self, page, match, text, before):
        """`before`: where the block before it ends."""
        self.language, self.text = match["language"], match["text"]
        self.where = f"{page}:{text.count(chr(10), 0, match.start('text'))}"
        contexts = [c for c in COMMENT.findall(text[before:match.start("text")]) if c.startswith("context")]
        self.context = "".join(c.removeprefix("context") + "\n" for c in contexts)
        self.marks = {}
        for comment in COMMENT.findall(match["comments"]):
            name, _, rest = comment.partition(":")
            if name in ("data", "output", "not run"):
                self.marks[name] = rest.strip()

    def includes(self):
        return [line for line in self.text.splitlines() if line.startswith("#include")]

    def body(self):
        return "".join(line + "\n" for line in self.text.splitlines()
                       if not line.startswith("#include") and line.strip() != "using namespace tandem;")


def blocks_of(page):
    text = open(os.path.join(source, page), encoding="utf-8").read()
    matches = list(BLOCK.finditer(text))
    ends = [0] + [match.end() for match in matches]
    return [Block(page, match, text, before) for match, before in zip(matches, ends)]


def pages():
    guide = os.path.join(source, "docs/guide")
    found = ["README.md", "docs/porting.md"]
    found += ["examples/README.md"] if os.path.isdir(os.path.join(build, "examples")) else []
    found += sorted("docs/guide/" + name for name in os.listdir(guide) if name.endswith(".md"))
    return found


# ---- what is printed --------------------------------------------------------------------------------------------------

def same_line(expected, printed):
    return re.fullmatch(".*".join(map(re.escape, expected.split("…"))), printed) is not None


def same_lines(expected, printed):
    if not expected:
        return not printed
    if expected[0].strip() == "…":
        return any(same_lines(expected[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and same_line(expected[0], printed[0]) and same_lines(expected[1:], printed[1:])


def compare_output(block, printed):
    clean = lambda text: [" ".join(line.split()) for line in re.sub(r"\x1b\[[\d;]*m", "", text).strip().splitlines()]
    good = same_lines(clean(block.text), clean(printed))
    report("passed" if good else "failed", f"{block.where}: other output", f"shown:\n{block.text}\nprinted:\n{printed}")


# ---- C++ --------------------------------------------------------------------------------------------------------------

def compile_arguments():
    return compiler + ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unused",
                       f"-I{build}/include", f"-I{source}/compat", f"-I{build}/compat"]


def libraries_of(text):
    """The libraries besides Tandem itself that the block includes, as (folder in the build, name)."""
    return [(os.path.join(build, folder), name) for folder, name in LIBRARIES.items() if f"<tandem/{folder}/" in text]


def link_arguments(text):
    libraries = libraries_of(text) + [(build, "tandem")]
    return ([f"-L{folder}" for folder, _ in libraries] + [f"-Wl,-rpath,{folder}" for folder, _ in libraries] +
            [f"-Wl,-rpath-link,{build}/{folder}" for folder in LIBRARIES] + [f"-l{name}" for _, name in libraries])


def available(text):
    """Whether the libraries that the block includes are in this build."""
    return all(os.path.exists(os.path.join(folder, f"lib{name}.so")) for folder, name in libraries_of(text))


def run_program(block, folder, output, environment):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "program.cpp")
    with open(path, "w", encoding="utf-8") as file:
        file.write(block.text)
    built = subprocess.run(compile_arguments() + [path, "-o", path[:-4]] + link_arguments(block.text),
                           capture_output=True, text=True, timeout=300)
    if built.returncode != 0:
        return report("failed", f"{block.where}: the program does not compile", built.stderr[:3000])
    report("passed", block.where)
    if "not run" in block.marks:
        return None
    environment = with_data(block, environment)
    if environment is None:
        return None
    done = subprocess.run([path[:-4]], capture_output=True, text=True, cwd=folder, timeout=300, env=environment)
    if done.returncode != 0:
        return report("failed", f"{block.where}: exit code {done.returncode}", done.stdout + done.stderr)
    report("passed", block.where)
    if output:
        compare_output(output, done.stdout)
    return None


def compile_snippets(page, blocks, folder):
    """The blocks without main(): one source for each page."""
    includes, code, n = [], "", 0
    for block in blocks:
        code += "".join(line + "\n" for line in block.context.splitlines() if not line.startswith("#include"))
        includes += [line for line in block.context.splitlines() if line.startswith("#include")]
        if block.language != "cpp" or "int main(" in block.text or "not run" in block.marks:
            continue
        if not available(block.text):
            report("skipped", block.where)
            continue
        n += 1
        includes += block.includes()
        line = int(block.where.rsplit(":", 1)[1]) + len(block.includes())
        declares = DECLARES.match(block.body().lstrip()) is not None
        code += "" if declares else f"void block_{n}() {{\n"
        code += f'#line {line + 1} "{page}"\n{block.body()}' + ("" if declares else "}\n")
    if n == 0:
        return
    path = os.path.join(folder, "snippets.cpp")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#include <tandem/tandem.h>\n" + "".join(line + "\n" for line in dict.fromkeys(includes)) +
                   "using namespace tandem;\n" + code)
    done = subprocess.run(compile_arguments() + ["-fsyntax-only", path], capture_output=True, text=True,
                          timeout=300)
    if done.returncode == 0:
        for _ in range(n):
            report("passed", page)
    else:
        report("failed", f"{page}: its blocks do not compile", done.stderr[:4000])


# ---- shell ------------------------------------------------------------------------------------------------------------

def real_data():
    """The file of images of the real data set, or None."""
    for folder in ("/usr/share/datasets/fashion-mnist", os.path.join(os.environ.get("TANDEM_DATA") or "-", "fashion-mnist")):
        if os.path.exists(os.path.join(folder, "train-images-idx3-ubyte.gz")):
            return folder
    return None


def with_data(block, environment):
    """The environment with the data set that the block asks for; None, and a report, if it is missing."""
    if "data" not in block.marks:
        return environment
    if not real_data():
        return report("skipped", f"{block.where}: no data set")
    return {**environment, "TANDEM_DATA": os.path.dirname(real_data())}


# What stands for ./run in a page's folder: the tool's commands are run, the others must exist.
RUN = """#!/bin/bash
set -euo pipefail
[ "$1" != tandem ] || shift
if grep -qE "^  $1( |$)" <(tandem --help); then exec tandem "$@"; fi
[ "$1" != --deps ] || shift 2
"SOURCE/run" --help | grep -qE "^  $1( |,|$)" || { echo "./run has no command $1"; exit 1; }
"""


def prepare(folder):
    """The files that the pages' commands use, all small."""
    idx_files.write_data(f"{folder}/data/fashion-mnist", 640)
    picture_files.write_cifar10(f"{folder}/data/cifar10")
    os.makedirs(f"{folder}/bin")
    os.symlink(os.path.join(build, "cli/tandem"), f"{folder}/bin/tandem")


def fill(page_folder):
    picture_files.write_pictures(f"{page_folder}/photos")
    os.rename(f"{page_folder}/photos/val", f"{page_folder}/photos/test")
    picture_files.write_png(f"{page_folder}/shoe.png", 28, 28, (90, 90, 90))
    with open(f"{page_folder}/book.txt", "w", encoding="utf-8") as file:
        file.write("It was a bright cold day, and the clocks were striking. " * 400)
    with open(f"{page_folder}/run", "w", encoding="utf-8") as file:
        file.write(RUN.replace("SOURCE", source))
    os.chmod(f"{page_folder}/run", 0o755)
    os.makedirs(f"{page_folder}/build")
    os.symlink(os.path.join(build, "examples"), f"{page_folder}/build/examples")


def run_shell(block, folder, output, environment):
    environment = with_data(block, environment)
    if environment is None:
        return
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.text], capture_output=True, text=True, errors="replace",
                          cwd=folder, timeout=600, env=environment)
    good = done.returncode == 0
    report("passed" if good else "failed", f"{block.where}: exit code {done.returncode}",
           block.text + (done.stdout + done.stderr)[-3000:])
    if good and output:
        compare_output(output, done.stdout)


# -----------------------------------------------------------------------------------------------------------------------

def check_page(page, top):
    folder = os.path.join(top, page.replace("/", "-"))
    os.makedirs(folder)
    fill(folder)
    environment = {**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "TANDEM_DATA": f"{top}/data",
                   "HOME": folder, "XDG_CACHE_HOME": folder, "TANDEM_OFFLINE": "1", "COLUMNS": "100"}
    blocks = blocks_of(page)
    compile_snippets(page, blocks, folder)
    for i, block in enumerate(blocks):
        output = blocks[i + 1] if i + 1 < len(blocks) and "output" in blocks[i + 1].marks else None
        if block.language == "cpp" and "int main(" in block.text:
            if available(block.text):
                run_program(block, os.path.join(folder, f"program-{i}"), output, environment)
            else:
                report("skipped", block.where)
        elif block.language == "sh" and "not run" not in block.marks:
            run_shell(block, folder, output, environment)


def main():
    chosen = sys.argv[4:] or pages()
    with tempfile.TemporaryDirectory() as top:
        prepare(top)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for page, task in [(page, pool.submit(check_page, page, top)) for page in chosen]:
                try:
                    task.result()
                except Exception as error:
                    report("failed", f"{page}: {type(error).__name__}: {error}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(counts["failed"] != 0)


main()
