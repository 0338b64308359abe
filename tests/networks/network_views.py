"""Views of random networks, and writes into them."""
from network_draw import Batch, Refused, drawn
from network_functions import products


def viewed(d, name, x, arguments, shape):
    return d.op(name, [x, *arguments], shape, x.low, x.high, saves=False, view=x)


def maybe_copied(d, name, x, arguments, shape):
    """A copy or a view: so neither is written from now on."""
    x.family.writable = False
    return viewed(d, name, x, arguments, shape)


def permuted(d, x):
    order = list(range(len(x.shape)))
    if len(order) < 2:
        raise Refused
    name = d.pick("transpose", "permute", "movedim")
    a, b = d.random.sample(order, 2)
    if name == "permute":
        d.random.shuffle(order)
        given = [order]
    elif name == "transpose":
        order[a], order[b] = b, a
        given = [d.signed(a, x), d.signed(b, x)]
    else:
        order.remove(a)
        order.insert(b, a)
        given = [[a], [b]]
    return viewed(d, name, x, given, [x.shape[k] for k in order])


def unsqueezed(d, x):
    k = d.whole(0, len(x.shape))
    return viewed(d, "unsqueeze", x, [k - d.pick(0, len(x.shape) + 1)], x.shape[:k] + [1] + x.shape[k:])


def expanded(d, x):
    shape = [d.whole(1, 3)] + [d.whole(2, 4) if n == 1 and d.chance(0.7) else n for n in x.shape]
    y = viewed(d, "expand", x, [shape], shape)
    y.overlaps = True
    return y


def reshaped(d, x):
    if not x.shape or any(isinstance(n, Batch) for n in x.shape[1:]):
        raise Refused
    front = x.shape[:1] if isinstance(x.shape[0], Batch) else []
    rest = x.count // (front[0] if front else 1)
    name = d.pick("reshape", "flatten", "unflatten")
    if len(x.shape) == len(front):
        raise Refused
    if name == "flatten":
        return maybe_copied(d, name, x, [len(front), -1], front + [rest])
    if name == "unflatten":
        parts = d.factors(x.shape[-1], 2)
        return viewed(d, name, x, [len(x.shape) - 1, parts], x.shape[:-1] + parts)
    shape = front + d.factors(rest, d.whole(1, 4))
    return maybe_copied(d, name, x, [shape], shape)


