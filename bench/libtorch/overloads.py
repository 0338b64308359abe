#!/usr/bin/env python3
"""Compiles tests/compat/overloads_*.cpp against LibTorch and against Tandem, and compares their output.

    overloads.py BUILD --libtorch FOLDER [--write]

Each line says which overload was chosen. BUILD and FOLDER are as for against.py. --write stores LibTorch's lines in
tests/compat/overloads.txt, which the test `overloads` compares with Tandem's.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

from against import HERE, libtorch, tandem

SOURCES = HERE.parents[1] / "tests/compat"


def lines_of(flags, program):
    compiler, objects = os.environ.get("CXX", "c++"), []
    for source in sorted(SOURCES.glob("overloads_*.cpp")):
        objects.append(f"{program}.{source.stem}.o")
        subprocess.run([compiler, "-std=c++20", "-O0", "-w", *flags[0], "-c", source, "-o", objects[-1]], check=True)
    subprocess.run([compiler, *objects, *flags[1], "-pthread", "-o", program], check=True)
    out = subprocess.run([program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return out.stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--libtorch", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        theirs = lines_of(libtorch(arguments.libtorch and arguments.libtorch.resolve()), f"{folder}/libtorch")
        ours = lines_of(tandem(arguments.build.resolve()), f"{folder}/tandem")
    if arguments.write:
        (SOURCES / "overloads.txt").write_text("\n".join(theirs) + "\n")
    different = wider = 0
    for their, our in zip(theirs, ours, strict=True):
        if their == our:
            continue
        refused = their.endswith(("->  throws", "->  does not compile"))
        wider += refused
        different += not refused
        print(f"{'wider' if refused else 'DIFFERENT'}  LibTorch  {their}\n{' ' * (5 if refused else 9)} "
              f" Tandem    {our}")
    print(f"{len(ours)} lines, {wider} that only Tandem accepts, {different} different")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
