"""Reductions, scans and sorts: how arguments are drawn, for each `drawn` of reduction_table.cpp."""
import torch

from torch_cases.case import case
from torch_draw import COMPUTED, FLOATS


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


def wide(d):
    """A dtype with enough distinct values."""
    return d.pick(torch.int32, torch.int64, *FLOATS, *FLOATS)


def sums(name):
    def summand(d, shape):
        """Adds a dtype. No extreme values where integers are added as floating point, because they would cancel."""
        dtype = some_type(d)
        kind = "any" if dtype is None else "finite"
        if name == "prod":
            kind = "unit" if torch.Size(shape).numel() > 40 else "finite"  # keeps products from overflowing
        return d.tensor(shape, kind=kind), dtype

    def along(d):
        shape, n, keep = (dim if name == "prod" else dims)(d)
        x, dtype = summand(d, shape)
        return [x, n, keep, dtype]
    case(name, lambda d: list(summand(d, d.shape())), label="all", tolerance=10)
    case(name, along, label="dim", tolerance=10)


def extremes(name):
    case(name, lambda d: [d.tensor(d.shape())], label="all")
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s), n, keep])(*dim(d)), label="dim")


def bounds(name):
    # If the extreme value is NaN, PyTorch's gradient is NaN; Tandem's goes to the NaN element.
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s, grad=not d.special), n, keep])(*dims(d)))


def positions(name):
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s), d.pick(None, n, n), keep])(*dim(d)))


def aminmax(name):
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s, grad=not d.special), d.pick(None, n, n), keep])(*dim(d)))


def moments(name):
    function = getattr(torch, name)

    def values(d, shape, grad=True):
        """"distinct": the derivative of a root close to 0 has few accurate digits."""
        # For one value or none, PyTorch's second derivatives are NaN or missing.
        d.second = not {0, 1} & set(shape) and shape != []
        return d.tensor(shape, floats(d), "distinct", grad)
    case(name, lambda d: [values(d, d.shape()), d.chance(0.5)], label="all", tolerance=10)
    # An empty list means all dimensions; PyTorch's gradient treats it as none.
    case(name, lambda d: (lambda s, n, keep: [values(d, s, bool(n)), n, d.chance(0.5), keep])(*dims(d)),
         label="dims", tolerance=10)
    # With fewer values than the correction, var is NaN; PyTorch's gradient is NaN over all dimensions, 0 over some.
    case(name, lambda d: (lambda s, n, keep: [values(d, s, bool(n)), d.pick(None, n), d.pick(
        *([0, 1, 2, 1.5, None] if min(s, default=0) > 2 else [0, 1])), keep])(*dims(d)),
         lambda x, n, c, keep: function(x, n, correction=c, keepdim=keep), "correction", tolerance=10)


def norm(name):
    p = (0, 1, 2, 2.0, 3, 0.5, -1, float("inf"), float("-inf"))

    def vector(d, shape):
        d.second = 0 not in shape  # PyTorch's second gradients are NaN
        return d.tensor(shape, floats(d), "nonzero")
    case(name, lambda d: [vector(d, d.shape()), d.pick(*p)], label="all", tolerance=10)
    case(name, lambda d: (lambda s, n, keep: [vector(d, s), d.pick(*p), n, keep,
                                                d.pick(None, None, *FLOATS)])(*dims(d)),
         lambda x, p, n, keep, t: torch.norm(x, p, n, keep, dtype=t), "dims", tolerance=10)


def logsumexp(name):
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s, floats(d)), n, keep])(*dims(d)))


def truth(name):
    case(name, lambda d: [d.tensor(d.shape(), kind="unit")], label="all")
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s, kind="unit"), n, keep])(*dim(d)), label="dim")
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s, kind="unit"), n, keep])(*dims(d)), label="dims")


def count_nonzero(name):
    case(name, lambda d: (lambda s, n, keep: [d.tensor(s), n])(*dims(d)))


def scans(name):
    types = COMPUTED if name.startswith("cum") else FLOATS

    def draw(d):
        shape, n, _ = dim(d)
        if name == "cumprod":
            shape = [min(s, 6) for s in shape]
        return [d.tensor(shape, d.pick(*types), "finite" if name == "cumprod" else "any"), n,
                d.pick(None, None, None, d.pick(*types))]
    case(name, draw, tolerance=10)


def line(d):
    shape = d.shape()
    return shape, d.dim(len(shape))


def sort(name):
    case(name, lambda d: (lambda s, n: [d.tensor(s), True, n, d.chance(0.5)])(*line(d)),
         lambda x, stable, n, descending: torch.sort(x, stable=stable, dim=n, descending=descending), "stable")
    case(name, lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), None, n, d.chance(0.5)])(*line(d)),
         lambda x, stable, n, descending: torch.sort(x, n, descending), "distinct")


def argsort(name):
    case(name, lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), n, d.chance(0.5)])(*line(d)))


def topk(name):
    case(name, lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), d.whole(0, 4), n, d.chance(0.5), True])(
        *line(d)))


def kthvalue(name):
    case(name, lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), d.whole(1, 3), n, d.chance(0.5)])(
        *line(d)))


def median(name):
    def middle(d):
        shape = d.shape()
        d.second = 0 not in shape
        return [d.tensor(shape, wide(d) if d.second else d.float(), "distinct")]
    case(name, middle, label="all")
    case(name, lambda d: (lambda s, n: [d.tensor(s, wide(d), "distinct"), n, d.chance(0.5)])(*line(d)), label="dim")


def bincount(name):
    case(name, lambda d: (lambda s: [d.tensor(s, d.integer(), (0, 9)), d.pick(None, d.constant(s)), d.whole(0, 12)])(
        d.shape(1, 1)))


DRAWN = {f.__name__: f for f in (sums, extremes, bounds, positions, aminmax, moments, norm, logsumexp, truth,
                                 count_nonzero, scans, sort, argsort, topk, kthvalue, median, bincount)}


def described(function):
    DRAWN[function["drawn"]](function["name"])
