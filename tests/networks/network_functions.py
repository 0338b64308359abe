"""Elementwise operations of random networks."""
import math

from network_draw import Refused, alike, drawn


def rising(f):
    return lambda a, b: (f(a), f(b))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def within(low, high):
    return lambda a, b: (low, high)


def swish(a, b):
    return min(-1.3, -0.3), max(b, 0)


def square(a, b):
    return (0 if a <= 0 <= b else min(a * a, b * b)), max(a * a, b * b)


# name: bounds of the result, and of the argument
FUNCTIONS = {
    "neg": (lambda a, b: (-b, -a),),
    "abs": (lambda a, b: (0 if a <= 0 <= b else min(abs(a), abs(b)), max(abs(a), abs(b))),),
    "square": (square, -9, 9),
    "relu": (lambda a, b: (max(a, 0), max(b, 0)),),
    "sqrt": (rising(math.sqrt), 0.05, 99),
    "rsqrt": (lambda a, b: (b ** -0.5, a ** -0.5), 0.1, 99),
    "reciprocal": (lambda a, b: (1 / b, 1 / a), 0.2, 99),
    "exp": (rising(math.exp), -20, 3),
    "exp2": (rising(lambda x: 2 ** x), -20, 5),
    "expm1": (rising(math.expm1), -20, 3),
    "log": (rising(math.log), 0.05, 99),
    "log2": (rising(math.log2), 0.05, 99),
    "log1p": (rising(math.log1p), -0.9, 99),
    "erf": (rising(math.erf),),
    "erfc": (lambda a, b: (math.erfc(b), math.erfc(a)),),
    "sigmoid": (rising(sigmoid), -30, 30),
    "sin": (within(-1, 1),),
    "cos": (within(-1, 1),),
    "asin": (rising(math.asin), -0.95, 0.95),
    "acos": (lambda a, b: (math.acos(b), math.acos(a)), -0.95, 0.95),
    "atan": (rising(math.atan),),
    "sinh": (rising(math.sinh), -3, 3),
    "cosh": (lambda a, b: (1, math.cosh(max(abs(a), abs(b)))), -3, 3),
    "tanh": (rising(math.tanh),),
    "asinh": (rising(math.asinh),),
    "acosh": (rising(math.acosh), 1.1, 99),
    "atanh": (rising(math.atanh), -0.9, 0.9),
    "log_sigmoid": (rising(lambda x: math.log(sigmoid(x))), -30, 30),
    "silu": (swish, -30, 30),
    "mish": (swish, -30, 30),
    "softsign": (rising(lambda x: x / (1 + abs(x))),),
    "hardsigmoid": (within(0, 1),),
    "hardswish": (swish,),
    "selu": (lambda a, b: (-1.8, max(1.06 * b, 0)),),
    "relu6": (within(0, 6),),
    "tanhshrink": (rising(lambda x: x - math.tanh(x)),),
    "sinc": (within(-0.3, 1),),
    "lgamma": (within(-0.2, 40), 0.3, 15),
    "erfinv": (within(-1.3, 1.3), -0.9, 0.9),
}
# name: arguments after the tensor, bounds
PARAMETRIC = {
    "gelu": (("none",), swish),
    "gelu ": (("tanh",), swish),
    "softplus": ((1, 20), lambda a, b: (0, max(b, 0) + 0.7)),
    "softplus ": ((2, 1.5), lambda a, b: (0, max(b, 0) + 0.7)),
    "elu": ((0.7, 1.3), lambda a, b: (-1.0, 1.3 * max(b, 0))),
    "celu": ((0.75,), lambda a, b: (-0.75, max(b, 0))),
    "leaky_relu": ((0.3,), lambda a, b: (min(a, 0), max(b, 0))),
    "hardtanh": ((-0.5, 0.75), within(-0.5, 0.75)),
    "threshold": ((0.25, -0.5), lambda a, b: (-0.5, max(b, 0))),
    "hardshrink": ((0.3,), lambda a, b: (min(a, 0), max(b, 0))),
    "softshrink": ((0.3,), lambda a, b: (min(a, 0), max(b, 0))),
    "clamp": ((-0.6, 0.8), within(-0.6, 0.8)),
    "clamp_min": ((0.2,), lambda a, b: (0.2, max(b, 0.2))),
    "clamp_max": ((0.4,), lambda a, b: (min(a, 0.4), 0.4)),
    "add": ((0.5, 1), lambda a, b: (a + 0.5, b + 0.5)),
    "mul": ((1.25,), lambda a, b: (1.25 * a, 1.25 * b)),
    "pow": ((2,), square),
    "rsub": ((1.0, 2), lambda a, b: (1 - 2 * b, 1 - 2 * a)),
    "div": ((1.5, None), lambda a, b: (a / 1.5, b / 1.5)),
}


