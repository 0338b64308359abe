"""Elementwise operations on one tensor, and activations."""
import math

import torch
import torch.nn.functional as F

from torch_cases.case import both, case
from torch_draw import FLOATS, INTEGERS


def unary():
    kinds = dict(log="positive", log2="positive", log10="positive", sqrt="positive", rsqrt="positive", acosh="positive",
                 log1p="positive", asin="unit", acos="unit", atanh="unit", reciprocal="nonzero", tan="unit")
    case("round", lambda d: [d.tensor(d.shape(), d.float()), d.pick(-1, 0, 1, 2)],
         lambda x, n: torch.round(x, decimals=n), "decimals")
    case("round_", lambda d: [d.written(d.shape(), d.float()), d.pick(-1, 0, 1, 2)],
         lambda x, n: x.round_(decimals=n), "decimals")
    for name in ("neg abs sign square relu floor ceil round trunc frac exp exp2 expm1 log log2 log10 log1p erf erfc sqrt "
                 "rsqrt reciprocal sigmoid sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh bitwise_not "
                 "logical_not").split():

        def draw(d, make, name=name):
            if name in ("asin", "acos", "acosh", "atanh"):
                # At 1, where the slope is infinite, signs and NaN depend on the formula.
                d.second = not d.special and not d.grid
                if d.special:  # near 1 PyTorch's 1 - x * x is inaccurate in float32
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
    # At NaN PyTorch's scalar, vector and in-place code produce different gradients for functions with a kink.
    def smooth(d, make, *types):
        return make(d.shape(), d.pick(*(types or FLOATS)), grad=not d.special)

    def exponential(d, make):
        # At 0 PyTorch's first gradient of elu, celu and selu is the left-sided one, the second the right-sided one.
        d.second = not d.grid and not d.large
        return smooth(d, make)

    # Whether infinity times 0 is NaN depends on PyTorch's code path.
    case("gelu", lambda d: [d.tensor(d.shape(), d.float(), "finite"), d.pick("none", "tanh")],
         lambda x, a: F.gelu(x, approximate=a))
    case("softplus", lambda d: [d.tensor(d.shape(), d.float()), d.pick(1, 2, 0.5), d.pick(20, 1.4)], F.softplus)
    case("elu", lambda d: [exponential(d, d.tensor), d.pick(1, 0.7, 2), d.pick(1, 1.3)], torch._C._nn.elu)
    case("elu_", lambda d: [exponential(d, d.written), d.pick(1, 0.7, 2), d.pick(1, 1.3)], torch._C._nn.elu_)
    # PyTorch's gradient has alpha in float32, so alpha must be exact in float32.
    both("celu", lambda d, make: [exponential(d, make), d.pick(1, 0.75, 2)], torch.celu)
    both("leaky_relu", lambda d, make: [smooth(d, make), d.pick(0.01, 0.3)], F.leaky_relu)
    both("hardtanh", lambda d, make: [smooth(d, make), d.pick(-1, -0.5), d.pick(1, 0.25)], F.hardtanh)
    both("threshold", lambda d, make: [smooth(d, make, *FLOATS, *INTEGERS), d.pick(0, 1), d.pick(-2, 3)])
    # Not infinite: an infinite value is not a bound here, but PyTorch treats it as one for infinite elements.
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


unary()
activations()
