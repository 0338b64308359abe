"""The operations that torch_random.py compares: how arguments are drawn, and the same call in PyTorch.

Arguments stand in the order of Tandem's declarations and are all given. Where PyTorch leaves open which of equal
elements is chosen (sort that is not stable, topk, kthvalue, median) the values are distinct; max, argmax and stable
sorting promise the first one, so there ties are drawn too.
"""
import dataclasses
import math
import typing

import torch
import torch.nn.functional as F

from torch_draw import COMPUTED, FLOATS, INTEGERS, STORED, Index

CASES = {}


@dataclasses.dataclass
class Case:
    name: str
    draw: typing.Callable
    torch: typing.Callable
    view: bool = False  # strides and shared memory are compared, too
    tolerance: float = 1  # times torch_random.TOLERANCE
    second: float = 1  # and times this for second derivatives
    plain: bool = False  # cotangents are contiguous


def case(name, draw, function=None, label=None, **options):
    """label: one of several cases of the operation `name`."""
    label = name if label is None else f"{name} {label}"
    assert label not in CASES, label
    CASES[label] = Case(name, draw, function or getattr(torch, name, None) or getattr(torch.Tensor, name), **options)


def both(name, draw, function=None, label=None, **options):
    """The operation and the one that writes its first argument: draw(d, make) makes that by make(sizes, dtype…)."""
    case(name, lambda d: draw(d, d.tensor), function, label, **options)
    method = getattr(torch.Tensor, name + "_", None) or getattr(F, name + "_", None) or getattr(torch, name + "_")
    case(name + "_", lambda d: draw(d, d.written), method, label, **options)


# ---- elementwise, one tensor

def unary():
    kinds = dict(log="positive", log2="positive", log10="positive", sqrt="positive", rsqrt="positive", acosh="positive",
                 log1p="positive", asin="unit", acos="unit", atanh="unit", reciprocal="nonzero", tan="unit")
    for name in ("neg abs sign square relu floor ceil round trunc frac exp exp2 expm1 log log2 log10 log1p erf erfc sqrt "
                 "rsqrt reciprocal sigmoid sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh bitwise_not "
                 "logical_not").split():

        def draw(d, make, name=name):
            if name in ("asin", "acos", "acosh", "atanh"):
                # At 1, where their slope is infinite, signs and NaN are a matter of the formula.
                d.second = not d.special and not d.grid
                if d.special:  # near 1 PyTorch's 1 - x * x has few digits in float32
                    dtype = d.dtype()
                    return [make(d.shape(), dtype, "any", dtype != torch.float32)]
            return [make(d.shape(), kind="any" if d.special else kinds.get(name, "any"))]
        both(name, draw)
    for name in "isnan isinf isfinite".split():
        case(name, lambda d: [d.tensor(d.shape())])
    case("log_sigmoid", lambda d: [d.tensor(d.shape(), d.float())], F.logsigmoid)
    # The gradient at infinity is 0; PyTorch divides infinities.
    case("softsign", lambda d: [d.tensor(d.shape(), d.float(), "finite")], F.softsign)
    for name in "silu mish selu relu6 hardsigmoid hardswish".split():
        function = getattr(F, name)
        tolerance = 1e4 if name == "hardsigmoid" else 1  # PyTorch's gradient has 1/6 in float32

        def argument(d, make, name=name):
            d.second = name != "selu" or not (d.grid or d.large)  # see activations()
            return [make(d.shape(), d.float(), grad=not d.special)]
        case(name, lambda d, f=argument: f(d, d.tensor), function, tolerance=tolerance)
        case(name + "_", lambda d, f=argument: f(d, d.written), lambda x, f=function: f(x, inplace=True),
             tolerance=tolerance)


def activations():
    # At NaN PyTorch's own gradients of functions with a kink differ between its scalar, its vector and its in-place code.
    def smooth(d, make, *types):
        return make(d.shape(), d.pick(*(types or FLOATS)), grad=not d.special)

    def exponential(d, make):
        # At 0 PyTorch's gradient of elu, celu and selu is the left one, the second the right one.
        d.second = not d.grid and not d.large
        return smooth(d, make)

    # Whether infinity times 0 is NaN depends on PyTorch's code path.
    case("gelu", lambda d: [d.tensor(d.shape(), d.float(), "finite"), d.pick("none", "tanh")],
         lambda x, a: F.gelu(x, approximate=a))
    case("softplus", lambda d: [d.tensor(d.shape(), d.float()), d.pick(1, 2, 0.5), d.pick(20, 1.4)], F.softplus)
    case("elu", lambda d: [exponential(d, d.tensor), d.pick(1, 0.7, 2), d.pick(1, 1.3)], torch._C._nn.elu)
    case("elu_", lambda d: [exponential(d, d.written), d.pick(1, 0.7, 2), d.pick(1, 1.3)], torch._C._nn.elu_)
    # PyTorch's gradient has alpha in float32: numbers that it holds.
    both("celu", lambda d, make: [exponential(d, make), d.pick(1, 0.75, 2)], torch.celu)
    both("leaky_relu", lambda d, make: [smooth(d, make), d.pick(0.01, 0.3)], F.leaky_relu)
    both("hardtanh", lambda d, make: [smooth(d, make), d.pick(-1, -0.5), d.pick(1, 0.25)], F.hardtanh)
    both("threshold", lambda d, make: [smooth(d, make, *FLOATS, *INTEGERS), d.pick(0, 1), d.pick(-2, 3)])
    # Not infinite: that is no bound, where PyTorch has one for infinite elements.
    def bound(d):
        number = d.number()
        return number if abs(number) != math.inf else 0.5
    both("clamp", lambda d, make: [make(d.shape()), *d.pick((bound(d), None), (None, bound(d)), (bound(d), bound(d)))])
    case("clamp", lambda d: (lambda s: [d.tensor(s[0]), d.tensor(s[1]), None])(d.broadcast(2)), label="tensor")
    case("clamp", lambda d: (lambda s: [d.tensor(s[0]), None, d.tensor(s[1])])(d.broadcast(2)),
         lambda x, low, high: torch.clamp(x, max=high), "above tensor")
    case("clamp", lambda d: (lambda s: [d.tensor(n, kind="finite") for n in s])(d.broadcast(3)), label="tensors")
    both("clamp_min", lambda d, make: [make(d.shape()), bound(d)])
    both("clamp_max", lambda d, make: [make(d.shape()), bound(d)])
    case("nan_to_num", lambda d: [d.tensor(d.shape()), *(d.pick(None, 1.5, 7.0) for _ in range(3))])
    for p, train in ((0.0, True), (1.0, True), (0.4, False)):
        case("dropout", lambda d, p=p, t=train: [d.tensor(d.shape(), d.float(), "finite"), p, t], label=f"{p} {train}")
        case("feature_dropout", lambda d, p=p, t=train: [d.tensor(d.shape(2), d.float(), "finite"), p, t],
             label=f"{p} {train}")
        case("dropout_", lambda d, p=p, t=train: [d.written(d.shape(), d.float(), "finite"), p, t],
             label=f"{p} {train}")


# ---- factories, copies

def value_for(d, x, *between):
    """x, what is between, a number in a tensor. Integers that take it have no gradient, though PyTorch says so."""
    return [x, *between, d.tensor([], kind="positive", grad=x.storage.dtype in FLOATS)]