@drawn(14)
def function(d):
    name = d.random.choice(list(FUNCTIONS))
    bounds, low, high = (FUNCTIONS[name] + (-99, 99))[:3] if len(FUNCTIONS[name]) == 1 else FUNCTIONS[name]
    x = d.some(lambda v: low <= v.low and v.high <= high)
    d.op(name, [x], x.shape, *map(float, bounds(x.low, x.high)))


@drawn(10)
def parametric(d):
    name = d.random.choice(list(PARAMETRIC))
    arguments, bounds = PARAMETRIC[name]
    x = d.calm(d.some(), 30)
    name = name.strip()
    d.op(name, [x, *arguments], x.shape, *map(float, bounds(x.low, x.high)), fresh=name == "add",
         saves=name not in ("add", "mul", "div"))


def products(x, y):
    ends = [a * b for a in (x.low, x.high) for b in (y.low, y.high)]
    return min(ends), max(ends)


@drawn(16)
def pair(d):
    name = d.pick("add", "add", "sub", "mul", "mul", "mul", "maximum", "minimum", "fmax", "fmin", "logaddexp")
    x = d.calm(d.some(), 20)
    y = d.partner(x)
    y = d.calm(y, 20) if name == "mul" else y
    if not len(y.shape) <= len(x.shape):
        raise Refused
    if name == "add" or name == "sub":
        scale = d.pick(1, 1, 0.5, -2)
        ends = [a + (b if name == "add" else -b) * scale for a in (x.low, x.high) for b in (y.low, y.high)]
        d.op(name, [x, y, scale], x.shape, min(ends), max(ends), saves=False, fresh=True)
    elif name == "mul":
        x, y = (y, x) if d.chance(0.3) and alike(x.shape, y.shape) else (x, y)
        d.op(name, [x, y], x.shape, *products(x, y), fresh=True)
    else:
        extra = 0.7 if name == "logaddexp" else 0
        d.op(name, [x, y], x.shape, min(x.low, y.low), max(x.high, y.high) + extra)


@drawn(5)
def quotient(d):
    name = d.pick("div", "pow", "atan2", "hypot", "xlogy", "addcdiv", "addcmul", "lerp")
    x = d.calm(d.some(), 4)
    if name == "div":
        y = d.partner(x, 0.5, 2.0, lambda v: v.low >= 0.3 or v.high <= -0.3)
        bound = x.bound / min(abs(y.low), abs(y.high))
        d.op(name, [x, y, None], x.shape, -bound, bound)
    elif name == "pow":
        x = d.some(lambda v: v.low >= 0.2 and v.high < 5)
        y = d.calm(d.partner(x, -2.0, 2.0), 2)
        bound = max(x.high, 1 / x.low) ** y.bound
        d.op(name, [x, y], x.shape, 0.0, bound)
    elif name in ("atan2", "hypot"):
        y = d.partner(x, 0.5, 2.0, lambda v: v.low >= 0.2)
        d.op(name, [x, y], x.shape, *((-1.6, 1.6) if name == "atan2" else (0.2, x.bound + y.bound)))
    elif name == "xlogy":
        y = d.partner(x, 0.5, 2.0, lambda v: v.low >= 0.2)
        bound = x.bound * max(abs(math.log(y.low)), abs(math.log(y.high)), 0.1)
        d.op(name, [x, y], x.shape, -bound, bound)
    else:
        y, z = d.calm(d.partner(x), 4), d.partner(x, 0.5, 2.0, lambda v: v.low >= 0.3 and v.high < 9)
        bound = x.bound + y.bound * max(z.bound, 1 / z.low) + x.bound * z.bound
        d.op(name, [x, y, z] + ([d.pick(0.5, -1.0)] if name != "lerp" else []), x.shape, -bound, bound)


@drawn(4)
def choice(d):
    x = d.some()
    mask = d.mask([n if d.chance(0.8) else 1 for n in x.shape], d.pick(0.3, 0.7))
    kind = d.pick("where", "where", "masked_fill", "dropout")
    if kind == "where":
        y = d.partner(x)
        d.op("where", [mask, x, y], x.shape, min(x.low, y.low), max(x.high, y.high), saves=False, fresh=True)
    elif kind == "masked_fill":
        d.op("masked_fill", [x, mask, d.pick(-0.5, 2.0)], x.shape, min(x.low, -0.5), max(x.high, 2.0), saves=False,
             fresh=True)
    else:
        kept = d.op("where", [mask, d.constant([], 1.25, 1.25), 0.0], mask.shape, 0.0, 1.25, saves=False)
        d.op("mul", [x, kept], x.shape, min(1.25 * x.low, 0.0), max(1.25 * x.high, 0.0), fresh=True)


@drawn(4)
def comparison(d):
    """A mask from two tensors: which of them is larger."""
    x = d.some()
    y = d.partner(x)
    mask = d.op(d.pick("gt", "le", "lt", "ge"), [x, y], x.shape, 0.0, 1.0, saves=False, kinds=["bool"])
    z = d.partner(x)
    d.op("where", [mask, x, z], x.shape, min(x.low, z.low), max(x.high, z.high), saves=False, fresh=True)
