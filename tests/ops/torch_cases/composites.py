"""Composites: elementwise functions, diagonals, joins, statistics, sorting, products."""
import torch

from torch_cases.case import both, case, value_for
from torch_draw import FLOATS, INTEGERS


def elementwise():
    def pair(d, make, kind="any", types=None, other=None):
        shapes = d.broadcast(2)
        return [make(shapes[0], types and d.pick(*types), kind), d.tensor(shapes[1], types and d.pick(*types),
                                                                        other or kind)]
    case("clamp_", lambda d: (lambda s: [d.written(s[0], kind="finite"), *(d.tensor(n, kind="finite") for n in s[1:])])(
        d.broadcast(3)), label="tensors")
    for name in ("clamp_min", "clamp_max"):
        both(name, lambda d, make: pair(d, make), label="tensor")


def bends():
    def parametric(d):
        shape, t = d.shape(), d.float()
        channels = 1 if len(shape) < 2 else shape[1]
        d.second = False  # PyTorch's second gradient omits the sum over the channel
        return [d.tensor(shape, t, "finite"), d.tensor([d.pick(1, channels)], t, "finite")]
    case("prelu", parametric)
    case("glu", lambda d: (lambda s, n: [d.tensor([2 * k if i == n % len(s) else k for i, k in enumerate(s)], d.float(),
                                                  "finite"), n])(*(lambda s: (s, d.dim(len(s))))(d.shape(1))))


# ---- shapes

def diagonals():
    case("diag", lambda d: [d.tensor(d.shape(1, 2)), d.whole(-3, 3)])
    case("diag_embed", lambda d: (lambda s: [d.tensor(s), d.whole(-3, 3), d.dim(len(s) + 1), d.dim(len(s) + 1)])(
        d.shape(1, 3)))
    case("diagflat", lambda d: [d.tensor(d.shape(0, 2)), d.whole(-3, 3)])
    case("trace", lambda d: [d.tensor(d.shape(2, 2))])
    # For non-contiguous tensors PyTorch's `wrap` writes outside the matrix.
    case("fill_diagonal_",
         lambda d: [d.written(d.pick(d.shape(2, 2), [d.whole(3, 9), 2], [3, 3, 3]), grad=False).pack(),
                    d.number(), d.chance(0.4)])

    def diagonal(d):
        shape, t = d.shape(2, 3, 1), d.dtype()
        at = [d.whole(-1, 1), *d.pick((0, 1), (1, 0), (-1, 0))]
        return [d.tensor(shape, t), d.tensor(list(torch.empty(shape).diagonal(*at).shape), t), *at]
    case("diagonal_scatter", diagonal)

    def selected(d):
        shape, t = d.shape(1, 3, 1), d.dtype()
        n = d.whole(0, len(shape) - 1)
        return [d.tensor(shape, t), d.tensor(shape[:n] + shape[n + 1:], t), n, d.whole(-shape[n], shape[n] - 1)]
    case("select_scatter", selected)

    def sliced(d):
        shape, t = d.shape(1, 3, 1), d.dtype()
        n, at = d.whole(0, len(shape) - 1), (d.pick(None, 0, 1), d.pick(None, 2, 5), d.pick(1, 2))
        inside = torch.ops.aten.slice(torch.empty(shape), n, *at).shape
        return [d.tensor(shape, t), d.tensor(list(inside), t), n, *at]
    case("slice_scatter", sliced)
    for name in ("tril", "triu"):
        case(name + "_", lambda d: [d.written(d.shape(2)), d.whole(-4, 4)])
        case(name + "_indices", lambda d: [d.whole(0, 5), d.whole(0, 5), d.whole(-5, 5)])
    case("t_", lambda d: [d.written(d.shape(0, 2), grad=False)])


