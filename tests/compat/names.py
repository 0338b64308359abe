#!/usr/bin/env python3
"""Compares LibTorch's public C++ names with Tandem's: present, missing, or left out with a reason.

    names.py CLANG TANDEM_INCLUDE COMPAT LIBTORCH_INCLUDE [--missing] > docs/results/frontend.md

Reads an installed LibTorch (PyPI's wheel or Debian's libtorch-dev): the functions of ATen/Functions.h, the members of
Tensor, and the classes, options and functions of torch/nn, optim, data, serialize and autograd as CLANG lists them
(-ast-list). left_out.txt holds the reasons: a pattern and a sentence per line. COMPAT: Tandem's folder compat/.
--missing prints the missing names, one per line. A name counts as present whatever overloads it has.
"""
import collections
import pathlib
import re
import sys

import namespaces

REASONS = pathlib.Path(__file__).with_name("left_out.txt")
# Functions of these groups are called at::GROUP_NAME.
GROUPS = ("linalg", "fft", "special")
SCOPES = {"modules and options": "nn", "functionals": "nn::functional", "initialisation": "nn::init",
          "utilities": "nn::utils", "optimizers": "optim", "data": "data", "data sets": "data::datasets",
          "samplers": "data::samplers", "transforms": "data::transforms", "serialization": "serialize",
          "autograd": "autograd"}


HEAD = """# How much of LibTorch's C++ frontend is there

Written by `tests/compat/names.py` from the headers of LibTorch 2.15 (PyPI's wheel). A name counts once, whatever
overloads it has, and as present if Tandem declares it in the namespace of the same name: calls may still differ in
overloads. Not counted are the names of c10, macros, the members of classes other than Tensor, and functions that write
to a given tensor (`add_out`). Names with a reason in `tests/compat/left_out.txt` are left out on purpose.

LibTorch's own tests of the frontend (`test/cpp/api` of Debian's source package, 35 files without TorchScript, the
dispatcher, FFT and nested tensors): of 1,004 tests Tandem passes **868**, LibTorch 891 (g++ 12, no GPU, 2026-11-25;
private headers read as `torch/torch.h`, and `"torch::nn::` as `"tandem::nn::` in expected texts). Of LibTorch's 891,
[left_out_tests.txt](../../tests/compat/left_out_tests.txt) names those that Tandem does not pass, each with its reason.
"""


def reasons():
    lines = [line.split(None, 1) for line in REASONS.read_text().splitlines() if line and not line.startswith("#")]
    return [(re.compile(pattern), reason.strip()) for pattern, reason in lines]


def functions(libtorch):
    """Names of ATen's functions; of overloads and variants with another output, one."""
    folder = pathlib.Path(libtorch, "ATen")
    found = set()
    for name in re.findall(r"include <ATen/ops/(\w+)\.h>", (folder / "Functions.h").read_text()):
        text = (folder / "ops" / (name + ".h")).read_text()
        if re.search(rf"^inline [\w:<>,& ]+ {name}\(", text, re.M):
            found.add(name)
    return found


def parts_of(libtorch, theirs, ours):
    """(what, LibTorch's names, Tandem's names)."""
    names = functions(libtorch)
    for group in GROUPS:
        of_group = {name for name in names if name.startswith(group + "_")}
        own = {f"{group}_{name}" for name in ours["tandem::" + group]} | ours["tandem"]
        yield f"{group} functions", of_group, own
        names -= of_group
    yield "functions", names, ours["tandem"]
    yield "members of Tensor", theirs["at::Tensor"] | theirs["at::TensorBase"], ours["tandem::Tensor"]
    for what, scope in SCOPES.items():
        yield what, theirs["torch::" + scope], ours["tandem::" + scope]


def main():
    clang, tandem, compat, libtorch = sys.argv[1:5]
    ours = namespaces.names(clang, "torch/torch.h", [tandem, compat])
    for scope in [scope for scope in ours if scope.startswith("torch")]:
        ours["tandem" + scope.removeprefix("torch")] |= ours[scope]
    theirs = namespaces.names(clang, "torch/torch.h", [libtorch, libtorch + "/torch/csrc/api/include"])
    rules = reasons()
    rows, missing, left_out = [], {}, collections.defaultdict(set)
    for what, wanted, own in parts_of(libtorch, theirs, ours):
        reason_of = {name: next((reason for pattern, reason in rules if pattern.fullmatch(name)), None)
                     for name in wanted - own}
        for name, reason in reason_of.items():
            if reason:
                left_out[reason].add(name)
        missing[what] = sorted(name for name, reason in reason_of.items() if not reason)
        rows.append((what, len(wanted), len(wanted & own), len(reason_of) - len(missing[what]), len(missing[what])))
    if "--missing" in sys.argv[5:]:
        print("\n".join(f"{what}: {name}" for what, names in missing.items() for name in names))
        return
    print(HEAD)
    print("| | LibTorch | present | left out | missing |\n|---|---|---|---|---|")
    for row in [*rows, ("all", *(sum(column) for column in list(zip(*rows))[1:]))]:
        print("| " + " | ".join(map(str, row)) + " |")
    print("\n## Left out\n")
    for reason, names in sorted(left_out.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"- {len(names)}: {reason}")
    print("\n## Missing\n")
    for what, names in missing.items():
        if names:
            print(f"**{what}**: {', '.join(names)}\n")


if __name__ == "__main__":
    main()
