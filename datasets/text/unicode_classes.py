#!/usr/bin/env python3
"""Writes unicode_table.h: the letters (\\p{L}) and numbers (\\p{N}) of Unicode, as runs of code points.

    unicode_classes.py >unicode_table.h     requires the package regex, whose tables are those of a recent Unicode
"""
import regex

LETTER, NUMBER = regex.compile(r"\p{L}"), regex.compile(r"\p{N}")


def main():
    runs, last = [], 0
    for code in range(0x110000):
        character = chr(code)
        kind = 0 if 0xD800 <= code < 0xE000 else 1 if LETTER.match(character) else 2 if NUMBER.match(character) else 0
        if kind != last:
            runs.append(code << 2 | kind)
            last = kind
    print("// Written by unicode_classes.py. Each number is the first code point of a run, times 4, plus its kind: 0 "
          "neither,")
    print("// 1 letters, 2 numbers.\n#pragma once\n#include <cstdint>\n")
    print("namespace tandem::text::detail {\n\n// clang-format off\ninline constexpr uint32_t kUnicodeRuns[] = {")
    words = [f"{run}," for run in runs]
    line = ""
    for word in words:
        if len(line) + len(word) > 118:
            print("  " + line.rstrip())
            line = ""
        line += word + " "
    print("  " + line.rstrip())
    print("};\n// clang-format on\n\n}  // namespace tandem::text::detail")


main()
