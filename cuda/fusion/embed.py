#!/usr/bin/env python3
"""Writes a C++ source with the headers of generated kernels as strings.

    embed.py ROOT OUT DEPFILE

They are LOOP and CORES with all of Tandem's headers that they include, one string each without #include; the lines that
would include them; and cuda/fusion/standard.h, which stands in for the standard library's headers where there are none.
DEPFILE tells Ninja which headers these are.
"""
import pathlib
import re
import sys

LOOP = ("cuda/fusion/fused_loop.h",)
CORES = ("cuda/ops/batch_norm_sums.h", "cuda/ops/layer_norm_rows.h")
STANDARD = "cuda/fusion/standard.h"
root, out, depfile = map(pathlib.Path, sys.argv[1:])
seen = set()


def inlined(name):
    if name in seen:
        return ""
    seen.add(name)
    lines = []
    for line in (root / name).read_text().splitlines(keepends=True):
        found = re.match(r'#include (?:"tandem/(.*)"|<.*>)', line)
        if found:
            lines.append(inlined(found[1]) if found[1] else "")
        elif line != "#pragma once\n":
            lines.append(line)
    return "".join(lines)


def constant(name, text):
    pieces = ",\n".join(f'R"tandem({piece})tandem"' for piece in re.findall(r"(?:.*\n){1,100}", text))
    return f"const char* const {name}[] = {{\n{pieces},\nnullptr}};\n"


out.write_text(f"""// Made by cuda/fusion/embed.py.
#include "tandem/cuda/fusion/texts.h"

namespace tandem::cuda_impl {{
{constant("kLoopHeaders", "".join(map(inlined, LOOP)))}
{constant("kCoreHeaders", "".join(map(inlined, CORES)))}
{constant("kAllIncludes", "".join(f'#include "tandem/{name}"{chr(10)}' for name in LOOP + CORES))}
{constant("kStandardHeaders", (root / STANDARD).read_text())}
}}  // namespace tandem::cuda_impl
""")
names = " ".join(str(root / name).replace(" ", r"\ ") for name in sorted({*seen, STANDARD}))
depfile.write_text(f"{out}: {names}\n")
