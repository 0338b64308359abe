#!/usr/bin/env python3
"""The plugins of CPU kernels: the choice by TANDEM_CPU, missing and damaged files, processors that lack what is needed.

    kernels_test.py KERNELS BUILD MARCH LIBRARY     ends with the line "N passed, N failed"

KERNELS is the program of kernels.cpp, MARCH the value of the option cpu; only `dispatch` builds the plugin for AVX-512.
Static builds (LIBRARY, the value of default_library) contain Eigen's kernels. Other processors are emulated with
qemu-x86_64, if it is installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

program, build, march = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
PLUGIN, EIGEN = "libtandem_cpu_avx512.so", "libtandem_eigen.so"
counts = {"passed": 0, "failed": 0}
with open("/proc/cpuinfo") as file:
    has_avx512 = "avx512vl" in file.read()


def check(what, good, result):
    counts["passed" if good else "failed"] += 1
    if not good:
        print(f"FAILED: {what}: exit code {result.returncode}\n{result.stdout}{result.stderr}")


def kernels(cpu="", library=None, qemu=None, arguments=()):
    env = {**os.environ, "TANDEM_CPU": cpu}
    if library:
        env["LD_LIBRARY_PATH"] = str(library)
    command = [program] if qemu is None else ["qemu-x86_64", "-cpu", qemu, program]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, env=env, timeout=120)


def refused(what, result, *texts):
    text = " ".join(result.stderr.split())
    check(what, result.returncode not in (0, 132, -4) and all(t in text for t in texts), result)


def stopped(what, result, features):
    check(what, result.returncode == 127 and result.stdout == "" and result.stderr ==
          f"tandem: this processor lacks {features}, for which the library was built; build it on this machine, or with"
          " -Dcpu=dispatch for\nprocessors with AVX2, or with -Dcpu=x86-64-v2 for older ones\n", result)


def used(what, result, *texts):
    check(what, result.returncode == 0 and all(t in result.stdout for t in texts), result)


def moved(folder):
    """A copy of the library in FOLDER, without plugins."""
    for path in build.glob("libtandem.so*"):
        if path.is_file():
            shutil.copy(path, folder)  # under all of its names
    return folder


def check_eigen(folder):
    used("no plugin of Eigen's, and no need of it", kernels(library=folder), "own kernels for")
    refused("no plugin of Eigen's", kernels(library=folder, arguments=["inverse"]),
            f"{EIGEN} was not found in {folder}", "install")
    (folder / EIGEN).write_bytes(b"")
    refused("an empty plugin of Eigen's", kernels(library=folder, arguments=["inverse"]), EIGEN, "cannot be loaded")
    # Not the library itself, of which the address sanitizer allows no second copy. With it,
    # this one cannot even be loaded.
    other = (build / EIGEN).read_bytes().replace(b"tandem_eigen_plugin", b"tandem_other_plugin")
    (folder / EIGEN).write_bytes(other)
    refused("another library as Eigen's", kernels(library=folder, arguments=["inverse"]), EIGEN,
            "cannot be loaded" if b"__asan_init" in other else "is not from this build of Tandem")
    (folder / EIGEN).unlink()
    (folder / "tandem").mkdir()
    shutil.copy(build / EIGEN, folder / "tandem")
    used("Eigen's kernels as installed", kernels(library=folder, arguments=["inverse"]), "own kernels for")


if sys.argv[4] == "shared":
    with tempfile.TemporaryDirectory() as name:
        check_eigen(moved(pathlib.Path(name)))
refused("an unknown name", kernels("avx3"), "TANDEM_CPU=avx3: this build has no such kernels, it has: ")
if march == "dispatch":
    refused("an unknown name", kernels("avx3"), "it has: avx512, avx2; did you mean avx2?")
    best = "AVX-512" if has_avx512 else "AVX2"
    used("without TANDEM_CPU", kernels(), f"own kernels for {best}", "AVX2")
    used("avx2", kernels("avx2"), "own kernels for AVX2")
    with tempfile.TemporaryDirectory() as name:
        folder = moved(pathlib.Path(name))
        if has_avx512:
            used("avx512", kernels("avx512"), "own kernels for AVX-512\nAVX2 available")
            used("no plugin", kernels(library=folder), "own kernels for AVX2", f"{PLUGIN} was not found in {folder}")
            refused("no plugin, but named", kernels("avx512", folder), "TANDEM_CPU=avx512", "was not found")
            (folder / PLUGIN).write_bytes(b"")
            refused("an empty plugin", kernels(library=folder), PLUGIN, "cannot be loaded")
            shutil.copy(folder / "libtandem.so", folder / PLUGIN)
            refused("another library as the plugin", kernels(library=folder), "is not from this build of Tandem")
            (folder / PLUGIN).unlink()
            (folder / "tandem").mkdir()
            shutil.copy(build / PLUGIN, folder / "tandem")
            used("as installed", kernels("avx512", folder), "own kernels for AVX-512")
        else:
            print("[skipped] plugin: this processor lacks AVX-512")
    if shutil.which("qemu-x86_64"):
        used("an emulated Haswell", kernels(qemu="Haswell"), "own kernels for AVX2", "this processor lacks AVX512F")
        refused("avx512 on an emulated Haswell", kernels("avx512", qemu="Haswell"), "this processor lacks AVX512F")
        for flag, features in (("popcnt", "POPCNT"), ("sse4.2", "SSE4.2"), ("pclmulqdq", "PCLMULQDQ"), ("avx2", "AVX2"),
                               ("fma", "FMA"), ("f16c", "F16C"), ("avx2,-bmi1", "AVX2, BMI1"), ("bmi2", "BMI2"),
                               ("abm", "LZCNT"), ("movbe", "MOVBE"), ("fma,-popcnt,-movbe", "POPCNT, FMA, MOVBE")):
            stopped(f"an emulated processor without {features}", kernels(qemu=f"max,-{flag}"), features)
        stopped("an emulated Nehalem", kernels(qemu="Nehalem"),
                "PCLMULQDQ, AVX, AVX2, FMA, F16C, BMI1, BMI2, LZCNT, MOVBE")
    else:
        print("[skipped] emulated processors: qemu-x86_64 is not installed")
elif march == "native" and has_avx512:
    refused("a set of another build", kernels("avx2"), "TANDEM_CPU=avx2", "-Dcpu=dispatch")
    used("the only set", kernels("avx512"), "own kernels for AVX-512")
print("{passed} passed, {failed} failed".format(**counts))
sys.exit(counts["failed"] != 0)
