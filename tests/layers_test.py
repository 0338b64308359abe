#!/usr/bin/env python3
"""Checks that includes go one way: a file includes headers of its own layer and of lower layers only.

    tests/layers_test.py [ROOT]     checks the tree and ends with `N passed, N failed`
    tests/layers_test.py --graph    prints which layers the headers and the sources of each layer include
"""
import collections
import os
import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.M)
HEADERS, SOURCES = (".h", ".cuh"), (".cpp", ".cu")

KERNELS = "core core/backend core/formulas"
# The families of operations. Those of different families call each other, so they are one layer.
OPERATIONS = "pointwise reduce view index linalg fft nn loss random factories".split()
# The ways to train on several devices and processes.
PARALLEL = " ".join(f"parallel/{room}" for room in
                    "distributed shared shards data_parallel distributed_data_parallel fully_sharded parameter_server sharded".split())
# The layers, lowest first: the files (a folder, or single files) and the layers that its headers and sources include.
# A layer can only name layers above it in this list, so the headers of two layers never include each other. Those that
# name core may also include core/base.
LAYERS = {
    "core/base": ("core/base/ core/error.*", ""),
    "core": ("core/ core/memory/ core/random/ core/threads/ core/profile/", "core/base"),
    "core/backend": ("core/backend/", "core"),
    "core/formulas": ("core/formulas/", "core core/backend"),
    "core/capture": ("core/capture/", "core core/backend"),
    "core/cpu": ("core/cpu/ core/cpu/conv/ core/cpu/linalg/ core/cpu/pointwise/", KERNELS + " core/capture"),
    "cuda": ("cuda/ cuda/fusion/ cuda/toolkit/", KERNELS),
    "cuda/ops": ("cuda/ops/ cuda/strict/", KERNELS + " cuda"),
    "autograd": ("autograd/", "core"),
    "autograd/ops/detail": ("autograd/ops/detail/", KERNELS + " core/capture autograd"),
    "autograd/ops": (" ".join(f"autograd/ops/{room}/" for room in OPERATIONS), KERNELS + " autograd autograd/ops/detail"),
    "autograd/ops/torch_names": ("autograd/ops/torch_names/", "core autograd autograd/ops"),
    "ops.h": ("autograd/ops.h", "core autograd/ops"),
    "torch_names.h": ("autograd/torch_names.h", "autograd/ops/torch_names"),
    "nn/basics": ("nn/enums.h nn/enum_names.h nn/expanding_array.h nn/printed_names.h", "core"),
    "nn/options": ("nn/options/", "core nn/basics"),
    "nn/functional": ("nn/functional/ nn/functional.h", "core nn/basics nn/options"),
    "nn/files": ("nn/files/", "core autograd"),
    "nn": ("nn/", "core autograd nn/basics"),
    "nn/layers": ("nn/layers/", "core autograd autograd/ops nn/basics nn/options nn"),
    "nn/optim": ("nn/optim/", "core core/backend"),
    "nn/optim/composed": ("nn/optim/composed_step.h", "core autograd ops.h nn/optim"),
    "nn/steps": ("nn/captured_step.* nn/step_signature.* nn/step_state.* nn/serialize.*",
                 "core autograd nn nn/files nn/optim"),
    "nn/fuse": ("nn/fuse.* nn/quantize.*", "core autograd nn nn/layers"),
    "nn.h": ("nn/nn.h", "core nn/basics nn/options nn/functional nn/files nn nn/fuse nn/layers nn/optim nn/steps"),
    "datasets": ("datasets/", "core"),
    "vision": ("datasets/vision/", "core datasets"),
    "text": ("datasets/text/", "core datasets"),
    "parallel/distributed": ("parallel/distributed/", "core"),
    "engines": ("parallel/distributed/gloo/ parallel/distributed/mpi/ parallel/distributed/nccl/",
                "core parallel/distributed"),
    "parallel/shared": ("parallel/shared/", "core autograd nn parallel/distributed"),
    "parallel/shards": ("parallel/shards/", "core autograd nn parallel/distributed parallel/shared"),
    "parallel/data_parallel": ("parallel/data_parallel/", "core autograd nn parallel/distributed parallel/shared"),
    "parallel/distributed_data_parallel": (
        "parallel/distributed_data_parallel/", "core nn parallel/distributed parallel/shared parallel/data_parallel"),
    "parallel/norm": ("parallel/distributed_data_parallel/sync_batch_norm.*",
                      "core nn nn/layers parallel/distributed parallel/shared"),
    "parallel/parameter_server": (
        "parallel/parameter_server/",
        "core autograd nn nn/optim parallel/distributed parallel/shared parallel/shards"),
    "parallel/sharded": ("parallel/sharded/", "core nn/optim parallel/distributed parallel/shared"),
    "parallel/fully_sharded": (
        "parallel/fully_sharded/", "core autograd nn parallel/distributed parallel/shared parallel/shards"),
    "parallel": ("parallel/", f"core {PARALLEL} parallel/norm"),
    "precompiled": ("core/precompiled/", "core autograd nn/optim"),
    "cli/precompiled": ("cli/precompiled/", "autograd ops.h nn.h"),
    "models/precompiled": ("models/precompiled/", "ops.h nn nn/layers"),
    "pt": ("nn/files/pt/", "core autograd nn"),
    "tensorboard": ("nn/files/tensorboard/", "core"),
    "models": ("models/", "core autograd nn nn/fuse nn/layers"),
    "onnx": ("onnx/ onnx/operators/", "core autograd ops.h nn nn/fuse"),
    "onnx/precompiled": ("onnx/precompiled/", "ops.h onnx"),
    "onnx/export": ("onnx/export/", "core core/backend onnx"),
    "onnx/save": ("onnx/save.*", "core nn onnx"),
    "tandem.h": ("tandem.h", "core autograd ops.h nn.h nn/optim datasets parallel"),
    "testing": ("testing.h autograd/testing/", "core autograd autograd/ops tandem.h"),
    "compat": ("compat/**", "tandem.h torch_names.h core nn/basics pt"),
    "cli": ("cli/ cli/commands/ cli/compare/ cli/data/ cli/draw/ cli/launch/ cli/onnx/ cli/report/ cli/text/ cli/train/",
            "core autograd ops.h nn nn/files nn/fuse nn/layers nn/optim nn/steps nn.h datasets vision "
            f"{PARALLEL} parallel tensorboard models"),
    "examples": ("examples/", f"core autograd datasets models {PARALLEL} parallel tandem.h testing"),
    "bench": ("bench/ bench/distributed/ bench/distributed/scaling/ bench/gpu/ bench/libtorch/",
              "core core/backend core/cpu autograd autograd/ops ops.h nn nn.h nn/steps datasets vision models cli "
              f"{PARALLEL} parallel tandem.h testing onnx"),
}
# What sources include beyond that, and why. Nothing includes a source, so this makes no circle.
SOURCES_MAY = {
    ("core/base/fork.cpp", "core"): "a forked child has neither the threads nor the records of its parent",
    ("core", "core/backend"): "memory, streams and devices of a tensor come from a backend",
    ("core/storage.cpp", "core/capture"): "a step that is recorded on the CPU has memory of its own",
    ("core/memory/cpu_allocator.cpp", "core/cpu"): "emptying the cache frees the kernels' scratch memory, too",
    ("autograd", "autograd/ops/detail"): "the conversions of autocast are declared beside the operations",
    ("autograd", "autograd/ops"): "the engine sums gradients, and creates missing ones, with operations",
    ("autograd", "core/backend"): "gradients are summed and copied without recording, on the streams of their devices",
    ("nn/files", "autograd/ops"): "loading creates tensors",
    ("nn", "autograd/ops"): "modules create, initialise and copy tensors",
    ("nn", "nn/files"): "modules are saved and loaded",
    ("nn/layers", "nn/functional"): "a module calls its functional form",
    ("nn/optim", "autograd"): "updates are not recorded",
    ("nn/optim", "autograd/ops"): "state is created with operations",
    ("nn/optim", "ops.h"): "state is created with operations",
    ("nn/optim", "nn/optim/composed"): "optimizers composed of operations share their steps",
    ("nn/optim", "nn/files"): "optimizers are saved and loaded",
    ("nn/steps", "autograd/ops"): "inputs are copied into the captured step",
    ("nn/fuse", "autograd/ops"): "weights are multiplied with operations",
    ("nn/steps", "core/backend"): "a backend captures the step and replays it",
    ("datasets", "autograd/ops"): "batches are built with operations",
    ("datasets", "nn/files"): "samplers are saved and loaded",
    ("datasets", "core/backend"): "batches are filled by kernels and copied on streams",
    ("vision", "autograd/ops"): "images are cut, turned and stacked with operations",
    ("text", "nn/files"): "vocabularies are JSON",
    ("parallel/distributed", "core/backend"): "a recording is told of elements that are sent",
    ("parallel/distributed", "autograd"): "communication is not recorded",
    ("parallel/distributed", "ops.h"): "blocks are copied and summed with operations",
    ("parallel/distributed", "nn/files"): "the records of a file store have checksums",
    ("parallel/shared", "ops.h"): "tensors are scattered and summed with operations",
    ("parallel/distributed_data_parallel", "autograd"): "gradients are sent without recording",
    ("parallel/distributed_data_parallel", "ops.h"): "gradients are compressed and divided with operations",
    ("parallel/shards", "ops.h"): "gradients are summed with operations",
    ("parallel/parameter_server", "ops.h"): "gradients are summed with operations",
    ("parallel/parameter_server", "nn/files"): "the server is saved and loaded",
    ("parallel/sharded", "autograd"): "parameters are copied without recording",
    ("parallel/sharded", "ops.h"): "slices are cut and joined with operations",
    ("parallel/sharded", "nn/files"): "optimizers are saved and loaded",
    ("parallel/fully_sharded", "ops.h"): "slices are cut and joined with operations",
    ("parallel/fully_sharded", "nn/layers"): "some are gathered in autocast's half type",
    ("parallel/fully_sharded", "nn/files"): "checkpoints are safetensors files",
    ("parallel/fully_sharded", "nn/optim"): "checkpoints have the state of an optimizer",
    ("parallel/norm", "autograd"): "its backward communicates",
    ("parallel/norm", "ops.h"): "statistics are joined with operations",
    ("parallel/norm", "autograd/ops"): "running statistics are updated as for one process",
    ("parallel/norm", "core/backend"): "the kernels of batch normalisation are called between the exchanges",
    ("pt", "autograd/ops"): "loading creates tensors",
    ("pt", "nn/files"): "weights are in files of either kind",
    ("tensorboard", "autograd"): "what is written is not recorded",
    ("tensorboard", "ops.h"): "images are put into a grid with operations",
    ("tensorboard", "vision"): "images are PNG files",
    ("onnx/export", "autograd"): "what the export computes itself is not recorded for backward",
    ("onnx/export", "ops.h"): "constants are made with operations",
    ("onnx/save", "autograd"): "the module runs without gradients",
    ("onnx/save", "ops.h"): "further example inputs are made with operations",
    ("onnx/save", "onnx/export"): "the module's kernels become a graph",
    ("models", "ops.h"): "models compute with operations",
    ("models", "nn/steps"): "tokens are read by captured steps",
    ("onnx", "autograd/ops/detail"): "half types are computed in float32, as in composed operations",
    ("onnx", "autograd/ops"): "a convolution gets what follows it, and a normalisation its statistics, below the public operations",
    ("onnx", "core/backend"): "deviations from a given mean are a kernel without a public operation",
    ("onnx", "nn/files"): "data of a model may be in other files",
    ("testing", "core/backend"): "the harness lists the devices and compares bits",
    ("cli", "pt"): "the tool converts files of weights",
    ("cli", "onnx"): "the tool reads ONNX models",
    ("cli", "onnx/save"): "the tool writes ONNX models",
    ("cli", "text"): "the tool encodes texts",
    ("cli", "core/backend"): "the tool reports the devices' names and memory",
}
# Folders that no layer includes, and that include anything.
OUTSIDE = "tests/"
# Folders whose headers `tandem.h` does not reach.
INTERNAL = ("core/backend/", "core/capture/", "core/formulas/", "core/cpu/", "cuda/")


