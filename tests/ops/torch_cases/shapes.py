"""Views; joining, repeating and rotating tensors."""
import torch

from torch_cases.case import case
from torch_draw import STORED


def factors(d, count):
    """Sizes with the product `count`; one may be -1."""
    sizes, rest = [], count
    while rest > 1 and d.chance(0.8):
        options = [n for n in range(1, rest + 1) if rest % n == 0]
        sizes.append(d.pick(*options))
        rest //= sizes[-1]
    sizes += [rest] if rest != 1 or d.chance(0.3) else []
    if count == 0:
        sizes = d.pick([0], [3, 0], [0, 2, 1])
    if sizes and d.chance(0.3):
        sizes[d.whole(0, len(sizes) - 1)] = -1
    if d.wrong and sizes:
        sizes[0] += 1
    return sizes


def views():
    def make(d, shape):
        return d.tensor(shape, d.dtype(True))

    def dim(d, low=0, least=0):
        shape = d.shape(low, 4, least)
        return shape, d.dim(len(shape))

    def count(shape):
        return torch.Size(shape).numel()
    for name in ("view", "reshape"):
        case(name, lambda d: (lambda s: [make(d, s), factors(d, count(s))])(d.shape()), view=True)
    case("view", lambda d: [d.constant(d.shape(), d.dtype(True)), d.pick(*STORED)], label="dtype", view=True)
    case("flatten", lambda d: (lambda s: [make(d, s), d.dim(len(s)), d.dim(len(s))])(d.shape()), view=True)
    case("unflatten", lambda d: (lambda s, n: [make(d, s), n, factors(d, s[n] if -len(s) <= n < len(s) else 2) or [1]])(
        *dim(d, 1)), view=True)
    case("ravel", lambda d: [make(d, d.shape())], view=True)
    bound = range(-5, 8)

    case("slice",
         lambda d: (lambda s, n: [make(d, s), n, d.pick(None, *bound), d.pick(None, *bound), d.pick(1, 1, 2, 3)])(
             *dim(d)), view=True)
    case("select", lambda d: (lambda s, n: [make(d, s), n, d.whole(-3, 2)])(*dim(d)), view=True)
    case("narrow", lambda d: (lambda s, n: [make(d, s), n, d.whole(-2, 3), d.whole(0, 3)])(*dim(d)), view=True)
    case("expand", lambda d: (lambda s: [make(d, s[0]), s[1] if d.chance(0.7) else [d.pick(1, 2)] + s[1]])(
        (lambda full: ([1 if d.chance(0.4) else n for n in full[d.whole(0, min(len(full), 1)):]],
                       [-1 if i > 0 and d.chance(0.1) else n for i, n in enumerate(full)]))(d.shape())),
         view=True)
    case("transpose", lambda d: (lambda s: [make(d, s), d.dim(len(s)), d.dim(len(s))])(d.shape()), view=True)
    case("transpose_", lambda d: (lambda s: [d.written(s, grad=False), d.dim(len(s)), d.dim(len(s))])(d.shape()))
    case("t", lambda d: [make(d, d.shape(0, 2))], view=True)

    def order(d, rank):
        dims = [n if d.chance(0.7) else n - rank for n in range(rank)]
        d.random.shuffle(dims)
        return dims[1:] if d.wrong else dims
    case("permute", lambda d: (lambda s: [make(d, s), order(d, len(s))])(d.shape()), view=True)
    case("movedim", lambda d: (lambda s: [make(d, s), *(lambda k: (order(d, len(s))[:k], order(d, len(s))[:k]))(
        d.whole(0, len(s)))])(d.shape()), view=True)
    case("squeeze", lambda d: [make(d, d.shape())], label="all", view=True)
    case("squeeze", lambda d: (lambda s, n: [make(d, s), n])(*dim(d)), label="dim", view=True)
    case("squeeze", lambda d: (lambda s: [make(d, s), d.dims(len(s))])(d.shape(1)), label="dims", view=True)
    case("unsqueeze", lambda d: (lambda s: [make(d, s), d.whole(-len(s) - 1, len(s))])(d.shape()), view=True)
    case("squeeze_", lambda d: (lambda s, n: [d.written(s, grad=False), n])(*dim(d)))
    case("unsqueeze_", lambda d: (lambda s: [d.written(s, grad=False), d.whole(-len(s) - 1, len(s))])(d.shape()))
    case("unfold", lambda d: (lambda s, n: [make(d, s), n, d.whole(0, 4), d.whole(1, 3)])(*dim(d)), view=True)
    case("diagonal", lambda d: (lambda s: [make(d, s), d.whole(-3, 3), d.dim(len(s)), d.dim(len(s))])(d.shape(2)),
         view=True)

    def window(d):
        x = make(d, d.shape())
        d.second = 0 not in x.strides  # PyTorch divides by the number of occurrences of an element, which may be 0
        sizes = d.shape(0, 3)
        return x, sizes, [d.whole(0, 3) for _ in sizes], d.pick(None, 0, 1, 2)
    case("as_strided", lambda d: list(window(d)), view=True)

    def scattered(d):
        # PyTorch supports contiguous tensors and gradients only, writes overlaps in an unspecified order, and does not
        # clear the window in the gradient of self.
        sizes, t = [d.whole(1, 3), d.whole(1, 3)], d.float()
        return [d.constant([12], t).pack(), d.tensor(sizes, t), sizes,
                *d.pick(([sizes[1], 1], 0), ([1, sizes[0]], 2), ([4, 1], None))]
    case("as_strided_scatter", scattered, plain=True)


