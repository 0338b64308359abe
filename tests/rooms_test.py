#!/usr/bin/env python3
"""Checks that sources can be found: an operation has the same base name in autograd/ops/, core/cpu/ and cuda/ops/, and
no folder has more than MAX_SOURCES.

    tests/rooms_test.py

A kernel file is named after an operation (a file of autograd/ops/) or a kernel family (a header of core/backend/ that
declares a struct of kernels), followed by a part of PARTS if the kernel has several files: `find . -name 'conv2d*'`
then shows all of conv2d. Other files need a line in OTHERS with the reason. The last line is `N passed, N failed`.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ("core/cpu", "cuda/ops")
MAX_SOURCES = 70  # directly in a folder, headers included
PRODUCTION = "core autograd nn cuda parallel datasets models onnx cli compat".split()
PARTS = set("""aligned batch channels columns complex complex_spectral count depthwise direct extreme general half
    index integer kept lanes last ldl line loop matrix max_sum multinomial places plan pointwise rows scores shallow small
    sort spectral sums table tables tiles track windows""".split())
OTHERS = {
    "core/cpu": {
        "backend": "combines the tables of all families",
        "tables": "declares the tables of all families",
        "loop": "the loop of all elementwise kernels",
        "blocks": "elementwise loops for any strides",
        "simd": "vectors of the target's registers",
        "microkernel": "register tiles of matrix products and convolutions",
        "gemm": "matrix products on raw memory, for matmul and conv2d",
        "gemv": "matrix-vector products on raw memory, for matmul",
        "gemm_half": "the same for half types",
        "pack_half": "panels of half types, for gemm_half",
        "load_wide": "loads of half types for gemv",
        "half_loops": "conversions of half types for copies and elementwise loops",
        "moments": "sums of deviations, for reductions and batch_norm",
        "scratch": "working memory of a thread",
        "parallel_for_each": "multithreaded loops over tasks",
        "philox_lanes": "words of random numbers, for random and for attention's dropout",
        "kernel_sets": "chooses the set of kernels by the processor",
        "kernel_plugin": "what a plugin of kernels exports",
        "plugin_files": "finds and loads the plugins",
        "eigen_plugin": "what the plugin of Eigen's kernels exports",
        "eigen_tables": "the tables of decomposition and fft that call the plugin",
        "processor_check": "says what the processor lacks",
    },
    "cuda/ops": {},
}


def base_names(folder):
    return {p.name.split(".")[0] for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp", ".cu")}


def known_names():
    families = {p.stem for p in (ROOT / "core/backend").glob("*.h")
                if re.search(r"^struct \w+Kernels {", p.read_text(), re.M)}
    # binary_op.h and its like hold what operations of one kind share: their kernels are named after the kind.
    return families | {re.sub("_op$", "", name) for name in base_names("autograd/ops")}


def unknown(names, known, others):
    """The names that are neither known, alone or with a part, nor in `others`."""
    def fits(name):
        splits = [(name[:i], name[i + 1:]) for i in range(len(name)) if name[i] == "_"]
        return name in known or any(head in known and (part in PARTS or part.isdigit()) for head, part in splits)
    return sorted(n for n in names if not fits(n) and n not in others)


def crowded(folders, limit=MAX_SOURCES):
    """The folders, and those in them, with more sources than `limit`, each with their number."""
    counts = collections.Counter(p.parent for folder in folders for p in (ROOT / folder).rglob("*")
                                 if p.suffix in (".h", ".cpp", ".cu", ".cuh"))
    return [f"{folder.relative_to(ROOT)}: {n} sources, more than {limit}: give it folders" for folder, n in
            sorted(counts.items()) if n > limit]


def main():
    known = known_names()
    bad = crowded(PRODUCTION)
    if not crowded(["core"], limit=20):
        bad.append("the check misses a crowded folder")
    for folder in KERNELS:
        names = base_names(folder)
        bad += [f"{folder}/{n}: no operation in autograd/ops and no family in core/backend has this name; rename it, "
                f"or give the reason in OTHERS" for n in unknown(names, known, OTHERS[folder])]
        bad += [f"{folder}/{n}: in OTHERS without need" for n in OTHERS[folder] if n not in names or
                not unknown([n], known, {})]
    if unknown(["conv2d", "conv2d_plan", "unary_0", "sofmax", "conv2d_misc", "tables"], known,
               {"tables"}) != ["conv2d_misc", "sofmax"]:
        bad.append("the check misses an unknown name, or rejects a known one")
    print(*bad, sep="\n")
    print(f"{0 if bad else 1} passed, {1 if bad else 0} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
