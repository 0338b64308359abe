"""Elementwise operations on several tensors: those of pointwise_table.h, and others."""
import operator

import torch

from torch_cases.case import both, case, value_for
from torch_cases.described import called, in_place, parameters
from torch_draw import COMPUTED, FLOATS, INTEGERS


def tensors(d, make, kind="any", count=2, types=None, first="any"):
    shapes = d.broadcast(count)
    d.above_least = int(kind == "nonzero")  # PyTorch crashes when the smallest integer is divided by -1
    x = make(shapes[0], types and d.pick(*types), first)
    return [x] + [d.tensor(s, types and d.pick(*types), kind) for s in shapes[1:]]


class Any:
    """The arguments of a function of two: two tensors, a tensor and a number, or a number and a tensor. A class for
    each `drawn` of pointwise_table.h."""
    kind, types, first = "any", None, "any"

    def tensors(self, d, make):
        return tensors(d, make, self.kind, types=self.types, first=self.first)

    def right(self, d, make):
        number = d.number()
        d.above_least = int(self.kind == "nonzero")
        return [make(d.shape()), 2 if self.kind == "nonzero" and number == 0 else number]

    def left(self, d, make):
        return [d.number(), make(d.shape(), kind=self.kind)]


class Nonzero(Any):
    kind = "nonzero"


class Modulo(Nonzero):
    def tensors(self, d, make):
        d.special = False  # for an infinite self, the gradient of the divisor may be either NaN or infinite
        return super().tensors(d, make)


class Finite(Any):
    """At infinities PyTorch's gradients are NaN."""
    kind, first, types = "finite", "finite", FLOATS


class Power(Any):
    def of(self, d, *arguments):
        d.second = not d.grid and not d.special  # PyTorch's second gradients are NaN for base 0
        return list(arguments)

    def real(self, d):
        # not bool: PyTorch's gradients do not treat False as 0
        number = d.number()
        return int(number) if isinstance(number, bool) else number

    def tensors(self, d, make):
        shapes = d.broadcast(2)
        return self.of(d, make(shapes[0], kind=d.pick("positive", "any")), d.tensor(shapes[1], kind="positive"))

    def right(self, d, make):
        return self.of(d, make(d.shape(), kind=d.pick("positive", "any")), self.real(d))

    def left(self, d, make):
        return self.of(d, self.real(d), make(d.shape(), kind=d.pick("positive", "any")))


class Root(Any):
    kind, first = "positive", "positive"

    def tensors(self, d, make):
        d.second = not d.grid
        return super().tensors(d, make)

    def right(self, d, make):
        return [make(d.shape(), kind="positive"), d.pick(2, 0.5, -1, 3)]


class Legs(Any):
    def tensors(self, d, make):
        d.second = not d.grid and not d.special  # there is no second derivative at the origin
        # PyTorch's gradient squares integers in their original dtype.
        return tensors(d, make, types=d.pick(FLOATS, FLOATS, INTEGERS))


class Sign(Any):
    """PyTorch's gradient is NaN at NaN, and its second gradient is NaN at 0."""

    def tensors(self, d, make):
        shapes = d.broadcast(2)
        return [make(shapes[0], grad=not d.special and not d.grid), d.constant(shapes[1])]

    def right(self, d, make):
        return [make(d.shape(), grad=not d.special and not d.grid), d.real()]


class Logarithm(Any):
    kind, first = "positive", "positive"
    types = INTEGERS + FLOATS  # not bool: avoids 0 times the infinite logarithm of False

    def tensors(self, d, make):
        d.second = not d.grid and not d.special
        return super().tensors(d, make)

    def right(self, d, make):
        return [make(d.shape()), d.pick(0.5, 2, 3.5)]

    def left(self, d, make):
        return [d.pick(0, 0.5, 2), make(d.shape(), kind="positive")]


class Constants(Any):
    def tensors(self, d, make):
        dtype, shapes = d.dtype(), d.broadcast(2)
        return [make(shapes[0], dtype, grad=False), d.constant(shapes[1], dtype)]


class Compared(Any):
    types = COMPUTED

    def tensors(self, d, make):
        x, y = super().tensors(d, make)
        if make == d.written and y.mode == "g":
            y.mode = "c"
        return [x, y]


class Logic(Any):
    def tensors(self, d, make):
        shapes = d.broadcast(2)
        return [make(shapes[0], grad=make == d.tensor), d.tensor(shapes[1])]


class Bits(Any):
    def dtypes(self, d):
        return INTEGERS + [torch.bool] if d.chance(0.9) else COMPUTED

    def tensors(self, d, make):
        return tensors(d, make, self.kind, types=self.dtypes(d))

    def right(self, d, make):
        return [make(d.shape(), d.pick(*self.dtypes(d))), d.pick(d.whole(-3, 5), d.chance(0.5))]


