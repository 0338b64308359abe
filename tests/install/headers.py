#!/usr/bin/env python3
"""Compiles each installed header alone, with the warnings that careful programs switch on.

    headers.py INCLUDE COMPILER...     ends with status 1 if a header does not compile

A header that includes one of BASES is compiled after it: its own includes would bring the base in before its first
declaration, so the result is the same, and the base can be precompiled.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

root, compiler = os.path.abspath(sys.argv[1]), sys.argv[2:]
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", f"-I{root}", f"-I{root}/tandem/compat"]
# Those that save the most, largest first.
BASES = ["tandem/tandem.h", "tandem/nn/optim/param_group.h", "tandem/core/tensor.h", "tandem/core/error.h"]
FORWARDS = "// Forwards to torch/"  # many headers of LibTorch's names contain nothing else


def read_headers():
    texts = {}
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".h"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    texts[os.path.relpath(path, root)] = file.read()
    return texts


texts = read_headers()


def includes(header):
    """The installed headers that `header` includes."""
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', texts[header], re.M):
        yield from (path for path in (name, "tandem/compat/" + name) if path in texts)


def closure(header):
    found, todo = set(), [header]
    while todo:
        for other in includes(todo.pop()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found


def compile_source(text, *options):
    command = [*compiler, *FLAGS, *options, "-x", "c++", "-fsyntax-only", "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True)


def precompile(base, folder):
    """Returns the options that include the precompiled base."""
    path = os.path.join(folder, base.replace("/", "_"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#include <{base}>\n")
    subprocess.run([*compiler, *FLAGS, "-x", "c++-header", path, "-o", path + ".gch"], check=True)
    return ["-include", path]


def check(job):
    header, options = job
    result = compile_source(f"#include <{header}>\n", *options)
    if result.returncode != 0:
        print(f"{header} does not compile alone:\n{result.stderr}", flush=True)
    return result.returncode == 0


def main():
    forwards = [header for header in texts if FORWARDS in texts[header]]
    assert forwards and all(base in texts for base in BASES), "an installed header is missing"
    ok = compile_source("".join(f"#include <{header}>\n" for header in forwards)).returncode == 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        options = dict(zip(BASES, pool.map(lambda base: precompile(base, folder), BASES)))
        jobs = []
        for header in sorted(set(texts) - set(forwards)):
            reached = closure(header)
            base = next((base for base in BASES if base in reached and base != header), None)
            jobs.append((header, options[base] if base else []))
        ok = all(list(pool.map(check, jobs))) and ok
    print(f"{len(jobs)} headers, {sum(bool(used) for _, used in jobs)} after a precompiled one")
    return 0 if ok else 1


sys.exit(main())