def joins():
    for name in ("atleast_1d", "atleast_2d", "atleast_3d"):
        case(name, lambda d: [d.tensor(d.shape())])

    def alike(d):
        shape = d.shape()
        return [[d.tensor(shape) for _ in range(d.whole(1, 3))]]
    case("column_stack", alike)
    case("dstack", alike)
    # After an empty vector PyTorch's gradient belongs to a different element.
    case("block_diag", lambda d: [[d.tensor(d.shape(0, 2, 1)) for _ in range(d.whole(1, 3))]])
    case("broadcast_tensors", lambda d: [[d.tensor(s) for s in d.broadcast(3)]],
         view=True)
    case("cartesian_prod", lambda d: (lambda t: [[d.tensor([d.size()], t) for _ in range(d.whole(1, 3))]])(d.dtype()))
    case("combinations", lambda d: [d.tensor([d.whole(0, 5)]), d.whole(0, 3), d.chance(0.5)])
    for name in ("hsplit", "vsplit", "dsplit"):
        case(name, lambda d: [d.tensor(d.shape(1)), d.whole(1, 3)], label="sections", view=True)
        case(name, lambda d: [d.tensor(d.shape(1)), [d.whole(0, 5) for _ in range(d.whole(1, 3))]], label="indices",
             view=True)

    def scattered(d, make):
        shapes, t = d.broadcast(2), d.dtype()
        count = 9 if d.wrong else torch.Size(torch.broadcast_shapes(*shapes)).numel()
        return [make(shapes[0], t), d.tensor(shapes[1], torch.bool), d.tensor([count + d.whole(0, 2)], t)]
    both("masked_scatter", scattered)

    def filled(d, make):
        shape = d.shape(0, 3)
        n = d.dim(len(shape))
        size = shape[n] if shape and -len(shape) <= n < len(shape) else 1
        return value_for(d, make(shape), n, d.positions([d.whole(0, 4)], size))
    both("index_fill", filled, label="tensor")


# ---- statistics

def statistics():
    def dim(d, low=0):
        shape = d.shape(low)
        return shape, d.dim(len(shape))

    def gaps(d):
        shape = d.shape()
        # PyTorch's gradient is NaN when all elements are NaN.
        return [d.tensor(shape, d.float(), grad=not d.special), d.dims(len(shape)), d.chance(0.5),
                d.pick(None, None, *FLOATS)]
    case("nanmean", gaps, tolerance=10)

    def steps(d):
        shape, n = dim(d, 1)
        other = [2 if i == n % len(shape) else k for i, k in enumerate(shape)]
        t = d.dtype()
        return [d.tensor(shape, t), d.whole(0, 3), n, d.pick(None, d.tensor(other, t)),
                d.pick(None, d.tensor(other, t))]
    case("diff", steps)
    case("dist", lambda d: (lambda s, t: [d.tensor(s, t, "distinct"), d.constant(s, t, "unit"), d.pick(1, 2, 3)])(
        d.shape(1, 4, 1), d.float()), tolerance=10)

    def bins(d):
        low, high = d.pick((0, 0), (-1.0, 2.0), (-4.0, 4.0))
        return [d.constant(d.shape(0, 3, 1), torch.float64, "distinct"), d.whole(1, 12), low, high]
    case("histc", bins)

    def part(d, several):
        shape, n = dim(d)
        t = d.float()
        q = d.constant(d.shape(0, 1), t, "unit") if several else d.pick(0.0, 1.0, 0.5, 0.3)
        return [d.tensor(shape, t, "distinct"), q, d.pick(None, n), d.chance(0.5)]
    case("quantile", lambda d: part(d, False), label="number", tolerance=10)
    case("quantile", lambda d: part(d, True), label="tensor", tolerance=10)
    case("mode", lambda d: (lambda s, n: [d.constant(s, kind="unit" if d.chance(0.5) else "finite"), n, d.chance(0.5)])(
        *dim(d)))
    case("cov", lambda d: [d.tensor([d.whole(1, 4), d.whole(3, 6)][d.pick(0, 1):], d.float(), "finite"), d.whole(0, 1)],
         tolerance=10)
    case("corrcoef", lambda d: [d.constant([d.whole(1, 4), d.whole(3, 6)][d.pick(0, 1):], torch.float64, "distinct")],
         tolerance=10)
    for name in ("cumsum", "cumprod"):
        def running(d):
            shape, n = dim(d)
            return [d.written([min(s, 6) for s in shape], d.pick(*INTEGERS, *FLOATS * 3), "finite"), n, None]
        case(name + "_", running, tolerance=10)


