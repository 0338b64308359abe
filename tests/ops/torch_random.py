#!/usr/bin/env python3
"""Compares Tandem with PyTorch on random shapes, strides, dtypes and numbers: results, dtypes, gradients, errors.

  torch_random.py [--extreme | --layers | --channels-last | --promotion | --networks] [--seed N] [--count N] [--case N]
                  [--build DIR] [NAME...]

Draws `count` cases of every operation (or of the named ones; * and ? are wildcards) and runs them in PyTorch and in
BUILD/tests/ops/test_torch, which is built first. --channels-last draws channels-last inputs and also compares which of
the results are channels-last. --networks trains `count` whole networks instead. --case draws a single
case; a failure prints the arguments that repeat it. Requires PyTorch 2; Tandem's test suite does not run it. The last
line is "N passed, N failed".
"""
import argparse
import copy
import dataclasses
import functools
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
except ImportError:
    sys.exit(f"{sys.argv[0]}: this Python has no PyTorch; install it in a virtual environment: python3 -m venv DIR, "
             "DIR/bin/pip install torch numpy, DIR/bin/python " + sys.argv[0])
if int(torch.__version__.split(".")[0]) < 2:
    sys.exit(f"{sys.argv[0]}: requires PyTorch 2, found {torch.__version__}")

import torch_extreme
from torch_cases import CASES, EXTREMES, LAYERS, PROMOTIONS, add_described
from torch_draw import Draw, Index, Input, INTEGERS, dense_strides
from torch_references import read, write

MODES = {"random": CASES, "extreme": EXTREMES, "layers": LAYERS, "promotion": PROMOTIONS,
         "channels-last": {**CASES, **{name + " layer": case for name, case in LAYERS.items()}}}
# |difference| <= tolerance (1 + |expected|): a few rounding errors of sums of a few hundred terms. The coarsest dtype
# of a case determines the tolerance: a float64 gradient may have passed through float32, and integers do. Integers must
# be equal.
TOLERANCE = {torch.float64: 1e-10, torch.float32: 3e-5}

# Operations whose results have another layout than PyTorch's, and why.
LAYOUTS = [
    ("pad*", "", "a volume without a batch is padded row-major"),
    ("conv_transpose3d*", "", "PyTorch's is row-major on a CPU, and channels-last on CUDA"),
    ("renorm roll* scatter_reduce", "", "PyTorch's are row-major; these keep the layout"),
    ("stack index*", "", "of other permutations none are kept"),
]
# Cases that PyTorch rejects and Tandem computes: operations, PyTorch's message, why that is correct.
WIDER = [
    ("sum* nansum* prod* cumsum cumprod", "Autograd not support dtype", "an integer dtype: the gradient is 0"),
    ("sub* rsub* dist*", "Subtraction, the `-` operator, with a bool tensor", "one bool operand: a - mask is intended"),
    ("hypot* cumsum cumprod clamp*", "not implemented for '(Bool|Byte|Char|Short|Int|Long)'", "missing in PyTorch"),
    ("special_*", "_cpu\" not implemented for '(Half|BFloat16)'", "half types are computed in float32"),
    ("igamma*", "_cpu\" not implemented for", "integers are converted, as for other functions of real numbers"),
    ("ldexp*", "not implemented for 'Bool'", "an exponent is any integer, or a bool"),
    ("argmax argmin", "does not support bool", "max along a dimension takes bool"),
    ("max* min* a*", "Expected reduction dim .* to have non-zero size", "the result of the extreme has no elements"),
    ("take_along_dim* index_fill*", "dtype of indic|Expected dtype int64 for index", "int32 indices are always valid"),
    ("take_along_dim* kron", "view size is not compatible", "non-contiguous tensors: PyTorch uses view"),
    ("repeat_interleave*", "tensor has no dimensions|range of \\[-1, 0\\], but got", "0-dim tensors"),
    ("index_add*", "source tensor shape must match self tensor shape", "adding one element to a 0-dim tensor"),
    ("norm*", "convertible without narrowing|Expected a floating point", "with dtype, elements are converted first"),
    ("index_put_*", "Index put requires the source and destination dtypes match", "values are converted as for slices"),
    ("pixel_*", "Unsupported memory format", "channels-last tensors of five dimensions"),
    ("logsumexp", "doesn't match the broadcast shape", "no named dimension means all"),
    ("addcmul* addcdiv*", "result type Float can't be cast to the desired output type", "integer self, float operands"),
    ("group_norm", "Expected more than 1 value per channel", "groups with one value"),
    ("trace searchsorted* bucketize", "not implemented for 'Bool'", "not implemented in PyTorch"),
    ("pad*", r"narrow\(\): length must be non-negative", "crops more than the size and pads it again"),
    ("view*", "must be 1 to view", "the stride of a last dimension of size 1 is irrelevant"),
]
# Cases that Tandem rejects and PyTorch computes: operations, Tandem's message, why that is correct.
STRICTER = [
    ("addcmul* addcdiv*", "must be an integer", "PyTorch silently truncates value"),
    ("addmm* baddbmm", "must be an integer", "PyTorch silently truncates beta and alpha"),
    ("conv_transpose*", "output would be empty", "in some kernels PyTorch does not check the sizes"),
    ("gather scatter* index_* take_along_dim*", "out of bounds for dimension",
     "PyTorch does not check all indices of empty tensors"),
    ("index_fill* scatter*", "is outside the range of", "PyTorch does not check the number if there are no indices"),
    ("pad circular", "wraps more than once around", "PyTorch may return memory that nothing has written"),
    ("nextafter*", "expected float32 or float64", "the neighbours of a half type are not those of its float32"),
    ("pow*", "not implemented for bool", "PyTorch also refuses an exponent that is a bool tensor"),
    ("masked_fill_*", "overlaps itself", "PyTorch only warns that this is deprecated"),
    ("mm bmm mv matmul addmm* baddbmm", "dtypes differ", "PyTorch does not check the dtypes of empty products"),
]


