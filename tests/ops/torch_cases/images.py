"""Padding, resampling, patches, further pooling and normalisation, distances, margin losses."""
import torch

from torch_cases.case import case


def distances():
    p = (2.0, 2.0, 1.0, 3.0)

    def rows(d):
        t, width, front = d.float(), d.size(1), d.shape(0, 1)
        return [d.tensor(front + [d.whole(1, 5), width], t, "distinct"),
                d.tensor(front + [d.whole(1, 5), width], t, "finite"), d.pick(*p), 2]

    def difference(x, y, q, mode):
        return (x.unsqueeze(-2) - y.unsqueeze(-3)).norm(q, -1)
    case("cdist", rows, difference, tolerance=100)
    case("cdist",
         lambda d: [d.constant([d.whole(26, 40), 3], torch.float64), d.constant([d.whole(1, 5), 3], torch.float64),
                    2.0, None], label="product", tolerance=1e4)
    case("pdist", lambda d: [d.tensor([d.whole(1, 6), d.size(1)], d.float(), "distinct"), d.pick(*p)],
         lambda x, q: torch.stack([(x[i] - x[j]).norm(q) for i in range(len(x)) for j in range(i + 1, len(x))])
         if len(x) > 1 else x.sum() * 0 + x.new_zeros(0), tolerance=100)

    case("pairwise_distance", lambda d: (lambda s, t: [d.tensor(s, t, "distinct"), d.tensor(s, t, "finite"), d.pick(*p),
                                                       1e-6, d.chance(0.5)])(d.shape(1, 3, 1), d.float()),
         tolerance=100)

    def angle(d):
        shape, t = d.shape(1, 3, 1), d.float()
        return [d.tensor(shape, t, "positive"), d.tensor(shape, t, "nonzero"), d.dim(len(shape)), 1e-8]
    case("cosine_similarity", angle, tolerance=10)


def paddings():
    case("pad", lambda d: (lambda s: [d.tensor(s), [d.whole(-2, 3) for _ in range(2 * d.whole(0, len(s)))], "constant",
                                      d.pick(None, 1.5, 2.0)])(d.shape(1, 4)), label="constant")
    for mode in ("reflect", "replicate", "circular"):
        def edges(d, mode=mode):
            count = d.whole(1, 3)
            sizes = [d.whole(1, 3) for _ in range(d.whole(1, 2))] + [d.whole(2, 5) for _ in range(count)]
            high = 2 if mode == "circular" else 1 if not d.wrong else 5
            low = d.pick(0, 0, -1, -2)
            return [d.tensor(sizes, d.float()), [d.whole(low, high) for _ in range(2 * count)], mode, None]
        case("pad", edges, label=mode)


def resampling():
    modes = {1: ("nearest", "nearest-exact", "linear", "area"),
             2: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
             3: ("nearest", "nearest-exact", "trilinear", "area")}

    def factor(d, size):
        """Often one that leaves the size unchanged, or doubles it, without being 1 or 2."""
        near = d.pick(1, 1, 2)
        return max(d.pick(near + d.random.uniform(0.01, 0.9 / size), d.random.uniform(0.3, 2.8), 1.3, 0.5, 2.0),
                   1 / size)

    def inconsistent(mode, sizes, factors, antialias):
        """PyTorch's gradient is not that of its result: only one of them ignores the factors."""
        grown = [int(n * f) / n for n, f in zip(sizes, factors)]
        if mode == "nearest":
            return len(sizes) != 2 and any(g in (1, 2) for g in grown)
        return mode == "bicubic" and not antialias and all(g == 1 for g in grown) or antialias and 1 in grown

    def image(d):
        rank = d.whole(1, 3)
        mode = d.pick(*modes[rank])
        sizes, new, factors = [d.whole(1, 7) for _ in range(rank)], [d.whole(1, 11) for _ in range(rank)], [None] * 3
        antialias = mode in ("bilinear", "bicubic") and d.chance(0.5) or d.wrong
        recompute = d.chance(0.3)
        if d.chance(0.6):
            factors[:rank], new = [factor(d, n) for n in sizes], []
        if antialias and rank == 2 and int(new[1] if new else sizes[1] * factors[1]) == 1:
            factors, new = [None] * 3, [new[0] if new else 3, 2]  # PyTorch's rows are all the same at width 1
        unlike = not new and not recompute and inconsistent(mode, sizes, factors, antialias)
        x = d.tensor([d.whole(1, 2), d.whole(1, 3)] + sizes, d.float(), "finite", not unlike)
        corners = d.chance(0.5) if "linear" in mode or mode == "bicubic" else None
        return [x, new, *factors, mode, corners, recompute, antialias]
    case("interpolate", image, tolerance=30)