def pieces():
    def dim(d):
        shape = d.shape()
        return shape, d.dim(len(shape))

    def parts(d, size):
        out = []
        while sum(out) < size:
            out.append(d.whole(0, size - sum(out)))
        return out + ([1] if d.wrong else [])
    case("split", lambda d: (lambda s, n: [d.tensor(s), d.whole(0, 5), n])(*dim(d)), label="size", view=True)
    case("split", lambda d: (lambda s, n: [d.tensor(s), parts(d, s[n] if -len(s) <= n < len(s) else 3), n])(*dim(d)),
         label="sizes", view=True)
    case("chunk", lambda d: (lambda s, n: [d.tensor(s), d.whole(1, 5), n])(*dim(d)), view=True)
    case("tensor_split", lambda d: (lambda s, n: [d.tensor(s), d.whole(1, 5), n])(*dim(d)), label="sections", view=True)
    case("tensor_split", lambda d: (lambda s, n: [d.tensor(s), [d.whole(-2, 5) for _ in range(d.whole(0, 3))], n])(
        *dim(d)), label="indices", view=True)
    case("unbind", lambda d: (lambda s, n: [d.tensor(s), n])(*dim(d)), view=True)

    def alike(d):
        """Shapes that differ in at most one dimension."""
        shape, n = d.shape(1), 0
        n = d.dim(len(shape))
        shapes = []
        for _ in range(d.whole(1, 3)):
            other = list(shape)
            if -len(shape) <= n < len(shape):
                other[n] = d.size()
            shapes.append(other if not d.chance(0.05) else [0])
        if d.wrong:
            shapes[-1] = shapes[-1] + [2]
        return [d.tensor(s) for s in shapes], n
    case("cat", lambda d: list(alike(d)))

    def same(d, low=0):
        shape = d.shape(low)
        return [d.tensor(shape) for _ in range(d.whole(1, 3))]
    case("stack", lambda d: (lambda x: [x, d.whole(-len(x[0].sizes) - 1, len(x[0].sizes))])(same(d)))
    case("hstack", lambda d: [same(d)])
    case("vstack", lambda d: [same(d)])
    case("meshgrid", lambda d: (lambda t: [[d.tensor(d.pick([], [d.size()]), t) for _ in range(d.whole(1, 3))],
                                           d.pick("ij", "xy")])(d.dtype()), view=True)
    case("repeat", lambda d: (lambda s: [d.tensor(s), [d.whole(0, 3) for _ in range(len(s) + d.pick(0, 0, 1, -1))]])(
        d.shape(0, 3)))
    case("tile", lambda d: [d.tensor(d.shape(0, 3)), [d.whole(0, 3) for _ in range(d.whole(0, 4))]])
    case("repeat_interleave", lambda d: (lambda s, n: [d.tensor(s), d.whole(0, 3), d.pick(None, n)])(*dim(d)),
         label="number")

    def counts(d):
        shape, n = dim(d)
        n = d.pick(None, n)
        size = torch.Size(shape).numel() if n is None else shape[n] if -len(shape) <= n < len(shape) else 1
        return [d.tensor(shape), d.constant([size], d.index_type(), (0, 4)), n]
    case("repeat_interleave", counts, label="counts")
    case("flip", lambda d: (lambda s: [d.tensor(s), d.dims(len(s))])(d.shape()))
    case("roll",
         lambda d: (lambda s, n: [d.tensor(s), [d.whole(-9, 9) for _ in n], n])(
             *(lambda s: (s, d.dims(len(s))))(d.shape())), label="dims")
    case("roll", lambda d: [d.tensor(d.shape()), [d.whole(-9, 9)], []], label="row")
    case("rot90", lambda d: (lambda s: [d.tensor(s), d.whole(-5, 5), [d.dim(len(s)), d.dim(len(s))]])(d.shape(2)))
    for name in ("tril", "triu"):
        case(name, lambda d: [d.tensor(d.shape(2)), d.whole(-4, 4)])


views()
pieces()
