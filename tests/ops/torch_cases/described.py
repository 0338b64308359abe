"""The elementwise functions of pointwise_table.h, as `test_torch --describe` prints them."""
import ast
import math

import torch
import torch.nn.functional as F


def split(function):
    """One function for each text of a parameter, with the text as label."""
    values = function["parameters"] and function["parameters"][0].split(", ")
    if not any(v.startswith("'") for v in values):
        return [function]
    return [dict(function, parameters=[v], label=v.strip("'")) for v in values]


def bound(d):
    """Not infinite: an infinite value is not a bound here, but PyTorch treats it as one for infinite elements."""
    number = d.number()
    return number if abs(number) != math.inf else 0.5


def parameters(d, function):
    """Draws a value of each parameter."""
    drawn = [d.pick(*values.split(", ")) for values in function["parameters"]]
    return [bound(d) if v == "number" else ast.literal_eval(v) for v in drawn]


def with_keyword(f, function, tensors):
    keyword = function["keyword"]
    return (lambda *a: f(*a[:tensors], **{keyword: a[tensors]})) if keyword and function["parameters"] else f


def torch_function(function):
    return eval(function["torch"], dict(torch=torch, F=F))


def called(function, tensors=1):
    """PyTorch's function of the tensors and the parameters."""
    return with_keyword(torch_function(function), function, tensors)


def in_place(function, tensors=1):
    name = function["name"] + "_"
    for place in (torch.Tensor, F, torch):
        if hasattr(place, name):
            return with_keyword(getattr(place, name), function, tensors)
    f = torch_function(function)
    return lambda *a: f(*a, inplace=True)


def resolve(cases, functions):
    """Gives each case without a function that of its operation's description, or its in-place form."""
    known = {f["name"]: f["torch"] for kind in functions.values() for f in kind}
    for case in cases:
        if case.torch is None and case.name in known:
            case.torch = torch_function(dict(torch=known[case.name]))
        elif case.torch is None:
            name, place = case.name.removesuffix("_"), "torch.Tensor" if hasattr(torch.Tensor, case.name) else "torch"
            text = known[name].replace(f"torch.{name}", f"{place}.{case.name}")
            assert case.name in text, f"no function for {case.name}"
            case.torch = torch_function(dict(torch=text))
