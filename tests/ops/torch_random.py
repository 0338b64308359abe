#!/usr/bin/env python3
"""Compares Tandem with PyTorch on random shapes, strides, dtypes and numbers: results, dtypes, gradients, refusals.

  torch_random.py [--seed N] [--count N] [--case N] [--build DIR] [NAME...]

Draws `count` cases of every operation (or of those named; * and ? match), has BUILD/tests/ops/test_torch answer them,
and PyTorch. --case draws one case alone: what a failure prints to repeat it. Needs PyTorch 2; Tandem's test suite does
not run it. The last line is "N passed, N failed".
"""
import argparse
import fnmatch
import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

import torch

from torch_cases import CASES
from torch_draw import Draw, Index, Input
from torch_references import read, write

# |difference| <= tolerance (1 + |expected|): a few roundings of sums of some hundred terms. Other dtypes: equal.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 3e-5}


def word(argument, inputs):
    """An argument as the text that torch_table.h reads; its tensors are appended to inputs."""
    if isinstance(argument, Input):
        inputs.append(argument)
        return f"t{len(inputs) - 1}"
    if argument is None:
        return "n"
    if isinstance(argument, bool):
        return f"b{int(argument)}"
    if isinstance(argument, int):
        return f"i{argument}"
    if isinstance(argument, float):
        return "d" + argument.hex()
    if isinstance(argument, str):
        return "s" + argument
    if isinstance(argument, torch.dtype):
        return "y" + str(argument)[6:]
    if isinstance(argument, slice):
        return "s" + ":".join("" if v is None else str(v) for v in (argument.start, argument.stop, argument.step))
    if argument is Ellipsis:
        return "e"
    if isinstance(argument, Index):
        return "x" + ",".join(word(a, inputs) for a in argument)
    if argument and isinstance(argument[0], Input):
        return "L" + ",".join(word(a, inputs)[1:] for a in argument)
    return "l" + ",".join(str(a) for a in argument)


def form(x):
    return f"l{','.join(map(str, x.sizes))} l{','.join(map(str, x.strides))} {x.offset} {x.mode}"


class Request:
    """One case: its arguments, PyTorch's answer, and what is sent to test_torch."""

    def __init__(self, name, seed, number):
        self.name, self.seed, self.number, self.case = name, seed, number, CASES[name]
        self.draw = Draw(seed, name, number)
        self.arguments = self.case.draw(self.draw)
        self.inputs, self.outputs, self.gradients, self.cotangents = [], [], [], {}
        self.words = " ".join([self.case.name] + [word(a, self.inputs) for a in self.arguments])
        self.refusal = None
        try:
            self.ask_torch()
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            self.refusal = str(error).split("\n")[0] or "?"

    def replaced(self, argument, tensors):
        if isinstance(argument, Input):
            return next(tensors)
        if isinstance(argument, (list, Index)):
            return type(argument)(self.replaced(a, tensors) for a in argument)
        return argument

    def ask_torch(self):
        tensors, leaves, written = [], [], []
        for x in self.inputs:
            storage = x.storage.clone()
            if x.mode == "W":
                leaves.append(storage.requires_grad_())
            if x.mode in "wW":
                storage = storage.clone()
                written.append(storage)
            tensors.append(x.window(storage))
            if x.mode == "g":
                leaves.append(tensors[-1].requires_grad_())
        out = self.case.torch(*self.replaced(self.arguments, iter(tensors)))
        if isinstance(out, torch.dtype):
            out = torch.empty(0, dtype=out)
        if isinstance(out, bool):
            out = torch.tensor(out)
        outputs = list(out) if isinstance(out, (tuple, list)) else [out]
        outputs += written
        # Taken now: the storage of an output may be a written one.
        memory = {t.untyped_storage().data_ptr() for t in tensors if t.numel() > 0}
        for t in outputs:
            shares = t.numel() > 0 and t.untyped_storage().data_ptr() in memory
            self.outputs.append((t.detach().clone(), list(t.stride()), t.storage_offset(), t.requires_grad, shares))
        for k, t in enumerate(outputs):
            if t.requires_grad and leaves:
                self.cotangents[k] = self.draw.tensor(list(t.shape), t.dtype, "finite", mode="c")
        if self.cotangents:
            self.gradients = torch.autograd.grad(
                [outputs[k] for k in self.cotangents], leaves,
                [x.window(x.storage) for x in self.cotangents.values()], allow_unused=True)

    def put(self, key, tensors, texts):
        texts[key] = self.words
        named = [(f"x{k}", x) for k, x in enumerate(self.inputs)] + [(f"g{k}", x) for k, x in self.cotangents.items()]
        for suffix, x in named:
            tensors[f"{key}/{suffix}"], texts[f"{key}/{suffix}"] = x.storage, form(x)

    def __str__(self):
        return f"{self.name}({', '.join(map(str, self.arguments))})"

    def differences(self, key, tensors, texts):
        """Yields what differs between PyTorch's answer and Tandem's."""
        status = texts[key]
        refused = status.startswith("error: ")
        if refused or self.refusal:
            if not refused:
                yield f"accepted, but PyTorch refuses: {self.refusal}"
            elif not self.refusal:
                yield f"refused: {status[7:]}"
            return
        count = sum(f"{key}/o{k}" in tensors for k in range(len(self.outputs) + 1))
        if count != len(self.outputs):
            yield f"{count} outputs instead of {len(self.outputs)}"
            return
        for k, (wanted, strides, offset, needs_gradient, shares) in enumerate(self.outputs):
            text = compare(tensors[f"{key}/o{k}"], wanted, self.case.tolerance)
            if text:
                yield f"output {k}: {text}"
            end = texts[f"{key}/o{k}"].index("]") + 1
            own = json.loads(texts[f"{key}/o{k}"][:end])
            own_offset, own_needs, own_shares = texts[f"{key}/o{k}"][end + 1:].split()
            if (own_needs == "true") != needs_gradient:
                yield f"output {k}: requires_grad {own_needs}"
            if self.case.view and wanted.numel() > 0:
                if (own_shares == "true") != shares:
                    yield f"output {k}: shares memory: {own_shares}"
                seen = [(a, b) for a, b, n in zip(own, strides, wanted.shape) if n > 1]
                if any(a != b for a, b in seen) or int(own_offset) != offset:
                    yield f"output {k}: strides {own} offset {own_offset} instead of {strides} offset {offset}"
        if status != "ok":
            yield status
            return
        for k, wanted in enumerate(self.gradients):
            own = tensors.get(f"{key}/d{k}")
            if own is None or wanted is None:  # no gradient is the gradient 0
                given = own if wanted is None else wanted
                text = None if given is None or not given.any() else f"{own} instead of {wanted}"
            else:
                text = compare(own, wanted, self.case.tolerance)
            if text:
                yield f"gradient {k}: {text}"


