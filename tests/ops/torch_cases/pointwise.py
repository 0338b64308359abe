"""Elementwise operations on one tensor: those of pointwise_table.h, and others."""
import torch

from torch_cases.case import both, case
from torch_cases.described import called, in_place, parameters
from torch_draw import FLOATS, INTEGERS

# At NaN PyTorch's scalar, vector and in-place code produce different gradients for functions with a kink.
UNEVEN = ("silu mish selu relu6 hardsigmoid hardswish elu celu leaky_relu hardtanh threshold hardshrink "
          "softshrink").split()
# At 0 PyTorch's first gradient is the left-sided one, the second the right-sided one.
TWO_SLOPES = "elu celu selu".split()
# PyTorch's gradient of hardsigmoid has 1/6 in float32.
TOLERANCE = dict(hardsigmoid=1e4, sinc=10, logit=10)


def described(function):
    name, kind, types = function["name"], function["kind"], function["types"]

    def argument(d, make):
        d.second = name not in TWO_SLOPES or not (d.grid or d.large)
        if name in ("asin", "acos", "acosh", "atanh"):
            # At 1, where the slope is infinite, signs and NaN depend on the formula.
            d.second = not d.special and not d.grid
            if d.special:  # near 1 PyTorch's 1 - x * x is inaccurate in float32
                dtype = d.dtype()
                return make(d.shape(), dtype, "any", dtype != torch.float32)
        drawn = "any" if d.special and types == "all" and kind != "finite" else kind
        dtype = dict(floats=FLOATS, numbers=FLOATS + INTEGERS).get(types)
        return make(d.shape(), dtype and d.pick(*dtype), drawn, name not in UNEVEN or not d.special)

    def draw(d, make):
        return [argument(d, make), *parameters(d, function)]
    options = dict(label=function.get("label"), tolerance=TOLERANCE.get(name, 1))
    case(name, lambda d: draw(d, d.tensor), called(function), **options)
    if function["in_place"]:
        case(name + "_", lambda d: draw(d, d.written), in_place(function), **options)


def others():
    both("round", lambda d, make: [make(d.shape(), d.float()), d.pick(-1, 0, 1, 2)], "decimals")
    case("clamp", lambda d: (lambda s: [d.tensor(s[0]), d.tensor(s[1]), None])(d.broadcast(2)), label="tensor")
    case("clamp", lambda d: (lambda s: [d.tensor(s[0]), None, d.tensor(s[1])])(d.broadcast(2)), label="above tensor")
    case("clamp", lambda d: (lambda s: [d.tensor(n, kind="finite") for n in s])(d.broadcast(3)), label="tensors")
    for p, train in ((0.0, True), (1.0, True), (0.4, False)):
        case("dropout", lambda d, p=p, t=train: [d.tensor(d.shape(), d.float(), "finite"), p, t], label=f"{p} {train}")
        case("feature_dropout", lambda d, p=p, t=train: [d.tensor(d.shape(2), d.float(), "finite"), p, t],
             label=f"{p} {train}")
        case("dropout_", lambda d, p=p, t=train: [d.written(d.shape(), d.float(), "finite"), p, t],
             label=f"{p} {train}")


others()