PLACES = {place: layer for layer, (places, _) in LAYERS.items() for place in places.split()}


def layer_of(path):
    """The layer of a file: a single file counts before its folder, and that before FOLDER/** above it.
    None: it has none."""
    folder, name = path.rpartition("/")[::2]
    folder = folder + "/" if folder else ""
    for place in (path, f"{folder}{name.partition('.')[0]}.*", folder, path.partition("/")[0] + "/**"):
        if place in PLACES:
            return PLACES[place]
    return None


def read_tree(root):
    files = {}
    for folder, folders, found in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) and f not in ("deps", "runs")]
        for name in found:
            if name.endswith(HEADERS + SOURCES):
                path = pathlib.Path(folder, name)
                files[path.relative_to(root).as_posix()] = path.read_text(errors="replace")
    return files


def edges(path, text):
    """Yields the files of the project that `path` includes."""
    for quote, name in INCLUDE.findall(text):
        if name.startswith("tandem/"):
            yield name.removeprefix("tandem/")
        elif quote == '"':
            yield ("compat/" + name if name.startswith(("torch/", "ATen/", "c10/"))
                   else os.path.normpath(os.path.join(os.path.dirname(path), name)))


def violations(files):
    found = []
    for path, text in files.items():
        if path.startswith(OUTSIDE):
            continue
        layer = layer_of(path)
        if layer is None:
            found.append(f"{path}: belongs to no layer of tests/layers_test.py")
            continue
        allowed = {layer, *LAYERS[layer][1].split()}
        allowed |= {"core/base"} if "core" in allowed else set()
        if path.endswith(SOURCES):
            allowed |= {to for origin, to in SOURCES_MAY if origin in (layer, path)}
        for target in edges(path, text):
            to = "tests" if target.startswith(OUTSIDE) else layer_of(target)
            if to not in allowed:
                found.append(f"{path} includes {target}: {layer} may not include {to or 'files outside the layers'}")
    return found


