"""Elementwise operations on several tensors."""
import torch

from torch_cases.case import both, case, value_for
from torch_draw import COMPUTED, FLOATS, INTEGERS


def arithmetic():
    def tensors(d, make, kind="any", count=2, types=None):
        shapes = d.broadcast(count)
        d.above_least = int(kind == "nonzero")  # PyTorch crashes when the smallest integer is divided by -1
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
            # For an infinite self, the gradient of a remainder's divisor may be either NaN or infinite.
            d.special = d.special and name not in ("fmod", "remainder")
            return tensors(d, make, kind)
        both(name, with_tensor, label="tensors")
        both(name, lambda d, make, k=kind: with_number(d, make, k), label="number")
    def real(d):
        # not bool: PyTorch's gradients do not treat False as 0
        number = d.number()
        return int(number) if isinstance(number, bool) else number

    def power(d, *arguments):
        d.second = not d.grid and not d.special  # PyTorch's second gradients are NaN for base 0
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
            d.second = not d.grid and not d.special  # there is no second derivative at the origin
            # PyTorch's gradient squares integers in their original dtype.
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
        """Elements that would be written twice, which must be rejected."""
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


arithmetic()
comparison()
where()