def excused(rules, name, text):
    return any(re.search(pattern, text) and any(fnmatch.fnmatch(name, n) for n in names.split())
               for names, pattern, reason in rules)


def word(argument, inputs):
    """Encodes an argument as the text that torch_table.h parses, and appends its tensors to inputs."""
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
    if any(isinstance(a, Input) for a in argument):  # in a list of tensors, None is an undefined tensor
        return "L" + ",".join("n" if a is None else word(a, inputs)[1:] for a in argument)
    return "l" + ",".join(str(a) for a in argument)


def form(x):
    return f"l{','.join(map(str, x.sizes))} l{','.join(map(str, x.strides))} {x.offset} {x.mode}"


class Request:
    """One case: its arguments, PyTorch's answer, and the request for test_torch."""

    def __init__(self, name, seed, number, mode="random"):
        self.name, self.seed, self.number, self.mode = name, seed, number, mode
        self.case = MODES[mode][name]
        self.draw = (torch_extreme.Sweep if mode == "extreme" else Draw)(seed, name, number)
        self.draw.channels_last = mode == "channels-last"
        self.arguments = self.case.draw(self.draw)
        self.inputs, self.outputs, self.cotangents, self.gradients = [], [], {}, []
        self.second_cotangents, self.second_gradients = {}, []
        self.checks = 0
        self.apart = []  # for differing float32 results: the largest errors of Tandem and of PyTorch
        self.words = " ".join([self.case.name] + [word(a, self.inputs) for a in self.arguments])
        self.refusal = None
        try:
            ask_gradients = self.ask_torch()
        except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as error:
            self.refusal = str(error).split("\n")[0] or "?"
            return
        types = {x.storage.dtype for x in self.inputs} | {out[0].dtype for out in self.outputs}
        self.bound = max(TOLERANCE.get(t, TOLERANCE[torch.float32]) for t in types) * self.case.tolerance
        # Half of the cases run without create_graph, so that fused kernels are tested.
        second = types <= {torch.float64, *INTEGERS, torch.bool} and self.draw.second and self.draw.chance(0.5)
        if self.mode == "extreme":
            second = self.draw.with_second
        try:
            ask_gradients(second)
        except (RuntimeError, ValueError, TypeError):  # PyTorch has no gradient; the results are still compared
            self.cotangents = {}
        self.second = second

    @functools.cached_property
    def exact(self):
        """The same case evaluated by PyTorch in float64, with a more accurate formula if there is one."""
        twin = copy.copy(self)
        wide = {id(x): copy.copy(x) for x in self.inputs}
        for x in wide.values():
            x.storage = x.storage.double() if x.storage.dtype.is_floating_point else x.storage
        twin.inputs = list(wide.values())
        twin.arguments = [wide.get(id(a), a) for a in self.arguments]
        twin.case = dataclasses.replace(self.case, torch=self.case.exact or self.case.torch)
        twin.outputs, twin.cotangents, twin.gradients, twin.second_gradients = [], {}, [], []
        ask_gradients = twin.ask_torch()
        twin.cotangents = {k: copy.copy(x) for k, x in self.cotangents.items()}
        for x in twin.cotangents.values():
            x.storage = x.storage.double()
        if self.cotangents:
            ask_gradients(self.second)
        return twin

    def replaced(self, argument, tensors):
        if isinstance(argument, Input):
            return next(tensors)
        if isinstance(argument, (list, Index)):
            return type(argument)(self.replaced(a, tensors) for a in argument)
        return argument

    def ask_torch(self):
        """Computes PyTorch's results and draws their cotangents; returns the function that computes the gradients."""
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
        # Copied now, because an output's storage may be overwritten.
        memory = {t.untyped_storage().data_ptr() for t in tensors} - {0}
        for t in outputs:
            shares = t.untyped_storage().data_ptr() in memory
            self.outputs.append((t.detach().clone(), list(t.stride()), t.storage_offset(), t.requires_grad, shares))
        for k, t in enumerate(outputs):
            if t.requires_grad and leaves:
                x = self.cotangents[k] = self.draw.cotangent(list(t.shape), t.dtype)
                if self.case.plain:
                    x.pack()
        return lambda second: self.ask_gradients([outputs[k] for k in self.cotangents], leaves, second)

    def ask_gradients(self, roots, leaves, second):
        """PyTorch's gradients and, if `second`, their gradients with respect to leaves and cotangents."""
        if not roots:
            return
        cotangents = [x.window(x.storage).requires_grad_(second) for x in self.cotangents.values()]
        self.gradients = torch.autograd.grad(roots, leaves, cotangents, create_graph=second, allow_unused=True)
        roots = {k: g for k, g in enumerate(self.gradients) if g is not None and g.requires_grad}
        self.gradients = [g if g is None else g.detach().clone() for g in self.gradients]
        if not roots:
            return
        drawn = {k: self.draw.cotangent(list(g.shape), g.dtype) for k, g in roots.items()}
        try:
            self.second_gradients = torch.autograd.grad(
                list(roots.values()), leaves + cotangents, [x.window(x.storage) for x in drawn.values()],
                allow_unused=True)
            self.second_cotangents = drawn
        except (RuntimeError, ValueError, TypeError):
            pass  # PyTorch has no second gradients

    def put(self, key, tensors, texts):
        texts[key] = self.words
        named = [(f"x{k}", x) for k, x in enumerate(self.inputs)] + [(f"g{k}", x) for k, x in self.cotangents.items()]
        named += [(f"h{k}", x) for k, x in self.second_cotangents.items()]
        for suffix, x in named:
            tensors[f"{key}/{suffix}"], texts[f"{key}/{suffix}"] = x.storage, form(x)

    def __str__(self):
        return f"{self.name}({', '.join(map(str, self.arguments))})"

    def differences(self, key, tensors, texts):
        """Yields the differences between PyTorch's answer and Tandem's."""
        status = texts[key]
        refused = status.startswith("error: ")
        if refused or self.refusal:
            if not refused and not excused(WIDER, self.name, self.refusal):
                yield f"accepted, but PyTorch rejects it: {self.refusal}"
            elif not self.refusal and not excused(STRICTER, self.name, status):
                yield f"rejected: {status[7:]}"
            return
        if status.startswith("crash"):
            yield status
            return
        count = sum(f"{key}/o{k}" in tensors for k in range(len(self.outputs) + 1))
        if count != len(self.outputs):
            yield f"{count} outputs instead of {len(self.outputs)}"
            return
        skipped = self.case.not_compared([tensors[f"{key}/o{k}"] for k in range(count)],
                                         [out[0] for out in self.outputs])
        for k, (wanted, strides, offset, needs_gradient, shares) in enumerate(self.outputs):
            if k in skipped:
                continue
            text = self.compared(tensors[f"{key}/o{k}"], wanted, "output", k)
            if text:
                yield f"output {k}: {text}"
            end = texts[f"{key}/o{k}"].index("]") + 1
            own = json.loads(texts[f"{key}/o{k}"][:end])
            own_offset, own_needs, own_shares = texts[f"{key}/o{k}"][end + 1:].split()
            if (own_needs == "true") != needs_gradient:
                yield f"output {k}: requires_grad {own_needs}"
            if self.mode == "channels-last" and not excused(LAYOUTS, self.name, ""):
                theirs, ours = layout(wanted.shape, strides), layout(wanted.shape, own)
                if theirs not in (None, "either", ours):
                    yield f"output {k}: {ours or own} instead of {theirs}"
            if self.case.view and wanted.numel() > 0:
                if (own_shares == "true") != shares:
                    yield f"output {k}: shares memory: {own_shares}"
                seen = [(a, b) for a, b, n in zip(own, strides, wanted.shape) if n > 1]
                if any(a != b for a, b in seen) or int(own_offset) != offset:
                    yield f"output {k}: strides {own} offset {own_offset} instead of {strides} offset {offset}"
        if status != "ok":
            yield status
            return
        given = ("gradient", "d", self.gradients), ("second gradient", "s", self.second_gradients)
        for kind, letter, gradients in given:
            for k, wanted in enumerate(gradients):
                text = self.compared_gradients(tensors.get(f"{key}/{letter}{k}"), wanted, kind, k)
                if text:
                    yield f"{kind} {k}: {text}"

    def compared_gradients(self, own, wanted, kind, k):
        """compared(), with a missing gradient treated as 0."""
        if own is not None and wanted is not None:
            return self.compared(own, wanted, kind, k)
        given = own if wanted is None else wanted
        text = given is not None and self.compared(given, torch.zeros_like(given), kind, k)
        return f"{own} instead of {wanted}" if text else None

    def compared(self, own, wanted, kind, k):
        """Describes the difference, or returns None."""
        self.checks += 1
        if self.mode == "extreme":
            return torch_extreme.compare(self, own, wanted, self.exact_of(kind, k), kind, k)
        bound = self.bound * (self.case.second if kind == "second gradient" else 1)
        if self.mode != "layers" or not wanted.dtype.is_floating_point or wanted.numel() == 0:
            return compare(own, wanted, bound)
        text = compare(own, wanted, bound, wanted.double().abs().max().item())  # sums: relative to the largest
        if text and wanted.dtype == torch.float32 and own.shape == wanted.shape:
            exact = self.exact_of(kind, k)
            errors = [(x.double() - exact).abs().max().item() for x in (own, wanted)]
            self.apart.append(errors)
            if errors[0] <= 2 * errors[1]:
                return None
            text += f"; error against float64 {errors[0]:.2g}, PyTorch's {errors[1]:.2g}"
        return text

    def exact_of(self, kind, k):
        """PyTorch's answer in float64, or None."""
        given = dict(output=[o[0] for o in self.exact.outputs], gradient=self.exact.gradients)
        given["second gradient"] = self.exact.second_gradients
        return given[kind][k] if k < len(given[kind]) else None


