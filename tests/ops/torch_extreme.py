"""The sweep of torch_random.py --extreme: elementwise functions and losses at the limits of floating point.

Errors are relative to the result. Where PyTorch's float32 is less accurate than its float64, the float64 result is also
accepted as the reference; torch_cases/extreme.py lists the remaining inaccuracies of PyTorch that are excused.
"""
import fnmatch
import math

import torch

from torch_cases.extreme import EXCUSED
from torch_draw import Draw, Input

# |difference| <= RELATIVE |expected| plus a few of the smallest subnormal numbers.
RELATIVE = {torch.float64: 4e-15, torch.float32: 2e-6}


def below(x, dtype):
    return torch.nextafter(torch.tensor(x, dtype=dtype), torch.tensor(-math.inf, dtype=dtype)).item()


def above(x, dtype):
    return torch.nextafter(torch.tensor(x, dtype=dtype), torch.tensor(math.inf, dtype=dtype)).item()


def short(dtype):
    """Extreme values; functions of two arguments are evaluated for every pair of them."""
    info = torch.finfo(dtype)
    least = above(0.0, dtype)
    positive = [0.0, least, info.tiny, info.eps, 0.5, below(1.0, dtype), 1.0, above(1.0, dtype), 2.0, 3.0, 20.0, 110.0,
                1e7, 2.0 ** 52, 1e25, math.sqrt(info.max), info.max, math.inf]
    return positive + [-x for x in positive] + [math.nan]


def many(dtype, random):
    """Extreme values, points where functions change their formula or overflow, halfway cases, any magnitude."""
    info = torch.finfo(dtype)
    least = above(0.0, dtype)
    positive = [least, 3 * least, 1000 * least, info.tiny / 3, below(info.tiny, dtype), info.tiny,
                above(info.tiny, dtype),
                1e-30, 1e-20, 1e-10, info.eps / 2, info.eps, 1e-4, 0.25, below(0.5, dtype), above(0.5, dtype), 1e5, 1e7,
                2.0 ** 22 + 0.5, 2.0 ** 23, 2.0 ** 24, 2.0 ** 31, 2.0 ** 51, 2.0 ** 51 + 0.5, 2.0 ** 52, 2.0 ** 52 + 1,
                2.0 ** 53, 2.0 ** 63, 2.0 ** 64, 1e9, 1e19, 1e25, math.sqrt(info.max), 1.7e38, info.max / 2,
                below(info.max, dtype)]
    positive += [k / 2 for k in range(1, 20)] + [k * math.pi / 4 for k in range(1, 9)] + [above(1e5, dtype), 99999.5]
    positive += [16.6, 17.4, 20.5, 36.0, 37.5, 44.0, 52.0, 87.3, 88.4, 88.8, 89.5, 103.5, 104.5, 126.5, 128.5, 149.5,
                 354.5, 355.5, 372.5, 708.5, 709.5, 710.4, 744.5, 746.0, 1023.5, 1024.5, 1074.5]
    span = math.log2(info.max)
    positive += ([2.0 ** random.uniform(-span - 15, span) for _ in range(40)] +
                 [random.uniform(0, 12) for _ in range(30)])
    return short(dtype) + [sign * x for x in positive for sign in (1, -1)]


class Sweep(Draw):
    """Case `number` of a function; its bits select the dtype, the layout and whether to compare second derivatives."""

    def __init__(self, seed, name, number):
        super().__init__(seed, name, number)
        self.special = self.grid = self.wrong = self.large = False
        self.type = (torch.float32, torch.float64)[number & 1]
        self.step = 1 + (number >> 1 & 1)
        self.with_second = bool(number >> 2 & 1)

    def chosen(self, values, mode="g"):
        """A vector of these values, with stride `self.step`."""
        count, offset = len(values), self.step - 1
        storage = torch.full([offset + count * self.step], 0.75, dtype=self.type)
        storage[offset::self.step] = torch.tensor(values, dtype=torch.float64).to(self.type)
        return Input(storage, [count], [self.step], offset, mode)

    def line(self, inside=lambda x: True):
        """One argument."""
        values = [x for x in many(self.type, self.random) if inside(x)]
        self.random.shuffle(values)
        return self.chosen(values)

    def pairs(self, inside=lambda a, b: True, first="g", second="g"):
        """Two arguments: every pair of extreme values."""
        values = short(self.type)
        both = [(a, b) for a in values for b in values if inside(a, b)]
        both += [(self.random.choice(values), self.random.uniform(-4, 4)) for _ in range(50)]
        both += [(self.random.uniform(-4, 4), self.random.uniform(-4, 4)) for _ in range(50)]
        both = [p for p in both if inside(*p)]
        self.random.shuffle(both)
        self.count = len(both)
        return [self.chosen([p[0] for p in both], first), self.chosen([p[1] for p in both], second)]

    def cotangent(self, sizes, dtype):
        """All 1: other cotangents would multiply infinities and NaN in a different order."""
        return Input(torch.ones(torch.Size(sizes).numel(), dtype=dtype), list(sizes),
                     list(torch.empty(sizes).stride()), 0, "c")


def agree(own, wanted, bound, cancels):
    a, b = own.double(), wanted.double()
    least = above(0.0, own.dtype) * (4 if cancels else 2)
    return (a == b) | ((a - b).abs() <= bound * (b.abs() + cancels) + least) | (a.isnan() & b.isnan())


def compare(request, own, wanted, exact, kind, k):
    """Describes the difference, or returns None. Compares second gradients only where PyTorch's are finite."""
    second = kind == "second gradient"
    bound = RELATIVE.get(own.dtype, 0) * request.case.tolerance * (20 if second else 1)
    cancels = max(request.case.cancels, int(second))
    if own.shape != wanted.shape or own.dtype != wanted.dtype:
        return f"{own.dtype}{list(own.shape)} instead of {wanted.dtype}{list(wanted.shape)}"
    if not wanted.dtype.is_floating_point:
        bad = own != wanted
    else:
        bad = ~agree(own, wanted, bound, cancels)
        if exact is not None:
            bad &= ~agree(own, exact.to(own.dtype), bound, cancels)
        if second:
            bad &= wanted.isfinite()
    inputs = [x.window(x.storage) for x in request.inputs if x.storage.dtype.is_floating_point]
    rows = [x.reshape(-1, 2).reshape(list(own.shape) + [2]) for x in inputs if x.numel() == 2 * own.numel()]
    inputs = [x for x in inputs if x.numel() == own.numel()]
    for names, kinds, where, reason in EXCUSED:
        if bad.any() and any(fnmatch.fnmatch(request.name, n) for n in names.split()) and f"{kind} {k}" in kinds:
            bad &= ~where(own, wanted, *([x.reshape(own.shape) for x in inputs] or rows))
    if not bad.any():
        return None
    at = [int(k) for k in bad.reshape(-1).nonzero().reshape(-1)]
    def one(k):
        arguments = ", ".join([f"{x.reshape(-1)[k].item():.9g}" for x in inputs] or
                              [str(x.reshape(-1, 2)[k].tolist()) for x in rows])
        more = "" if exact is None else f" (float64: {exact.reshape(-1)[k].item():.9g})"
        return f"at ({arguments}): {own.reshape(-1)[k].item():.9g} instead of {wanted.reshape(-1)[k].item():.9g}{more}"
    return f"{len(at)} of {own.numel()}\n      " + "\n      ".join(one(k) for k in at[:SHOWN])


SHOWN = 8