def factories():
    def optional_type(d):
        return d.pick(None, None, d.pick(*STORED))

    def bound(d):
        return d.pick(d.whole(-5, 9), d.whole(-20, 36) / 4)

    def step(d):
        return d.pick(1, 2, -1, 3, 0.5, -0.75, 0.1)

    for name in ("zeros", "ones"):
        case(name, lambda d: [d.shape(), optional_type(d)], lambda s, t, f=getattr(torch, name): f(s, dtype=t))
        case(name + "_like", lambda d: [d.constant(d.shape(), d.dtype(True)), optional_type(d)],
             lambda x, t, f=getattr(torch, name + "_like"): f(x, dtype=t))
    case("full", lambda d: [d.shape(), d.pick(d.whole(0, 9), 2.5, True), optional_type(d)],
         lambda s, v, t: torch.full(s, v, dtype=t))
    case("full_like", lambda d: [d.constant(d.shape(), d.dtype(True)), d.pick(d.whole(0, 9), 2.5, True),
                                 optional_type(d)], lambda x, v, t: torch.full_like(x, v, dtype=t))
    case("new_full", lambda d: [d.constant(d.shape(), d.dtype(True)), d.shape(), d.pick(d.whole(0, 9), 2.5, True),
                                optional_type(d)], lambda x, s, v, t: x.new_full(s, v, dtype=t))
    case("new_zeros", lambda d: [d.constant(d.shape(), d.dtype(True)), d.shape(), optional_type(d)],
         lambda x, s, t: x.new_zeros(s, dtype=t))
    case("scalar_tensor", lambda d: [d.pick(d.whole(0, 9), 2.5, True), optional_type(d)],
         lambda v, t: torch.scalar_tensor(v, dtype=t))
    numeric = COMPUTED[:5] + FLOATS

    def numeric_type(d):
        return d.pick(None, None, d.pick(*numeric))
    case("arange", lambda d: [bound(d), numeric_type(d)], lambda e, t: torch.arange(e, dtype=t), "end")
    case("arange", lambda d: [bound(d), bound(d), numeric_type(d)], lambda s, e, t: torch.arange(s, e, dtype=t),
         "start end")
    case("arange", lambda d: [bound(d), bound(d), step(d), numeric_type(d)],
         lambda s, e, p, t: torch.arange(s, e, p, dtype=t), "start end step")
    case("linspace", lambda d: [bound(d), bound(d), d.pick(0, 1, 2, 5, 24, 101), numeric_type(d)],
         lambda s, e, n, t: torch.linspace(s, e, n, dtype=t))
    case("logspace", lambda d: [d.whole(-2, 3), d.whole(-3, 4) / 2, d.pick(0, 1, 2, 5), d.pick(10.0, 2.0, 2.5),
                                d.pick(None, *FLOATS)], lambda s, e, n, b, t: torch.logspace(s, e, n, b, dtype=t))
    case("eye", lambda d: [d.whole(0, 5), optional_type(d)], lambda n, t: torch.eye(n, dtype=t), "n")
    case("eye", lambda d: [d.whole(0, 5), d.whole(0, 5), optional_type(d)], lambda n, m, t: torch.eye(n, m, dtype=t),
         "n m")
    case("to", lambda d: [d.tensor(d.shape(), d.dtype(True), "finite"), d.pick(*STORED)], torch.Tensor.to)
    case("clone", lambda d: [d.tensor(d.shape(), d.dtype(True))])
    case("contiguous", lambda d: [d.tensor(d.shape(), d.dtype(True))], view=True)

    def copy(d):
        shapes, dtype = d.broadcast(2), d.dtype(True)
        # Gradients in 16 bits would have to be added: they are stored, not computed with.
        return [d.written(shapes[0], dtype), d.tensor(shapes[1], d.dtype(True), "positive", dtype in COMPUTED)]
    case("copy_", copy)
    case("fill_", lambda d: [d.written(d.shape(), d.dtype(True)), d.number()], label="number")
    case("fill_", lambda d: value_for(d, d.written(d.shape())), label="tensor")
    case("zero_", lambda d: [d.written(d.shape(), d.dtype(True))])


# ---- elementwise, several tensors

def arithmetic():
    def tensors(d, make, kind="any", count=2, types=None):
        shapes = d.broadcast(count)
        d.above_least = int(kind == "nonzero")  # PyTorch dies of the least integer by -1
        first = make(shapes[0], types and d.pick(*types))
        return [first] + [d.tensor(s, types and d.pick(*types), kind) for s in shapes[1:]]

    def with_number(d, make, kind="any"):
        number = d.number()
        d.above_least = int(kind == "nonzero")
        return [make(d.shape()), 2 if kind == "nonzero" and number == 0 else number]

    def alpha(d):
        return d.pick(1, 1, 2, -3, 0.5)

    for name in ("add", "sub"):
        method = getattr(torch, name)
        for draw, label in ((tensors, "tensors"), (with_number, "number")):
            case(name, lambda d, w=draw: w(d, d.tensor) + [alpha(d)], lambda a, b, s, f=method: f(a, b, alpha=s), label)
            case(name + "_", lambda d, w=draw: w(d, d.written) + [alpha(d)],
                 lambda a, b, s, f=getattr(torch.Tensor, name + "_"): f(a, b, alpha=s), label)
    for draw, label in ((tensors, "tensors"), (with_number, "number")):
        case("rsub", lambda d, w=draw: w(d, d.tensor) + [alpha(d)], lambda a, b, s: torch.rsub(a, b, alpha=s), label)
    for name in "mul div fmod remainder floor_divide".split():
        kind = "any" if name == "mul" else "nonzero"

        def with_tensor(d, make, kind=kind, name=name):
            # Of an infinite self, the gradient of the divisor of a remainder is NaN or infinite as one likes.
            d.special = d.special and name not in ("fmod", "remainder")
            return tensors(d, make, kind)
        both(name, with_tensor, label="tensors")
        both(name, lambda d, make, k=kind: with_number(d, make, k), label="number")
    def real(d):
        # not bool: as such PyTorch does not see in its gradients that False is 0
        number = d.number()
        return int(number) if isinstance(number, bool) else number

    def power(d, *arguments):
        d.second = not d.grid and not d.special  # of base 0 PyTorch's are NaN
        return list(arguments)
    both("pow", lambda d, make: power(d, make(d.shape(), kind=d.pick("positive", "any")), real(d)), label="number")
    both("pow", lambda d, make: (lambda s: power(d, make(s[0], kind=d.pick("positive", "any")), d.tensor(
        s[1], kind="positive")))(d.broadcast(2)), label="tensors")
    for mode in (None, "trunc", "floor"):
        case("div", lambda d, m=mode: tensors(d, d.tensor, "nonzero") + [m],
             lambda a, b, m: torch.div(a, b, rounding_mode=m), f"tensors {mode}")
        case("div_", lambda d, m=mode: tensors(d, d.written, "nonzero") + [m],
             lambda a, b, m: a.div_(b, rounding_mode=m), f"tensors {mode}")
        case("div", lambda d, m=mode: with_number(d, d.tensor, "nonzero") + [m],
             lambda a, b, m: torch.div(a, b, rounding_mode=m), f"number {mode}")
        case("div_", lambda d, m=mode: with_number(d, d.written, "nonzero") + [m],
             lambda a, b, m: a.div_(b, rounding_mode=m), f"number {mode}")
    case("div", lambda d: [d.number(), d.tensor(d.shape(), kind="nonzero")], lambda a, b: a / b, "from number")
    case("remainder", lambda d: [d.number(), d.tensor(d.shape(), kind="nonzero")], label="from number")
    case("pow", lambda d: power(d, real(d), d.tensor(d.shape(), kind=d.pick("positive", "any"))), label="from number")
    for name in ("maximum", "minimum"):
        case(name, lambda d: tensors(d, d.tensor))
    for name in ("atan2", "hypot"):
        def legs(d, make):
            d.second = not d.grid and not d.special  # at the origin, where there is none
            # PyTorch's gradient squares integers in their own type.
            return tensors(d, make, types=d.pick(FLOATS, FLOATS, INTEGERS))
        both(name, legs)
    for name in ("addcmul", "addcdiv"):
        def draw(d, make, kind="nonzero"):
            one = [d.dtype()] if d.chance(0.8) else None
            return tensors(d, make, kind, 3, one) + [d.pick(1, 2, 0.5)]
        case(name, lambda d, w=draw: w(d, d.tensor), lambda x, a, b, v, f=getattr(torch, name): f(x, a, b, value=v))
        case(name + "_", lambda d, w=draw: w(d, d.written),
             lambda x, a, b, v, f=getattr(torch.Tensor, name + "_"): f(x, a, b, value=v))

    def overlapping(d):
        """Elements that are written twice: to be refused."""
        shape = d.shape(1, 3, 1)
        x, n = d.written(shape), d.whole(0, len(shape) - 1)
        x.strides = [0 if k == n else stride for k, stride in enumerate(x.strides)]
        return x, shape
    for name in ("exp", "neg", "relu"):
        case(name + "_", lambda d: [overlapping(d)[0]], getattr(torch.Tensor, name + "_"), "overlapping")
    case("copy_", lambda d: (lambda x, s: [x, d.tensor(s, kind="positive")])(*overlapping(d)), torch.Tensor.copy_,
         "overlapping")
    case("mul_", lambda d: (lambda x, s: [x, d.tensor(s)])(*overlapping(d)), torch.Tensor.mul_, "overlapping")
    case("masked_fill_", lambda d: (lambda x, s: [x, d.tensor(s, torch.bool), d.number()])(*overlapping(d)),
         torch.Tensor.masked_fill_, "overlapping")
    both("lerp", lambda d, make: tensors(d, make, types=[d.float()]) + [d.pick(0.3, 0.5, 0.8, 2)], label="number")
    both("lerp", lambda d, make: tensors(d, make, count=3, types=[d.float()]), label="tensors")


