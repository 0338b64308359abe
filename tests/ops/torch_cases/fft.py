"""Fourier transforms. Complex tensors are given as pairs of real numbers [..., 2]."""
from torch_cases.case import case
from torch_draw import COMPUTED, FLOATS, Draw

NORMS = (None, None, "backward", "forward", "ortho")
REAL = ("rfft", "ihfft")  # transforms of real tensors; of the others, irfft and hfft have real results


def signal(d: Draw, name, shape):
    """A tensor of this shape in numbers."""
    if name in REAL:
        return d.tensor(shape, d.pick(*COMPUTED) if d.chance(0.2) else d.float(), "finite")
    return d.tensor([*shape, 2], d.float(), "finite")


def norm(d):
    return "both" if d.wrong and d.chance(0.2) else d.pick(*NORMS)


def length(d):
    return d.whole(-1, 0) if d.wrong and d.chance(0.3) else d.pick(1, 2, 3, 4, 5, 7, 8, 12, 101, 130)


def transforms(name):
    def one(d):
        shape = d.shape(1, 3)
        return [signal(d, name, shape), d.pick(None, length(d)), d.dim(len(shape)), norm(d)]

    def lengths(d, count):
        return None if d.chance(0.5) else [d.pick(-1, d.whole(1, 6)) for _ in range(count)]

    def two(d):
        shape = d.shape(2, 3)
        dims = d.random.sample(range(len(shape)), 2)
        return [signal(d, name, shape), lengths(d, 2), [n - len(shape) if d.chance(0.5) else n for n in dims], norm(d)]

    def several(d):
        shape = d.shape(1, 3)
        dims = d.pick(None, d.dims(len(shape)))
        return [signal(d, name, shape), lengths(d, len(shape) if dims is None else len(dims)), dims, norm(d)]

    # Lines of hundreds of points with values of 3 give sums of hundreds.
    case("fft_" + name, one, tolerance=100)
    case(f"fft_{name}2", two, tolerance=100)
    case(f"fft_{name}n", several, tolerance=100)


def frequencies():
    for name in ("fft_fftfreq", "fft_rfftfreq"):
        case(name, lambda d: [d.whole(1, 20), d.pick(1.0, 0.25, 3.0), d.float()])
    for name in ("fft_fftshift", "fft_ifftshift"):
        case(name, lambda d: (lambda s: [d.tensor(s, d.dtype()), d.pick(None, [d.dim(len(s))])])(d.shape(1, 3, 1)))


def windows():
    def sizes(d):
        n = d.pick(1, 2, 4, 5, 8, 12)
        return n, d.whole(1, n), d.whole(1, n)

    def strided(d, sizes, t):
        # PyTorch spreads the gradient of an expanded signal over its elements in another way.
        x = d.tensor(sizes, t, "finite")
        return x.pack() if 0 in x.strides else x

    def forward(d):
        n, hop, win = sizes(d)
        t = d.float()
        window = d.pick(None, d.tensor([win], t, "finite"))
        x = strided(d, d.shape(0, 1, 1) + [d.whole(n, 4 * n)], t)
        return [x, n, hop, win, window, d.chance(0.6), d.pick("reflect", "constant", "replicate", "circular"),
                d.chance(0.5), d.pick(None, True, False)]
    case("stft", forward, tolerance=100)

    def aligned(d):
        n, hop, _ = sizes(d)
        win = n - 2 * d.whole(0, (n - 1) // 2)  # if the difference is odd, PyTorch reads behind the signal
        t = d.float()
        x = strided(d, d.shape(0, 1, 1) + [d.whole(n, 4 * n)], t)
        return [x, n, hop, win, d.tensor([win], t, "finite"), d.chance(0.5), d.pick(None, True, False),
                d.pick(True, False)]
    case("stft", aligned, label="aligned", tolerance=100)

    def inverse(d):
        n, hop, win = d.pick(2, 4, 5, 8), 1, None
        hop = d.whole(1, max(1, n // 2))
        t, onesided = d.float(), d.chance(0.6)
        shape = d.shape(0, 1, 1) + [n // 2 + 1 if onesided else n, d.whole(1, 5), 2]
        window = d.pick(None, d.tensor([n], t, "positive"))
        return [d.tensor(shape, t, "finite"), n, hop, win, window, d.chance(0.6), d.chance(0.5), onesided,
                d.pick(None, d.whole(1, 12)), not onesided and d.chance(0.5)]
    case("istft", inverse, tolerance=1000)

    def overlapped(d):
        size, step, n = d.whole(1, 5), d.whole(1, 5), d.whole(5, 12)
        shape = d.shape(0, 2, 1)
        at = d.whole(0, len(shape))
        whole = [*shape[:at], n, *shape[at:]]
        return [d.tensor([*shape[:at], (n - size) // step + 1, *shape[at:], size], d.pick(*FLOATS), "finite"), whole,
                at, size, step]
    case("unfold_backward", overlapped, tolerance=10)


for transform in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    transforms(transform)
frequencies()
windows()
