#!/usr/bin/env python3
"""Writes a C++ source with the texts that generated kernels are compiled with.

    embed.py ROOT OUT

They are cuda/fusion/fused_loop.h with all of Tandem's headers that it includes, in one text without #include, and
cuda/fusion/standard.h, which stands in for the standard library's headers where there are none.
"""
import pathlib
import re
import sys

root, out = map(pathlib.Path, sys.argv[1:])
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


def literal(text):  # compilers need not accept long literals
    return "\n".join(f'R"tandem({part})tandem"' for part in re.findall(r"(?:.*\n){1,100}", text))


out.write_text(f"""// Made by cuda/fusion/embed.py.
namespace tandem::cuda_impl {{
extern const char* const kFusedHeaders;
extern const char* const kStandardHeaders;
const char* const kFusedHeaders =
{literal(inlined("cuda/fusion/fused_loop.h"))};
const char* const kStandardHeaders =
{literal((root / "cuda/fusion/standard.h").read_text())};
}}  // namespace tandem::cuda_impl
""")
