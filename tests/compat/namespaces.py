#!/usr/bin/env python3
"""Writes compat/torch/namespaces.h: what of namespace tandem the namespaces torch, at and c10 contain.

    namespaces.py CLANG TANDEM_INCLUDE LIBTORCH_INCLUDE > compat/torch/namespaces.h

CLANG lists the names that both libraries declare (-ast-list). LIBTORCH_INCLUDE: the include folder of an installed
LibTorch. Only LibTorch's names are taken over, so that programs may declare others.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

# Namespaces that both libraries have.
NESTED = ["autograd", "cuda", "data", "data::datasets", "data::samplers", "data::transforms", "fft", "indexing", "nn",
          "nn::functional", "nn::init", "nn::parallel", "nn::utils", "nn::utils::rnn", "optim", "serialize", "special"]
# In LibTorch a namespace (torch/detail/enumtype.h).
APART = {"Reduction"}
# LibTorch's names that torch/torch.h does not bring.
MORE = {"autograd": {"Gather", "Scatter"}, "nn::parallel": {"data_parallel", "parallel_apply", "replicate"}}

OURS = """#include "tandem/autograd/torch_names.h"
#include "tandem/tandem.h"
"""
HEAD = """// What of namespace tandem the namespaces torch, at and c10 contain. Written by tests/compat/namespaces.py.
//
// They are namespaces and not aliases, because programs declare names in them. Using-declarations, and not directives:
// after `using namespace torch`, nn has to mean one namespace.
#pragma once
""" + OURS + "\n"


def compiled(clang, text, includes, *options):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "all.cpp"
        source.write_text(text)
        return subprocess.run([clang, "-std=c++20", "-fsyntax-only", "-w",
                               "-ferror-limit=0", *(f"-I{i}" for i in includes), *options,
                               str(source)], capture_output=True, text=True)


def names(clang, text, includes):
    """Members of each namespace, by its qualified name; also names of template parameters and arguments."""
    out = compiled(clang, text, includes, "-Xclang", "-ast-list")
    if out.returncode:
        sys.exit(out.stderr)
    found = collections.defaultdict(set)
    for line in out.stdout.splitlines():
        scope, _, name = line.rpartition("::")
        if scope and name.isidentifier():
            found[scope].add(name)
    return found


def block(scope, members):
    own = "tandem" + scope.removeprefix("torch")
    lines = [f"using {own}::{name};" for name in sorted(members, key=lambda name: (name.lower(), name))]
    return [f"namespace {scope} {{", *lines, f"}}  // namespace {scope}"]


def without_errors(clang, lines, include):
    """Drops the lines that name no member of a namespace."""
    before = OURS.count("\n") + 1
    wrong = {int(n) - before for n in re.findall(r"all\.cpp:(\d+):\d+: error",
                                                 compiled(clang, OURS + "\n".join(lines), [include]).stderr)}
    return [line for i, line in enumerate(lines) if i not in wrong]


def packed(lines):
    """Joins adjacent using-declarations, as clang-format lays them out."""
    joined = "\n".join(lines).replace(";\nusing ", ", ")
    return "\n".join(textwrap.fill(line, 120, subsequent_indent="    ") for line in joined.splitlines())


def main():
    clang, tandem, libtorch = sys.argv[1:]
    ours = names(clang, OURS, [tandem])
    theirs = names(clang, "#include <torch/torch.h>\n", [libtorch, libtorch + "/torch/csrc/api/include"])
    lines = block("torch", ours["tandem"] & (theirs["torch"] | theirs["at"] | theirs["c10"]) - APART)
    for scope in NESTED:
        known = theirs["torch::" + scope] | theirs["at::" + scope] | MORE.get(scope, set())
        lines += block("torch::" + scope, ours["tandem::" + scope] & known)
    lines = without_errors(clang, lines, tandem)
    print(HEAD + packed(lines))
    for outer in ("at", "c10"):
        print(f"namespace {outer} {{\nusing namespace torch;\n}}  // namespace {outer}")


if __name__ == "__main__":
    main()
