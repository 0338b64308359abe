#!/usr/bin/env python3
"""Compiles speed.cpp against LibTorch and against Tandem, runs both alternately, and prints a table with their ratio.

    against.py BUILD [--libtorch FOLDER] [--threads N]

BUILD is Tandem's build folder. FOLDER contains LibTorch's include/ and lib/: an unpacked download, or the folder
`torch` of the PyPI wheel; the default is Debian's libtorch-dev. Both programs run on N threads (default 1),
alternately, three times each; the table shows the medians.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TURNS = 3
ROWS = {"lenet": ("training step of LeNet, batch 256", 1e3, "ms"),
        "mlp": ("training step of a 20-32-5 perceptron, batch 16", 1, "µs"),
        "add": ("add of eight floats", 1, "µs"), "add_recorded": ("the same, recorded by autograd", 1, "µs"),
        "chain": ("20 multiplications, sum, and backward", 1, "µs"),
        "mm": ("product of two 512 x 512 matrices", 1e3, "ms"),
        "relu": ("relu of 16 Mi floats", 1e3, "ms"), "sum": ("sum of 16 Mi floats", 1e3, "ms")}


def libtorch(folder):
    """Compile flags, link flags, and the libraries that a program needs."""
    if folder is None:
        lib = pathlib.Path("/usr/lib") / subprocess.check_output(["gcc", "-print-multiarch"], text=True).strip()
        include, flags = pathlib.Path("/usr/include"), []
    else:
        lib, include = folder / "lib", folder / "include"
        flags = [f"-I{include}"]
    if not (include / "torch/csrc/api/include/torch/torch.h").exists():
        sys.exit(f"against.py: LibTorch not found in {folder or '/usr (apt-get install libtorch-dev)'}")
    found = [p for name in ("libtorch_cpu", "libc10") for p in [lib / f"{name}.so"] if p.exists()]
    return ([*flags, f"-I{include}/torch/csrc/api/include"],
            [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"], found)


def tandem(build):
    return ([f"-I{build}/include", f"-I{build}/include/tandem/compat", f"-I{build}/compat"],
            [f"-L{build}", f"-Wl,-rpath,{build}", "-ltandem"], [build / "libtandem.so"])


def size(libraries, folder):
    total = 0
    for library in libraries:
        subprocess.run(["strip", "-o", folder / "stripped", library.resolve()], check=True)
        total += (folder / "stripped").stat().st_size
    return total / 1e6


def compiled(compile_flags, link_flags, program):
    compiler, obj = os.environ.get("CXX", "c++"), str(program) + ".o"
    began = time.monotonic()
    subprocess.run([compiler, "-std=c++20", "-O2", "-w", *compile_flags, "-c", HERE / "speed.cpp", "-o", obj],
                   check=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    spent = time.monotonic() - began
    subprocess.run([compiler, obj, *link_flags, "-pthread", "-o", program], check=True)
    return spent


def measured(program, threads):
    out = subprocess.run([program, str(threads)], check=True, capture_output=True, text=True).stdout
    return {name: float(value) for name, value in (line.split() for line in out.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--libtorch", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    sides = {"LibTorch": libtorch(arguments.libtorch and arguments.libtorch.resolve()),
             "Tandem": tandem(arguments.build.resolve())}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        seconds = {side: compiled(*flags[:2], folder / side) for side, flags in sides.items()}
        sizes = {side: size(flags[2], folder) for side, flags in sides.items()}
        runs = {side: [] for side in sides}
        for _ in range(TURNS):
            for side in sides:
                runs[side].append(measured(folder / side, arguments.threads))
    print(
        f"| {arguments.threads} thread{'s' * (arguments.threads > 1)} | LibTorch | Tandem | LibTorch / Tandem |\n"
        f"|---|---|---|---|")

    def row(what, theirs, ours, unit):
        print(f"| {what} | {theirs:.3g} {unit} | {ours:.3g} {unit} | {theirs / ours:.2g} |")

    for name, (what, scale, unit) in ROWS.items():
        theirs, ours = (statistics.median(run[name] for run in runs[side]) / scale for side in sides)
        row(what, theirs, ours, unit)
    row("compiling this program at -O2", *seconds.values(), "s")
    row("stripped library", *sizes.values(), "MB")


if __name__ == "__main__":
    main()
