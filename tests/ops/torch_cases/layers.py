"""Convolutions, pooling and normalisation: every option, sizes that reach the blocked kernels, values far from 0.

Differing float32 results are compared with float64: Tandem's error may be at most twice PyTorch's.
"""
import torch

from torch_cases.case import Case

LAYERS = {}


def layer(name, draw, label=None, **options):
    def drawn(d):
        d.special = d.wrong = d.grid = False
        return draw(d)
    LAYERS[name if label is None else f"{name} {label}"] = Case(name, drawn, **options)


def one_or(d, rank, low, high):
    return d.pick([d.whole(low, high)], [d.whole(low, high) for _ in range(rank)])


def output_padding(d, rank, stride, dilation):
    return [d.whole(0, max(s, g) - 1) for s, g, _ in zip(stride * rank, dilation * rank, range(rank))]


def side(d, low):
    return d.pick(d.whole(low, low + 8), d.whole(low, low + 8), d.whole(low + 8, low + 30))


def convolutions():
    def conv(d, rank, padding):
        t, groups = d.float(), d.pick(1, 1, 1, 2, 3, 4)
        channels, out = groups * d.pick(1, 1, 2, 3, 8), groups * d.pick(1, 1, 2, 5, 16)
        kernel, dilation = [d.whole(1, 5) for _ in range(rank)], one_or(d, rank, 1, 3)
        reach = [(k - 1) * g + 1 for k, g in zip(kernel, dilation * rank)]
        image = [side(d, n) for n in reach]
        pads = one_or(d, rank, 0, 4) if padding is None else padding
        return [d.tensor(d.pick([], [d.whole(1, 5)]) + [channels] + image, t, "finite"),
                d.tensor([out, channels // groups] + kernel, t, "finite"), d.pick(None, d.tensor([out], t, "finite")),
                one_or(d, rank, 1, 3) if padding != "same" else [1], pads, dilation, groups]
    layer("conv1d", lambda d: conv(d, 1, None), tolerance=10)
    layer("conv2d", lambda d: conv(d, 2, None), tolerance=10)
    layer("conv2d", lambda d: conv(d, 2, d.pick("same", "valid")), label="named padding", tolerance=10)

    def volume(d, named):
        t, groups = d.float(), d.pick(1, 1, 2)
        channels, out = groups * d.pick(1, 2, 3), groups * d.pick(1, 2, 5)
        kernel, dilation = [d.whole(1, 3) for _ in range(3)], one_or(d, 3, 1, 2)
        image = [(k - 1) * g + d.whole(1, 6) for k, g in zip(kernel, dilation * 3)]
        pads = d.pick("same", "valid") if named else one_or(d, 3, 0, 2)
        return [d.tensor(d.pick([], [d.whole(1, 3)]) + [channels] + image, t, "finite"),
                d.tensor([out, channels // groups] + kernel, t, "finite"), d.pick(None, d.tensor([out], t, "finite")),
                one_or(d, 3, 1, 3) if pads != "same" else [1], pads, dilation, groups]
    layer("conv3d", lambda d: volume(d, False), tolerance=10)
    layer("conv3d", lambda d: volume(d, True), label="named padding", tolerance=10)

    def transposed(d, rank):
        t, groups = d.float(), d.pick(1, 1, 2, 3)
        channels, out = groups * d.pick(1, 2, 5), d.pick(1, 2, 6)
        stride, dilation, kernel = one_or(d, rank, 1, 3), one_or(d, rank, 1, 3), [d.whole(1, 4) for _ in range(rank)]
        image = [side(d, 2) if rank < 3 else d.whole(5, 7) for _ in range(rank)]  # PyTorch's 3D result may be empty
        return [d.tensor(d.pick([], [d.whole(1, 4)]) + [channels] + image, t, "finite"),
                d.tensor([channels, out] + kernel, t, "finite"),
                d.pick(None, d.tensor([out * groups], t, "finite")), stride,
                one_or(d, rank, 0, 2), output_padding(d, rank, stride, dilation), groups, dilation]
    for rank in (1, 2, 3):
        layer(f"conv_transpose{rank}d", lambda d, r=rank: transposed(d, r), tolerance=10)


def pooling():
    def pool(d, rank, kind):
        kernel = one_or(d, rank, 1, 5)
        pads = [d.whole(0, k // 2) for k in kernel]
        image = [side(d, 12) if rank < 3 else d.whole(6, 9) for _ in range(rank)]
        x = d.tensor(d.pick([], [d.whole(1, 4)]) + [d.whole(1, 6)] + image, d.float(), kind)
        if rank == 3:
            x.pack()  # PyTorch rejects some strides
        return [x, kernel, d.pick([], one_or(d, rank, 1, 4)), pads]
    for name, rank in (("max_pool1d", 1), ("max_pool2d", 2), ("max_pool2d_with_indices", 2),
                       ("max_pool1d_with_indices", 1), ("max_pool3d", 3), ("max_pool3d_with_indices", 3)):
        layer(name, lambda d, r=rank: pool(d, r, "distinct") + [one_or(d, r, 1, 2), d.chance(0.5)])
    layer("avg_pool1d", lambda d: pool(d, 1, "finite") + [d.chance(0.5), d.chance(0.5)])
    layer("avg_pool2d", lambda d: pool(d, 2, "finite") + [d.chance(0.5), d.chance(0.5), d.pick(None, 3, 7)])
    layer("avg_pool3d", lambda d: pool(d, 3, "finite") + [d.chance(0.5), d.chance(0.5), d.pick(None, 3, 7)])

    def adaptive(d, rank, kind):
        image = [side(d, 1) if rank < 3 else d.whole(1, 9) for _ in range(rank)]
        x = d.tensor(d.pick([], [d.whole(1, 4)]) + [d.whole(1, 6)] + image, d.float(), kind)
        return [x, [d.whole(1, 12) for _ in range(rank)]]
    layer("adaptive_avg_pool1d", lambda d: adaptive(d, 1, "finite"))
    layer("adaptive_avg_pool2d", lambda d: adaptive(d, 2, "finite"))
    layer("adaptive_max_pool1d", lambda d: adaptive(d, 1, "distinct"))
    layer("adaptive_max_pool2d", lambda d: adaptive(d, 2, "distinct"))
    layer("adaptive_avg_pool3d", lambda d: adaptive(d, 3, "finite"))
    layer("adaptive_max_pool3d", lambda d: adaptive(d, 3, "distinct"))

    def fractional(d, rank):
        t, front = d.float(), [d.whole(1, 3), d.whole(1, 3)]
        kernel, out = [d.whole(1, 3) for _ in range(rank)], [d.whole(1, 4) for _ in range(rank)]
        image = [k + n + d.whole(0 if rank == 3 else -1, 4) for k, n in zip(kernel, out)]
        d.second = False  # PyTorch has no second derivatives
        return [d.tensor(front + image, t, "distinct"), kernel, out, d.constant(front + [rank], t, "unit")]
    layer("fractional_max_pool2d", lambda d: fractional(d, 2))
    layer("fractional_max_pool3d", lambda d: fractional(d, 3))

    def unpooled(d, rank):
        front, small = d.pick([], [d.whole(1, 3)]) + [d.whole(1, 3)], [d.whole(1, 3) for _ in range(rank)]
        size = [2 * n + d.whole(0, 1) for n in small]
        places = torch.Size(size).numel()
        at = d.constant(front + small, torch.int64, (0, places)).pack()
        for row in at.storage.view(-1, torch.Size(small).numel()):
            row.copy_(torch.randperm(places)[:len(row)])
        return [d.tensor(front + small, d.float(), "finite"), at, size] + ([[2] * 3, [0] * 3] if rank == 3 else [])
    layer("max_unpool2d", lambda d: unpooled(d, 2))
    layer("max_unpool3d", lambda d: unpooled(d, 3))


def grids():
    def sampled(d, rank):
        t, batch, mode = d.float(), d.whole(1, 3), d.pick(0, 0, 1, 2)
        x = d.tensor([batch, d.whole(1, 3)] + [d.whole(1, 6) for _ in range(rank)], t, "finite")
        grid = d.tensor([batch] + [d.whole(1, 4) for _ in range(rank)] + [rank], t, "unit", grad=mode != 1).pack()
        grid.storage = grid.storage * 3 - 1.5
        d.second = False  # PyTorch has none
        return [x, grid, mode, d.pick(0, 1, 2), d.chance(0.5)]
    layer("grid_sampler_2d", lambda d: sampled(d, 2), tolerance=100)
    layer("grid_sampler_3d", lambda d: sampled(d, 3), tolerance=100)
    layer("grid_sampler", lambda d: sampled(d, d.pick(2, 3)), tolerance=100)

    def affine(d):
        rank, batch = d.pick(2, 3), d.whole(1, 3)
        return [d.tensor([batch, rank, rank + 1], d.float(), "finite"),
                [batch, 1] + [d.whole(1, 5) for _ in range(rank)], d.chance(0.5)]
    layer("affine_grid_generator", affine, tolerance=10)


def norms():
    def values(d, sizes, t):
        """Contiguous, because PyTorch's gradients are wrong for non-contiguous channels."""
        x = d.tensor(sizes, t, "finite").pack()
        x.storage = x.storage * d.pick(1, 1, 1e-3, 30) + d.pick(0, 0, 10, 1000)
        d.second = x.mode == "g" and x.storage.abs().max() < 100
        return x

    def maybe(d, sizes, t):
        return d.pick(None, d.tensor(sizes, t, "finite").pack())

    def batch(d, low):
        t, c = d.float(), d.whole(1, 8)
        x = values(d, [d.whole(2, 6), c] + [side(d, 2) for _ in range(d.whole(low, 2))], t)
        running = d.chance(0.5)
        given = [d.tensor([c], t, kind, False, "w").pack() if running else None for kind in ("finite", "positive")]
        return [x, maybe(d, [c], t), maybe(d, [c], t), *given, d.chance(0.7) or not running, d.pick(0.1, 0.3),
                d.pick(1e-5, 0.01)]
    layer("batch_norm", lambda d: batch(d, 0), plain=True, tolerance=10)
    layer("instance_norm", lambda d: batch(d, 1), plain=True, tolerance=10)

    def rows(d):
        t, shape = d.float(), [side(d, 2) for _ in range(d.whole(1, 3))]
        last = shape[d.whole(0, len(shape) - 1):]
        return [values(d, shape, t), last, maybe(d, last, t), maybe(d, last, t), d.pick(1e-5, 0.01)]
    layer("layer_norm", rows, plain=True, tolerance=10)

    def group(d):
        t, groups = d.float(), d.pick(1, 2, 3)
        c = groups * d.pick(1, 2, 4)
        return [values(d, [d.whole(1, 4), c] + [side(d, 2) for _ in range(d.whole(1, 2))], t), groups, maybe(d, [c], t),
                maybe(d, [c], t), d.pick(1e-5, 0.01)]
    layer("group_norm", group, plain=True, tolerance=10)


convolutions()
pooling()
grids()
norms()