def comparison():
    for name in "eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split():
        bits = name.startswith("bitwise")
        kind = "positive" if name.endswith("shift") else "any"

        def draw(d, make, bits=bits, kind=kind):
            types = INTEGERS + [torch.bool] if bits and d.chance(0.9) else COMPUTED
            shapes = d.broadcast(2)
            return [make(shapes[0], d.pick(*types)), d.tensor(shapes[1], d.pick(*types), kind)]

        def number(d, make, bits=bits, kind=kind):
            types = INTEGERS + [torch.bool] if bits and d.chance(0.9) else COMPUTED
            value = d.whole(0, 9) if kind == "positive" else d.pick(d.whole(-3, 5), d.chance(0.5)) if bits else d.number()
            return [make(d.shape(), d.pick(*types)), value]
        for f, label in ((draw, "tensors"), (number, "number")):
            if bits and kind == "any":
                both(name, f, label=label)
            else:
                case(name, lambda d, f=f: f(d, d.tensor), label=label)
    for name in "logical_and logical_or logical_xor".split():
        case(name, lambda d: [d.tensor(s) for s in d.broadcast(2)])
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
    both("masked_fill", lambda d, make: (lambda s: [make(s[0]), d.tensor(s[1], torch.bool), d.number()])(d.broadcast(2)),
         label="number")
    both("masked_fill", lambda d, make: (lambda s: value_for(d, make(s[0]), d.tensor(s[1], torch.bool)))(d.broadcast(2)),
         label="tensor")
    case("masked_select", lambda d: (lambda s: [d.tensor(s[0]), d.tensor(s[1], torch.bool)])(d.broadcast(2)))


# ---- reductions

def reductions():
    def some_type(d):
        return d.pick(None, None, None, d.pick(*COMPUTED))

    def dims(d):
        shape = d.shape()
        return shape, d.dims(len(shape)), d.chance(0.5)

    def dim(d, least=0, low=0):
        shape = d.shape(low, 4, least)
        return shape, d.dim(len(shape)), d.chance(0.5)

    def floats(d):
        return d.float() if d.chance(0.9) else d.dtype()

    for name in ("sum", "nansum", "mean", "prod"):
        function = getattr(torch, name)

        def summand(d, shape, name=name):
            """And a dtype. No extremes where integers are added as floating point: they would cancel."""
            dtype = some_type(d)
            kind = "any" if dtype is None else "finite"
            if name == "prod":
                kind = "unit" if torch.Size(shape).numel() > 40 else "finite"  # products do not overflow
            return d.tensor(shape, kind=kind), dtype
        case(name, lambda d, draw=summand: list(draw(d, d.shape())), lambda x, t, f=function: f(x, dtype=t), "all",
             tolerance=10)
        case(name, lambda d, w=dim if name == "prod" else dims, draw=summand: (lambda s, n, keep: (
            lambda x, t: [x, n, keep, t])(*draw(d, s)))(*w(d)), lambda x, n, keep, t, f=function: f(x, n, keep, dtype=t),
             "dim", tolerance=10)
    for name in ("max", "min"):
        case(name, lambda d: [d.tensor(d.shape())], label="all")
        case(name, lambda d: (lambda s, n, keep: [d.tensor(s), n, keep])(*dim(d)), label="dim")
    # Where NaN is the extreme of several, PyTorch's gradient is NaN; Tandem's goes to the NaN.
    for name in ("amax", "amin"):
        case(name, lambda d: (lambda s, n, keep: [d.tensor(s, grad=not d.special), n, keep])(*dims(d)))
    for name in ("argmax", "argmin"):
        case(name, lambda d: (lambda s, n, keep: [d.tensor(s), d.pick(None, n, n), keep])(*dim(d)))
    case("aminmax", lambda d: (lambda s, n, keep: [d.tensor(s, grad=not d.special), d.pick(None, n, n), keep])(*dim(d)),
         lambda x, n, keep: torch.aminmax(x, dim=n, keepdim=keep))
    for name in ("var", "std", "var_mean", "std_mean"):
        function = getattr(torch, name)

        def values(d, shape, grad=True):
            """"distinct": the derivative of a root of nearly 0 has few digits."""
            # Of one value or none PyTorch's second derivatives are NaN or missing.
            d.second = not {0, 1} & set(shape) and shape != []
            return d.tensor(shape, floats(d), "distinct", grad)
        case(name, lambda d, v=values: [v(d, d.shape()), d.chance(0.5)], label="all", tolerance=10)
        # An empty list means all dimensions; PyTorch's gradient takes it for none.
        case(name, lambda d, v=values: (lambda s, n, keep: [v(d, s, bool(n)), n, d.chance(0.5), keep])(*dims(d)),
             label="dims", tolerance=10)
        if name in ("var", "std"):
            # Of fewer values than the correction var is NaN and PyTorch's gradient NaN over all dimensions, 0 over some.
            case(name, lambda d, v=values: (lambda s, n, keep: [v(d, s, bool(n)), d.pick(None, n), d.pick(
                *([0, 1, 2] if min(s, default=0) > 2 else [0, 1])), keep])(*dims(d)),
                 lambda x, n, c, keep, f=function: f(x, n, correction=c, keepdim=keep), "correction", tolerance=10)
    p = (0, 1, 2, 2.0, 3, 0.5, -1, float("inf"), float("-inf"))

    def vector(d, shape):
        d.second = 0 not in shape  # PyTorch's are NaN
        return d.tensor(shape, floats(d), "nonzero")
    case("norm", lambda d: [vector(d, d.shape()), d.pick(*p)], label="all", tolerance=10)
    case("norm", lambda d: (lambda s, n, keep: [vector(d, s), d.pick(*p), n, keep,
                                                d.pick(None, None, *FLOATS)])(*dims(d)),
         lambda x, p, n, keep, t: torch.norm(x, p, n, keep, dtype=t), "dims", tolerance=10)
    case("logsumexp", lambda d: (lambda s, n, keep: [d.tensor(s, floats(d)), n, keep])(*dims(d)))
    for name in ("all", "any"):
        case(name, lambda d: [d.tensor(d.shape(), kind="unit")], label="all")
        case(name, lambda d: (lambda s, n, keep: [d.tensor(s, kind="unit"), n, keep])(*dim(d)), label="dim")
        case(name, lambda d: (lambda s, n, keep: [d.tensor(s, kind="unit"), n, keep])(*dims(d)), label="dims")
    case("count_nonzero", lambda d: (lambda s, n, keep: [d.tensor(s), n])(*dims(d)))
    for name in ("cumsum", "cumprod", "softmax", "log_softmax"):
        function = getattr(torch, name)
        types = COMPUTED if name.startswith("cum") else FLOATS

        def draw(d, types=types, name=name):
            shape, n, _ = dim(d)
            if name == "cumprod":
                shape = [min(s, 6) for s in shape]
            return [d.tensor(shape, d.pick(*types), "finite" if name == "cumprod" else "any"), n,
                    d.pick(None, None, None, d.pick(*types))]
        case(name, draw, lambda x, n, t, f=function: f(x, n, dtype=t), tolerance=10)