def layout(sizes, strides):
    """Of 4 or 5 dimensions: "row-major" or "channels-last", "either" where sizes of 1 leave it open. Else None."""
    if len(sizes) not in (4, 5) or 0 in sizes:
        return None
    seen = lambda strides: [s for s, n in zip(strides, sizes) if n > 1]
    names = [name for name, last in (("row-major", False), ("channels-last", True))
             if seen(strides) == seen(dense_strides(list(sizes), last))]
    return "either" if len(names) == 2 else names[0] if names else None


def compare(own, wanted, bound, scale=0):
    """Describes the difference, or returns None. NaN equals NaN; infinities must match. scale: magnitude of cancelled
    numbers."""
    if own.dtype != wanted.dtype:
        return f"{own.dtype} instead of {wanted.dtype}"
    if own.shape != wanted.shape:
        return f"shape {list(own.shape)} instead of {list(wanted.shape)}"
    if not wanted.dtype.is_floating_point:
        bad = own != wanted
    else:
        a, b = own.double(), wanted.double()
        bad = ~((a == b) | ((a - b).abs() <= bound * (1 + b.abs() + scale)) | (a.isnan() & b.isnan()))
    if not bad.any():
        return None
    at = bad.nonzero()[0].tolist()
    return f"at {at}: {own[tuple(at)].item()} instead of {wanted[tuple(at)].item()} ({int(bad.sum())} of {bad.numel()})"