def sorted_values():
    def sequence(d, rows):
        t, n = d.dtype(), d.whole(0, 7)
        x = d.constant(rows + [n], t, "finite")
        x.pack()
        x.storage = x.storage.reshape(-1, max(n, 1)).sort(-1)[0].reshape(-1).contiguous() if n else x.storage
        return x, t

    def look_up(d, with_rows):
        rows = d.shape(0, 2, 1) if with_rows else []
        x, t = sequence(d, rows)
        # NaN sorts after all other values here; for PyTorch it also sorts after NaN.
        return [x, d.constant(rows + d.shape(1, 1) if rows else d.shape(0, 3), t, "finite"), d.chance(0.3),
                d.chance(0.5)]
    for rows, label in ((False, "vector"), (True, "rows")):
        case("searchsorted", lambda d, r=rows: look_up(d, r), label=label)
    case("bucketize", lambda d: (lambda s, x, i, r: [x, s, i, r])(*look_up(d, False)))
    case("isin", lambda d: [d.constant(d.shape(), d.pick(*INTEGERS, *FLOATS)), d.constant(
        d.shape(0, 2), d.pick(*INTEGERS, *FLOATS)).pack(), False, d.chance(0.5)])

    def kept(values, inverse, counts, asked):
        nothing = torch.empty(0, dtype=torch.int64)
        return values, inverse if asked[0] else nothing, counts if asked[1] else nothing

    def unique(x, s, i, c):
        return kept(*torch.unique(x, True, True, True), (i, c))

    def values(d):
        return d.constant(d.shape(), kind=d.pick("unit", "finite", "any") if not d.special else "finite")
    case("_unique2", lambda d: [values(d), True, d.chance(0.7), d.chance(0.7)], unique)

    def slices(d, low=1):
        shape = d.shape(low, 3, 1)
        return d.constant(shape, d.pick(torch.int64, torch.bool, torch.float32), "unit"), d.dim(len(shape))
    case("unique_dim", lambda d: [*slices(d), True, d.chance(0.7), d.chance(0.7)],
         lambda x, n, s, i, c: kept(*torch.unique(x, True, True, True, dim=n), (i, c)))
    case("unique_consecutive", lambda d: (lambda x, n: [x, d.chance(0.7), d.chance(0.7), d.pick(None, n)])(*slices(d)),
         lambda x, i, c, n: kept(*torch.unique_consecutive(x, True, True, n), (i, c)))


# ---- products

def products():
    def of(d, *shapes):
        t = d.float()
        return [d.tensor(s, t, "finite") for s in shapes]

    def contracted(d):
        shape, more = d.shape(0, 3), d.shape(0, 1)
        dims = list(range(len(shape)))
        d.random.shuffle(dims)
        dims = dims[:d.whole(0, len(dims))]
        return [*of(d, shape, [shape[n] for n in dims] + more), dims, list(range(len(dims)))]
    case("tensordot", contracted, tolerance=10)
    case("inner", lambda d: (lambda k: of(d, d.pick([], [k], [d.size(), k]), d.pick([k], [d.size(), k])))(d.size()),
         tolerance=10)
    case("kron", lambda d: [d.tensor([n % 4 for n in d.shape(0, 3)]), d.tensor([n % 4 for n in d.shape(0, 3)])])

    def vectors(d):
        shape = d.shape(0, 2)
        n = d.whole(0, len(shape))
        return [*of(d, shape[:n] + [3] + shape[n:], shape[:n] + [3] + shape[n:]), n]
    case("cross", vectors)

    def factor(d):
        return d.pick(1, 1, 2, 0.5)

    def row(d, make):
        m, k = d.size(1), d.size(1)
        t = d.float()
        x = make(d.pick([m], [1], []) if make == d.tensor else [m], t, "finite")
        return [x, d.tensor([m, k], t, "finite"), d.tensor([k], t, "finite"), factor(d), factor(d)]

    def plane(d, make):
        m, k = d.size(), d.size()
        t = d.float()
        x = make(d.pick([m, k], [k], []) if make == d.tensor else [m, k], t, "finite")
        return [x, d.tensor([m], t, "finite"), d.tensor([k], t, "finite"), factor(d), factor(d)]
    for name, draw in (("addmv", row), ("addr", plane)):
        both(name, draw, tolerance=10)

    def batches(d):
        b, m, k, n, t = d.size(), d.size(), d.size(), d.size(), d.float()
        return [d.written([b, m, n], t, "finite"), *(d.tensor(s, t, "finite") for s in ([b, m, k], [b, k, n])),
                factor(d), factor(d)]
    case("baddbmm_", batches, tolerance=10)
    case("matrix_power", lambda d: (lambda n: [d.tensor(d.shape(0, 1) + [n, n], d.float(), "unit"), d.whole(1, 5)])(
        d.size()), tolerance=100)

    def forms(d):
        a, b, o, t, front = d.size(1), d.size(1), d.size(1), d.float(), d.shape(1, 2)
        return [d.tensor(front + [a], t, "finite"), d.tensor(front + [b], t, "finite"),
                d.tensor([o, a, b], t, "finite"), d.pick(None, d.tensor([o], t, "finite"))]
    case("bilinear", forms, tolerance=30)


elementwise()
bends()
diagonals()
joins()
statistics()
sorted_values()
products()
