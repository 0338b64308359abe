"""What a case is, and the list of them."""
import dataclasses
import typing

import torch
import torch.nn.functional as F

from torch_draw import FLOATS

CASES = {}


@dataclasses.dataclass
class Case:
    name: str
    draw: typing.Callable
    torch: typing.Callable
    view: bool = False  # strides and shared memory are compared, too
    tolerance: float = 1  # times torch_random.TOLERANCE
    second: float = 1  # and times this for second derivatives
    plain: bool = False  # cotangents are contiguous
    not_compared: typing.Callable = lambda own, wanted: []  # the numbers of outputs that need not agree
    cancels: float = 0  # in the sweep: differences of numbers of this size, so that small results have few digits
    exact: typing.Callable = None  # in the sweep: a formula with more digits than PyTorch's, right where that is not


def case(name, draw, function=None, label=None, **options):
    """label: one of several cases of the operation `name`."""
    label = name if label is None else f"{name} {label}"
    assert label not in CASES, label
    CASES[label] = Case(name, draw, function or getattr(torch, name, None) or getattr(torch.Tensor, name), **options)


def both(name, draw, function=None, label=None, **options):
    """The operation and the one that writes its first argument: draw(d, make) makes that by make(sizes, dtype…)."""
    case(name, lambda d: draw(d, d.tensor), function, label, **options)
    method = getattr(torch.Tensor, name + "_", None) or getattr(F, name + "_", None) or getattr(torch, name + "_")
    case(name + "_", lambda d: draw(d, d.written), method, label, **options)


def value_for(d, x, *between):
    """x, what is between, a number in a tensor. Integers that take it have no gradient, though PyTorch says so."""
    return [x, *between, d.tensor([], kind="positive", grad=x.storage.dtype in FLOATS)]
