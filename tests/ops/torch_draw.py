"""Random inputs for torch_random.py: shapes, strides, dtypes, values."""
import random

import torch

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float32, torch.float64]
COMPUTED = INTEGERS + [torch.bool] + FLOATS
STORED = COMPUTED + [torch.float16, torch.bfloat16]


class Input:
    """A window on a storage. mode: c is a constant, g a leaf that requires a gradient, w and W are written by the
    operation (without and with a gradient of the storage)."""

    def __init__(self, storage, sizes, strides, offset, mode):
        self.storage, self.sizes, self.strides, self.offset, self.mode = storage, sizes, strides, offset, mode

    def window(self, storage):
        return torch.as_strided(storage, self.sizes, self.strides, self.offset)

    def pack(self):
        """Makes the window row-major and contiguous."""
        window = self.window(self.storage)
        self.storage = torch.empty(window.numel(), dtype=window.dtype).copy_(window.reshape(-1))
        self.strides, self.offset = list(torch.empty(self.sizes).stride()), 0
        return self

    def __repr__(self):
        text = f"{str(self.storage.dtype)[6:]}{list(self.sizes)}"
        if list(self.window(self.storage).contiguous().stride()) != list(self.strides):
            text += f" strides {list(self.strides)}"
        if self.offset:
            text += f" offset {self.offset}"
        return text + {"c": "", "g": " grad", "w": " written", "W": " written grad"}[self.mode]


def dense_strides(sizes, channels_last):
    order = list(range(len(sizes)))
    if channels_last:
        order.append(order.pop(1))
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(sizes[d], 1)
    return strides


class Index(list):
    """The indices between brackets: int, bool, None, Ellipsis, slice, Input."""


