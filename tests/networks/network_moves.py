"""Operations of random networks that copy elements to other places: joined, repeated, indexed."""
import math

from network_draw import Batch, Refused, alike, drawn, same
from network_functions import products


@drawn(8)
def joined(d):
    x = d.some(lambda v: v.shape and v.count < 300)
    if d.chance(0.4):
        others = [v for v in d.variables if v.kind == "float" and alike(v.shape, x.shape)]
        group = d.random.choices(others, k=d.whole(1, 3)) + [x]
        k, name = d.whole(0, len(x.shape)), "stack"
        shape = x.shape[:k] + [len(group)] + x.shape[k:]
    else:
        k, name = d.dim(x), "cat"
        others = [v for v in d.variables if v.kind == "float" and len(v.shape) == len(x.shape) and
                  all(i == k or same(m, n) for i, (m, n) in enumerate(zip(v.shape, x.shape))) and
                  not isinstance(v.shape[k], Batch)]
        group = d.random.choices(others, k=d.whole(1, 3)) + [x]
        shape = x.shape[:k] + [sum(v.shape[k] for v in group)] + x.shape[k + 1:]
    d.op(name, [group, k], shape, min(v.low for v in group), max(v.high for v in group), saves=False, fresh=True)


def same_elements(d, x, k):
    name = d.pick("flip", "roll", "repeat", "tile", "repeat_interleave", "clone", "contiguous")
    at, times = d.signed(k, x), [2 if i == k else 1 for i in range(len(x.shape))]
    given = dict(flip=[[at]], roll=[[d.whole(-2, 3)], [at]], repeat=[times], tile=[times], repeat_interleave=[2, at])
    twice = name in ("repeat", "tile", "repeat_interleave")
    shape = x.shape[:k] + [2 * x.shape[k]] + x.shape[k + 1:] if twice else x.shape
    # contiguous may return its argument.
    d.op(name, [x, *given.get(name, [])], shape, x.low, x.high, saves=name == "contiguous",
         fresh=name not in ("contiguous", "repeat_interleave"))


def triangle(d, x, k):
    if len(x.shape) < 2 or any(isinstance(m, Batch) for m in x.shape[-2:]):
        raise Refused
    d.op(d.pick("tril", "triu"), [x, d.whole(-1, 1)], x.shape, min(x.low, 0.0), max(x.high, 0.0), saves=False,
         fresh=True)


def padded(d, x, k):
    last = x.shape[-1]
    if isinstance(last, Batch) or last < 3:
        raise Refused
    mode = d.pick("constant", "reflect", "replicate", "circular")
    if mode == "constant":
        before, after = d.whole(-1, 2), d.whole(0, 2)
        d.op("pad", [x, [before, after], mode, 0.5], x.shape[:-1] + [last + before + after], min(x.low, 0.5),
             max(x.high, 0.5), saves=False)
    elif len(x.shape) == 3 or len(x.shape) == 2 and mode != "circular":
        d.op("pad", [x, [1, 2], mode, None], x.shape[:-1] + [last + 3], x.low, x.high)
    else:
        raise Refused


def detached(d, x, k):
    y = d.some(lambda v: v.used and alike(v.shape, x.shape))
    z = d.op("detach", [y], y.shape, y.low, y.high)
    d.op("mul", [x, z], x.shape, *products(x, z))


@drawn(6)
def moved(d):
    x = d.some(lambda v: d.free_dims(v))
    d.pick(same_elements, same_elements, same_elements, triangle, padded, padded, detached)(d, x, d.dim(x))


# ---- indices
def positions(d, n, count):
    return [d.whole(0, n - 1) for _ in range(count)]


def resized(x, k, sizes):
    return x.shape[:k] + sizes + x.shape[k + 1:]


def index_select(d, x, k):
    count = d.whole(1, 5)
    d.op("index_select", [x, d.signed(k, x), d.listed(positions(d, x.shape[k], count))], resized(x, k, [count]), x.low,
         x.high, saves=False, fresh=True)


def index(d, x, k):
    n, before = x.shape[k], ["::"] * k
    kind = d.pick("list", "lists", "number", "none")
    if kind == "list":
        d.op("index", [x, (*before, d.listed(positions(d, n, 4)))], resized(x, k, [4]), x.low, x.high, saves=False)
    elif kind == "lists":
        at = d.listed([d.whole(-n, n - 1) for _ in range(4)], [2, 2])
        d.op("index", [x, (*before, at)], resized(x, k, [2, 2]), x.low, x.high, saves=False)
    elif kind == "number":
        d.op("index", [x, (*before, d.whole(-n, n - 1))], resized(x, k, []), x.low, x.high, saves=False, view=x)
    else:
        d.op("index", [x, (*before, None)], x.shape[:k] + [1] + x.shape[k:], x.low, x.high, saves=False, view=x)


def of_places(d, x, k):
    """An index for each element."""
    count = d.whole(1, 4)
    shape = resized(x, k, [count])
    if any(isinstance(m, Batch) for m in x.shape) or math.prod(shape) > 200:
        raise Refused
    at = d.listed(positions(d, x.shape[k], math.prod(shape)), shape)
    name = d.pick("gather", "take_along_dim", "scatter_add")
    if name == "scatter_add":
        bound = x.bound + count
        d.op(name, [x, k, at, d.parameter(shape)], x.shape, -bound, bound, saves=False, fresh=True)
    else:
        d.op(name, [x, k, at] if name == "gather" else [x, at, k], shape, x.low, x.high)


def index_add(d, x, k):
    n, at, adds = x.shape[k], d.signed(k, x), d.chance(0.5)
    where = positions(d, n, d.whole(1, 5)) if adds else d.random.sample(range(n), d.whole(1, min(n, 4)))
    shape = resized(x, k, [len(where)])
    y = d.op("expand", [d.parameter(shape), shape], shape, -1.0, 1.0, saves=False)
    bound = x.bound + 1.5 * len(where)
    d.op("index_add" if adds else "index_copy", [x, at, d.listed(where), y] + ([1.5] if adds else []), x.shape, -bound,
         bound, saves=False, fresh=True)


def index_put(d, x, k):
    if k != 0 or any(isinstance(m, Batch) for m in x.shape):
        raise Refused
    where = positions(d, x.shape[0], d.whole(1, 5))
    bound = x.bound + len(where)
    d.op("index_put", [x, [d.listed(where)], d.parameter([len(where)] + x.shape[1:]), True], x.shape, -bound, bound,
         saves=False, fresh=True)


def filled(d, x, k):
    n, low, high = x.shape[k], min(x.low, -1.0), max(x.high, 1.0)
    if d.chance(0.5):
        at = d.listed(d.random.sample(range(n), d.whole(1, min(n, 4))))
        d.op("index_fill", [x, d.signed(k, x), at, 0.5], x.shape, low, high, saves=False, fresh=True)
    else:
        if x.overlaps:  # PyTorch's result has the same strides, so that what it writes appears in other places, too
            raise Refused
        shape = resized(x, k, [])
        y = d.op("expand", [d.parameter(shape), shape], shape, -1.0, 1.0, saves=False)
        d.op("select_scatter", [x, y, k, d.whole(0, n - 1)], x.shape, low, high, saves=False)


@drawn(8)
def indexed(d):
    x = d.some(lambda v: d.free_dims(v))
    d.pick(index_select, index, index, of_places, of_places, index_add, index_put, filled)(d, x, d.dim(x))
