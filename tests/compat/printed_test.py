#!/usr/bin/env python3
"""Compares what printed.cpp prints with what LibTorch prints.

    printed_test.py PROGRAM                      compares PROGRAM's lines with printed.txt
    printed_test.py PROGRAM --libtorch FOLDER    compiles printed.cpp against LibTorch, too, and writes printed.txt

FOLDER contains LibTorch's include/ and lib/. Without it, the wheel `torch` of this Python is taken if there is one:
then printed.txt is compared with what it prints.
"""
import difflib
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
STORED = HERE / "printed.txt"


def lines_of(program):
    out = subprocess.run([program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return out.replace("torch::nn::", "tandem::nn::").splitlines()


def libtorch(folder):
    include, lib = folder / "include", folder / "lib"
    with tempfile.TemporaryDirectory() as work:
        program = pathlib.Path(work, "printed")
        subprocess.run(["c++", "-std=c++20", "-w", f"-I{include}", f"-I{include}/torch/csrc/api/include",
                        HERE / "printed.cpp", "-o", program, f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed",
                        "-ltorch", "-ltorch_cpu", "-lc10"], check=True)
        return lines_of(program)


def same(name, wanted, got):
    different = list(difflib.unified_diff(wanted, got, "LibTorch", name, lineterm="", n=1))
    print("\n".join(different[:100]))
    return not different


def main():
    ours = lines_of(pathlib.Path(sys.argv[1]).resolve())
    if sys.argv[2:3] == ["--libtorch"]:
        STORED.write_text("\n".join(libtorch(pathlib.Path(sys.argv[3]))) + "\n")
    stored = STORED.read_text().splitlines()
    results = [same("Tandem", stored, ours)]
    found = importlib.util.find_spec("torch")
    if found and found.submodule_search_locations:
        results.append(same("printed.txt", libtorch(pathlib.Path(found.submodule_search_locations[0])), stored))
    else:
        print("[skipped] printed.txt against LibTorch: no wheel torch")
    passed, failed = results.count(True), results.count(False)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
