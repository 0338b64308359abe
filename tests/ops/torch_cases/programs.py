"""Programs of views of a shared base, writes to them, and other operations, followed by backward.

torch_programs.cpp, which runs a program in Tandem, describes its text format. PyTorch runs a program while it is being
drawn, so that arguments match the existing variables. Three kinds of cases are not drawn. The first are cases that
PyTorch leaves undefined: writes to memory that partly overlaps itself, or from memory that partly overlaps the written
memory. The second are fills of expanded tensors and writes to positions in them: PyTorch warns and Tandem throws. The
third is index_copy_ with negative positions, which PyTorch rejects only after writing other positions.

Where PyTorch rejects backward because a saved tensor was overwritten, Tandem may reject it, too, or compute the
gradient, which is then compared with finite differences.
"""
import torch

from torch_cases.case import case

LEAVES = 2


def quarters(text):
    return int(text) / 4


def integers(text):
    return [int(n) for n in text.split(".") if n]


def positions(text):
    return torch.tensor(integers(text), dtype=torch.int64)


VIEWS = {
    "select": lambda x, n, i: x.select(int(n), int(i)),
    "slice": lambda x, n, a, b, s: torch.ops.aten.slice(x, int(n), int(a), int(b), int(s)),
    "narrow": lambda x, n, a, k: x.narrow(int(n), int(a), int(k)),
    "transpose": lambda x, m, n: x.transpose(int(m), int(n)),
    "permute": lambda x, dims="": x.permute(integers(dims)),
    "expand": lambda x, sizes="": x.expand(integers(sizes)),
    "unfold": lambda x, n, size, step: x.unfold(int(n), int(size), int(step)),
    "diagonal": lambda x, o, m, n: x.diagonal(int(o), int(m), int(n)),
    "view": lambda x, sizes="": x.view(integers(sizes)),
    "reshape": lambda x, sizes="": x.reshape(integers(sizes)),
    "flatten": lambda x: x.flatten(),
    "squeeze": lambda x: x.squeeze(),
    "squeeze_dim": lambda x, n: x.squeeze(int(n)),
    "unsqueeze": lambda x, n: x.unsqueeze(int(n)),
    "as_strided": lambda x, sizes, strides, o: x.as_strided(integers(sizes), integers(strides), int(o)),
    # PyTorch rejects writes to views from functions that return several; in Tandem they are ordinary views.
    "chunk": lambda x, k, n: x.narrow(int(n), 0, len(range(x.shape[int(n)])[::-1][::int(k)])),
    "unbind": lambda x, n: x.select(int(n), -1),
    "detach": lambda x: x.detach(),
}
WRITES = {
    "add_": lambda x, y: x.add_(y),
    "sub_": lambda x, y: x.sub_(y),
    "mul_": lambda x, y: x.mul_(y),
    "copy_": lambda x, y: x.copy_(y),
    "add_number_": lambda x, k: x.add_(quarters(k)),
    "mul_number_": lambda x, k: x.mul_(quarters(k)),
    "fill_": lambda x, k: x.fill_(quarters(k)),
    "fill_tensor_": lambda x, y: x.fill_(y),
    "zero_": lambda x: x.zero_(),
    "neg_": lambda x: x.neg_(),
    "relu_": lambda x: x.relu_(),
    "tanh_": lambda x: x.tanh_(),
    "clamp_": lambda x, a, b: x.clamp_(quarters(a), quarters(b)),
    "masked_fill_": lambda x, y, k: x.masked_fill_(y > 0, quarters(k)),
    "masked_fill_tensor_": lambda x, y, z: x.masked_fill_(y > 0, z),
    "addcmul_": lambda x, y, z: x.addcmul_(y, z),
    "index_put_": lambda x, i, y: x.index_put_([positions(i)], y),
    "index_put_last_": lambda x, i, y: torch.ops.aten.index_put_(x, [None] * (x.dim() - 1) + [positions(i)], y),
    "index_add_up_": lambda x, i, y: x.index_put_([positions(i)], y, True),
    "index_fill_": lambda x, n, i, k: x.index_fill_(int(n), positions(i), quarters(k)),
    "index_copy_": lambda x, n, i, y: x.index_copy_(int(n), positions(i), y),
}
OTHERS = {
    "mul": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "mul_number": lambda x, k: x * quarters(k),
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu(),
    "clone": lambda x: x.clone(),
    "sum": lambda x, n: x.sum(int(n)),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "index_select": lambda x, n, i: x.index_select(int(n), positions(i)),
    "cat": lambda x, y, n: torch.cat([x, y], int(n)),
}
OPERANDS = {name: 1 for name in ("add_", "sub_", "mul_", "copy_", "fill_tensor_", "masked_fill_", "mul", "add",
                                 "where", "cat")}