def reached(files, start):
    """The headers that `start` includes, directly or not, each with the file that includes it."""
    by, todo = {}, [start]
    while todo:
        path = todo.pop()
        for target in edges(path, files.get(path, "")):
            if target not in by:
                by[target] = path
                todo.append(target)
    return by


def internal(files):
    return [f"tandem.h reaches {target} through {path}" for target, path in reached(files, "tandem.h").items()
            if target.startswith(INTERNAL)]


def upward():
    """Entries of LAYERS that name a layer at or above their own."""
    order = list(LAYERS)
    return [f"{layer} may not name {to}" for i, layer in enumerate(order) for to in LAYERS[layer][1].split()
            if to not in order[:i]]


def unused(files):
    """Reasons for includes that no source has."""
    used = {(origin, layer_of(target)) for path, text in files.items() if path.endswith(SOURCES)
            for target in edges(path, text) for origin in (layer_of(path), path)}
    return [f"no source uses the allowance {origin} -> {to}" for origin, to in SOURCES_MAY if (origin, to) not in used]


def planted(files, path, target, find):
    """Whether `find` reports exactly one more violation when `path` includes `target`."""
    changed = {**files, path: files[path] + f'\n#include "tandem/{target}"\n'}
    return len(find(changed)) == len(find(files)) + 1


