"""Factories and copies."""
from torch_cases.case import case, value_for
from torch_draw import COMPUTED, FLOATS, STORED


def factories():
    def optional_type(d):
        return d.pick(None, None, d.pick(*STORED))

    def bound(d):
        return d.pick(d.whole(-5, 9), d.whole(-20, 36) / 4)

    def step(d):
        return d.pick(1, 2, -1, 3, 0.5, -0.75, 0.1)

    for name in ("zeros", "ones"):
        case(name, lambda d: [d.shape(), optional_type(d)])
        case(name + "_like", lambda d: [d.constant(d.shape(), d.dtype(True)), optional_type(d)])
    case("full", lambda d: [d.shape(), d.pick(d.whole(0, 9), 2.5, True), optional_type(d)])
    case("full_like", lambda d: [d.constant(d.shape(), d.dtype(True)), d.pick(d.whole(0, 9), 2.5, True),
                                 optional_type(d)])
    case("new_full", lambda d: [d.constant(d.shape(), d.dtype(True)), d.shape(), d.pick(d.whole(0, 9), 2.5, True),
                                optional_type(d)])
    case("new_zeros", lambda d: [d.constant(d.shape(), d.dtype(True)), d.shape(), optional_type(d)])
    case("scalar_tensor", lambda d: [d.pick(d.whole(0, 9), 2.5, True), optional_type(d)])
    numeric = COMPUTED[:5] + FLOATS

    def numeric_type(d):
        return d.pick(None, None, d.pick(*numeric))
    case("arange", lambda d: [bound(d), numeric_type(d)], label="end")
    case("arange", lambda d: [bound(d), bound(d), numeric_type(d)], label="start end")
    case("arange", lambda d: [bound(d), bound(d), step(d), numeric_type(d)], label="start end step")
    case("linspace", lambda d: [bound(d), bound(d), d.pick(0, 1, 2, 5, 24, 101), numeric_type(d)])
    case("logspace", lambda d: [d.whole(-2, 3), d.whole(-3, 4) / 2, d.pick(0, 1, 2, 5), d.pick(10.0, 2.0, 2.5),
                                d.pick(None, *FLOATS)])
    case("eye", lambda d: [d.whole(0, 5), optional_type(d)], label="n")
    case("eye", lambda d: [d.whole(0, 5), d.whole(0, 5), optional_type(d)], label="n m")
    case("to", lambda d: [d.tensor(d.shape(), d.dtype(True), "finite"), d.pick(*STORED)])
    case("clone", lambda d: [d.tensor(d.shape(), d.dtype(True))])
    case("contiguous", lambda d: [d.tensor(d.shape(), d.dtype(True))], view=True)

    def copy(d):
        shapes, dtype = d.broadcast(2), d.dtype(True)
        # 16-bit gradients would have to be added, but 16-bit types are only stored, not computed with.
        return [d.written(shapes[0], dtype), d.tensor(shapes[1], d.dtype(True), "positive", dtype in COMPUTED)]
    case("copy_", copy)
    case("fill_", lambda d: [d.written(d.shape(), d.dtype(True)), d.number()], label="number")
    case("fill_", lambda d: value_for(d, d.written(d.shape())), label="tensor")
    case("zero_", lambda d: [d.written(d.shape(), d.dtype(True))])


factories()
