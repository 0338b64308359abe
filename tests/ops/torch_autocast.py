#!/usr/bin/env python3
"""The dtypes that PyTorch gives results under autocast: the table with which test_ops compares Tandem's.

  test_ops --dump inputs.safetensors
  torch_autocast.py inputs.safetensors autocast.txt
  test_ops --autocast autocast.txt

Evaluates the case's expressions without and with autocast, on the CPU and on a fake CUDA device, which needs no GPU,
for three kinds of floating-point inputs: all of float32, all of autocast's half type, and mixed, where the first has
the half type and the others have float32. A line of the table is a case for which autocast changes a dtype, or which
PyTorch refuses: device, kind, name, number (* is all), dtypes of the outputs, or "refused", also where the fake device
cannot compute. All other results have the same dtypes with and without autocast. Requires PyTorch 2.
"""
import contextlib
import logging
import sys

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from torch_references import evaluated, read

HALF = {"cpu": torch.bfloat16, "cuda": torch.float16}
KINDS = {"float32": lambda i, half: torch.float32, "half": lambda i, half: half,
         "mixed": lambda i, half: torch.float32 if i else half}


@contextlib.contextmanager
def autocast(device, enabled):
    """torch.autocast, which refuses CUDA without a GPU."""
    torch.set_autocast_dtype(device, HALF[device])
    torch.set_autocast_enabled(device, enabled)
    try:
        yield
    finally:
        torch.set_autocast_enabled(device, False)


def dtypes(device, kind, expression, inputs, enabled):
    given = {}
    for i, (name, x) in enumerate(inputs.items()):
        if x.dtype == torch.float32:
            x = x.to(KINDS[kind](i, HALF[device]))
        given[name] = x.to(device)
    try:
        with autocast(device, enabled):
            return [str(t.dtype)[6:] for t in evaluated(expression, given)]
    except Exception:  # of many types, for arguments that an operation refuses
        return ["refused"]


def results(device, kind, cases):
    """The line for each case that has one, by number, for one case's name."""
    for number, (expression, inputs) in cases.items():
        plain, cast = (dtypes(device, kind, expression, inputs, enabled) for enabled in (False, True))
        if cast != plain or cast == ["refused"]:
            yield number, " ".join(cast)


def lines(device, names):
    for name, cases in names.items():
        for kind in KINDS:
            found = dict(results(device, kind, cases))
            if len(found) == len(cases) and len(set(found.values())) == 1:
                found = {"*": next(iter(found.values()))}
            for number, words in found.items():
                yield "\t".join([device, kind, name, number, words])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tensors, expressions = read(sys.argv[1])
    logging.disable(logging.ERROR)  # the fake device logs what PyTorch refuses
    names = {}
    for key, text in expressions.items():
        if key.endswith("/float32"):
            wanted, expression = text.split(" ", 1)
            name, number, _ = key.rsplit("/", 2)
            inputs = {f"x{i}": tensors[f"{key}/x{i}"] for i in range(len(wanted))}
            names.setdefault(name, {})[number] = expression, inputs
    with torch.no_grad():
        table = list(lines("cpu", names))
        with FakeTensorMode(allow_non_fake_inputs=True):
            table += lines("cuda", names)
    with open(sys.argv[2], "w") as file:
        file.write("\n".join(table) + "\n")
    print(f"{len(table)} lines for {len(names)} names, PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
