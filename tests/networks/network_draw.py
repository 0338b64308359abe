"""A random network: its variables, its lines (network.h describes them), and what may be drawn next.

Each variable has bounds of its values, so that no function leaves its domain and nothing overflows. Networks "in
shards" can be cut along the first dimension of their data: sizes of type Batch are the number of examples, which no
operation may mix.
"""
import math
import random

MOST_ELEMENTS = 1300
LARGEST = 100.0  # bound of the values of a variable


DRAWN = []  # (weight, function of a network that adds operations to it, or throws Refused)


def drawn(weight):
    return lambda f: DRAWN.append((weight, f)) or f


class Refused(Exception):
    """What was drawn does not fit; something else is drawn instead."""


class Batch(int):
    """The number of examples."""


class Family:
    """Variables that share memory. It can be written in place as long as no operation has saved a member."""

    def __init__(self, writable):
        self.writable, self.members = writable, []


class Variable:
    def __init__(self, number, shape, low, high, kind, family):
        self.number, self.shape, self.low, self.high, self.kind = number, list(shape), low, high, kind
        self.family = family
        self.used = False
        self.overlaps = False  # several elements share a place
        family.members.append(self)

    @property
    def bound(self):
        return max(abs(self.low), abs(self.high))

    @property
    def count(self):
        return math.prod(self.shape)


class Line:
    """The description of one instruction, with what it reads and makes."""

    def __init__(self, kind, words, made, reads):
        self.kind, self.words, self.reads = kind, words, [v.number for v in reads]
        self.made = [(v.number, v.shape, v.kind, v.low, v.high) for v in made]

    @property
    def outputs(self):
        return [number for number, *_ in self.made]

    def __str__(self):
        return f"{' '.join(map(str, self.outputs))} = {' '.join([self.kind, *self.words])}"


def sizes(shape):
    return ",".join("@" if isinstance(n, Batch) else str(n) for n in shape)


def same(m, n):
    """Whether two sizes are equal for any number of examples."""
    return m == n and isinstance(m, Batch) == isinstance(n, Batch)


def alike(a, b):
    return len(a) == len(b) and all(map(same, a, b))


def word(x):
    """As torch_table.h reads it."""
    if isinstance(x, Variable):
        return f"t{x.number}"
    if x is None:
        return "n"
    if isinstance(x, bool):
        return f"b{int(x)}"
    if isinstance(x, int):
        return f"i{x}"
    if isinstance(x, float):
        return f"d{x!r}"
    if isinstance(x, str):
        return "s" + x
    if isinstance(x, tuple):  # indices between brackets
        return "x" + ",".join(word(i) for i in x)
    if x and isinstance(x[0], Variable):
        return "L" + ",".join(str(v.number) for v in x)
    return "l" + sizes(x)


