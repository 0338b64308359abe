"""Matrix products, distances and attention of random networks."""
from network_draw import Batch, Refused, alike, drawn, same


def rows(d):
    """A variable whose last dimension a product can sum over, and its size."""
    x = d.calm(d.some(lambda v: len(v.shape) >= 2 and not isinstance(v.shape[-1], Batch) and v.shape[-1] <= 24), 4)
    return x, x.shape[-1]


def expanded(d, shape):
    """A parameter, expanded to a shape with the number of examples."""
    return d.op("expand", [d.parameter(shape), shape], shape, -1.0, 1.0, saves=False)


def matmul(d):
    x, n = rows(d)
    at = [v for v in d.variables if v.kind == "float" and len(v.shape) >= 2 and same(v.shape[-2], n) and v.bound <= 4
          and (len(v.shape) == 2 or alike(v.shape[:-2], x.shape[:-2])) and not isinstance(v.shape[-1], Batch)]
    y = d.random.choice(at) if at and d.chance(0.6) else d.parameter([n, d.whole(1, 7)])
    bound = x.bound * y.bound * n
    d.op("matmul", [x, y], x.shape[:-1] + [y.shape[-1]], -bound, bound, fresh=True)


def linear(d):
    x, n = rows(d)
    m, bound = d.whole(1, 7), x.bound * n + 1
    d.op("linear", [x, d.parameter([m, n]), d.pick(None, d.parameter([m]))], x.shape[:-1] + [m], -bound, bound,
         fresh=True)


def einsum(d):
    x, n = rows(d)
    letters, m = "abcde"[:len(x.shape) - 1], d.whole(1, 7)
    last = d.chance(0.5)
    out, shape = (letters + "z", x.shape[:-1] + [m]) if last else ("z" + letters, [m] + x.shape[:-1])
    bound = x.bound * n
    d.op("einsum", [f"{letters}y,yz->{out}", [x, d.parameter([n, m])]], shape, -bound, bound)


def of_matrix(d):
    x, n = rows(d)
    if len(x.shape) != 2:
        raise Refused
    name, m, bound = d.pick("addmm", "mv", "tensordot"), d.whole(1, 7), x.bound * n
    if name == "addmm":
        d.op(name, [d.parameter([m]), x, d.parameter([n, m]), 0.5, 2], [x.shape[0], m], -2 * bound - 1, 2 * bound + 1,
             fresh=True)
    elif name == "mv":
        d.op(name, [x, d.parameter([n])], x.shape[:1], -bound, bound)
    else:
        d.op(name, [x, d.parameter([2, n]), [1], [1]], [x.shape[0], 2], -bound, bound)


def of_batch(d):
    x, n = rows(d)
    if len(x.shape) != 3:
        raise Refused
    found = [v for v in d.variables if v.kind == "float" and len(v.shape) == 3 and same(v.shape[0], x.shape[0])
             and same(v.shape[1], n) and v.bound <= 4]
    y = d.random.choice(found) if found else expanded(d, [x.shape[0], n, d.whole(1, 7)])
    bound, shape = x.bound * y.bound * n, x.shape[:2] + [y.shape[2]]
    if d.chance(0.6):
        d.op("bmm", [x, y], shape, -bound, bound, fresh=True)
    else:
        d.op("baddbmm", [expanded(d, shape), x, y, 1.5, -0.5], shape, -bound - 2, bound + 2, fresh=True)


def outer(d):
    x = d.calm(d.some(lambda v: len(v.shape) == 1), 4)
    y = d.parameter([d.whole(1, 6)])
    d.op("outer", [x, y], x.shape + y.shape, -x.bound, x.bound)


@drawn(8)
def product(d):
    d.pick(matmul, matmul, linear, einsum, of_matrix, of_batch, outer)(d)


@drawn(2)
def distance(d):
    x, n = rows(d)
    name, bound = d.pick("cosine_similarity", "pairwise_distance", "cdist"), (x.bound + 1) * n
    if n < 2 or len(x.shape) != dict(cdist=3, pairwise_distance=2).get(name, len(x.shape)):
        raise Refused
    if name == "cdist":
        y = expanded(d, [x.shape[0], 3, n])
        d.op(name, [x, y, 2.0, None], x.shape[:2] + [3], 0.0, bound)
    elif name == "cosine_similarity":
        # Vectors that are zero but for rounding have gradients of 1 / eps; and PyTorch's are no derivatives below eps.
        x = d.op("add", [x, x.bound + 1.0, 1], x.shape, 1.0, 2 * x.bound + 1, saves=False, fresh=True)
        d.op(name, [x, expanded(d, x.shape), len(x.shape) - 1, 1e-8], x.shape[:-1], -1.0, 1.0)
    else:
        d.op(name, [x, expanded(d, x.shape), 2.0, 1e-6, False], x.shape[:-1], 0.0, bound)


@drawn(3)
def attention(d):
    x = d.calm(d.ranked(d.pick(3, 4)), 4)
    if x.shape[-2] > 12 or isinstance(x.shape[-2], Batch):
        raise Refused
    kv = [d.calm(d.partner(x), 4) for _ in range(2)]
    key, value = [v if alike(v.shape, x.shape) else x for v in kv]
    steps = x.shape[-2]
    mask = d.pick(None, d.constant([steps, steps]), d.mask([steps, steps], 0.8))
    causal = mask is None and d.chance(0.5)
    if mask is not None and mask.kind == "bool":  # each row has an element
        below = d.op("tril", [d.mask(mask.shape, 1.5), 0], mask.shape, 0.0, 1.0, kinds=["bool"])
        mask = d.op("logical_or", [mask, below], mask.shape, 0.0, 1.0, kinds=["bool"])
    d.op("scaled_dot_product_attention", [x, key, value, mask, 0.0, causal, d.pick(None, 0.3), False], x.shape,
         -value.bound, value.bound)
