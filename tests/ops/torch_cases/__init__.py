"""The operations that torch_random.py compares: how arguments are drawn. PyTorch's function is that of the description
in tests/ops/*_table.cpp, unless a case gives a more accurate or a different one.

All arguments are given, in the order of Tandem's declarations. When PyTorch does not specify which of several equal
elements is selected (unstable sort, topk, kthvalue, median), the values are distinct. max, argmax and stable sorting
guarantee the first one, so ties are drawn for them.
"""
import json
import subprocess

from torch_cases import (attention, composites, decompositions, extreme, factories, fft, images,  # noqa: F401
                         indexing, matmul, networks, numeric, pairs, pointwise, programs, promotion, recurrent,
                         reductions, shapes)
from torch_cases.case import CASES  # noqa: F401
from torch_cases.described import resolve, split
from torch_cases.extreme import EXTREMES  # noqa: F401
from torch_cases.layers import LAYERS  # noqa: F401
from torch_cases.promotion import PROMOTIONS  # noqa: F401


def add_described(program):
    """Adds the functions that test_torch describes."""
    functions = json.loads(subprocess.run([program, "--describe"], check=True, capture_output=True).stdout)
    for kind, tensors, module in (("unary", 1, pointwise), ("binary", 2, pairs)):
        for function in functions[kind]:
            extreme.described(function, tensors)
            for part in split(function):
                module.described(part)
    for function in functions["binary"]:
        promotion.described(function)
    for function in functions["operations"]:
        if function["drawn"]:
            extreme.described_reduction(function)
            reductions.described(function)
    for cases in CASES, EXTREMES, LAYERS, PROMOTIONS:
        resolve(cases.values(), functions)