def sorting():
    # distinct values need a dtype that has enough of them
    def wide(d):
        return d.pick(torch.int32, torch.int64, *FLOATS, *FLOATS)

    def dim(d):
        shape = d.shape()
        return shape, d.dim(len(shape))
    case("sort", lambda d: (lambda s, n: [d.tensor(s), True, n, d.chance(0.5)])(*dim(d)),
         lambda x, stable, n, descending: torch.sort(x, stable=stable, dim=n, descending=descending), "stable")
    case("sort", lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), None, n, d.chance(0.5)])(*dim(d)),
         lambda x, stable, n, descending: torch.sort(x, n, descending), "distinct")
    case("argsort", lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), n, d.chance(0.5)])(*dim(d)))
    case("topk", lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), d.whole(0, 4), n, d.chance(0.5), True])(
        *dim(d)))
    case("kthvalue", lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), d.whole(1, 3), n, d.chance(0.5)])(
        *dim(d)))

    def middle(d):
        shape = d.shape()
        d.second = 0 not in shape
        return [d.tensor(shape, wide(d) if d.second else d.float(), "distinct")]
    case("median", middle, label="all")
    case("median", lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), n, d.chance(0.5)])(*dim(d)), label="dim")
    case("bincount", lambda d: (lambda s: [d.tensor(s, d.integer(), (0, 9)), d.pick(None, d.constant(s)), d.whole(0, 12)])(
        d.shape(1, 1)))


# ---- shapes

def factors(d, count):
    """Sizes whose product is count, in which one may be -1."""
    sizes, rest = [], count
    while rest > 1 and d.chance(0.8):
        options = [n for n in range(1, rest + 1) if rest % n == 0]
        sizes.append(d.pick(*options))
        rest //= sizes[-1]
    sizes += [rest] if rest != 1 or d.chance(0.3) else []
    if count == 0:
        sizes = d.pick([0], [3, 0], [0, 2, 1])
    if sizes and d.chance(0.3):
        sizes[d.whole(0, len(sizes) - 1)] = -1
    if d.wrong and sizes:
        sizes[0] += 1
    return sizes


def views():
    def make(d, shape):
        return d.tensor(shape, d.dtype(True))

    def dim(d, low=0, least=0):
        shape = d.shape(low, 4, least)
        return shape, d.dim(len(shape))

    def count(shape):
        return torch.Size(shape).numel()
    for name in ("view", "reshape"):
        case(name, lambda d: (lambda s: [make(d, s), factors(d, count(s))])(d.shape()), getattr(torch.Tensor, name),
             view=True)
    case("view", lambda d: [d.constant(d.shape(), d.dtype(True)), d.pick(*STORED)], torch.Tensor.view, "dtype", view=True)
    case("flatten", lambda d: (lambda s: [make(d, s), d.dim(len(s)), d.dim(len(s))])(d.shape()), view=True)
    case("unflatten", lambda d: (lambda s, n: [make(d, s), n, factors(d, s[n] if -len(s) <= n < len(s) else 2) or [1]])(
        *dim(d, 1)), view=True)
    case("ravel", lambda d: [make(d, d.shape())], view=True)
    bound = range(-5, 8)

    def slicing(x, n, start, end, step):
        return torch.ops.aten.slice(x, n, start, end, step)
    case("slice", lambda d: (lambda s, n: [make(d, s), n, d.pick(None, *bound), d.pick(None, *bound), d.pick(1, 1, 2, 3)])(
        *dim(d)), slicing, view=True)
    case("select", lambda d: (lambda s, n: [make(d, s), n, d.whole(-3, 2)])(*dim(d)), view=True)
    case("narrow", lambda d: (lambda s, n: [make(d, s), n, d.whole(-2, 3), d.whole(0, 3)])(*dim(d)), view=True)
    case("expand", lambda d: (lambda s: [make(d, s[0]), s[1] if d.chance(0.7) else [d.pick(1, 2)] + s[1]])(
        (lambda full: ([1 if d.chance(0.4) else n for n in full[d.whole(0, min(len(full), 1)):]],
                       [-1 if i > 0 and d.chance(0.1) else n for i, n in enumerate(full)]))(d.shape())),
         torch.Tensor.expand, view=True)
    case("transpose", lambda d: (lambda s: [make(d, s), d.dim(len(s)), d.dim(len(s))])(d.shape()), view=True)
    case("transpose_", lambda d: (lambda s: [d.written(s, grad=False), d.dim(len(s)), d.dim(len(s))])(d.shape()))
    case("t", lambda d: [make(d, d.shape(0, 2))], view=True)

    def order(d, rank):
        dims = [n if d.chance(0.7) else n - rank for n in range(rank)]
        d.random.shuffle(dims)
        return dims[1:] if d.wrong else dims
    case("permute", lambda d: (lambda s: [make(d, s), order(d, len(s))])(d.shape()), view=True)
    case("movedim", lambda d: (lambda s: [make(d, s), *(lambda k: (order(d, len(s))[:k], order(d, len(s))[:k]))(
        d.whole(0, len(s)))])(d.shape()), view=True)
    case("squeeze", lambda d: [make(d, d.shape())], label="all", view=True)
    case("squeeze", lambda d: (lambda s, n: [make(d, s), n])(*dim(d)), label="dim", view=True)
    case("unsqueeze", lambda d: (lambda s: [make(d, s), d.whole(-len(s) - 1, len(s))])(d.shape()), view=True)
    case("squeeze_", lambda d: (lambda s, n: [d.written(s, grad=False), n])(*dim(d)))
    case("unsqueeze_", lambda d: (lambda s: [d.written(s, grad=False), d.whole(-len(s) - 1, len(s))])(d.shape()))
    case("unfold", lambda d: (lambda s, n: [make(d, s), n, d.whole(0, 4), d.whole(1, 3)])(*dim(d)), torch.Tensor.unfold,
         view=True)
    case("diagonal", lambda d: (lambda s: [make(d, s), d.whole(-3, 3), d.dim(len(s)), d.dim(len(s))])(d.shape(2)),
         view=True)

    def window(d):
        x = make(d, d.shape())
        d.second = 0 not in x.strides  # PyTorch divides by how often an element is there, and by 0
        sizes = d.shape(0, 3)
        return x, sizes, [d.whole(0, 3) for _ in sizes], d.pick(None, 0, 1, 2)
    case("as_strided", lambda d: list(window(d)), view=True)

    def scattered(d):
        # PyTorch does it for contiguous tensors and gradients, writes overlaps in an order that it leaves open, and
        # leaves the window's part of the gradient of self.
        sizes, t = [d.whole(1, 3), d.whole(1, 3)], d.float()
        return [d.constant([12], t).pack(), d.tensor(sizes, t), sizes,
                *d.pick(([sizes[1], 1], 0), ([1, sizes[0]], 2), ([4, 1], None))]
    case("as_strided_scatter", scattered, plain=True)


