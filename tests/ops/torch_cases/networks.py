"""Convolutions, pooling, normalisation, losses."""
import torch
import torch.nn.functional as F

from torch_cases.case import case


def convolutions():
    def one_or_two(d, low, high):
        return d.pick([d.whole(low, high)], [d.whole(low, high), d.whole(low, high)])

    def planes(d, channels, low=3, high=9):
        side = 24 if d.large else high
        return (d.pick([], [d.pick(1, 2, 3, 0) if d.chance(0.3) else 2]) +
                [channels, d.whole(low, side), d.whole(low, side)])

    def conv(d, padding):
        groups, t = d.pick(1, 1, 1, 2, 3), d.float()
        per_group = d.pick(1, 2, 3, 8)
        channels, out = groups * d.pick(1, 1, 2, 4), groups * per_group
        weight = [out, channels // groups + (1 if d.wrong else 0), d.whole(1, 3), d.whole(1, 3)]
        return [d.tensor(planes(d, channels), t, "finite"), d.tensor(weight, t, "finite"),
                d.pick(None, d.tensor([out], t, "finite")), one_or_two(d, 1, 3) if padding != "same" else [1],
                one_or_two(d, 0, 2) if padding is None else padding, one_or_two(d, 1, 2), groups]
    case("conv2d", lambda d: conv(d, None), tolerance=30)
    case("conv2d", lambda d: conv(d, d.pick("same", "valid")), label="named padding", tolerance=30)

    def conv1d(d):
        x, w, b, stride, padding, dilation, groups = conv(d, None)
        t = x.storage.dtype
        return [d.tensor(x.sizes[:-1], t, "finite"), d.tensor(w.sizes[:-1], t, "finite"), b, stride[:1], padding[:1],
                dilation[:1], groups]
    case("conv1d", conv1d, tolerance=30)

    def transposed(d, rank):
        def one_or_all(low, high):
            return d.pick([d.whole(low, high)], [d.whole(low, high) for _ in range(rank)])
        groups, t = d.pick(1, 1, 2), d.float()
        channels, out = groups * d.pick(1, 2), d.pick(1, 2, 3)
        stride, dilation = one_or_all(1, 3), one_or_all(1, 3)
        image = (planes(d, channels, 1, 5) if rank == 2
                 else d.pick([], [2]) + [channels] + [d.whole(1, 4) for _ in range(rank)])
        wrong = d.wrong and 0 not in image  # PyTorch does not check output_padding of an empty batch
        extra = [d.whole(0, max(s, g) - (0 if wrong else 1))
                 for s, g, _ in zip(stride * rank, dilation * rank, range(rank))]
        return [d.tensor(image, t, "finite"),
                d.tensor([channels, out] + [d.whole(1, 3) for _ in range(rank)], t, "finite"),
                d.pick(None, d.tensor([out * groups], t, "finite")), stride, one_or_all(0, 2), extra, groups, dilation]
    for rank in (1, 2, 3):
        case(f"conv_transpose{rank}d", lambda d, r=rank: transposed(d, r), tolerance=30)

    def pool(d, kind, kernel_low=1):
        stride = d.pick([], one_or_two(d, 1, 3))
        return [d.tensor(planes(d, d.whole(1, 3), 4), d.float(), kind), one_or_two(d, kernel_low, 3), stride,
                [d.pick(0, 0, 1)]]
    # Distinct values, because any of several equal elements in a window may get the gradient.
    case("avg_pool2d", lambda d: pool(d, "any") + [d.chance(0.5), d.chance(0.5), d.pick(None, None, 3)])
    for name in ("max_pool2d", "max_pool2d_with_indices"):
        case(name, lambda d: pool(d, "distinct") + [one_or_two(d, 1, 2), d.chance(0.5)])

    def pool1d(d):
        return [d.tensor([2, d.whole(1, 3), d.whole(4, 12)][d.pick(0, 1):], d.float(), "distinct"), [d.whole(1, 3)],
                d.pick([], [d.whole(1, 3)]), [d.pick(0, 0, 1)], [d.whole(1, 2)], d.chance(0.5)]
    case("max_pool1d", pool1d)
    case("adaptive_avg_pool2d", lambda d: [d.tensor(planes(d, 2), d.float()), one_or_two(d, 1, 9)])


def norms():
    def maybe(d, shape, t, kind="finite", mode=None):
        return d.pick(None,
                      d.tensor(shape, t, kind, mode=mode)) if mode != "w" else d.tensor(shape, t, kind, False, "w")

    # "distinct": a variance close to 0 leaves few accurate digits.
    def batch(d):
        t, c = d.float(), d.whole(1, 4)
        x = d.tensor([d.whole(1, 4), c] + d.shape(0, 2, 1), t, "distinct")
        running = d.chance(0.6)
        mean = maybe(d, [c], t, mode="w") if running else None
        var = maybe(d, [c], t, "positive", mode="w") if running else None
        # PyTorch's gradients are wrong for non-contiguous channels, and for images of one row with channels last.
        if len(x.sizes) == 4 and 1 in x.sizes:
            x.pack()
        weight = maybe(d, [c], t)
        for tensor in (weight, mean, var):
            if tensor is not None:
                tensor.pack()
        d.second = x.mode == "g"  # PyTorch's second gradient of the bias alone is missing
        return [x, weight, maybe(d, [c], t), mean, var, d.chance(0.5) or not running, d.pick(0.1, 0.3),
                d.pick(1e-5, 0.01)]
    case("batch_norm", batch, tolerance=30, plain=True)

    def layer(d):
        t, shape = d.float(), d.shape(1, 4)
        shape[-1] += shape[-1] == 1  # a single value minus its mean is 0, which magnifies PyTorch's rounding errors
        last, x = shape[d.whole(0, len(shape) - 1):], d.tensor(shape, t, "distinct")
        d.second = x.mode == "g"  # PyTorch's second gradient of the bias alone is missing
        return [x, last, maybe(d, last, t), maybe(d, last, t), d.pick(1e-5, 0.01)]
    case("layer_norm", layer, tolerance=30)

    def group(d):
        t, groups, n = d.float(), d.pick(1, 2, 3), d.pick(1, 2)
        c = groups * n
        return [d.tensor([d.whole(1, 3), c] + d.shape(0, 2, 1), t, "distinct"), groups, maybe(d, [c], t),
                maybe(d, [c], t), d.pick(1e-5, 0.01)]
    case("group_norm", group, tolerance=30)


def losses():
    def reduction(d):
        return d.pick("none", "mean", "sum")

    def classes(d):
        """Scores, class targets, a weight, and the ignored class."""
        t, c = d.float(), d.whole(1, 6)
        shape = d.pick([c], [d.pick(1, 2, 5, 0) if d.chance(0.4) else 3, c] + d.shape(0, 2))
        ignored = d.pick(-100, -100, 0, 1)
        target = d.constant(shape[:1] * (len(shape) > 1) + shape[2:], torch.int64, (0, c + (1 if d.wrong else 0)))
        if ignored == -100 and d.chance(0.2):
            target.storage[::2] = -100
        d.second = not (target.window(target.storage) == ignored).all()  # PyTorch's second gradients are NaN
        return [d.tensor(shape, t, "finite"), target, d.pick(None, d.constant([c], t, "positive"))], ignored
    case("nll_loss", lambda d: (lambda x, i: x + [reduction(d), i])(*classes(d)))
    case("cross_entropy", lambda d: (lambda x, i: x + [reduction(d), i, d.pick(0.0, 0.0, 0.1, 0.5)])(*classes(d)),
         label="classes", tolerance=10)

    def probabilities(d):
        x, _, w = classes(d)[0]
        return [x, d.tensor(x.sizes, x.storage.dtype, "unit"), w, reduction(d), -100, d.pick(0.0, 0.0, 0.1, 0.5)]
    case("cross_entropy", probabilities, label="probabilities", tolerance=10)

    def pair(d, kind="finite", other="finite", same=False):
        # one dtype, because PyTorch's losses promote dtypes inconsistently
        t = d.float()
        shapes = d.broadcast(2) if not same else [d.shape()] * 2
        return [d.tensor(shapes[0], t, kind), d.tensor(shapes[1], t, other)]

    def mixed(d):
        shapes = d.broadcast(2)
        return [d.tensor(s, d.float(), "finite") for s in shapes]
    case("mse_loss", lambda d: mixed(d) + [reduction(d)], label="dtypes")
    case("l1_loss", lambda d: mixed(d) + [reduction(d)], label="dtypes")
    case("smooth_l1_loss", lambda d: mixed(d) + [reduction(d), 0.7], label="dtypes")
    case("mse_loss", lambda d: pair(d) + [reduction(d)])
    case("l1_loss", lambda d: pair(d) + [reduction(d)])

    def bend(d, *choices):
        bound = d.pick(*choices)
        d.second = not d.grid or bound == 0.7  # there is no second derivative where the quadratic part ends
        return bound
    case("smooth_l1_loss", lambda d: pair(d) + [reduction(d), bend(d, 1.0, 0.7, 0.0)])
    case("huber_loss", lambda d: pair(d) + [reduction(d), bend(d, 1.0, 0.7)])

    def weight(d, x):
        return d.pick(None, d.constant(x.sizes[d.whole(0, min(1, len(x.sizes))):], x.storage.dtype, "positive"))

    def binary(d, kind):
        x, t = pair(d, kind, "unit", True)
        return [x, t, weight(d, x)] + ([weight(d, x)] if kind == "finite" else []) + [reduction(d)]
    # PyTorch adds 1e-12 to denominators, which are squared in second derivatives.
    case("binary_cross_entropy", lambda d: binary(d, "unit"), tolerance=10, second=100)
    case("binary_cross_entropy_with_logits", lambda d: binary(d, "finite"), tolerance=10)

    def divergence(x, t, r, log):
        # as in LibTorch: PyTorch's Python rejects a 0-dim tensor and does not divide by 0
        if r != "batchmean":
            return F.kl_div(x, t, reduction=r, log_target=log)
        total = F.kl_div(x, t, reduction="sum", log_target=log)
        return total / x.shape[0] if x.dim() else total
    case("kl_div", lambda d: pair(d, other="unit") + [d.pick("none", "mean", "sum", "batchmean"), d.chance(0.3)],
         divergence)


convolutions()
norms()
losses()
