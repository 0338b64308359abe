#!/usr/bin/env python3
"""Writes compat/headers.txt: LibTorch's public headers that contain nothing but torch/torch.h in Tandem.

    headers.py LIBTORCH_INCLUDE > compat/headers.txt

Public is what a program can include without LibTorch's sources: the headers of PUBLIC in the include folder of an
installed LibTorch. Those that Tandem has as files of its own, in compat/, are not listed.
"""
import collections
import pathlib
import re
import sys
import textwrap

COMPAT = pathlib.Path(__file__).resolve().parents[2] / "compat"
FRONTEND = "torch/csrc/api/include/"
PUBLIC = re.compile("|".join((
    r"ATen/([^/]+|(core|cuda|detail)/[^/]+|ops/[a-z][^/]*)\.h",
    r"c10/(core|core/impl|cuda|cuda/impl|macros|util)/[^/]+\.h",
    r"torch/([^/]+|headeronly/.*)\.h",
    r"torch/csrc/([^/]+|(autograd|autograd/generated|autograd/utils|cuda|utils)/[^/]+|api/include/.*)\.h",
    r"torch/csrc/jit/serialization/pickle\.h",
    r"torch/csrc/distributed/c10d/(Backend|(File|Hash|Prefix|TCP)?Store|ProcessGroup(Gloo|MPI|NCCL)?|Types|Work)\.hpp")))
# The parts of an operation, for LibTorch's own sources.
PARTS = re.compile(r"ATen/ops/.*_(native|ops|meta|(cpu|cuda|meta|mps|xpu|mkldnn|composite\w*)_dispatch)\.h")
# Those that earlier versions had, or that declare what Tandem has.
MORE = {"ATen/core/dispatch/Dispatcher.h", "ATen/core/op_registration/op_registration.h", "torch/linalg.h",
        *(f"c10d/{name}.hpp" for name in ("FileStore", "ProcessGroup", "ProcessGroupGloo", "ProcessGroupMPI",
                                          "ProcessGroupNCCL", "TCPStore"))}
HEAD = """# LibTorch 2.15's public headers, by folder, that contain nothing but torch/torch.h here (forward.py). Written by
# tests/compat/headers.py."""


def public(include):
    """The paths by which programs include them."""
    paths = {path.relative_to(include).as_posix() for path in pathlib.Path(include).rglob("*.h*")}
    found = {path for path in paths if PUBLIC.fullmatch(path) and not PARTS.fullmatch(path)}
    return {path.removeprefix(FRONTEND) for path in found} | MORE


def listed():
    sys.path.insert(0, str(COMPAT))
    import forward
    return forward.listed(COMPAT / "headers.txt")


def main():
    folders = collections.defaultdict(list)
    for path in sorted(public(sys.argv[1])):
        if not (COMPAT / path).exists():
            folder, name = path.rsplit("/", 1)
            folders[folder].append(name.removesuffix(".h"))
    print(HEAD)
    for folder, names in folders.items():
        line = f"{folder}: {' '.join(names)}"
        print(textwrap.fill(line, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    main()