class Draw:
    """Random draws for one case; the same seed, name and number produce the same case."""

    def __init__(self, seed, name, number):
        self.random = random.Random(f"{seed}/{name}/{number}")
        self.index = number
        self.special = self.chance(0.1)  # NaN, infinities, -0, the limits of integer types
        self.grid = self.chance(0.3)  # values on a coarse grid: ties, zeros, values equal to bounds
        self.wrong = self.chance(0.05)  # arguments that may be invalid
        self.large = self.chance(0.1)
        self.above_least = 0  # 1: the smallest integer of a type is not drawn
        self.second = True  # second derivatives may be compared
        self.channels_last = False  # tensors of 4 and 5 dimensions are dense and channels-last, others are row-major

    def chance(self, p):
        return self.random.random() < p

    def pick(self, *choices):
        return self.random.choice(choices)

    def whole(self, low, high):
        return self.random.randint(low, high)

    # ---- shapes
    def size(self, least=0):
        if least == 0 and self.chance(0.05):
            return 0
        return self.pick(1, 2, 3, 4, 5, 7)

    def shape(self, low=0, high=4, least=0):
        sizes = [self.size(least) for _ in range(self.whole(low, high))]
        if self.large and sizes:
            while len(sizes) > 1 and torch.Size(sizes).numel() > 300:
                sizes[self.whole(0, len(sizes) - 1)] = 1
            sizes[self.whole(0, len(sizes) - 1)] = self.whole(8, 70) if len(sizes) > 1 else self.whole(8, 3000)
        return sizes

    def broadcast(self, count):
        """Shapes that broadcast to a common shape."""
        full = self.shape()
        shapes = []
        for _ in range(count):
            cut = self.whole(0, len(full)) if self.chance(0.3) else 0
            shapes.append([1 if self.chance(0.2) else size for size in full[cut:]])
        if self.wrong and shapes[-1]:
            shapes[-1][self.whole(0, len(shapes[-1]) - 1)] += 1
        return shapes

    def dim(self, rank):
        n = max(rank, 1) + (1 if self.wrong else 0)
        return self.whole(-n, n - 1)

    def dims(self, rank):
        dims = [d if self.chance(0.7) else d - rank for d in range(rank) if self.chance(0.5)]
        self.random.shuffle(dims)
        if self.wrong and dims and self.chance(0.5):
            dims.append(self.dim(rank))
        return dims

    def layout(self, sizes, expanded):
        """Strides and an offset: dimensions in any order, with gaps, or expanded with stride 0."""
        if self.channels_last:
            return dense_strides(sizes, len(sizes) in (4, 5)), 0
        if self.chance(0.4):
            strides, step = [], 1
            for size in reversed(sizes):
                strides.insert(0, step)
                step *= max(size, 1)
            return strides, 0
        strides, step = [0] * len(sizes), 1
        order = list(range(len(sizes)))
        if self.chance(0.7):
            self.random.shuffle(order)
        else:
            order.reverse()
        for d in order:
            if expanded and self.chance(0.1):
                continue
            step *= self.pick(1, 1, 1, 1, 2, 3)
            strides[d] = step
            step *= max(sizes[d], 1)
        return strides, self.pick(0, 0, 1, 5)

    # ---- dtypes and numbers
    def dtype(self, stored=False):
        if self.chance(0.5):
            return self.pick(*FLOATS)
        return self.pick(*(STORED if stored else COMPUTED))

    def float(self):
        return self.pick(*FLOATS)

    def integer(self):
        return self.pick(*INTEGERS)

    def index_type(self):
        return self.pick(torch.int64, torch.int64, torch.int32)

    def real(self):
        if self.special and self.chance(0.2):
            return self.pick(float("inf"), float("-inf"), float("nan"), -0.0)
        return self.whole(-8, 8) / 4 if self.grid else round(self.random.uniform(-3, 3), 3)

    def number(self):
        """A Python number of any kind."""
        return self.pick(self.whole(-3, 5), self.real(), self.real(), self.chance(0.5))

    # ---- values
    def value(self, dtype, kind):
        if isinstance(kind, tuple):
            return self.random.randrange(*kind) if kind[1] > kind[0] else kind[0]
        if dtype == torch.bool:
            return self.chance(0.5)
        if not dtype.is_floating_point:
            low, high = (0, 18) if dtype == torch.uint8 else (-9, 9)
            if kind in ("positive", "unit"):
                low = 1 if kind == "positive" else 0
            if kind == "unit":
                high = 1
            if kind == "any" and self.special and self.chance(0.2):
                return self.pick(torch.iinfo(dtype).min + self.above_least, torch.iinfo(dtype).max)
            value = self.whole(low, high)
            return 3 if kind == "nonzero" and value == 0 else value
        if kind == "unit":
            return round(self.random.uniform(0.02, 0.98), 4)
        if kind == "positive":
            return self.whole(1, 12) / 4 if self.grid else round(self.random.uniform(0.3, 3), 4)
        if kind == "any" and self.special and self.chance(0.15):
            return self.pick(float("inf"), float("-inf"), float("nan"), -0.0, 0.0)
        if self.grid:
            value = self.whole(-12, 12) / 4
            return 0.5 if kind == "nonzero" and value == 0 else value
        value = round(self.random.gauss(0, 1.5), 4)
        return 0.5 if kind == "nonzero" and abs(value) < 0.1 else value

    def storage(self, count, dtype, kind):
        if kind == "distinct" and dtype != torch.bool:
            values = list(range(count))
            self.random.shuffle(values)
            if dtype.is_floating_point:
                return torch.tensor([v * 0.37 - count * 0.2 for v in values], dtype=dtype)
            low = torch.iinfo(dtype).min if count > 100 else 0 if dtype == torch.uint8 else -count // 2
            return torch.tensor([v + low for v in values], dtype=torch.int64).to(dtype)
        return torch.tensor([self.value(dtype, kind) for _ in range(count)], dtype=torch.float64
                            if dtype.is_floating_point else torch.int64).to(dtype)

    def tensor(self, sizes, dtype=None, kind="any", grad=True, mode=None):
        """kind: any, finite, nonzero, positive, unit (0 … 1), distinct, or (low, high) for integers."""
        dtype = dtype or self.dtype()
        if mode is None:
            mode = "g" if grad and dtype in FLOATS and self.chance(0.7) else "c"
        if mode == "w" and grad and dtype in FLOATS and self.chance(0.6):
            mode = "W"
        strides, offset = self.layout(sizes, mode in "cg" and kind != "distinct")
        last = sum((n - 1) * s for n, s in zip(sizes, strides)) if 0 not in sizes else -1
        return Input(self.storage(offset + last + 1, dtype, kind), list(sizes), strides, offset, mode)

    def cotangent(self, sizes, dtype):
        return self.tensor(sizes, dtype, "finite", mode="c")

    def written(self, sizes, dtype=None, kind="any", grad=True):
        return self.tensor(sizes, dtype, kind, grad, "w")

    def constant(self, sizes, dtype=None, kind="any"):
        return self.tensor(sizes, dtype, kind, False)

    def positions(self, sizes, size, negative=False):
        """Integers below size; with `negative`, starting at -size, which count from the end."""
        low, high = (-size if negative and self.chance(0.5) else 0), size
        if self.wrong and self.chance(0.3):
            high += 1
        return self.constant(sizes, self.index_type(), (low, high))
