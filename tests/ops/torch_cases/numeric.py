"""The operations of numeric_table.cpp: numbers, running and segmented folds, histograms, windows, products."""
import torch

from torch_cases.case import both, case
from torch_draw import COMPUTED, FLOATS, INTEGERS


def along(d, low=1, least=0):
    shape = d.shape(low, 4, least)
    return shape, d.dim(len(shape))


def numbers():
    def pair(d, make, types, kind="any"):
        shapes = d.broadcast(2)
        return [make(shapes[0], d.pick(*types), kind), d.constant(shapes[1], d.pick(*types), kind)]
    for name in ("gcd", "lcm"):
        case(name, lambda d: pair(d, d.constant, INTEGERS, "finite"))
        case(name + "_", lambda d: pair(d, d.written, INTEGERS, "finite"))
    case("nextafter", lambda d: pair(d, d.constant, FLOATS))
    both("ldexp",
         lambda d, make: (lambda s: [make(s[0], d.float(), "finite"), d.constant(s[1], torch.int64, "finite")])(
             d.broadcast(2)))
    case("frexp", lambda d: [d.tensor(d.shape(), d.float(), "finite")])
    for name in ("angle", "isreal", "real", "conj_physical", "resolve_conj", "resolve_neg"):
        case(name, lambda d: [d.tensor(d.shape(), d.pick(*FLOATS) if d.chance(0.7) else d.pick(*INTEGERS))])
    case("adjoint", lambda d: [d.tensor(d.shape(2))], view=True)


def running():
    for name in ("cummax", "cummin"):
        case(name, lambda d: (lambda s, n: [d.tensor(s), n])(*along(d, 0)))
    case("logcumsumexp", lambda d: (lambda s, n: [d.tensor(s, d.float(), "finite"), n])(*along(d, 0)), tolerance=10)

    def integral(d, points):
        shape, n = along(d, 1, 1)
        t = d.float()
        sizes = [[shape[n]] if -len(shape) <= n < len(shape) else [1], shape]
        return [d.tensor(shape, t, "finite"), d.tensor(d.pick(*sizes), t, "finite") if points else d.pick(1, 0.5, 2), n]
    for name in ("trapezoid", "trapz", "cumulative_trapezoid"):
        case(name, lambda d: integral(d, False), label="step", tolerance=10)
        case(name, lambda d: integral(d, True), label="points", tolerance=10)

    def differences(d, points):
        order = d.pick(1, 2)
        shape = [n + order for n in d.shape(1, 3)]
        n = d.whole(-len(shape), len(shape) - 1)
        t = d.float()
        if points:
            return [d.tensor(shape, t, "finite"), [d.constant([shape[n]], t, "distinct")], [n], order]
        return [d.tensor(shape, t, "finite"), d.pick(1, 0.5, 2), d.pick(None, n), order]
    case("gradient", lambda d: differences(d, False), label="step", tolerance=10)
    case("gradient", lambda d: differences(d, True), label="points", tolerance=30)


def folds():
    def sent(d, make, name, slices):
        shape, n = along(d, 1, 1)
        n = max(min(n, len(shape) - 1), -len(shape))
        t = d.pick(*FLOATS) if d.chance(0.7) else d.pick(*INTEGERS)
        fold = d.pick("prod", "mean", "amax", "amin", *([] if slices else ["sum"]))
        kind = "distinct" if fold in ("amax", "amin") and t in FLOATS else "nonzero" if fold == "prod" else "finite"
        count = d.whole(1, 5)
        source = [count if i == n % len(shape) else k for i, k in enumerate(shape)]
        index = d.positions([count] if slices else source, shape[n])
        index.storage = index.storage.long()  # PyTorch's gradients take no other
        if torch.Size(source).numel() > 500 and fold == "prod":
            fold = "mean"
        # A value of self that is not included takes part in the ties of PyTorch's gradients.
        own = "finite" if kind == "distinct" else kind
        return [make(shape, t, own), n, index, d.tensor(source, t, kind), fold, d.chance(0.5)]
    both("scatter_reduce", lambda d, make: sent(d, make, "scatter_reduce", False), tolerance=30)
    both("index_reduce", lambda d, make: sent(d, make, "index_reduce", True), tolerance=30)

    def segments(d):
        lengths = [d.whole(1, 3)] + [d.whole(0, 4) for _ in range(d.whole(0, 3))]
        t = d.float()
        fold = d.pick("sum", "mean", "max", "min", "prod")
        # PyTorch has no second derivatives.
        d.second = False
        x = d.tensor([sum(lengths), *d.shape(0, 2, 1)], t, "distinct" if fold in ("max", "min") else "nonzero")
        given = d.constant([len(lengths)], torch.int64, (0, 1)).pack()
        given.storage = torch.tensor(lengths)
        return [x.pack(), fold, given, None, None, 0]
    case("segment_reduce", segments, tolerance=10)

    def writing(d, make):
        shape, t = d.shape(0, 3, 1), d.dtype()
        size, accumulate = torch.Size(shape).numel(), d.chance(0.5)
        at = d.positions(d.shape(0, 2), size, True)
        if not accumulate:
            order = list(range(size))
            d.random.shuffle(order)
            at = d.constant([min(size, 6)], torch.int64, (0, 1)).pack()
            at.storage = torch.tensor(order[:6])
        return [make(shape, t), at, d.tensor(at.sizes, t), accumulate]
    both("put", writing)

    def counted(d):
        shape, t, d.grid = d.shape(0, 3, 1), d.float(), False  # elements on inner edges may be in either bin
        return [d.constant(shape, t, "finite"), d.pick(1, 3, 5, 7), d.pick(None, d.constant(shape, t, "positive")),
                d.chance(0.4)]
    case("histogram", counted, tolerance=10)

    def points(d):
        n, t, d.grid = d.whole(1, 3), d.float(), False
        front = d.shape(1, 2, 1)
        return [d.constant([*front, n], t, "finite"), [d.pick(1, 3) for _ in range(n)],
                d.pick(None, d.constant(front, t, "positive")), d.chance(0.4)]
    case("histogramdd", points, tolerance=10)

    def gaps(d, sizes, t):
        x = d.tensor(sizes, t, "distinct")
        if x.storage.numel() and d.chance(0.5):
            x.mode = "c"  # which NaN of several is chosen is not specified
            for i in range(0, x.storage.numel(), 3):
                x.storage[i] = float("nan")
        return x

    def part(d, several):
        shape, n = along(d, 0, 1)
        t = d.float()
        q = d.constant(d.shape(0, 1), t, "unit") if several else d.pick(0.0, 1.0, 0.5, 0.3)
        return [gaps(d, shape, t), q, d.pick(None, n), d.chance(0.5),
                d.pick("linear", "lower", "higher", "midpoint", "nearest")]
    case("nanquantile", lambda d: part(d, False), label="number", tolerance=10)
    case("nanquantile", lambda d: part(d, True), label="tensor", tolerance=10)
    case("nanmedian", lambda d: [gaps(d, d.shape(0, 3, 1), d.float())], label="all")
    case("nanmedian", lambda d: (lambda s, n: [gaps(d, s, d.float()), n, d.chance(0.5)])(*along(d, 0, 1)), label="dim")