OPERANDS |= {"masked_fill_tensor_": 2, "addcmul_": 2}  # number of leading arguments after the first that are tensors
LAST = {"index_put_", "index_put_last_", "index_add_up_", "index_copy_"}  # the last argument is a tensor
FILLS = {"fill_", "fill_tensor_", "zero_", "masked_fill_", "masked_fill_tensor_", "index_fill_"}
ERRORS = (RuntimeError, IndexError, ValueError)
FINE, OVERWRITTEN, REFUSED = range(3)  # how backward ended


class Program:
    def __init__(self, inputs):
        self.variables = [x.detach().clone().requires_grad_(k < LEAVES) for k, x in enumerate(inputs)]
        self.leaves, self.marks, self.refused, self.ended = self.variables[:LEAVES], [], [], REFUSED

    def run(self, instruction):
        name, *words = instruction.split("/")
        if name == "backward":
            return self.backward(integers(words[0]) if words else [])
        x, *rest = words
        arguments = [self.variables[int(w)] if k < OPERANDS.get(name, 0) or (name in LAST and k == len(rest) - 1) else w
                     for k, w in enumerate(rest)]
        arguments = [self.variables[int(x)], *arguments]
        if name in WRITES:  # reading grad_fn updates a view after its base became part of a graph
            self.variables[int(x)].grad_fn  # noqa: B018
        if name in OTHERS:  # so that strides are not preserved
            arguments = [a.contiguous() if isinstance(a, torch.Tensor) else a for a in arguments]
        try:
            made = (VIEWS | WRITES | OTHERS)[name](*arguments)
            self.refused.append(False)
            self.marks.append(0)
            if name in VIEWS and made.numel() > 0:
                self.marks += [made.storage_offset()] + [s for n, s in zip(made.shape, made.stride()) if n > 1]
        except ERRORS:
            made = self.variables[int(x)]
            self.refused.append(True)
            self.marks.append(1)
        self.variables.append(made)

    def loss(self, numbers):
        loss = torch.zeros((), dtype=torch.float64)
        for x in (self.variables[n] for n in numbers):
            weight = (torch.arange(x.numel(), dtype=torch.float64).remainder(7) - 3) / 4
            loss = loss + (x * weight.view(x.shape)).sum()
        return loss

    def backward(self, numbers):
        self.gradients = [torch.zeros_like(x) for x in self.leaves]
        try:
            found = torch.autograd.grad(self.loss(numbers), self.leaves, allow_unused=True)
            self.gradients = [z if g is None else g for g, z in zip(found, self.gradients)]
            self.ended = FINE
        except ERRORS as error:
            self.ended = OVERWRITTEN if "has been modified by an inplace operation" in str(error) else REFUSED

    def results(self):
        marks = self.marks + [int(x.requires_grad) for x in self.variables]
        values = [x.detach().contiguous().clone() for x in self.variables]
        return [torch.tensor(marks), *values, *(g.detach() for g in self.gradients), torch.tensor(self.ended)]


def by_differences(inputs, lines, program):
    """The gradients of `program`, which ran on these inputs, as finite differences of two unrecorded runs each."""
    asked = [n for n in integers(lines[-1].split("/")[1]) if program.variables[n].requires_grad]

    def loss(values):
        with torch.no_grad():
            other = Program(values)
            for line, refusal in zip(lines[:-1], program.refused):
                if refusal:
                    other.variables.append(other.variables[int(line.split("/")[1])])
                else:
                    other.run(line)
            return other.loss(asked).item()

    def slope(k, i, step=1e-6):
        ends = []
        for move in (step, -step):
            values = [x.clone() for x in inputs]
            values[k].view(-1)[i] += move
            ends.append(loss(values))
        return (ends[0] - ends[1]) / (2 * step)
    return [torch.tensor([slope(k, i) for i in range(inputs[k].numel())], dtype=torch.float64).view(inputs[k].shape)
            for k in range(LEAVES)]


def run(inputs, text):
    lines, program = text.split(";"), Program(inputs)
    for line in lines:
        program.run(line)
    if program.ended == OVERWRITTEN and "detach" in text:  # writes through detach() have no gradient
        program.ended = REFUSED
    if program.ended == OVERWRITTEN:
        program.gradients = by_differences([x.clone() for x in inputs], lines, program)
    return program.results()