def patches():
    def channels(d, *factors):
        # For an empty tensor PyTorch returns the shape of the argument.
        return d.shape(0, 2, 1) + [d.size(1) * factor for factor in factors]
    case("pixel_shuffle", lambda d: (lambda r: [d.tensor(channels(d, r * r, 1, 1)), r])(d.whole(1, 3)))
    case("pixel_unshuffle", lambda d: (lambda r: [d.tensor(channels(d, 1, r, r)), r])(d.whole(1, 3)))
    case("channel_shuffle",
         lambda d: (lambda g: [d.tensor([d.size(1), g * d.size(1)] + d.shape(1, 2, 1), d.float()), g])(
             d.whole(1, 3)))

    def windows(d):
        return [[d.whole(1, 3), d.whole(1, 3)], [d.whole(1, 2), d.whole(1, 2)], [d.whole(0, 1), d.whole(0, 2)],
                [d.whole(1, 2), d.whole(1, 3)]]
    case("im2col", lambda d: [d.tensor([2, d.whole(1, 3), d.whole(5, 8), d.whole(5, 8)][d.pick(0, 0, 1):], d.float()),
                              *windows(d)])

    def columns(d):
        kernel, dilation, padding, stride = windows(d)
        size, places = [d.whole(5, 8), d.whole(5, 8)], 1
        for s, k, g, p, t in zip(size, kernel, dilation, padding, stride):
            places *= (s + 2 * p - g * (k - 1) - 1) // t + 1
        x = [2, d.whole(1, 2) * kernel[0] * kernel[1], places + (1 if d.wrong else 0)]
        return [d.tensor(x[d.pick(0, 0, 1):], d.float(), "finite"), size, kernel, dilation, padding, stride]
    case("col2im", columns, tolerance=10)


def pools():
    def rows(d, kind="any"):
        return d.tensor([2, d.whole(1, 3), d.whole(4, 12)][d.pick(0, 1):], d.float(), kind)
    case("avg_pool1d", lambda d: [rows(d), [d.whole(1, 3)], d.pick([], [d.whole(1, 3)]), [d.pick(0, 0, 1)],
                                  d.chance(0.5), d.chance(0.5)])
    case("adaptive_avg_pool1d", lambda d: [rows(d), [d.whole(1, 9)]])
    case("adaptive_max_pool1d", lambda d: [rows(d, "distinct"), [d.whole(1, 9)]])
    case("adaptive_max_pool2d", lambda d: [d.tensor([2, 2, d.whole(1, 9), d.whole(1, 9)][d.pick(0, 0, 1):], d.float(),
                                                    "distinct"), [d.whole(1, 6), d.whole(1, 6)]])


def norms():
    def maybe(d, c, t):
        return d.pick(None, d.tensor([c], t, "finite").pack())

    def instance(d):
        t, c = d.float(), d.whole(1, 3)
        x = d.tensor([d.whole(1, 3), c, d.whole(2, 5)] + d.shape(0, 1, 2), t, "distinct").pack()
        running = d.chance(0.5)
        mean = d.tensor([c], t, "finite", False, "w").pack() if running else None
        var = d.tensor([c], t, "positive", False, "w").pack() if running else None
        d.second = x.mode == "g"
        return [x, maybe(d, c, t), maybe(d, c, t), mean, var, d.chance(0.6) or not running, 0.1, 1e-5]
    case("instance_norm", instance, tolerance=100, plain=True)
    case("local_response_norm", lambda d: [d.tensor([2, d.whole(1, 6)] + d.shape(1, 2, 1), d.float(), "finite"),
                                           d.whole(1, 5), 1e-2, 0.75, d.pick(1.0, 2.0)])


def losses():
    def reduction(d):
        return d.pick("none", "mean", "sum")

    def sign(d, shape, t):
        x = d.constant(shape, t, "nonzero")
        x.storage = torch.sign(x.storage)
        return x

    def plain(d, count, front=0):
        shape, t = d.shape(front, 3, 1), d.float()
        return shape, t, [d.tensor(shape, t, "distinct" if count == 3 else "finite") for _ in range(count)]
    case("margin_ranking_loss", lambda d: (lambda s, t, x: x + [sign(d, s, t), d.pick(0.0, 0.5), reduction(d)])(
        *plain(d, 2)))
    case("hinge_embedding_loss", lambda d: (lambda s, t, x: x + [sign(d, s, t), d.pick(1.0, 0.3), reduction(d)])(
        *plain(d, 1)))

    def cosine(d):
        t, shape = d.float(), [d.size(1), d.size(1)][d.pick(0, 0, 1):]
        return [d.tensor(shape, t, "positive"), d.tensor(shape, t, "nonzero"), sign(d, shape[:-1], t), d.pick(0.0, 0.3),
                reduction(d)]
    case("cosine_embedding_loss", cosine, tolerance=10)
    case("triplet_margin_loss", lambda d: plain(d, 3, 1)[2] + [d.pick(1.0, 5.0), d.pick(2.0, 1.0), 1e-6, d.chance(0.5),
                                                               reduction(d)], tolerance=100)
    case("soft_margin_loss", lambda d: (lambda s, t, x: x + [sign(d, s, t), reduction(d)])(*plain(d, 1)))

    def classes(d):
        t, c = d.float(), d.whole(1, 5)
        shape = [d.size(1), c][d.pick(0, 0, 1):]
        d.second = False  # PyTorch has no second derivatives
        return [d.tensor(shape, t, "distinct"), d.constant(shape[:-1], torch.int64, (0, c)), d.pick(1, 2),
                d.pick(1.0, 0.3), d.pick(None, d.constant([c], t, "positive")), reduction(d)]
    case("multi_margin_loss", classes, tolerance=10)

    def labels(d):
        t, shape = d.float(), d.shape(1, 2, 1)
        return [d.tensor(shape, t, "finite"), d.constant(shape, t, "unit"),
                d.pick(None, d.constant(shape[-1:], t, "positive")), reduction(d)]
    case("multilabel_soft_margin_loss", labels)

    def counts(d):
        t, shape, log = d.float(), d.shape(), d.chance(0.5)
        return [d.tensor(shape, t, "finite" if log else "positive"), d.constant(shape, t, "positive"), log,
                d.chance(0.4), 1e-8, reduction(d)]
    case("poisson_nll_loss", counts, tolerance=10)


distances()
paddings()
resampling()
patches()
pools()
norms()
losses()
