#!/usr/bin/env python3
"""Writes the headers of LibTorch that contain nothing but torch/torch.h here, or torch/detail/c10d.h if named .hpp.

    forward.py LIST FOLDER

LIST: headers.txt. Each path below torch/ is also written below torch/csrc/api/include/, as LibTorch has it. Headers
that are no longer in the list are removed. Prints how many there are.
"""
import pathlib
import sys

FRONTEND = "torch/csrc/api/include/"
TEXT = """// Forwards to {0}.
#pragma once
#include <{0}>
"""


def listed(path):
    """The paths in a list: "FOLDER: NAME …", names without .h, continued lines indented; comments begin with #."""
    folder = None
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        words = line.split()
        if not line.startswith(" "):
            folder = words.pop(0).removesuffix(":")
        for word in words:
            yield f"{folder}/{word}" + ("" if word.endswith(".hpp") else ".h")


def forwards(path):
    """{path of a header: the header that it includes}."""
    own = [str(header.relative_to(path.parent).as_posix()) for header in path.parent.rglob("*.h")]
    found = {header: "torch/detail/c10d.h" if header.endswith(".hpp") else "torch/torch.h" for header in listed(path)}
    twins = {FRONTEND + header: found.get(header, header) for header in [*found, *own]
             if header.startswith("torch/") and not header.startswith(("torch/csrc/", "torch/headeronly/"))}
    return found | twins


def main():
    source, folder = map(pathlib.Path, sys.argv[1:])
    wanted = {folder / header: TEXT.format(to) for header, to in forwards(source).items()}
    for old in set(folder.rglob("*.h*")) - set(wanted):
        old.unlink()
    for header, text in wanted.items():
        if not header.exists() or header.read_text() != text:
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text(text)
    print(len(wanted))


if __name__ == "__main__":
    main()