def not_compared(own, wanted):
    """The indices of the outputs that need not agree."""
    if wanted[-1] == FINE:
        return []
    gradients = range(len(wanted) - 1 - LEAVES, len(wanted) - 1)
    free = own[-1] != FINE or wanted[-1] == REFUSED
    return [len(wanted) - 1, *(k for k in gradients if free or torch.allclose(own[k], wanted[k], 1e-5, 1e-6))]


def places(x):
    """The storage positions of a tensor's elements, in logical order."""
    flat = torch.arange(x.untyped_storage().nbytes() // x.element_size())
    return flat.as_strided(x.shape, x.stride(), x.storage_offset()).reshape(-1).tolist()


def settled(name, x, others):
    """Whether PyTorch defines writing x from `others`: it either rejects the write or has a single possible result."""
    own, memory = places(x), x.untyped_storage().data_ptr()
    if name == "copy_" and any(y.untyped_storage().data_ptr() == memory for y in others):
        return False
    if len(set(own)) < len(own):
        return name not in FILLS | LAST and any(s == 0 and n > 1 for n, s in zip(x.shape, x.stride()))
    for y in others:
        if y.untyped_storage().data_ptr() == memory:
            theirs = places(y)
            if theirs and own and not set(theirs) & set(own):
                continue
            if name in LAST or x.shape != y.shape or x.stride() != y.stride() or theirs != own or not own:
                return False
    return True


class Writer:
    """Draws the next instruction of a program, given its state so far."""

    def __init__(self, d, program):
        self.d, self.program = d, program

    def dim(self, x, extra=0):
        return self.d.whole(-x.dim() - extra, x.dim() - 1 + extra) if x.dim() + extra else 0

    def size(self, x, n):
        return x.shape[n] if -x.dim() <= n < x.dim() else 1

    def permuted(self, x):
        order = [n - self.d.pick(0, x.dim()) for n in range(x.dim())]
        self.d.random.shuffle(order)
        return order

    def factored(self, x):
        sizes, rest = [], x.numel()
        while rest > 1 and self.d.chance(0.7):
            sizes.append(self.d.pick(*(n for n in range(1, rest + 1) if rest % n == 0)))
            rest //= sizes[-1]
        sizes += [rest] if rest != 1 else []
        if sizes and self.d.chance(0.3):
            sizes[self.d.whole(0, len(sizes) - 1)] = -1
        return sizes

    def window(self, x):
        """as_strided arguments for distinct elements in some order, mostly within the storage, which x fully covers."""
        d, room = self.d, x.untyped_storage().nbytes() // 8
        inner = d.whole(1, 3)
        sizes, strides = [d.whole(1, 3), inner], [inner + d.pick(0, 0, 1), 1]
        if d.chance(0.4):
            sizes, strides = sizes[::-1], strides[::-1]
        return sizes, strides, d.whole(0, max(room - 6, 0))

    def view(self, x):
        d, n = self.d, self.dim(x)
        size = self.size(x, n)
        draws = {
            "select": lambda: (n, d.whole(-size, max(size - 1, 0) + d.pick(0, 0, 0, 1))),
            "slice": lambda: (n, d.whole(-size - 1, size), d.whole(-size, size + 1), d.whole(1, 3)),
            "narrow": lambda: (lambda a: (n, a, d.whole(0, size - a)))(d.whole(0, size)),
            "transpose": lambda: (n, self.dim(x)),
            "permute": lambda: (self.permuted(x),),
            "expand": lambda: ([d.whole(1, 2)] * d.pick(0,
                                                        1) +
                               [d.whole(1, 3) if s == 1 else d.pick(s, -1) for s in x.shape],),
            "unfold": lambda: (n, d.whole(1, max(size, 1)), d.whole(1, 3)),
            "diagonal": lambda: (d.whole(-1, 1), n, self.dim(x)),
            "view": lambda: (self.factored(x),), "reshape": lambda: (self.factored(x),),
            "flatten": lambda: (), "squeeze": lambda: (), "detach": lambda: (),
            "squeeze_dim": lambda: (n,), "unsqueeze": lambda: (self.dim(x, 1),),
            "as_strided": lambda: self.window(x),
            "chunk": lambda: (d.whole(1, 3), n), "unbind": lambda: (n,),
        }
        if len(places(x)) != x.untyped_storage().nbytes() // x.element_size():
            del draws["as_strided"]  # PyTorch drops the gradient of elements that x does not cover
        weights = [0.4 if name in ("detach", "as_strided", "chunk", "unbind") else 1 for name in draws]
        name = d.random.choices(list(draws), weights)[0]
        return name, draws[name]()

    def fitting(self, shape):
        """The number of a variable that broadcasts to the shape."""
        fits = [k for k, y in enumerate(self.program.variables) if y.dim() <= len(shape) and
                all(a in (1, b) for a, b in zip(reversed(y.shape), reversed(shape)))]
        return self.d.pick(*fits)  # the third input is a 0-dim tensor

    def distinct(self, size):
        order = [k - self.d.pick(0, size) for k in range(size)]
        self.d.random.shuffle(order)
        return order[:self.d.whole(1, max(size, 1))]

    def indexed(self, x, name):
        d = self.d
        n = {"index_put_last_": -1}.get(name, self.dim(x) if name[:7] in ("index_f", "index_c") else 0)
        at = self.distinct(self.size(x, n))
        shape = list(x.shape)
        if shape:
            shape[n] = len(at)
        if name == "index_add_up_" and at:
            at = [d.pick(*at) for _ in at]
        if name == "index_fill_":
            return n, at, d.whole(-8, 8)
        if name == "index_copy_":
            same = [k for k, y in enumerate(self.program.variables) if list(y.shape) == shape]
            return n, [k % self.size(x, n) for k in at], d.pick(*same) if same else 2
        return at, self.fitting(shape)

    def write(self, x):
        d, name = self.d, self.d.pick(*WRITES)
        if name.startswith("index_"):
            return name, self.indexed(x, name)
        if name == "fill_tensor_":
            return name, (2,)
        tensors = tuple(self.fitting(x.shape) for _ in range(OPERANDS.get(name, 0)))
        numbers = {"clamp_": (-4, 6), "masked_fill_": (d.whole(-8, 8),)}
        if name.endswith("number_") or name == "fill_":
            return name, (d.whole(-8, 8),)
        return name, (tensors[0], 2) if name == "masked_fill_tensor_" else tensors + numbers.get(name, ())

    def other(self, x):
        d, name, n = self.d, self.d.pick(*OTHERS), self.dim(x)
        if name in ("mul", "add", "where"):
            return name, (self.fitting(x.shape),)
        if name == "cat":
            return name, (d.pick(*(k for k, y in enumerate(self.program.variables) if y.dim() == x.dim()) or (2,)), n)
        if name == "index_select":
            return name, (n, [d.whole(0, max(self.size(x, n) - 1, 0)) for _ in range(d.whole(1, 3))])
        return name, (d.whole(-8, 8),) if name == "mul_number" else (n,) if name == "sum" else ()

    def instruction(self):
        d, variables = self.d, self.program.variables
        while True:
            # Prefers later variables; leaves are rare, because writes to them are not allowed.
            k = max(d.whole(0, len(variables) - 1), d.whole(0, len(variables) - 1))
            x, kind = variables[k], d.pick(self.view, self.view, self.write, self.write, self.other)
            name, arguments = kind(x)
            numbers = arguments[:OPERANDS.get(name, 0)] + (arguments[-1:] if name in LAST else ())
            if name in WRITES and not settled(name, x, [variables[n] for n in numbers]):
                continue
            words = [".".join(map(str, a)) if isinstance(a, list) else str(a) for a in arguments]
            return "/".join([name, str(k), *words])


def programs():
    def draw(d):
        d.special = d.grid = False  # finite differences require smooth points
        shapes = [[d.whole(1, 4) for _ in range(d.whole(1, 3))] for _ in range(LEAVES)] + [[]]
        inputs = [d.tensor(s, torch.float64, "nonzero", False).pack() for s in shapes]
        program = Program([x.window(x.storage) for x in inputs])
        lines = [f"mul_number/{k}/4" for k in range(LEAVES)]
        for line in lines:
            program.run(line)
        writer = Writer(d, program)
        for _ in range(d.whole(3, 18)):
            lines.append(writer.instruction())
            program.run(lines[-1])
            if program.variables[-1].numel() > 200:  # repeated too often
                break
        asked = [k for k in range(len(program.variables)) if d.chance(0.5)]
        lines.append("backward/" + ".".join(map(str, asked)))
        return [inputs, ";".join(lines)]
    case("program", draw, run, not_compared=not_compared)


programs()