def selected(d, x):
    k = d.dim(x)
    n, at, front, back = x.shape[k], d.signed(k, x), x.shape[:k], x.shape[k + 1:]
    name = d.pick("select", "narrow", "slice", "squeeze")
    if name == "select":
        return viewed(d, name, x, [at, d.whole(-n, n - 1)], front + back)
    if name == "squeeze":
        if n != 1:
            raise Refused
        return viewed(d, name, x, [at], front + back)
    start = d.whole(0, n - 1)
    if name == "narrow":
        count = d.whole(1, n - start)
        return viewed(d, name, x, [at, start, count], front + [count] + back)
    step = d.whole(1, 3)
    return viewed(d, name, x, [at, start, None, step], front + [(n - start + step - 1) // step] + back)


def unfolded(d, x):
    k = d.dim(x)
    size, step = d.whole(1, min(x.shape[k], 3)), d.whole(1, 2)
    shape = x.shape[:k] + [(x.shape[k] - size) // step + 1] + x.shape[k + 1:] + [size]
    y = viewed(d, "unfold", x, [d.signed(k, x), size, step], shape)
    y.overlaps = y.overlaps or step < size
    return y


def diagonal(d, x):
    free = d.free_dims(x)
    if len(free) < 2:
        raise Refused
    a, b = d.random.sample(free, 2)
    shape = [m for i, m in enumerate(x.shape) if i not in (a, b)] + [min(x.shape[a], x.shape[b])]
    return viewed(d, "diagonal", x, [0, a, b], shape)


def make_view(d, x):
    return d.pick(permuted, permuted, unsqueezed, expanded, reshaped, reshaped, selected, selected, selected, unfolded,
                  diagonal)(d, x)


@drawn(14)
def view(d):
    make_view(d, d.some(lambda v: v.shape))


@drawn(4)
def parts(d):
    x = d.some(lambda v: d.free_dims(v))
    x.family.writable = False  # PyTorch refuses writes to views from these
    k = d.dim(x)
    n, name = x.shape[k], d.pick("split", "chunk", "unbind", "split list")
    if name == "unbind":
        if n > 4:
            raise Refused
        shapes = [x.shape[:k] + x.shape[k + 1:]] * n
        return d.op(name, [x, d.signed(k, x)], shapes, x.low, x.high, saves=False, kinds=["float"] * n, view=x)
    count = d.whole(1, 4)
    size = -(-n // count)
    counts = [min(size, n - i) for i in range(0, n, size)]
    shapes = [x.shape[:k] + [c] + x.shape[k + 1:] for c in counts]
    given = {"chunk": [x, count, k], "split": [x, size, d.signed(k, x)], "split list": [x, counts, d.signed(k, x)]}
    return d.op(name.split()[0], given[name], shapes, x.low, x.high, saves=False, kinds=["float"] * len(counts), view=x)


# ---- writes: a function of the network, the written variable, and what put(name, arguments, low, high) appends
def sum_(d, x, put):
    y = d.fixed_partner(x)
    bound = x.bound + 0.5 * y.bound
    return put(d.pick("add_", "sub_"), [y, 0.5], -bound, bound)


def product_(d, x, put):
    y = d.fixed_partner(x)
    return put("mul_", [y], *products(x, y))


def copy_(d, x, put):
    y = d.fixed_partner(x)
    return put("copy_", [y], y.low, y.high)


def addcmul_(d, x, put):
    y = d.fixed_partner(x)
    bound = x.bound + y.bound
    return put("addcmul_", [y, d.constant(y.shape), 1.0], -bound, bound)


def number_(d, x, put):
    return d.pick(lambda: put("fill_", [0.75], 0.75, 0.75), lambda: put("zero_", [], 0.0, 0.0),
                  lambda: put("mul_", [0.5], 0.5 * x.low, 0.5 * x.high), lambda: put("neg_", [], -x.high, -x.low),
                  lambda: put("clamp_", [-0.7, 0.9], -0.7, 0.9))()


def function_(d, x, put):
    """Saves its result, so nothing may be written afterwards."""
    x.family.writable = False
    return d.pick(lambda: put("relu_", [], max(x.low, 0.0), max(x.high, 0.0)), lambda: put("tanh_", [], -1.0, 1.0),
                  lambda: put("sigmoid_", [], 0.0, 1.0))()


def masked_fill_(d, x, put):
    return put("masked_fill_", [d.mask(x.shape, 0.4), 0.5], min(x.low, 0.5), max(x.high, 0.5))


def indexed_(d, x, put):
    k = d.dim(x)
    distinct = d.random.sample(range(x.shape[k]), d.whole(1, min(x.shape[k], 3)))
    shape = x.shape[:k] + [len(distinct)] + x.shape[k + 1:]
    name = d.pick("index_fill_", "index_copy_", "index_add_", "index_put_")
    if name == "index_fill_":
        return put(name, [k, d.listed(distinct), 0.25], min(x.low, 0.25), max(x.high, 0.25))
    if name == "index_put_":
        if any(isinstance(m, Batch) for m in x.shape[1:]) or k != 0:
            raise Refused
        return put(name, [[d.listed(distinct)], d.parameter(shape), False], min(x.low, -1.0), max(x.high, 1.0))
    source = d.op("expand", [d.parameter(shape), shape], shape, -1.0, 1.0, saves=False)
    if name == "index_copy_":
        return put(name, [k, d.listed(distinct), source], min(x.low, -1.0), max(x.high, 1.0))
    return put(name, [k, d.listed(distinct), source, 0.5], x.low - 0.5, x.high + 0.5)


@drawn(10)
def write(d):
    targets = [v for v in d.variables if v.kind == "float" and v.family.writable and v.shape]
    if targets and d.chance(0.8):
        x = d.random.choice(targets[-4:])
    else:
        x = d.some(lambda v: v.shape)
        x = d.op("clone", [x], x.shape, x.low, x.high, saves=False, fresh=True)
    for _ in range(d.pick(0, 0, 1, 1, 2)):
        x = make_view(d, x)
    if x.overlaps or not x.family.writable or not x.shape:
        raise Refused

    def put(name, arguments, low, high):
        return d.op(name, [x, *arguments], x.shape, low, high, saves=False, view=x)
    made = d.pick(sum_, product_, copy_, addcmul_, number_, number_, function_, masked_fill_, indexed_, indexed_)(
        d, x, put)
    for v in x.family.members:
        v.low, v.high = min(v.low, made.low), max(v.high, made.high)