def pieces():
    def dim(d):
        shape = d.shape()
        return shape, d.dim(len(shape))

    def parts(d, size):
        out = []
        while sum(out) < size:
            out.append(d.whole(0, size - sum(out)))
        return out + ([1] if d.wrong else [])
    case("split", lambda d: (lambda s, n: [d.tensor(s), d.whole(0, 5), n])(*dim(d)), label="size", view=True)
    case("split", lambda d: (lambda s, n: [d.tensor(s), parts(d, s[n] if -len(s) <= n < len(s) else 3), n])(*dim(d)),
         label="sizes", view=True)
    case("chunk", lambda d: (lambda s, n: [d.tensor(s), d.whole(1, 5), n])(*dim(d)), view=True)
    case("tensor_split", lambda d: (lambda s, n: [d.tensor(s), d.whole(1, 5), n])(*dim(d)), label="sections", view=True)
    case("tensor_split", lambda d: (lambda s, n: [d.tensor(s), [d.whole(-2, 5) for _ in range(d.whole(0, 3))], n])(
        *dim(d)), label="indices", view=True)
    case("unbind", lambda d: (lambda s, n: [d.tensor(s), n])(*dim(d)), view=True)

    def alike(d):
        """Shapes that differ along one dimension at most."""
        shape, n = d.shape(1), 0
        n = d.dim(len(shape))
        shapes = []
        for _ in range(d.whole(1, 3)):
            other = list(shape)
            if -len(shape) <= n < len(shape):
                other[n] = d.size()
            shapes.append(other if not d.chance(0.05) else [0])
        if d.wrong:
            shapes[-1] = shapes[-1] + [2]
        return [d.tensor(s) for s in shapes], n
    case("cat", lambda d: list(alike(d)))

    def same(d, low=0):
        shape = d.shape(low)
        return [d.tensor(shape) for _ in range(d.whole(1, 3))]
    case("stack", lambda d: (lambda x: [x, d.whole(-len(x[0].sizes) - 1, len(x[0].sizes))])(same(d)))
    case("hstack", lambda d: [same(d)])
    case("vstack", lambda d: [same(d)])
    case("meshgrid", lambda d: (lambda t: [[d.tensor(d.pick([], [d.size()]), t) for _ in range(d.whole(1, 3))],
                                           d.pick("ij", "xy")])(d.dtype()), lambda x, i: torch.meshgrid(*x, indexing=i), view=True)
    case("repeat", lambda d: (lambda s: [d.tensor(s), [d.whole(0, 3) for _ in range(len(s) + d.pick(0, 0, 1, -1))]])(
        d.shape(0, 3)), torch.Tensor.repeat)
    case("tile", lambda d: [d.tensor(d.shape(0, 3)), [d.whole(0, 3) for _ in range(d.whole(0, 4))]])
    case("repeat_interleave", lambda d: (lambda s, n: [d.tensor(s), d.whole(0, 3), d.pick(None, n)])(*dim(d)),
         label="number")

    def counts(d):
        shape, n = dim(d)
        n = d.pick(None, n)
        size = torch.Size(shape).numel() if n is None else shape[n] if -len(shape) <= n < len(shape) else 1
        return [d.tensor(shape), d.constant([size], d.index_type(), (0, 4)), n]
    case("repeat_interleave", counts, label="counts")
    case("flip", lambda d: (lambda s: [d.tensor(s), d.dims(len(s))])(d.shape()))
    case("roll", lambda d: (lambda s, n: [d.tensor(s), [d.whole(-9, 9) for _ in n], n])(*(lambda s: (s, d.dims(len(s))))(
        d.shape())), label="dims")
    case("roll", lambda d: [d.tensor(d.shape()), [d.whole(-9, 9)], []], label="row")
    case("rot90", lambda d: (lambda s: [d.tensor(s), d.whole(-5, 5), [d.dim(len(s)), d.dim(len(s))]])(d.shape(2)))
    for name in ("tril", "triu"):
        case(name, lambda d: [d.tensor(d.shape(2)), d.whole(-4, 4)])


# ---- positions

