"""Operations of random networks that sum, compare or order along dimensions."""
import math
import types

from network_draw import Refused, drawn


def reduced(shape, dims, keep):
    return [1 if k in dims else n for k, n in enumerate(shape) if keep or k not in dims]


def one(d, x, name, r):
    """Along a single dimension, the largest or the like and its place."""
    if name == "median" and x.overlaps:  # PyTorch's is wrong for expanded tensors
        raise Refused
    d.op(name, [x, r.first, r.keep], [r.single, r.single], x.low, x.high)


def total(d, x, name, r):
    more = [r.keep, None] if name != "mean" else [r.keep, None]
    ends = (x.low, x.high) if name == "mean" else sorted((r.count * x.low, r.count * x.high))
    d.op(name, [x, r.dims, *more], r.shape, *ends, saves=False, fresh=True)


def extreme(d, x, name, r):
    d.op(name, [x, r.dims, r.keep], r.shape, x.low, x.high)


def spread(d, x, name, r):
    if r.count < 2:
        raise Refused
    bound = max((x.high - x.low) ** 2, x.high - x.low)
    if name == "var_mean":
        bound = max(bound, x.bound)
        d.op(name, [x, r.dims, True, r.keep], [r.shape, r.shape], -bound, bound, kinds=["float", "float"])
    else:
        d.op(name, [x, r.dims, d.chance(0.7), r.keep], r.shape, 0.0, bound)


def logsumexp(d, x, name, r):
    d.op(name, [x, r.dims, r.keep], r.shape, x.low, x.high + math.log(r.count))


def length(d, x, name, r):
    d.op(name, [x, d.pick(2, 1, 3), r.dims, r.keep, None], r.shape, 0.0, x.bound * r.count)


def prod(d, x, name, r):
    bound = max(1.0, x.bound) ** x.shape[r.first]
    d.op(name, [x, r.first, r.keep, None], r.single, -bound, bound)


def argmax(d, x, name, r):
    """The elements at the places of the largest."""
    k = r.first % len(x.shape)
    at = d.op(name, [x, k, True], reduced(x.shape, [k], True), 0.0, 1.0, saves=False, kinds=["int"])
    d.op("gather", [x, k, at], at.shape, x.low, x.high)


REDUCTIONS = dict(sum=total, nansum=total, mean=total, amax=extreme, amin=extreme, var=spread, std=spread,
                  var_mean=spread, logsumexp=logsumexp, norm=length, linalg_vector_norm=length, prod=prod, max=one,
                  min=one, median=one, argmax=argmax)


@drawn(9)
def reduction(d):
    x = d.some(lambda v: len(d.free_dims(v)) > 0 and len(v.shape) > 1)
    free = d.free_dims(x)
    dims = sorted(d.random.sample(free, d.whole(1, len(free))) if d.chance(0.4) else [d.random.choice(free)])
    keep, name = d.chance(0.4), d.pick(*REDUCTIONS)
    REDUCTIONS[name](d, x, name, types.SimpleNamespace(
        dims=[d.signed(k, x) for k in dims], first=d.signed(dims[0], x), keep=keep, shape=reduced(x.shape, dims, keep),
        single=reduced(x.shape, dims[:1], keep), count=math.prod(x.shape[k] for k in dims)))


def softmax(d, x, k, at):
    d.op("softmax", [x, at, None], x.shape, 0.0, 1.0)


def log_softmax(d, x, k, at):
    d.op("log_softmax", [x, at, None], x.shape, x.low - x.high - math.log(x.shape[k]), 0.0)


def cumsum(d, x, k, at):
    n = x.shape[k]
    d.op("cumsum", [x, at, None], x.shape, min(n * x.low, x.low), max(n * x.high, x.high), saves=False, fresh=True)


def cumprod(d, x, k, at):
    if x.bound > 1e6:  # to the power of a size, it would overflow
        raise Refused
    bound = max(1.0, x.bound) ** x.shape[k]
    d.op("cumprod", [x, at, None], x.shape, -bound, bound)


def logcumsumexp(d, x, k, at):
    d.op("logcumsumexp", [x, at], x.shape, x.low, x.high + math.log(x.shape[k]))


def cummax(d, x, k, at):
    d.op("cummax", [x, at], [x.shape, x.shape], x.low, x.high)


def sort(d, x, k, at):
    d.op("sort", [x, True, at, d.chance(0.5)], [x.shape, x.shape], x.low, x.high)


def topk(d, x, k, at):
    count = d.whole(1, x.shape[k])
    shape = x.shape[:k] + [count] + x.shape[k + 1:]
    d.op("topk", [x, count, at, d.chance(0.6), True], [shape, shape], x.low, x.high)


def diff(d, x, k, at):
    shape = x.shape[:k] + [x.shape[k] - 1] + x.shape[k + 1:]
    d.op("diff", [x, 1, at, None, None], shape, x.low - x.high, x.high - x.low, saves=False)


@drawn(6)
def along(d):
    x = d.some(lambda v: d.free_dims(v))
    k = d.dim(x)
    d.pick(softmax, log_softmax, cumsum, cumprod, logcumsumexp, cummax, sort, topk, diff)(d, x, k, d.signed(k, x))
