"""Decompositions and functions of matrices, and special functions. Arguments are far from singular where errors grow
with the condition number."""
import torch

from torch_cases.case import case
from torch_draw import FLOATS


def matrices(d, *sizes, kind="unit", batch=None):
    return d.tensor((d.shape(0, 2) if batch is None else batch) + list(sizes), d.pick(*FLOATS), kind)


def square(d, kind="unit"):
    n = d.size()
    d.special = False
    return matrices(d, n, n, kind=kind)


def any_shape(d):
    d.special, d.second = False, False
    # Equal columns would make a singular value zero, and its gradient a matter of choice.
    return matrices(d, d.size(1), d.size(1), kind="distinct")


def norms():
    def dims(d, x, count):
        order = list(range(len(x.sizes)))
        d.random.shuffle(order)
        return order[:count]

    def vector(d):
        x = d.tensor(d.shape(1, 3, 1), d.pick(*FLOATS), "nonzero")
        d.special, d.second = False, False
        return [x, d.pick(1, 2, 3, float("inf")), d.pick(None, dims(d, x, 1)), d.chance(0.5),
                d.pick(None, torch.float64)]
    case("linalg_vector_norm", vector)

    def matrix(d):
        d.special, d.second = False, False
        x = d.tensor(d.shape(2, 4, 1), d.pick(*FLOATS), "distinct")
        return [x, d.pick(1, -1, float("inf"), "fro"), dims(d, x, 2), d.chance(0.5), None]
    case("linalg_matrix_norm", matrix)


def functions():
    case("linalg_det", lambda d: [square(d)], tolerance=20, second=100)
    # PyTorch's gradient rejects other strides.
    case("linalg_matrix_exp", lambda d: [square(d).pack()], tolerance=20)
    case("linalg_svdvals", lambda d: [any_shape(d).pack(), None], tolerance=50)

    def cross(d):
        sizes, t = d.shape(0, 2) + [3], d.float()
        return [d.tensor(sizes, t, "finite"), d.tensor(sizes, t, "finite"), -1]
    case("linalg_cross", cross)

    def chain(d):
        sizes, t = [d.size(1) for _ in range(d.whole(3, 6))], d.float()
        return [[d.tensor([a, b], t, "finite") for a, b in zip(sizes, sizes[1:])]]
    case("linalg_multi_dot", chain, tolerance=50)

    def triangle(d):
        # With "unit" values below a diagonal of ones, solutions grow slowly.
        n, batch, t = d.size(1), d.shape(0, 1), d.float()
        return [d.tensor(batch + [n, n], t, "unit"), d.tensor(batch + [n, d.size()], t, "finite"), d.chance(0.5),
                True, True]
    case("linalg_solve_triangular", triangle, tolerance=50)


def special():
    kinds = dict(lgamma="positive", digamma="positive", erfinv="unit", i0="finite", special_i0e="finite",
                 special_erfcx="positive", special_ndtr="finite", special_log_ndtr="finite", special_entr="positive",
                 special_bessel_j0="unit", special_bessel_j1="unit", special_modified_bessel_k0="positive",
                 special_modified_bessel_k1="positive", special_scaled_modified_bessel_k0="positive",
                 special_scaled_modified_bessel_k1="positive")
    for name, kind in kinds.items():
        def draw(d, kind=kind):
            d.special = False
            d.second = not d.grid
            return [d.tensor(d.shape(), d.pick(*FLOATS), kind)]
        case(name, draw, tolerance=10)

    def pair(d):
        d.special = False
        shapes, t = d.broadcast(2), d.float()
        return [d.tensor(shapes[0], t, "positive", grad=False), d.tensor(shapes[1], t, "positive")]
    # PyTorch's values of igamma and igammac have relative errors of 1e-9 from a = 20 on.
    for name in ("igamma", "igammac"):
        case(name, pair, tolerance=100)


norms()
functions()
special()