def positions():
    def dim(d, low=0):
        shape = d.shape(low, 3)
        return shape, d.dim(len(shape))

    def size(shape, n):
        return shape[n] if shape and -len(shape) <= n < len(shape) else 1

    def smaller(d, shape, n):
        return [d.whole(0, 5) if shape and i == n % len(shape) else d.whole(min(s, 1), s) for i, s in enumerate(shape)]

    def gathering(d):
        shape, n = dim(d)
        return [d.tensor(shape), n, d.positions(smaller(d, shape, n), size(shape, n))]
    case("gather", gathering)

    def scattering(d, make, kind, distinct):
        """distinct: an index comes once, since PyTorch leaves open which of several values stays."""
        shape, n = dim(d)
        dtype = d.dtype()
        x = make(shape, dtype)
        index = d.positions(smaller(d, shape, n), size(shape, n))
        if distinct:
            index = d.constant([min(a, b) for a, b in zip(index.sizes, shape)], torch.int64, (0, 1))
            index.strides, index.offset = torch.empty(index.sizes).stride(), 0
            rows = torch.arange(size(shape, n)).flip(0)[:index.sizes[n % len(shape)] if shape else 1]
            rows = rows.reshape([-1 if shape and i == n % len(shape) else 1 for i in range(len(shape))])
            index.storage = rows.expand(index.sizes).reshape(-1).clone()
        if kind == "number":
            return [x, n, index, d.number()]
        wider = [s + d.pick(0, 0, 1) for s in index.sizes]
        return [x, n, index, d.tensor(wider, dtype if d.chance(0.9) else d.dtype())]
    both("scatter", lambda d, make: scattering(d, make, "number", False), label="number")
    both("scatter", lambda d, make: scattering(d, make, "tensor", True), label="tensor")
    both("scatter_add", lambda d, make: scattering(d, make, "tensor", False))
    case("take_along_dim", lambda d: (lambda s, n: [d.tensor(s), d.positions([1 if i != n % len(s) and d.chance(0.3) else k
                                      for i, k in enumerate(s)], size(s, n)), n])(*dim(d, 1)), label="dim")
    case("take_along_dim", lambda d: (lambda s: [d.tensor(s), d.positions(d.shape(0, 2), max(torch.Size(s).numel(), 1)),
                                                 None])(d.shape(0, 3)), label="row")
    case("one_hot", lambda d: [d.constant(d.shape(0, 3), torch.int64, (0, 5)), d.pick(-1, 5, 8)], F.one_hot)
    case("index_select", lambda d: (lambda s, n: [d.tensor(s), n, d.positions(d.shape(0, 1), size(s, n))])(*dim(d)))

    def along(d, make, distinct=False):
        shape, n = dim(d)
        dtype = d.dtype()
        count = d.whole(0, size(shape, n) if distinct else 5)
        index = d.positions([count], size(shape, n))
        if distinct:
            order = list(range(max(size(shape, n), 1)))
            d.random.shuffle(order)
            index = d.constant([len(order[:count])], torch.int64, (0, 1))
            index.strides, index.offset, index.storage = [1], 0, torch.tensor(order[:count], dtype=torch.int64)
        source = [count if i == n % len(shape) else s for i, s in enumerate(shape)] if shape else d.pick([], [count])
        return [make(shape, dtype), n, index, d.tensor(source, dtype if d.chance(0.9) else d.dtype())]
    case("index_add", lambda d: along(d, d.tensor) + [d.pick(1, 2)],
         lambda x, n, i, s, a: torch.index_add(x, n, i, s, alpha=a))
    case("index_add_", lambda d: along(d, d.written) + [d.pick(1, 2)],
         lambda x, n, i, s, a: x.index_add_(n, i, s, alpha=a))
    both("index_copy", lambda d, make: along(d, make, True))
    both("index_fill", lambda d, make: along(d, make)[:3] + [d.number()])
    case("take", lambda d: (lambda s: [d.tensor(s), d.constant(d.shape(0, 2), torch.int64, (
        -torch.Size(s).numel(), torch.Size(s).numel()))])(d.shape(0, 3, 1)))
    case("nonzero", lambda d: [d.tensor(d.shape(), kind="unit" if d.chance(0.3) else "any")])

    def indices(d, shape, tensors):
        """Indices of every kind; the tensors among them broadcast. One mask at most, so that its count is known."""
        at, n, common, ellipsis = Index(), 0, d.shape(0, 2, 1), False
        while n < len(shape) and d.chance(0.8):
            kind = d.pick("int", "slice", "slice", "none", "ellipsis", *(["tensor"] * 3 if tensors else []))
            if kind == "none":
                at.append(None)
                continue
            if kind == "ellipsis":
                if not ellipsis:
                    at.append(Ellipsis)
                    n += d.whole(0, len(shape) - n)
                ellipsis = True
                continue
            if kind == "int":
                at.append(d.whole(-shape[n], max(shape[n] - 1, 0)))
            elif kind == "slice":
                at.append(slice(d.pick(None, *range(-4, 5)), d.pick(None, *range(-4, 6)), d.pick(None, 1, 2, 3)))
            else:
                sizes = [1 if d.chance(0.2) else s for s in common[d.whole(0, min(1, len(common))):]]
                at.append(d.positions(sizes, shape[n], True))
            n += 1
        return at
    case("index", lambda d: (lambda s: [d.tensor(s, d.dtype(True)), indices(d, s, False)])(d.shape()),
         lambda x, i: x[tuple(i)], "basic", view=True)
    case("index", lambda d: (lambda s: [d.tensor(s), indices(d, s, True)])(d.shape(1)), lambda x, i: x[tuple(i)], "tensors")

    def masked(d):
        shape = d.shape(1)
        first = d.whole(0, len(shape) - 1)
        last = d.whole(first + 1, len(shape))
        mask = d.constant(shape[first:last], torch.bool)
        return d.tensor(shape), Index([slice(None)] * first + [mask])
    case("index", lambda d: list(masked(d)), lambda x, i: x[tuple(i)], "mask")
    case("index", lambda d: [d.tensor(d.shape()), Index([d.pick(True, False, None)])], lambda x, i: x[tuple(i)], "bool")

    def put(x, i, v):
        x[tuple(i)] = v
        return x
    case("index_put_", lambda d: (lambda s, t: [d.written(s, t), indices(d, s, False), d.tensor([], t)])(
        d.shape(1), d.dtype()), put, "basic")

    def written_mask(d):
        x, at = masked(d)
        return value_for(d, d.written(x.sizes, x.storage.dtype), at)
    case("index_put_", written_mask, put, "mask")

    def every(d, shape, n):
        """Some positions along dimension n, each once: of several values for one PyTorch leaves open which stays."""
        order = [k if d.chance(0.7) else k - shape[n] for k in range(shape[n])]
        d.random.shuffle(order)
        order = order[:d.whole(min(1, shape[n]), shape[n])]
        index = d.constant([len(order)], torch.int64, (0, 1))
        index.strides, index.offset, index.storage = [1], 0, torch.tensor(order, dtype=torch.int64)
        return index

    def mixed(d, shape):
        """Two index tensors, or a mask and an integer, among slices and None."""
        at = Index(d.pick(slice(None), slice(None, None, 2), slice(1, None)) for _ in shape)
        n = d.whole(0, len(shape) - 1)
        if d.chance(0.5):
            at[n] = every(d, shape, n)
            for k in range(len(shape)):
                if k != n and d.chance(0.3):
                    at[k] = d.pick(d.positions([], shape[k], True), d.positions([len(at[n].storage)], shape[k], True))
        else:
            at[n] = d.constant([shape[n]], torch.bool)
            for k in range(len(shape)):
                if k != n and d.chance(0.3):
                    at[k] = d.whole(-shape[k], shape[k] - 1)
        if d.chance(0.3):
            at.insert(d.whole(0, len(at)), None)
        return at

    def look(x, at):
        return x[tuple(a.window(a.storage) if hasattr(a, "storage") else a for a in at)]
    case("index", lambda d: (lambda s: [d.tensor(s), mixed(d, s)])(d.shape(1, 4, 1)), lambda x, i: x[tuple(i)], "mixed")

    def values(d, choose):
        """What is written has the indexed shape, or one that broadcasts to it."""
        shape, dtype = d.shape(1, 4, 1), d.dtype()
        at = choose(d, shape)
        try:
            sizes = list(look(torch.empty(shape), at).shape)
        except IndexError:
            sizes = []
        sizes = [1 if d.chance(0.2) else n for n in sizes[d.pick(0, 0, d.whole(0, len(sizes))):]]
        other = dtype if d.chance(0.8) else d.dtype()
        return [d.written(shape, dtype), at, d.tensor(sizes, other, "positive", dtype in FLOATS)]
    case("index_put_", lambda d: values(d, lambda d, s: indices(d, s, False)), put, "basic values")
    case("index_put_", lambda d: values(d, mixed), put, "mixed values")

    def writing(d, make):
        shape = d.shape(1, 3, 1)
        dtype, accumulate = d.dtype(), d.chance(0.5)
        common = d.shape(0, 2, 1)
        at = [d.positions(common, n, True) for n in shape[:d.whole(1, len(shape))]]
        if not accumulate:
            at[0] = every(d, shape, 0)
            common = at[0].sizes
            at[1:] = [d.positions(common, n, True) for n in shape[1:len(at)]]
        return [make(shape, dtype), at, d.tensor(common + shape[len(at):], dtype), accumulate]
    case("index_put", lambda d: writing(d, d.tensor), lambda x, i, v, a: torch.index_put(x, tuple(i), v, a))
    case("index_put_", lambda d: writing(d, d.written), lambda x, i, v, a: x.index_put_(tuple(i), v, a), "accumulate")

    def looked_up(d):
        rows, columns, frequency = d.whole(1, 6), d.whole(1, 5), d.chance(0.3)
        d.second = not frequency  # PyTorch's forgets it
        return [d.tensor([rows, columns], d.float()), d.positions(d.shape(0, 3), rows), d.pick(-1, -1, 0), frequency,
                False]
    case("embedding", looked_up)


