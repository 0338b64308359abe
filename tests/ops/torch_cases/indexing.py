"""Reads and writes by index."""
import torch

from torch_cases.case import both, case, value_for
from torch_draw import FLOATS, Index


def kinds():
    """Mixed indices of every kind."""
    def mask(d, sizes, count):
        """`count` positions, if that many exist."""
        total = torch.Size(sizes).numel()
        places = set(d.random.sample(range(total), min(count, total)))
        out = d.constant(sizes, torch.bool).pack()
        out.storage = torch.tensor([k in places for k in range(total)], dtype=torch.bool)
        return out

    def advanced(d, shape, n, count):
        """An index tensor for dimension n, or a mask from it on; and the number of dimensions covered."""
        kind = d.pick("number", "row", "row", "rows", "mask", "mask")
        if kind == "mask":
            last = d.whole(n + 1, len(shape))
            return mask(d, shape[n:last], d.pick(count, count, count, 1)), last - n
        sizes = {"number": [], "row": [d.pick(count, count, 1)], "rows": [d.pick(1, 2), d.pick(count, 1)]}[kind]
        return d.positions(sizes, shape[n], True), 1

    def bracketed(d, shape):
        at, n, count, room = Index(), 0, d.whole(1, 3), d.chance(0.5)
        while n < len(shape) and d.chance(0.9):
            kind = d.pick("slice", "int", "none", "ellipsis", "bool", "bool tensor", *["advanced"] * 4)
            if kind == "ellipsis" and room:
                at.append(Ellipsis)
                n += d.whole(0, len(shape) - n)
                room = False
            elif kind == "advanced":
                index, taken = advanced(d, shape, n, count)
                at.append(index)
                n += taken
            elif kind in ("slice", "int"):
                at.append(slice(d.pick(None, 0, 1, -2), d.pick(None, 2, -1), d.pick(None, 1, 2)) if kind == "slice" else
                          d.whole(-shape[n], max(shape[n] - 1, 0)))
                n += 1
            elif kind == "none":
                at.append(None)
            elif kind != "ellipsis" and d.chance(0.4):
                at.append(d.constant([], torch.bool) if kind == "bool tensor" else d.chance(0.7))
        return at

    def listed(d, shape):
        """At least one is defined, and none is a 0-dim mask: PyTorch fails on these, or ignores them."""
        at, n, count = [], 0, d.whole(1, 3)
        while n < len(shape) and (n == 0 or d.chance(0.8)):
            index, taken = (None, 1) if d.chance(0.35) else advanced(d, shape, n, count)
            at.append(index)
            n += taken
        return at if any(a is not None for a in at) else [*at[:-1], d.positions([2], shape[len(at) - 1], True)]

    def drawn(d, make, choose):
        shape, dtype = d.shape(1, 5, 1), d.dtype()
        return make(shape, dtype), choose(d, shape)

    def look(x, at):
        return x[tuple(at)]

    def put(x, at, value):
        x[tuple(at)] = value
        return x
    case("index", lambda d: list(drawn(d, d.tensor, bracketed)), label="kinds")
    case("index_put_", lambda d: value_for(d, *drawn(d, d.written, bracketed)), put, "kinds")

    look_up, write = torch.ops.aten.index, torch.ops.aten.index_put
    case("index", lambda d: list(drawn(d, d.tensor, listed)), look_up, "list")

    def writing(d, make):
        """The added values have the indexed shape or broadcast to it; else one number, as positions may repeat."""
        x, at = drawn(d, make, listed)
        accumulate = d.chance(0.6)
        try:
            sizes = list(look_up(torch.empty(x.sizes),
                                 [a and a.window(a.storage) for a in at]).shape) if accumulate else []
        except IndexError:
            sizes = []
        sizes = [1 if d.chance(0.2) else n for n in sizes[d.pick(0, 0, d.whole(0, len(sizes))):]]
        dtype = x.storage.dtype
        return [x, at, d.tensor(sizes, dtype, "positive", dtype in FLOATS), accumulate]
    case("index_put", lambda d: writing(d, d.tensor), label="list")
    case("index_put_", lambda d: writing(d, d.written), torch.ops.aten.index_put_, "list")


