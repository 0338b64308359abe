"""Operations of two arguments for every pair of dtypes, each as a vector, a 0-dim tensor or a number: dtypes and values
of results. There is a case for each pair."""
import torch

from torch_cases.case import Case
from torch_cases.described import called, in_place, split
from torch_cases.pairs import OPERATORS
from torch_draw import STORED, Input

PROMOTIONS = {}
TENSORS = [(dtype, sizes) for dtype in STORED for sizes in ([3], [])]
NUMBERS = [True, 2, 1.5]
PAIRS = dict(tensors=[(a, b) for a in TENSORS for b in TENSORS], number=[(a, n) for a in TENSORS for n in NUMBERS])
PAIRS["from number"] = [(n, a) for a, n in PAIRS["number"]]
# Other operations of two tensors than those of pointwise_table.h, and their kinds of pairs other than tensors.
OTHERS = {"special_xlog1py": ("number", "from number"), "special_zeta": ("number", "from number")}
OTHERS |= {name: () for name in "igamma igammac ldexp nextafter gcd lcm outer kron isclose dist".split()}
OTHERS |= {f"special_{name}": () for kind in "tuvw" for name in (f"chebyshev_polynomial_{kind}",
                                                                 f"shifted_chebyshev_polynomial_{kind}")}
OTHERS |= {f"special_{name}": () for name in ("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
                                              "legendre_polynomial_p")}
# The further arguments of operations.
FURTHER = {"isclose": [1e-5, 1e-8, False], "dist": [2]}


def argument(which, values, mode):
    """A number, or a tensor of these values."""
    if not isinstance(which, tuple):
        return which
    dtype, sizes = which
    storage = torch.tensor(values if sizes else values[:1]).to(dtype)
    return Input(storage, sizes, [1] * len(sizes), 0, mode)


def give(name, kind, function, more=(), first="c", label=None):
    def draw(d):
        a, b = PAIRS[kind][d.index]
        return [argument(a, [2, 1, 3], first), argument(b, [2, 3, 1], "c"), *more]
    key = " ".join(filter(None, [name, kind, label]))
    # Values are compared elsewhere: the tolerance is that of half types.
    PROMOTIONS[key] = Case(name, draw, function, tolerance=300, count=len(PAIRS[kind]))


def described(function):
    """A function of pointwise_table.h."""
    name = function["name"]
    for part in split(function):
        # The first of each parameter's values.
        more = [eval(values.split(", ")[0]) for values in part["parameters"]]
        give(name, "tensors", called(part, 2), more, label=part.get("label"))
        for form, kind, left in (("right", "number", False), ("left", "from number", True)):
            if part[form]:
                give(name, kind, left and OPERATORS.get(name) or called(part, 2), more, label=part.get("label"))
        for form, kind in (("in_place", "tensors"), ("in_place_right", "number")):
            if part[form]:
                give(name + "_", kind, in_place(part, 2), more, "w", part.get("label"))


for name, kinds in OTHERS.items():
    for kind in ("tensors", *kinds):
        give(name, kind, None, FURTHER.get(name, []))
