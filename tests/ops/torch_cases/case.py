"""The Case class and the list of all cases."""
import dataclasses
import typing

from torch_draw import FLOATS

CASES = {}


@dataclasses.dataclass
class Case:
    name: str
    draw: typing.Callable
    torch: typing.Callable = None  # None: as the operation is described
    view: bool = False  # also compares strides and shared memory
    tolerance: float = 1  # factor of torch_random.TOLERANCE
    second: float = 1  # additional factor for second derivatives
    plain: bool = False  # cotangents are contiguous
    not_compared: typing.Callable = lambda own, wanted: []  # the indices of outputs that need not agree
    cancels: float = 0  # in the sweep: the magnitude of cancelling numbers, which leaves small results inaccurate
    count: int = None  # of all different arguments
    exact: typing.Callable = None  # in the sweep: a formula that is more accurate than PyTorch's


def case(name, draw, function=None, label=None, **options):
    """label: distinguishes several cases of the operation `name`. function: where its description does not say it."""
    label = name if label is None else f"{name} {label}"
    assert label not in CASES, label
    CASES[label] = Case(name, draw, function, **options)


def both(name, draw, label=None, **options):
    """The operation and its in-place form: draw(d, make) creates the first argument with make(sizes, dtype…)."""
    case(name, lambda d: draw(d, d.tensor), None, label, **options)
    case(name + "_", lambda d: draw(d, d.written), None, label, **options)


def value_for(d, x, *between):
    """x, `between`, and a 0-dim tensor. Integers filled with it have no gradient, although PyTorch says so."""
    return [x, *between, d.tensor([], kind="positive", grad=x.storage.dtype in FLOATS)]