def graph(files):
    for kind, suffixes in (("headers", HEADERS), ("sources", SOURCES)):
        print(kind)
        to = collections.defaultdict(collections.Counter)
        for path, text in files.items():
            if path.endswith(suffixes) and not path.startswith(OUTSIDE):
                to[layer_of(path)].update(layer_of(t) or "?" for t in edges(path, text))
        for layer in LAYERS:
            print(f"  {layer}:", ", ".join(f"{t} {n}" for t, n in sorted(to[layer].items()) if t != layer))


def main():
    arguments = [a for a in sys.argv[1:] if a != "--graph"]
    files = read_tree(pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent)
    if "--graph" in sys.argv:
        return graph(files)
    checks = [
        ("the order of the layers", upward()),
        ("includes", violations(files)),
        ("tandem.h reaches no internal header", internal(files)),
        ("allowances that are needed no more", unused(files)),
    ]
    for path, target in (("core/dims.h", "core/backend/kernel.h"), ("core/cpu/linalg/gemm.cpp", "autograd/ops/linalg/mm.h"),
                         ("cuda/runtime.cpp", "autograd/record.h"), ("autograd/node.h", "autograd/ops/linalg/matmul.h"),
                         ("nn/options/conv.h", "nn/module.h"), ("parallel/shared/device_copies.cpp", "datasets/loader.h"),
                         ("parallel/sharded/flat_slices.cpp", "parallel/shards/tree_sum.h"),
                         ("cli/json.h", "tests/temp_folder.h"), ("core/dims.cpp", "bench/bench.h")):
        checks.append((f"{path} may not include {target}",
                       [] if planted(files, path, target, violations) else ["not found"]))
    checks.append(("tandem.h may not reach core/cpu",
                   [] if planted(files, "nn/module.h", "core/cpu/simd.h", internal) else ["not found"]))
    failed = 0
    for name, found in checks:
        failed += bool(found)
        if found:
            print(f"FAILED: {name}", *found, sep="\n  ")
    print(f"{len(checks) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