def products():
    def factor(d):
        return d.pick(1, 1, 2, 0.5)

    def batches(d, make):
        b, m, k, n, t = d.size(1), d.size(1), d.size(1), d.size(1), d.float()
        x = make(d.pick([m, n], [n], []) if make == d.tensor else [m, n], t, "finite")
        return [x, d.tensor([b, m, k], t, "finite"), d.tensor([b, k, n], t, "finite"), factor(d), factor(d)]
    both("addbmm", batches, tolerance=10)

    def chain(d):
        sizes, t = [d.size(1) for _ in range(d.whole(2, 5))], d.float()
        return [[d.tensor([a, b], t, "finite") for a, b in zip(sizes, sizes[1:])]]
    case("chain_matmul", chain, tolerance=10)
    both("renorm", lambda d, make: (lambda s: [make(s, d.float(), "nonzero"), d.pick(1, 2, 3), d.dim(len(s)),
                                               d.pick(0.5, 1, 3)])(d.shape(2, 4, 1)), tolerance=30)


def windows():
    def typed(d):
        return d.pick(None, *FLOATS)
    for name in ("bartlett_window", "blackman_window", "hann_window"):
        case(name, lambda d: [d.whole(0, 40), d.chance(0.5), typed(d)], tolerance=30)
    case("hamming_window", lambda d: [d.whole(0, 40), d.chance(0.5), d.pick(0.54, 0.6), d.pick(0.46, 0.3), typed(d)],
         tolerance=30)
    case("kaiser_window", lambda d: [d.whole(0, 40), d.chance(0.5), d.pick(12.0, 3.0, 8.5), typed(d)], tolerance=100)


def whole_tensors():
    case("alias", lambda d: [d.tensor(d.shape())], view=True)
    case("copy", lambda d: (lambda s: [d.constant(s[0]), d.tensor(s[1], kind="positive", grad=False)])(d.broadcast(2)),
         lambda x, y: torch.ops.aten.copy(x, y))
    case("fill", lambda d: [d.tensor(d.shape()), d.whole(0, 5)], torch.fill)
    case("nonzero_static", lambda d: [d.constant(d.shape(1, 3), kind="unit"), d.whole(0, 12), d.whole(-2, 3)])
    case("range", lambda d: [d.whole(-3, 4) / 2, d.whole(5, 20) / 4, d.pick(0.5, 1, 0.3), d.pick(None, *FLOATS)])
    case("flatten_dense_tensors",
         lambda d: (lambda t: [[d.tensor(d.shape(), t) for _ in range(d.whole(1, 3))]])(d.float()))
    case("can_cast", lambda d: [d.pick(*COMPUTED), d.pick(*COMPUTED)])
    case("as_strided_", lambda d: [d.written([4, 5], grad=False).pack(), [2, d.whole(0, 3)], [d.whole(0, 4), 1], 0],
         lambda x, *a: x.as_strided_(*a), view=True)


numbers()
running()
folds()
products()
windows()
whole_tensors()