def answers(program, requests):
    """Yields Tandem's answers as (request, key, tensors, texts). After a crash, bisects the requests to isolate it."""
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
    parser.add_argument("--count", type=int, default=20, help="number of cases per operation")
    parser.add_argument("--case", type=int, help="run only this case")
    parser.add_argument("--extreme", action="store_const", const="extreme", default="random", dest="mode",
                        help="test elementwise functions and losses at extreme values instead")
    parser.add_argument("--layers", action="store_const", const="layers", dest="mode",
                        help="test convolutions, pooling and normalisation in many configurations and sizes instead")
    parser.add_argument("--channels-last", action="store_const", const="channels-last", dest="mode",
                        help="test channels-last inputs, and the layouts of results, instead")
    parser.add_argument("--promotion", action="store_const", const="promotion", dest="mode",
                        help="test operations of two arguments with all pairs of dtypes instead, and ignore --count")
    parser.add_argument("--networks", action="store_const", const="networks", dest="mode",
                        help="train whole networks instead, and compare losses and parameters (random_networks.py)")
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    name = "tests/networks/test_networks" if args.mode == "networks" else "tests/ops/test_torch"
    program = str(args.build / name)
    built = subprocess.run(["ninja", "-C", args.build, name], capture_output=True, text=True)
    if built.returncode != 0:
        sys.exit(f"{built.stdout}{built.stderr}{name} could not be built in {args.build}; "
                 "create a build there first (./run test)")
    if args.mode == "networks":
        sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "networks"))
        import random_networks
        sys.exit(random_networks.main([program, "--seed", str(args.seed), "--count", str(args.count),
                                       *(["--case", str(args.case)] if args.case is not None else [])]))
    add_described(program)
    cases = MODES[args.mode]
    names = [n for n in cases if not args.names or any(fnmatch.fnmatch(n, pattern) for pattern in args.names)]
    if not names:
        sys.exit(f"no operation matches {' '.join(args.names)}; available: {' '.join(cases)}")
    warnings.simplefilter("ignore")
    passed = failed = refused = checks = 0
    apart = []
    for name in names:
        numbers = [args.case] if args.case is not None else range(cases[name].count or args.count)
        requests = [Request(name, args.seed, number, args.mode) for number in numbers]
        for request, key, tensors, texts in answers(program, requests):
            found = list(request.differences(key, tensors, texts))
            refused += request.refusal is not None
            checks += request.checks
            apart += request.apart
            passed += not found
            failed += bool(found)
            if found:
                print(f"FAILED {request}\n    {chr(10).join(found).replace(chr(10), chr(10) + '    ')}\n"
                      f"    repeat with: {f'--{args.mode} ' * (args.mode != 'random')}--seed {args.seed} --case "
                      f"{request.number} '{request.name}'")
    print(f"{len(names)} operations, seed {args.seed}, PyTorch {torch.__version__}; {refused} cases both must reject; "
          f"{checks} tensors compared")
    if apart:
        print(f"{len(apart)} float32 tensors differ from PyTorch's; {sum(a <= b for a, b in apart)} are closer to "
              "float64 than PyTorch's")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