def compare(own, wanted, factor):
    """What differs, or None. NaN equals NaN, infinities their like."""
    if own.dtype != wanted.dtype:
        return f"{own.dtype} instead of {wanted.dtype}"
    if own.shape != wanted.shape:
        return f"shape {list(own.shape)} instead of {list(wanted.shape)}"
    if not wanted.dtype.is_floating_point:
        bad = own != wanted
    else:
        bound = TOLERANCE.get(wanted.dtype, 0) * factor
        a, b = own.double(), wanted.double()
        bad = ~((a == b) | ((a - b).abs() <= bound * (1 + b.abs())) | (a.isnan() & b.isnan()))
    if not bad.any():
        return None
    at = bad.nonzero()[0].tolist()
    return f"at {at}: {own[tuple(at)].item()} instead of {wanted[tuple(at)].item()} ({int(bad.sum())} of {bad.numel()})"


def answers(program, requests):
    """Tandem's answers, as (request, key, tensors, texts); where it crashes, the half that does is halved."""
    tensors, texts = {}, {}
    for i, request in enumerate(requests):
        request.put(str(i), tensors, texts)
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = f"{folder}/requests", f"{folder}/answers"
        write(asked, tensors, texts)
        done = subprocess.run([program, asked, answered], capture_output=True, text=True)
        if done.returncode == 0:
            tensors, texts = read(answered)
            for i, request in enumerate(requests):
                yield request, str(i), tensors, texts
        elif len(requests) == 1:
            yield requests[0], "0", {}, {"0": f"crash: {done.returncode} {done.stderr}"}
        else:
            half = len(requests) // 2
            yield from answers(program, requests[:half])
            yield from answers(program, requests[half:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=20, help="cases of each operation")
    parser.add_argument("--case", type=int, help="this case alone")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    names = [n for n in CASES if not args.names or any(fnmatch.fnmatch(n, pattern) for pattern in args.names)]
    if not names:
        sys.exit(f"no operation is named {' '.join(args.names)}; there are: {' '.join(CASES)}")
    warnings.simplefilter("ignore")
    numbers = [args.case] if args.case is not None else range(args.count)
    requests = [Request(name, args.seed, number) for name in names for number in numbers]
    failed = 0
    for request, key, tensors, texts in answers(str(args.build / "tests/ops/test_torch"), requests):
        found = list(request.differences(key, tensors, texts))
        failed += bool(found)
        if found:
            print(f"FAILED {request}\n    {chr(10).join(found).replace(chr(10), chr(10) + '    ')}\n"
                  f"    again: --seed {args.seed} --case {request.number} '{request.name}'")
    refused = sum(request.refusal is not None for request in requests)
    print(f"{len(names)} operations, seed {args.seed}, PyTorch {torch.__version__}; {refused} cases both must refuse")
    print(f"{len(requests) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