# ---- matrices

def products():
    def size(d):
        return d.size() if d.chance(0.9) else d.whole(8, 40)

    def types(d):
        return [d.pick(*COMPUTED[:5], *FLOATS * 6)] * 3 if d.chance(0.95) else [d.dtype() for _ in range(3)]

    def inner(d, k):
        return k + 1 if d.wrong and d.chance(0.5) else k

    def of(d, *shapes):
        return [d.tensor(s, t, "finite") for s, t in zip(shapes, types(d))]
    case("mm", lambda d: (lambda m, k, n: of(d, [m, k], [inner(d, k), n]))(size(d), size(d), size(d)), tolerance=10)
    case("bmm", lambda d: (lambda b, m, k, n: of(d, [b, m, k], [b, inner(d, k), n]))(d.size(), size(d), size(d), size(d)),
         tolerance=10)
    case("mv", lambda d: (lambda m, k: of(d, [m, k], [inner(d, k)]))(size(d), size(d)), tolerance=10)
    case("dot", lambda d: (lambda k: of(d, [k], [inner(d, k)]))(size(d)), tolerance=10)
    case("outer", lambda d: [d.tensor([size(d)]), d.tensor([size(d)])])

    def ranks(d):
        k, batches = size(d), d.shape(0, 2)
        left = d.pick([k], [size(d), k], [1 if d.chance(0.3) else b for b in batches] + [size(d), k])
        right = d.pick([inner(d, k)], [k, size(d)], [1 if d.chance(0.3) else b for b in batches] + [k, size(d)])
        return of(d, left if d.chance(0.97) else [], right)
    case("matmul", ranks, tolerance=10)

    def factor(d):
        return d.pick(1, 1, 0, 2, 0.5)

    def add(d, make):
        m, k, n = size(d), size(d), size(d)
        t = types(d)
        shape = d.pick([m, n], [n], [1, n], [m, 1], []) if make == d.tensor else [m, n]
        return [make(shape, t[0], "finite"), d.tensor([m, k], t[1], "finite"), d.tensor([inner(d, k), n], t[2], "finite"),
                factor(d), factor(d)]
    case("addmm", lambda d: add(d, d.tensor), lambda x, a, b, be, al: torch.addmm(x, a, b, beta=be, alpha=al),
         tolerance=10)
    case("addmm_", lambda d: add(d, d.written), lambda x, a, b, be, al: x.addmm_(a, b, beta=be, alpha=al), tolerance=10)

    def batches(d):
        b, m, k, n = d.size(), size(d), size(d), size(d)
        t = types(d)
        shape = d.pick([b, m, n], [1, m, n], [n], [m, 1])
        return [d.tensor(s, u, "finite") for s, u in zip((shape, [b, m, k], [b, k, n]), t)] + [factor(d), factor(d)]
    case("baddbmm", batches, lambda x, a, b, be, al: torch.baddbmm(x, a, b, beta=be, alpha=al), tolerance=10)

    def linear(d):
        k, n, t = size(d), size(d), d.float()
        return [d.tensor(d.shape(0, 3) + [inner(d, k)], t, "finite"), d.tensor([n, k], t, "finite"),
                d.pick(None, d.tensor([n], t, "finite"))]
    case("linear", linear, F.linear, tolerance=10)
    equations = "ij,jk->ik ij,kj->ik i,i-> i,j->ij ii->i ii-> ij->ji ij->j bij,bjk->bik ...ij,...jk->...ik ij,jk " \
                "bi,ij,bj->b i...->... ij,ij->i abc,cd->abd abc->cab ij->".split()

    def einsum(d):
        equation, t = d.pick(*equations), d.float()
        sizes = {letter: d.size() for letter in "abcdijk"}
        more = d.shape(0, 2)
        shapes = []
        for term in equation.split("->")[0].split(","):
            shape = []
            for letter in term.replace("...", "."):
                shape += more if letter == "." else [sizes[letter]]
            shapes.append(shape)
        return [equation, [d.tensor(s, t, "finite") for s in shapes]]
    case("einsum", einsum, lambda e, x: torch.einsum(e, *x), tolerance=10)


# ---- networks

