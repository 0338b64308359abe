"""Functions of one and two arguments, and losses, for the sweep over extreme values (torch_extreme.py)."""
import ast
import math

import torch

from torch_cases.case import Case
from torch_cases.described import called
from torch_draw import Input

EXTREMES = {}

ALL = "output 0, gradient 0, gradient 1, second gradient 0, second gradient 1, second gradient 2"
GRADIENTS = ALL[10:]
SECOND = ALL[ALL.index("second"):]


def at_nan(own, wanted, *x):
    return sum(t.isnan() for t in x) > 0


def vanishing(own, wanted, *x):
    return (own == 0) & (wanted.abs() < torch.finfo(own.dtype).tiny)


def outside_squares(x, y):
    larger = torch.maximum(x.abs(), y.abs())
    info = torch.finfo(x.dtype)
    return (larger < math.sqrt(info.tiny)) | (larger > math.sqrt(info.max) / 2)


def relative(own, wanted, bound):
    return (own - wanted).abs() <= bound * wanted.abs()


def in_rows(condition):
    """Where a row of two has an element that satisfies the condition; own holds such rows, or one number per row."""
    def where(own, wanted, *x):
        found = sum(condition(t.reshape(-1, 2)).any(-1) for t in x) > 0
        return found.unsqueeze(-1).expand(-1, own.numel() // len(found)).reshape(own.shape)
    return where


def beyond(power):
    """Nonzero numbers with a power-th power that overflows or underflows."""
    def condition(x):
        info = torch.finfo(x.dtype)
        size = x.abs()
        return ~(size < info.max ** (1 / power) / 4) | ((size > 0) & (size < info.tiny ** (1 / power) * 4))
    return condition


# Accepted differences from PyTorch: operations, kinds of results, condition (own, PyTorch's, arguments), reason.
EXCUSED = [
    ("selu* elu* celu* relu6 hardtanh hardswish hardshrink softshrink logit* threshold copysign prelu",
     GRADIENTS, at_nan, "PyTorch's scalar and vector code produce different gradients, or NaN"),
    ("selu elu* celu* prelu", SECOND, lambda own, wanted, x: x == 0,
     "PyTorch takes the left first and the right second derivative"),
    ("softplus*", SECOND, lambda own, wanted, x: (x == 20) | (x == 10) | (x == 3), "two slopes at the threshold"),
    ("copysign", GRADIENTS, lambda own, wanted, x, y: x.isinf() & (own.abs() == 1), "PyTorch divides infinities"),
    ("fmod* remainder*", ALL, lambda own, wanted, *x: wanted.isnan() & own.isfinite() & x[0].isfinite(),
     "PyTorch's vector code returns NaN where the quotient overflows"),
    ("xlogy*", GRADIENTS, lambda own, wanted, x, y: (x == 0) & (own == 0),
     "if self is 0 the value is 0 whatever other is; PyTorch divides 0 by 0"),
    ("atan2", ALL, lambda own, wanted, x, y: outside_squares(x, y), "PyTorch's squares overflow or underflow"),
    ("hypot", SECOND, lambda own, wanted, x, y: ((x / y).abs() < 1e-5) | ((y / x).abs() < 1e-5) | (x.abs() == y.abs()),
     "PyTorch's second derivative suffers cancellation"),
    ("pow float_power", SECOND, lambda own, wanted, x, y: ((x.abs() < 1e-6) | (y.abs() < 1e-6)) & own.isfinite(),
     "differences of numbers of magnitude 1 / x"),
    ("softsign", SECOND, lambda own, wanted, x: x.abs() > 1e3, "PyTorch's quotient derivative suffers cancellation"),
    ("binary_cross_entropy", GRADIENTS, lambda own, wanted, x, t: (x < 1e-37) | (x > 1 - 1e-6),
     "the derivative of the computed function, with logarithms of at least -100; PyTorch adds 1e-12"),
    ("binary_cross_entropy", SECOND, lambda own, wanted, x, t: (x < 1e-6) | (x > 1 - 1e-6) | (
        (own - wanted).abs() < 1e-9 * wanted.abs()), "as above"),
    ("soft_margin_loss", GRADIENTS, lambda own, wanted, x, t: wanted.isnan() & (own.abs() == 1),
     "PyTorch's exp overflows"),
    ("multi_margin_loss*", ALL, lambda own, wanted, *x: own.isnan(), "PyTorch's hinge of NaN is 0"),
    ("hardsigmoid", GRADIENTS, lambda own, wanted, x: (own - wanted).abs() < 1e-8, "PyTorch's 1 / 6 is float32"),
    ("gelu*", GRADIENTS, lambda own, wanted, x: (x.abs() > 1e9) | (own - wanted).abs().lt(1e-12),
     "PyTorch multiplies infinity by 0, and 1 - tanh² is inaccurate"),
    ("log_sigmoid softplus* silu mish", ALL, vanishing, "if e^-x overflows the sigmoid is 0, like PyTorch's sigmoid"),
    ("amax amin", GRADIENTS, in_rows(torch.isnan), "the gradient goes to the NaN"),
    ("prod cumprod", GRADIENTS, in_rows(lambda x: ~x.isfinite()), "PyTorch divides by it, or orders 0 inf differently"),
    ("var std", ALL, in_rows(beyond(2)), "PyTorch's sums are double"),
    ("var std", ALL, in_rows(lambda x: ((x[:, :1] - x[:, 1:]).abs() < 0.1 * x.abs())),
     "PyTorch rounds the mean; Tandem's variance of 1 and its neighbour is exact"),
    ("norm?2 norm?3 norm?0.5 norm?-1 pair* cosine*", ALL, in_rows(beyond(3)),
     "PyTorch's powers overflow or vanish elsewhere"),
    ("norm?2 norm?3 norm?0.5 norm?-1 pair* cosine*", SECOND, in_rows(lambda x: (x.abs() < 1e-2) | (x.abs() > 1e3)),
     "differences of numbers of magnitude 1 / x"),
    ("cumprod", ALL, in_rows(lambda x: (x != 0) & (x.abs() < 4 * torch.finfo(x.dtype).tiny)),
     "PyTorch divides products that were rounded to subnormal numbers"),
    ("norm?*inf", GRADIENTS, in_rows(torch.isnan), "of NaN: NaN"),
    ("asinh acosh", ALL, lambda own, wanted, x: (wanted == 0) & ((own * x).abs() - 1).abs().lt(1e-6),
     "PyTorch's square overflows"),
    ("asin acos atanh acosh", ALL, lambda own, wanted, x: (x.abs() - 1).abs().lt(0.1) & relative(own, wanted, 1e-8),
     "PyTorch's 1 - x² has fewer digits near 1"),
    ("pow*", ALL,
     lambda own, wanted, *x: (wanted.abs() < 1e3 * torch.finfo(own.dtype).tiny) & relative(own, wanted, 1e-3),
     "a factor is subnormal"),
    ("kl_div*", GRADIENTS, lambda own, wanted, x, t: (t == 0) & (own == -x), "0 log 0 is 0: PyTorch's gradient is NaN"),
    ("silu", ALL, lambda own, wanted, x: (x < -87) & (own - wanted).abs().lt(1e-42), "x times a subnormal number"),
    ("sinc", GRADIENTS, lambda own, wanted, x: x.abs() < 0.16, "PyTorch's quotient derivative suffers cancellation"),
]


def sweep(name, draw, function=None, label=None, **options):
    label = name if label is None else f"{name} {label}"
    assert label not in EXTREMES, label
    EXTREMES[label] = Case(name, draw, function, **options)


def sigmoid(x):
    e = torch.exp(torch.where(x < 0, x, -x))
    return torch.where(x < 0, e, 1) / (1 + e)


def modulo(f):
    """A function of Python's math module, applied elementwise as the exact reference."""
    def of(x, y):
        def one(a, b):
            return f(a, b) if b != 0 and math.isfinite(a) and not math.isnan(b) else math.nan
        pairs = torch.broadcast_tensors(x, torch.as_tensor(y, dtype=x.dtype))
        exact = torch.tensor([one(*p) for p in zip(*(t.reshape(-1).tolist() for t in pairs))], dtype=x.dtype)
        return exact.reshape(pairs[0].shape) + 0 * x.nan_to_num(0, 0, 0)
    return of


def mish_factor(x):
    e = torch.exp(torch.where(x < 20, x, 20))
    return torch.where(x < 20, e * (e + 2) / (e * (e + 2) + 2), 1)


# The magnitude of the numbers that cancel in a function's formula, more accurate formulas, and factors of the bound.
CANCELS = dict(tanh=1, expm1=1, sinc=1, tanhshrink=1, mish=1, sigmoid=0.1, gelu=1, logaddexp=1, logaddexp2=1)
EXACT = {"silu": lambda x: x * sigmoid(x), "sigmoid": sigmoid, "softsign": lambda x: x.sign() * (1 - 1 / (1 + x.abs())),
         "mish": lambda x: x * mish_factor(x), "gelu none": lambda x, a: x * 0.5 * torch.erfc(x * -math.sqrt(0.5))}
TOLERANCE = dict(silu=100)


def described(function, tensors):
    """The sweeps of a function of one or two tensors."""
    name, kind = function["name"], function["kind"]
    if function.get("types") == "integers" or kind in ("bits", "shift"):
        return
    sets = [ast.literal_eval(text) for text in function["extremes"]]
    for parameters in sets:
        label = " ".join(map(str, parameters)) if len(sets) > 1 else None

        def draw(d, parameters=parameters):
            mode = "c" if kind == "constants" else "g"
            return ([d.line()] if tensors == 1 else d.pairs(first=mode, second=mode)) + parameters
        sweep(name, draw, called(function, tensors), label, cancels=CANCELS.get(name, 0),
              exact=EXACT.get(name if label is None else f"{name} {label}"), tolerance=TOLERANCE.get(name, 1))


def with_numbers():
    for p in (0, 1, 2, 3, -1, -2, 0.5, -0.5, 0.3, 2.5, 100, -100):
        sweep("pow", lambda d, p=p: [d.line(), p], label=f"number {p}",
              exact=lambda x, p: torch.pow(x, torch.full_like(x, p)) if p < 0 else torch.pow(x, p))
    for b in (0, 1, 2, 0.5, -2, 1e10):
        sweep("pow", lambda d, b=b: [b, d.line()], label=f"from number {b}")
    for b in (2, 0.5, 3):
        for name in ("floor_divide", "div"):
            sweep(name, lambda d, b=b: [d.line(), b], label=f"number {b}")
        sweep("fmod", lambda d, b=b: [d.line(), b], label=f"number {b}", exact=modulo(math.fmod))
        sweep("remainder", lambda d, b=b: [d.line(), b], label=f"number {b}", exact=modulo(lambda x, y: x % y))
        sweep("xlogy", lambda d, b=b: [d.line(), b], label=f"number {b}")
        sweep("xlogy", lambda d, b=b: [b, d.line()], label=f"from number {b}")


def rows(d):
    """[n, 2]: every pair."""
    a, b = d.pairs()
    a.storage = torch.stack([a.window(a.storage), b.window(b.storage)], 1).reshape(-1).contiguous()
    a.sizes, a.strides, a.offset = [d.count, 2], [2, 1], 0
    return a


def described_reduction(function):
    """The sweep of a reduction of every pair of extreme values."""
    name, drawn = function["name"], function["drawn"]
    f = getattr(torch, name)
    if drawn == "sums":
        dims = 1 if name == "prod" else [1]
        sweep(name, lambda d: [rows(d), dims, False, None])
    if drawn in ("bounds", "logsumexp"):
        sweep(name, lambda d: [rows(d), [1], False], cancels=int(drawn == "logsumexp"))
    if drawn == "extremes":
        sweep(name, lambda d: [rows(d), 1, False])
    if drawn == "scans":
        sweep(name, lambda d: [rows(d), 1, None], cancels=1)
    if drawn == "moments" and not name.endswith("mean"):
        sweep(name, lambda d: [rows(d), [1], False, False], lambda x, n, u, k: f(x, n, u, k))
    if drawn == "norm":
        for p in (0, 1, 2, 3, 0.5, -1, math.inf, -math.inf):
            sweep(name, lambda d, p=p: [rows(d), p, [1], False, None], lambda x, p, n, k, t: f(x, p, n, k), str(p))


def distances():
    for p in (1.0, 2.0, 3.0):
        sweep("pairwise_distance", lambda d, p=p: apart(d) + [p, 1e-6, False], label=str(p))
    sweep("cosine_similarity", lambda d: apart(d) + [1, 1e-8], cancels=1)


def apart(d):
    """Two tensors [n, 2] of randomly ordered pairs."""
    x, y = rows(d), rows(d)
    return [x, y]


def others():
    sweep("prelu", lambda d: [d.line(), d.chosen([0.25], "c")])
    for w in (0.25, 0.5, 2):
        sweep("lerp", lambda d, w=w: d.pairs() + [w], label=str(w))


def losses():
    def loss(name, draw, *more, **options):
        sweep(name, lambda d: draw(d) + list(more), **options)

    def share(d):
        return d.pairs(lambda a, b: 0 <= b <= 1)
    for name in ("mse_loss", "l1_loss"):
        loss(name, lambda d: d.pairs(), "none")
    for b in (1.0, 0.5, 0.0):
        loss("smooth_l1_loss", lambda d: d.pairs(), "none", b, label=str(b))
    for b in (1.0, 0.5):
        loss("huber_loss", lambda d: d.pairs(), "none", b, label=str(b))
    loss("binary_cross_entropy", lambda d: d.pairs(lambda a, b: 0 <= a <= 1 and 0 <= b <= 1), None, "none",
         tolerance=1000)
    loss("binary_cross_entropy_with_logits", share, None, None, "none", cancels=1)
    loss("binary_cross_entropy_with_logits", lambda d: share(d) + [None, d.chosen([0.25], "c")], "none",
         label="weighted", cancels=1)
    for log in (False, True):
        loss("kl_div", lambda d: d.pairs(), "none", log, label=str(log), cancels=1)
    for log in (False, True):
        for full in (False, True):
            loss("poisson_nll_loss", lambda d: d.pairs(second="c"), log, full, 1e-8, "none", label=f"{log} {full}",
                 cancels=1)
    loss("soft_margin_loss", lambda d: d.pairs(lambda a, b: b in (-1, 1), second="c"), "none")
    loss("hinge_embedding_loss", lambda d: d.pairs(lambda a, b: b in (-1, 1), second="c"), 1.0, "none")
    loss("multilabel_soft_margin_loss", lambda d: [rows(d), labels(d)], None, "none")
    for p in (1, 2):
        loss("multi_margin_loss", lambda d: [rows(d), classes(d)], p, 1.0, None, "none", label=str(p))
    loss("cross_entropy", lambda d: [rows(d), classes(d)], None, "none", -100, 0.0, cancels=1)
    loss("margin_ranking_loss", lambda d: d.pairs() + [signs(d)], 0.5, "none")


def classes(d):
    """A class target for each row of rows()."""
    return Input(torch.tensor([d.whole(0, 1) for _ in range(d.count)]), [d.count], [1], 0, "c")


def labels(d):
    return Input(torch.tensor([[0.0, 1.0]] * d.count, dtype=d.type).reshape(-1), [d.count, 2], [2, 1], 0, "c")


def signs(d):
    return Input(torch.tensor([d.pick(-1.0, 1.0) for _ in range(d.count)], dtype=d.type), [d.count], [1], 0, "c")


with_numbers()
distances()
others()
losses()
