"""The operations that torch_random.py compares: how arguments are drawn, and the same call in PyTorch.

Arguments stand in the order of Tandem's declarations and are all given. Where PyTorch leaves open which of equal
elements is chosen (sort that is not stable, topk, kthvalue, median) the values are distinct; max, argmax and stable
sorting promise the first one, so there ties are drawn too.
"""
from torch_cases import (composites, factories, images, indexing, networks, pairs, pointwise, products, programs,  # noqa: F401
                         reductions, shapes)
from torch_cases.case import CASES  # noqa: F401
from torch_cases.extreme import EXTREMES  # noqa: F401
from torch_cases.layers import LAYERS  # noqa: F401