def convolutions():
    def one_or_two(d, low, high):
        return d.pick([d.whole(low, high)], [d.whole(low, high), d.whole(low, high)])

    def planes(d, channels, low=3, high=9):
        side = 24 if d.large else high
        return d.pick([], [d.pick(1, 2, 3, 0) if d.chance(0.3) else 2]) + [channels, d.whole(low, side), d.whole(low, side)]

    def conv(d, padding):
        groups, t = d.pick(1, 1, 1, 2, 3), d.float()
        per_group = d.pick(1, 2, 3, 8)
        channels, out = groups * d.pick(1, 1, 2, 4), groups * per_group
        weight = [out, channels // groups + (1 if d.wrong else 0), d.whole(1, 3), d.whole(1, 3)]
        return [d.tensor(planes(d, channels), t, "finite"), d.tensor(weight, t, "finite"),
                d.pick(None, d.tensor([out], t, "finite")), one_or_two(d, 1, 3) if padding != "same" else [1],
                one_or_two(d, 0, 2) if padding is None else padding, one_or_two(d, 1, 2), groups]
    case("conv2d", lambda d: conv(d, None), F.conv2d, tolerance=30)
    case("conv2d", lambda d: conv(d, d.pick("same", "valid")), F.conv2d, "named padding", tolerance=30)

    def conv1d(d):
        x, w, b, stride, padding, dilation, groups = conv(d, None)
        t = x.storage.dtype
        return [d.tensor(x.sizes[:-1], t, "finite"), d.tensor(w.sizes[:-1], t, "finite"), b, stride[:1], padding[:1],
                dilation[:1], groups]
    case("conv1d", conv1d, F.conv1d, tolerance=30)

    def transposed(d):
        groups, t = d.pick(1, 1, 2), d.float()
        channels, out = groups * d.pick(1, 2), d.pick(1, 2, 3)
        stride = one_or_two(d, 1, 3)
        return [d.tensor(planes(d, channels, 1, 5), t, "finite"),
                d.tensor([channels, out, d.whole(1, 3), d.whole(1, 3)], t, "finite"),
                d.pick(None, d.tensor([out * groups], t, "finite")), stride, one_or_two(d, 0, 1),
                [d.whole(0, min(stride) - (0 if d.wrong else 1))], groups, one_or_two(d, 1, 2)]
    case("conv_transpose2d", transposed, F.conv_transpose2d, tolerance=30)

    def pool(d, kind, kernel_low=1):
        stride = d.pick([], one_or_two(d, 1, 3))
        return [d.tensor(planes(d, d.whole(1, 3), 4), d.float(), kind), one_or_two(d, kernel_low, 3), stride,
                [d.pick(0, 0, 1)]]
    # Of equal elements in a window either may get the gradient: distinct ones.
    case("avg_pool2d", lambda d: pool(d, "any") + [d.chance(0.5), d.chance(0.5), d.pick(None, None, 3)],
         lambda x, k, s, p, *rest: F.avg_pool2d(x, k, s or None, p, *rest))
    for name in ("max_pool2d", "max_pool2d_with_indices"):
        case(name, lambda d: pool(d, "distinct") + [one_or_two(d, 1, 2), d.chance(0.5)],
             lambda x, k, s, p, dl, c, f=getattr(F, name): f(x, k, s or None, p, dl, c))

    def pool1d(d):
        return [d.tensor([2, d.whole(1, 3), d.whole(4, 12)][d.pick(0, 1):], d.float(), "distinct"), [d.whole(1, 3)],
                d.pick([], [d.whole(1, 3)]), [d.pick(0, 0, 1)], [d.whole(1, 2)], d.chance(0.5)]
    case("max_pool1d", pool1d, lambda x, k, s, p, dl, c: F.max_pool1d(x, k, s or None, p, dl, c))
    case("adaptive_avg_pool2d", lambda d: [d.tensor(planes(d, 2), d.float()), one_or_two(d, 1, 9)],
         lambda x, n: F.adaptive_avg_pool2d(x, n * 2 if len(n) == 1 else n))


def norms():
    def maybe(d, shape, t, kind="finite", mode=None):
        return d.pick(None, d.tensor(shape, t, kind, mode=mode)) if mode != "w" else d.tensor(shape, t, kind, False, "w")

    # "distinct": a variance of nearly 0 leaves few digits.
    def batch(d):
        t, c = d.float(), d.whole(1, 4)
        x = d.tensor([d.whole(1, 4), c] + d.shape(0, 2, 1), t, "distinct")
        running = d.chance(0.6)
        mean = maybe(d, [c], t, mode="w") if running else None
        var = maybe(d, [c], t, "positive", mode="w") if running else None
        # PyTorch's gradients are wrong where channels have gaps, and for images of one row with channels last.
        if len(x.sizes) == 4 and 1 in x.sizes:
            x.pack()
        weight = maybe(d, [c], t)
        for tensor in (weight, mean, var):
            if tensor is not None:
                tensor.pack()
        d.second = x.mode == "g"  # PyTorch's of the bias alone is missing
        return [x, weight, maybe(d, [c], t), mean, var, d.chance(0.5) or not running, d.pick(0.1, 0.3),
                d.pick(1e-5, 0.01)]
    case("batch_norm", batch, lambda x, w, b, m, v, *rest: F.batch_norm(x, m, v, w, b, *rest), tolerance=30,
         plain=True)

    def layer(d):
        t, shape = d.float(), d.shape(1, 4)
        shape[-1] += shape[-1] == 1  # one value less its mean is 0: PyTorch's rounding, magnified
        last, x = shape[d.whole(0, len(shape) - 1):], d.tensor(shape, t, "distinct")
        d.second = x.mode == "g"  # PyTorch's of the bias alone is missing
        return [x, last, maybe(d, last, t), maybe(d, last, t), d.pick(1e-5, 0.01)]
    case("layer_norm", layer, F.layer_norm, tolerance=30)

    def group(d):
        t, groups, n = d.float(), d.pick(1, 2, 3), d.pick(1, 2)
        c = groups * n
        return [d.tensor([d.whole(1, 3), c] + d.shape(0, 2, 1), t, "distinct"), groups, maybe(d, [c], t),
                maybe(d, [c], t), d.pick(1e-5, 0.01)]
    case("group_norm", group, F.group_norm, tolerance=30)


def losses():
    def reduction(d):
        return d.pick("none", "mean", "sum")

    def classes(d):
        """Scores and targets of classes, a weight, the class that is ignored."""
        t, c = d.float(), d.whole(1, 6)
        shape = d.pick([c], [d.pick(1, 2, 5, 0) if d.chance(0.4) else 3, c] + d.shape(0, 2))
        ignored = d.pick(-100, -100, 0, 1)
        target = d.constant(shape[:1] * (len(shape) > 1) + shape[2:], torch.int64, (0, c + (1 if d.wrong else 0)))
        if ignored == -100 and d.chance(0.2):
            target.storage[::2] = -100
        d.second = not (target.window(target.storage) == ignored).all()  # PyTorch's are NaN there
        return [d.tensor(shape, t, "finite"), target, d.pick(None, d.constant([c], t, "positive"))], ignored
    case("nll_loss", lambda d: (lambda x, i: x + [reduction(d), i])(*classes(d)),
         lambda x, t, w, r, i: F.nll_loss(x, t, w, ignore_index=i, reduction=r))
    cross = lambda x, t, w, r, i, e: F.cross_entropy(x, t, w, ignore_index=i, reduction=r, label_smoothing=e)
    case("cross_entropy", lambda d: (lambda x, i: x + [reduction(d), i, d.pick(0.0, 0.0, 0.1, 0.5)])(*classes(d)), cross,
         "classes", tolerance=10)

    def probabilities(d):
        x, _, w = classes(d)[0]
        return [x, d.tensor(x.sizes, x.storage.dtype, "unit"), w, reduction(d), -100, d.pick(0.0, 0.0, 0.1, 0.5)]
    case("cross_entropy", probabilities, cross, "probabilities", tolerance=10)

    def pair(d, kind="finite", other="finite", same=False):
        # one dtype: how they promote PyTorch's losses do not agree on
        t = d.float()
        shapes = d.broadcast(2) if not same else [d.shape()] * 2
        return [d.tensor(shapes[0], t, kind), d.tensor(shapes[1], t, other)]
    case("mse_loss", lambda d: pair(d) + [reduction(d)], lambda x, t, r: F.mse_loss(x, t, reduction=r))
    case("l1_loss", lambda d: pair(d) + [reduction(d)], lambda x, t, r: F.l1_loss(x, t, reduction=r))

    def bend(d, *choices):
        bound = d.pick(*choices)
        d.second = not d.grid or bound == 0.7  # where the square ends there is none
        return bound
    case("smooth_l1_loss", lambda d: pair(d) + [reduction(d), bend(d, 1.0, 0.7, 0.0)],
         lambda x, t, r, b: F.smooth_l1_loss(x, t, reduction=r, beta=b))
    case("huber_loss", lambda d: pair(d) + [reduction(d), bend(d, 1.0, 0.7)],
         lambda x, t, r, b: F.huber_loss(x, t, reduction=r, delta=b))

    def weight(d, x):
        return d.pick(None, d.constant(x.sizes[d.whole(0, min(1, len(x.sizes))):], x.storage.dtype, "positive"))

    def binary(d, kind):
        x, t = pair(d, kind, "unit", True)
        return [x, t, weight(d, x)] + ([weight(d, x)] if kind == "finite" else []) + [reduction(d)]
    # PyTorch adds 1e-12 to denominators that are squared in second derivatives.
    case("binary_cross_entropy", lambda d: binary(d, "unit"),
         lambda x, t, w, r: F.binary_cross_entropy(x, t, w, reduction=r), tolerance=10, second=100)
    case("binary_cross_entropy_with_logits", lambda d: binary(d, "finite"),
         lambda x, t, w, p, r: F.binary_cross_entropy_with_logits(x, t, w, pos_weight=p, reduction=r), tolerance=10)

    def divergence(x, t, r, log):
        # as LibTorch has it: PyTorch's Python refuses a number and does not divide by 0
        if r != "batchmean":
            return F.kl_div(x, t, reduction=r, log_target=log)
        total = F.kl_div(x, t, reduction="sum", log_target=log)
        return total / x.shape[0] if x.dim() else total
    case("kl_div", lambda d: pair(d, other="unit") + [d.pick("none", "mean", "sum", "batchmean"), d.chance(0.3)],
         divergence)


for family in (unary, activations, factories, arithmetic, comparison, where, reductions, sorting, views, pieces,
               positions, products, convolutions, norms, losses):
    family()
