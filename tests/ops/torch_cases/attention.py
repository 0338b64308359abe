"""Attention."""
import torch

from torch_cases.case import case


def attention(d):
    t, batch = d.float(), d.pick([], [d.whole(1, 3)], [d.whole(1, 2), d.whole(1, 9)])
    n, m, width, value = d.whole(1, 6), d.whole(1, 7), d.whole(1, 5), d.whole(1, 4)
    query, key, values = batch + [n, width], batch + [m, width], batch + [m, value]
    kind = d.pick("none", "causal", "bool", "numbers")
    sizes = d.pick([], batch, [1] * len(batch)) + [d.pick(1, n), m]
    mask = None
    if kind == "bool":
        mask = d.constant(sizes, torch.bool)
    elif kind == "numbers":
        mask = d.tensor(sizes, t, "finite")
    if d.wrong:
        key[-1] += 1
    return [d.tensor(query, t, "finite"), d.tensor(key, t, "finite"), d.tensor(values, t, "finite"), mask, 0.0,
            kind == "causal", d.pick(None, 0.5), False]


case("scaled_dot_product_attention", attention, tolerance=100)