class Shift(Bits):
    kind = "positive"

    def right(self, d, make):
        return [make(d.shape(), d.pick(*self.dtypes(d))), d.whole(0, 9)]


PAIRS = {c.__name__.lower(): c() for c in (Any, Nonzero, Modulo, Finite, Power, Root, Legs, Sign, Logarithm, Constants,
                                            Compared, Logic, Bits, Shift)}


# PyTorch's functions of a number and a tensor that are only operators.
OPERATORS = dict(div=operator.truediv)


def described(function):
    name, pair = function["name"], PAIRS[function["kind"]]
    apart = function["right"] or function["left"]

    def give(name, draw, made, equivalent, kind):
        label = " ".join(filter(None, [kind if apart else None, function.get("label")]))
        case(name, lambda d: draw(d, getattr(d, made)) + parameters(d, function), equivalent, label or None)
    give(name, pair.tensors, "tensor", called(function, 2), "tensors")
    if function["right"]:
        give(name, pair.right, "tensor", called(function, 2), "number")
    if function["left"]:
        give(name, pair.left, "tensor", OPERATORS.get(name) or called(function, 2), "from number")
    if function["in_place"]:
        give(name + "_", pair.tensors, "written", in_place(function, 2), "tensors")
    if function["in_place_right"]:
        give(name + "_", pair.right, "written", in_place(function, 2), "number")


def three():
    for name in ("addcmul", "addcdiv"):
        def draw(d, make, kind="nonzero"):
            one = [d.dtype()] if d.chance(0.8) else None
            return tensors(d, make, kind, 3, one) + [d.pick(1, 2, 0.5)]
        both(name, draw)

    def overlapping(d):
        """Elements that would be written twice, which must be rejected."""
        shape = d.shape(1, 3, 1)
        x, n = d.written(shape), d.whole(0, len(shape) - 1)
        x.strides = [0 if k == n else stride for k, stride in enumerate(x.strides)]
        return x, shape
    for name in ("exp", "neg", "relu"):
        case(name + "_", lambda d: [overlapping(d)[0]], label="overlapping")
    case("copy_", lambda d: (lambda x, s: [x, d.tensor(s, kind="positive")])(*overlapping(d)), label="overlapping")
    case("mul_", lambda d: (lambda x, s: [x, d.tensor(s)])(*overlapping(d)), label="overlapping")
    case("masked_fill_", lambda d: (lambda x, s: [x, d.tensor(s, torch.bool), d.number()])(*overlapping(d)),
         label="overlapping")
    both("lerp", lambda d, make: tensors(d, make, types=[d.float()]) + [d.pick(0.3, 0.5, 0.8, 2)], label="number")
    both("lerp", lambda d, make: tensors(d, make, count=3, types=[d.float()]), label="tensors")


def comparison():
    case("result_type", lambda d: [d.tensor(s) for s in d.broadcast(2)], label="tensors")
    case("result_type", lambda d: [d.tensor(d.shape()), d.number()], label="number")
    for name in ("isclose", "allclose"):
        case(name, lambda d: (lambda t, s: [d.tensor(s[0], t), d.tensor(s[1], t), d.pick(1e-5, 0.1), d.pick(1e-8, 0.3),
                                            d.chance(0.5)])(d.dtype(), d.broadcast(2)))
    case("equal", lambda d: (lambda t, s: [d.tensor(s, t, "unit"), d.tensor(s, t, "unit")])(d.dtype(), d.shape(0, 1)))


def where():
    case("where", lambda d: (lambda s: [d.tensor(s[0], torch.bool), d.tensor(s[1]), d.tensor(s[2])])(d.broadcast(3)),
         label="tensors")
    case("where", lambda d: (lambda s: [d.tensor(s[0], torch.bool), d.tensor(s[1]), d.number()])(d.broadcast(2)),
         label="number")
    case("where", lambda d: (lambda s: [d.tensor(s[0], torch.bool), d.number(), d.tensor(s[1])])(d.broadcast(2)),
         label="from number")
    case("where", lambda d: [d.tensor(d.shape(), torch.bool), d.number(), d.number()], label="numbers")
    both("masked_fill",
         lambda d, make: (lambda s: [make(s[0]), d.tensor(s[1], torch.bool), d.number()])(d.broadcast(2)),
         label="number")
    both("masked_fill",
         lambda d, make: (lambda s: value_for(d, make(s[0]), d.tensor(s[1], torch.bool)))(d.broadcast(2)),
         label="tensor")
    case("masked_select", lambda d: (lambda s: [d.tensor(s[0]), d.tensor(s[1], torch.bool)])(d.broadcast(2)))


three()
comparison()
where()
