"""The operations that torch_random.py compares: how arguments are drawn, and the equivalent call in PyTorch.

All arguments are given, in the order of Tandem's declarations. When PyTorch does not specify which of several equal
elements is selected (unstable sort, topk, kthvalue, median), the values are distinct. max, argmax and stable sorting
guarantee the first one, so ties are drawn for them.
"""
from torch_cases import (composites, factories, images, indexing, matmul, networks, pairs, pointwise, programs,  # noqa: F401
                         reductions, shapes)
from torch_cases.case import CASES  # noqa: F401
from torch_cases.extreme import EXTREMES  # noqa: F401
from torch_cases.layers import LAYERS  # noqa: F401
