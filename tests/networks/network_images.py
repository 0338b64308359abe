"""Pooling and other operations of random networks on images."""
from network_draw import Refused, drawn


def window(d, n, most=3):
    """Kernel, stride, padding and dilation of a window on n elements, and the number of places."""
    kernel, stride, dilation = d.whole(1, most), d.whole(1, 2), d.pick(1, 1, 2)
    padding = d.whole(0, kernel // 2)
    reach = dilation * (kernel - 1) + 1
    if n + 2 * padding < reach:
        raise Refused
    places = (n + 2 * padding - reach) // stride + 1
    # PyTorch writes out of bounds for the gradient of a maximum of padding alone.
    if not all(any(0 <= i * stride - padding + k * dilation < n for k in range(kernel)) for i in range(places)):
        raise Refused
    return kernel, stride, padding, dilation, places


@drawn(5)
def pooling(d):
    rank = d.pick(1, 2, 2, 3)
    x = d.ranked(rank + 2)
    kernel, stride, padding, dilation, out = (list(t) for t in zip(*[window(d, n) for n in x.shape[2:]]))
    if rank == 3 and any(k > n for k, n in zip(kernel, x.shape[2:])):  # PyTorch does not count the padding
        raise Refused
    shape = x.shape[:2] + out
    name = d.pick("max", "avg", "avg", "indices")
    if name == "avg":
        if any(g != 1 for g in dilation):
            raise Refused
        rest = [d.chance(0.5)] + ([d.pick(None, 3)] if rank > 1 else [])
        d.op(f"avg_pool{rank}d", [x, kernel, stride, padding, False, *rest], shape, min(-x.bound, 0.0) * 3,
             max(x.bound, 0.0) * 3)
    else:
        more = "_with_indices" if name == "indices" else ""
        d.op(f"max_pool{rank}d{more}", [x, kernel, stride, padding, dilation, False], [shape, shape] if more else shape,
             x.low, x.high)


@drawn(2)
def adaptive(d):
    rank, kind = d.pick(1, 2, 2, 3), d.pick("avg", "max")
    x = d.ranked(rank + 2)
    out = [d.whole(1, 3) for _ in range(rank)]
    shape = x.shape[:2] + out
    d.op(f"adaptive_{kind}_pool{rank}d", [x, out], [shape, shape] if kind == "max" else shape, x.low, x.high)


@drawn(2)
def resampled(d):
    x = d.ranked(4)
    n, c, h, w = x.shape
    name = d.pick("upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "grid_sampler")
    if name == "grid_sampler":
        grid = d.op("expand", [d.parameter([1, 2, 3, 2], -0.9, 0.9), s := [n, 2, 3, 2]], s, -0.9, 0.9, saves=False)
        d.op(name, [x, grid, d.pick(0, 1), d.pick(0, 1), d.chance(0.5)], [n, c, 2, 3], -x.bound, x.bound)
    else:
        out = [d.whole(1, 2 * h), d.whole(1, 2 * w)]
        rest = [] if "nearest" in name else [d.chance(0.5)]
        d.op(name, [x, out, *rest], [n, c, *out], -2 * x.bound, 2 * x.bound)


@drawn(2)
def channels(d):
    x = d.ranked(4)
    n, c, h, w = x.shape
    name = d.pick("pixel_shuffle", "im2col", "local_response_norm", "glu", "channel_shuffle")
    if c % dict(pixel_shuffle=4, glu=2, channel_shuffle=2).get(name, 1) or name == "im2col" and min(h, w) < 2:
        raise Refused
    if name == "pixel_shuffle":
        d.op(name, [x, 2], [n, c // 4, 2 * h, 2 * w], x.low, x.high)
    elif name == "im2col":
        d.op(name, [x, [2, 2], [1, 1], [1, 0], [1, 2]], [n, c * 4, (h + 1) * ((w - 2) // 2 + 1)], min(x.low, 0.0),
             max(x.high, 0.0))
    elif name == "local_response_norm":
        d.op(name, [x, 2, 0.1, 0.75, 1.0], x.shape, -x.bound, x.bound)
    elif name == "glu":
        d.op(name, [x, 1], [n, c // 2, h, w], -x.bound, x.bound)
    else:
        d.op(name, [x, 2], x.shape, x.low, x.high)