def positions():
    def dim(d, low=0):
        shape = d.shape(low, 3)
        return shape, d.dim(len(shape))

    def size(shape, n):
        return shape[n] if shape and -len(shape) <= n < len(shape) else 1

    def smaller(d, shape, n):
        return [d.whole(0, 5) if shape and i == n % len(shape) else d.whole(min(s, 1), s) for i, s in enumerate(shape)]

    def gathering(d):
        shape, n = dim(d)
        return [d.tensor(shape), n, d.positions(smaller(d, shape, n), size(shape, n))]
    case("gather", gathering)

    def scattering(d, make, kind, distinct):
        """distinct: each index occurs once, because PyTorch does not specify which of several values is kept."""
        shape, n = dim(d)
        dtype = d.dtype()
        x = make(shape, dtype)
        index = d.positions(smaller(d, shape, n), size(shape, n))
        if distinct:
            index = d.constant([min(a, b) for a, b in zip(index.sizes, shape)], torch.int64, (0, 1))
            index.strides, index.offset = torch.empty(index.sizes).stride(), 0
            rows = torch.arange(size(shape, n)).flip(0)[:index.sizes[n % len(shape)] if shape else 1]
            rows = rows.reshape([-1 if shape and i == n % len(shape) else 1 for i in range(len(shape))])
            index.storage = rows.expand(index.sizes).reshape(-1).clone()
        if kind == "number":
            return [x, n, index, d.number()]
        wider = [s + d.pick(0, 0, 1) for s in index.sizes]
        return [x, n, index, d.tensor(wider, dtype if d.chance(0.9) else d.dtype())]
    both("scatter", lambda d, make: scattering(d, make, "number", False), label="number")
    both("scatter", lambda d, make: scattering(d, make, "tensor", True), label="tensor")
    both("scatter_add", lambda d, make: scattering(d, make, "tensor", False))
    case("take_along_dim",
         lambda d: (lambda s, n: [d.tensor(s), d.positions([1 if i != n % len(s) and d.chance(0.3) else k
                                      for i, k in enumerate(s)], size(s, n)), n])(*dim(d, 1)), label="dim")
    case("take_along_dim", lambda d: (lambda s: [d.tensor(s), d.positions(d.shape(0, 2), max(torch.Size(s).numel(), 1)),
                                                 None])(d.shape(0, 3)), label="row")
    case("one_hot", lambda d: [d.constant(d.shape(0, 3), torch.int64, (0, 5)), d.pick(-1, 5, 8)])
    case("index_select", lambda d: (lambda s, n: [d.tensor(s), n, d.positions(d.shape(0, 1), size(s, n))])(*dim(d)))

    def along(d, make, distinct=False):
        shape, n = dim(d)
        dtype = d.dtype()
        count = d.whole(0, size(shape, n) if distinct else 5)
        index = d.positions([count], size(shape, n))
        if distinct:
            order = list(range(max(size(shape, n), 1)))
            d.random.shuffle(order)
            index = d.constant([len(order[:count])], torch.int64, (0, 1))
            index.strides, index.offset, index.storage = [1], 0, torch.tensor(order[:count], dtype=torch.int64)
        source = [count if i == n % len(shape) else s for i, s in enumerate(shape)] if shape else d.pick([], [count])
        return [make(shape, dtype), n, index, d.tensor(source, dtype if d.chance(0.9) else d.dtype())]
    both("index_add", lambda d, make: along(d, make) + [d.pick(1, 2)])
    both("index_copy", lambda d, make: along(d, make, True))
    both("index_fill", lambda d, make: along(d, make)[:3] + [d.number()])
    case("take", lambda d: (lambda s: [d.tensor(s), d.constant(d.shape(0, 2), torch.int64, (
        -torch.Size(s).numel(), torch.Size(s).numel()))])(d.shape(0, 3, 1)))
    case("nonzero", lambda d: [d.tensor(d.shape(), kind="unit" if d.chance(0.3) else "any")])

    def indices(d, shape, tensors):
        """Indices of every kind; the index tensors broadcast. At most one mask, so that its count is known."""
        at, n, common, ellipsis = Index(), 0, d.shape(0, 2, 1), False
        while n < len(shape) and d.chance(0.8):
            kind = d.pick("int", "slice", "slice", "none", "ellipsis", *(["tensor"] * 3 if tensors else []))
            if kind == "none":
                at.append(None)
                continue
            if kind == "ellipsis":
                if not ellipsis:
                    at.append(Ellipsis)
                    n += d.whole(0, len(shape) - n)
                ellipsis = True
                continue
            if kind == "int":
                at.append(d.whole(-shape[n], max(shape[n] - 1, 0)))
            elif kind == "slice":
                at.append(slice(d.pick(None, *range(-4, 5)), d.pick(None, *range(-4, 6)), d.pick(None, 1, 2, 3)))
            else:
                sizes = [1 if d.chance(0.2) else s for s in common[d.whole(0, min(1, len(common))):]]
                at.append(d.positions(sizes, shape[n], True))
            n += 1
        return at
    case("index", lambda d: (lambda s: [d.tensor(s, d.dtype(True)), indices(d, s, False)])(d.shape()), label="basic",
         view=True)
    case("index", lambda d: (lambda s: [d.tensor(s), indices(d, s, True)])(d.shape(1)), label="tensors")

    def masked(d):
        shape = d.shape(1)
        first = d.whole(0, len(shape) - 1)
        last = d.whole(first + 1, len(shape))
        mask = d.constant(shape[first:last], torch.bool)
        return d.tensor(shape), Index([slice(None)] * first + [mask])
    case("index", lambda d: list(masked(d)), label="mask")
    case("index", lambda d: [d.tensor(d.shape()), Index([d.pick(True, False, None)])], label="bool")

    def put(x, i, v):
        x[tuple(i)] = v
        return x
    case("index_put_", lambda d: (lambda s, t: [d.written(s, t), indices(d, s, False), d.tensor([], t)])(
        d.shape(1), d.dtype()), put, "basic")

    def written_mask(d):
        x, at = masked(d)
        return value_for(d, d.written(x.sizes, x.storage.dtype), at)
    case("index_put_", written_mask, put, "mask")

    def every(d, shape, n):
        """Distinct positions along dimension n: PyTorch does not specify which of several values for one is kept."""
        order = [k if d.chance(0.7) else k - shape[n] for k in range(shape[n])]
        d.random.shuffle(order)
        order = order[:d.whole(min(1, shape[n]), shape[n])]
        index = d.constant([len(order)], torch.int64, (0, 1))
        index.strides, index.offset, index.storage = [1], 0, torch.tensor(order, dtype=torch.int64)
        return index

    def mixed(d, shape):
        """Two index tensors, or a mask and an integer, among slices and None."""
        at = Index(d.pick(slice(None), slice(None, None, 2), slice(1, None)) for _ in shape)
        n = d.whole(0, len(shape) - 1)
        if d.chance(0.5):
            at[n] = every(d, shape, n)
            for k in range(len(shape)):
                if k != n and d.chance(0.3):
                    at[k] = d.pick(d.positions([], shape[k], True), d.positions([len(at[n].storage)], shape[k], True))
        else:
            at[n] = d.constant([shape[n]], torch.bool)
            for k in range(len(shape)):
                if k != n and d.chance(0.3):
                    at[k] = d.whole(-shape[k], shape[k] - 1)
        if d.chance(0.3):
            at.insert(d.whole(0, len(at)), None)
        return at

    def look(x, at):
        return x[tuple(a.window(a.storage) if hasattr(a, "storage") else a for a in at)]
    case("index", lambda d: (lambda s: [d.tensor(s), mixed(d, s)])(d.shape(1, 4, 1)), label="mixed")

    def values(d, choose):
        """The written values have the indexed shape, or broadcast to it."""
        shape, dtype = d.shape(1, 4, 1), d.dtype()
        at = choose(d, shape)
        try:
            sizes = list(look(torch.empty(shape), at).shape)
        except IndexError:
            sizes = []
        sizes = [1 if d.chance(0.2) else n for n in sizes[d.pick(0, 0, d.whole(0, len(sizes))):]]
        other = dtype if d.chance(0.8) else d.dtype()
        return [d.written(shape, dtype), at, d.tensor(sizes, other, "positive", dtype in FLOATS)]
    case("index_put_", lambda d: values(d, lambda d, s: indices(d, s, False)), put, "basic values")
    case("index_put_", lambda d: values(d, mixed), put, "mixed values")

    def writing(d, make):
        shape = d.shape(1, 3, 1)
        dtype, accumulate = d.dtype(), d.chance(0.5)
        common = d.shape(0, 2, 1)
        at = [d.positions(common, n, True) for n in shape[:d.whole(1, len(shape))]]
        if not accumulate:
            at[0] = every(d, shape, 0)
            common = at[0].sizes
            at[1:] = [d.positions(common, n, True) for n in shape[1:len(at)]]
        return [make(shape, dtype), at, d.tensor(common + shape[len(at):], dtype), accumulate]
    case("index_put", lambda d: writing(d, d.tensor))
    case("index_put_", lambda d: writing(d, d.written), lambda x, i, v, a: x.index_put_(tuple(i), v, a), "accumulate")

    def looked_up(d):
        rows, columns, frequency = d.whole(1, 6), d.whole(1, 5), d.chance(0.3)
        d.second = not frequency  # PyTorch's second gradient ignores it
        return [d.tensor([rows, columns], d.float()), d.positions(d.shape(0, 3), rows), d.pick(-1, -1, 0), frequency,
                False]
    case("embedding", looked_up)


positions()
kinds()