class Network:
    def __init__(self, seed, number):
        self.random = random.Random(f"{seed}/{number}")
        self.in_shards = self.chance(0.35)
        self.batch = Batch(16) if self.in_shards else self.whole(2, 5)
        self.lines, self.variables, self.others = [], [], []
        self.drawn = 0

    # ---- random choices
    def chance(self, p):
        return self.random.random() < p

    def pick(self, *choices):
        return self.random.choice(choices)

    def whole(self, low, high):
        if high < low:
            raise Refused
        return self.random.randint(low, high)

    def seed(self):
        return self.random.randrange(1 << 30)

    def attempt(self, draw):
        """The result of draw(), again until it is not refused."""
        while True:
            lines, variables = len(self.lines), len(self.variables)
            try:
                return draw()
            except Refused:
                del self.lines[lines:], self.variables[variables:]

    # ---- lines
    def line(self, kind, words, shapes, low, high, kinds=("float",), reads=(), family=None):
        for shape in shapes:
            if math.prod(shape) > MOST_ELEMENTS or math.prod(shape) == 0 or len(shape) > 6:
                raise Refused
        if not (-LARGEST <= low <= high <= LARGEST):
            raise Refused
        kinds = list(kinds) + ["int"] * (len(shapes) - len(kinds))
        made = []
        for shape, k in zip(shapes, kinds):
            made.append(Variable(self.drawn, shape, low, high, k, family or Family(False)))
            self.drawn += 1
        self.lines.append(Line(kind, words, made, reads))
        self.variables += made
        for v in reads:
            v.used = True
        return made

    def data(self, shape, low=-1.0, high=1.0):
        return self.line("data", [word(shape), word(self.seed()), word(low), word(high)], [shape], low, high)[0]

    def labels(self, shape, high):
        return self.line("labels", [word(shape), word(self.seed()), word(float(high))], [shape], 0, 1, ["int"])[0]

    def constant(self, shape, low=-1.0, high=1.0):
        shape = [1 if isinstance(n, Batch) else n for n in shape]
        return self.line("const", [word(shape), word(self.seed()), word(low), word(high)], [shape], low, high)[0]

    def parameter(self, shape, low=-1.0, high=1.0):
        shape = [1 if isinstance(n, Batch) else n for n in shape]
        return self.line("param", [word(shape), word(self.seed()), word(low), word(high)], [shape], low, high)[0]

    def listed(self, numbers, shape=None):
        shape = [len(numbers)] if shape is None else shape
        return self.line("list", [word(shape), word(list(numbers))], [shape], 0, 1, ["int"])[0]

    def mask(self, shape, p):
        shape = [1 if isinstance(n, Batch) else n for n in shape]
        return self.line("mask", [word(shape), word(self.seed()), word(p)], [shape], 0, 1, ["bool"])[0]

    def op(self, name, arguments, shapes, low, high, saves=True, view=None, fresh=False, kinds=("float",)):
        """view: the variable whose memory the result shares. fresh: the result may be written in place."""
        reads = []
        for a in arguments:
            reads += [v for v in (a if isinstance(a, (list, tuple)) else [a]) if isinstance(v, Variable)]
        shapes = shapes if shapes and isinstance(shapes[0], list) else [shapes]
        made = self.line("op", [name, *map(word, arguments)], shapes, low, high, kinds, reads,
                         view.family if view else Family(fresh))
        if saves:
            for v in reads:
                v.family.writable = False
        for v in made:
            v.overlaps = view is not None and view.overlaps
        return made[0] if len(made) == 1 else made

    def layer(self, type_name, inputs, shapes, low, high, **options):
        text = [f"{k}={','.join(map(str, v)) if isinstance(v, list) else v}" for k, v in options.items()]
        shapes = shapes if isinstance(shapes[0], list) else [shapes]
        made = self.line("layer", [type_name, word(self.seed()), *text, *map(word, inputs)], shapes, low, high,
                         ["float"] * len(shapes), inputs)
        for v in inputs:
            v.family.writable = False
        return made[0] if len(made) == 1 else made

    # ---- variables
    def some(self, fits=lambda v: True):
        """A variable of floating point; mostly one that nothing reads yet."""
        found = [v for v in self.variables if v.kind == "float" and fits(v)]
        if not found:
            raise Refused
        fresh = [v for v in found if not v.used]
        return self.random.choice(fresh if fresh and self.chance(0.75) else found[-12:] if self.chance(0.5) else found)

    def calm(self, x, bound=4.0):
        """x, or a function of it whose values are at most `bound`."""
        if x.bound <= bound:
            return x
        name = self.pick("tanh", "sigmoid", "sin", "softsign", "erf", "softmax", "layer_norm")
        if name == "softmax":
            return self.op("softmax", [x, self.dim(x), None], x.shape, 0.0, 1.0)
        if name == "layer_norm":
            last = x.shape[-1] if x.shape else 1
            if last < 2 or isinstance(last, Batch) or last > bound * bound:
                raise Refused
            return self.op("layer_norm", [x, [last], None, None, 1e-3], x.shape, -math.sqrt(last), math.sqrt(last))
        return self.op(name, [x], x.shape, 0.0 if name == "sigmoid" else -1.0, 1.0)

    def free_dims(self, x):
        """The dimensions that an operation may mix."""
        return [k for k, n in enumerate(x.shape) if not isinstance(n, Batch)]

    def dim(self, x):
        free = self.free_dims(x)
        if not free:
            raise Refused
        return self.random.choice(free)

    def signed(self, k, x):
        """The same dimension, perhaps counted from the end."""
        return k - self.pick(0, len(x.shape))

    def ranked(self, rank, x=None):
        """A variable [examples, …] of this rank: an existing one, reshaped, or new data."""
        def first(v):
            return v.shape and (isinstance(v.shape[0], Batch) or not self.in_shards) and all(
                not isinstance(n, Batch) for n in v.shape[1:])
        if self.chance(0.8):
            try:
                return self.some(lambda v: first(v) and len(v.shape) == rank and v.count / v.shape[0] >= 2)
            except Refused:
                pass
        if self.chance(0.8):
            x = self.some(lambda v: first(v) and v.count // v.shape[0] >= 4)
            return self.op("reshape", [x, shape := [x.shape[0]] + self.factors(x.count // x.shape[0], rank - 1)],
                           shape, x.low, x.high, saves=False, view=x)
        return self.data(self.example_shape(rank))

    def example_shape(self, rank):
        most = ({2: 12, 3: 6, 4: 4, 5: 2} if self.in_shards else {2: 12, 3: 8, 4: 6, 5: 4})[rank]
        return [self.batch] + [self.whole(2, most) for _ in range(rank - 1)]

    def factors(self, count, number):
        """`number` sizes with this product."""
        made = []
        for _ in range(number - 1):
            made.append(self.pick(*[n for n in range(1, min(count, 12) + 1) if count % n == 0]))
            count //= made[-1]
        made.append(count)
        self.random.shuffle(made)
        return made

    def partner(self, x, low=-1.0, high=1.0, fits=lambda v: True):
        """A variable that broadcasts to x's shape."""
        def broadcasts(v):
            tail = x.shape[len(x.shape) - len(v.shape):] if v.shape else []
            return len(v.shape) <= len(x.shape) and all(
                same(m, n) or (n == 1 and not isinstance(n, Batch)) for m, n in zip(tail, v.shape))
        if self.chance(0.7):
            try:
                return self.some(lambda v: v is not x and broadcasts(v) and fits(v))
            except Refused:
                pass
        cut = self.whole(0, len(x.shape)) if self.chance(0.4) else 0
        shape = [1 if self.chance(0.25) else n for n in x.shape[cut:]]
        make = self.pick(self.parameter, self.parameter, self.constant)
        return make(shape, low, high)

    def fixed_partner(self, x):
        """A partner that nothing writes."""
        y = self.partner(x)
        if y.family is x.family or y.family.writable:
            return self.constant(y.shape)
        return y

    def __str__(self):
        return "\n".join([*map(str, self.lines), *self.others])
