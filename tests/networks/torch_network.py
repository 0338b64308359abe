"""Trains a random network in PyTorch, from its description (network.h)."""
import json
import math
import pathlib
import subprocess
import sys
import warnings

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ops"))
from torch_cases.described import in_place, torch_function, with_keyword  # noqa: E402

STEPS = 5
torch.set_default_dtype(torch.float64)  # also of NAdam's product of momenta


class Functions(dict):
    """PyTorch's function of each operation, as test_networks describes it."""

    def __init__(self, program):
        super().__init__()
        described = json.loads(subprocess.run([program, "--describe"], check=True, capture_output=True).stdout)
        self.known = {f["name"]: (f, count) for kind, count in (("operations", 0), ("unary", 1), ("binary", 2))
                      for f in described[kind]}

    def __missing__(self, name):
        plain = name.removesuffix("_")
        f, tensors = self.known[plain]
        if name in OTHERS:
            found = OTHERS[name]
        elif tensors:
            found = in_place(f, tensors) if name != plain else with_keyword(torch_function(f), f, tensors)
        elif name != plain:
            found = getattr(torch.Tensor, name)
        else:
            found = torch_function(f)
        self[name] = refreshed(found) if name != plain else found
        return self[name]


def refreshed(write):
    """Reading grad_fn updates a view whose base became part of a graph; otherwise PyTorch may take it for a leaf."""
    return lambda x, *more: (x.grad_fn, write(x, *more))[1]


# Functions whose arguments PyTorch only takes by name, or that it rounds to float32 (1.0f / 6).
OTHERS = {
    "hardsigmoid": lambda x: F.relu6(x + 3) / 6,
    "sort": lambda x, stable, k, descending: torch.sort(x, stable=stable, dim=k, descending=descending),
    "index_add": lambda x, k, i, y, alpha: torch.index_add(x, k, i, y, alpha=alpha),
    "index_add_": lambda x, k, i, y, alpha: x.index_add_(k, i, y, alpha=alpha),
    "addcmul_": lambda x, y, z, value: x.addcmul_(y, z, value=value),
}


def integers(text, examples=None):
    return [examples if n == "@" else int(n) for n in text.split(",") if n]


def drawn(shape, seed, low, high):
    """The numbers of drawn() in network.cpp."""
    wrap = 0xFFFFFFFF
    x = (torch.arange(math.prod(shape)) * 0x9E3779B1 + (seed & wrap) * 0x85EBCA77) & wrap
    x ^= x >> 15
    x = (x * 0x2C1B3C6D) & wrap
    x ^= x >> 12
    x = (x * 0x297A2D39) & wrap
    x ^= x >> 15
    return (low + (high - low) * (x.double() / 4294967296.0)).reshape(shape)


def value(text):
    """An option's value."""
    if text in ("True", "False"):
        return text == "True"
    if "," in text:
        return tuple(int(n) for n in text.split(","))
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def options_of(words):
    return {k: value(v) for k, v in (w.split("=") for w in words if "=" in w)}


def packed(x):
    """A copy in row-major order. PyTorch's gradients of batch normalisation are wrong for some other strides."""
    return x.clone(memory_format=torch.contiguous_format)


class Layer:
    """A module with the form of an operation."""

    def __init__(self, name, o):
        self.name = name
        if name.startswith("Block"):
            rank = name[5]
            parts = [getattr(nn, f"Conv{rank}d")(o["in_channels"], o["out_channels"], o["kernel_size"],
                                                 padding=o["padding"]),
                     getattr(nn, f"BatchNorm{rank}d")(o["out_channels"])]
            parts += dict(relu=[nn.ReLU()], relu6=[nn.ReLU6()]).get(o["activation"], [])
            self.module = nn.Sequential(*parts)
        elif name in ("LSTM", "GRU", "RNN"):
            self.module = getattr(nn, name)(**o, batch_first=True)
        elif name == "LayerNorm":
            shape = o["normalized_shape"]
            self.module = nn.LayerNorm(shape, o["eps"])
        elif name in ("MultiheadAttention", "TransformerEncoderLayer"):
            more = dict(dropout=0.0) if name == "TransformerEncoderLayer" else {}
            self.module = getattr(nn, name)(**o, **more)
        else:
            self.module = getattr(nn, name)(**o)
        self.module.double()
        for m in self.module.modules():
            if isinstance(m, nn.modules.batchnorm._NormBase):
                m.register_forward_pre_hook(lambda m, given: packed(given[0]))
                m.register_forward_hook(lambda m, given, y: (y.requires_grad and y.register_hook(packed), None)[1])

    def __call__(self, x, *more):
        m = self.module
        if self.name == "LSTM":
            y, (h, c) = m(x)
            return y, h.transpose(0, 1), c.transpose(0, 1)
        if self.name in ("GRU", "RNN"):
            y, h = m(x)
            return y, h.transpose(0, 1)
        if self.name == "MultiheadAttention":
            query, key = x.transpose(0, 1), (more[0] if more else x).transpose(0, 1)
            y, weights = m(query, key, key)
            return y.transpose(0, 1), weights
        if self.name == "TransformerEncoderLayer":
            return m(x.transpose(0, 1)).transpose(0, 1)
        return m(x, *more)


def initialise(module, seed):
    for name, p in sorted(module.named_parameters()):
        seed += 7919
        if p.dim() == 1 and name.endswith("weight"):
            low, high = 0.5, 1.5
        else:
            high = 0.5 if p.dim() < 2 else math.sqrt(3 / (p.numel() // p.shape[0]))
            low = -high
        with torch.no_grad():
            p.copy_(drawn(list(p.shape), seed, low, high))


class TorchNetwork:
    def __init__(self, text, table, examples):
        self.table, self.examples = table, examples
        self.steps, self.parameters, self.buffers = [], [], []  # parameters: (name, variable, tensor)
        self.others = {}
        self.groups = []
        for line in text.splitlines():
            words = line.split()
            if "=" in words:
                at = words.index("=")
                self.add([int(n) for n in words[:at]], words[at + 1], words[at + 2:])
            elif words[0] == "group":
                self.groups.append(words[1:])
            else:
                self.others.setdefault(words[0], words[1:])
        self.count = 1 + max(outputs[-1] for outputs, *_ in self.steps)

    def add(self, outputs, kind, words):
        k = outputs[0]
        if kind in ("data", "labels"):
            return self.steps.append((outputs, kind, (integers(words[0][1:], self.examples), int(words[1][1:]),
                                                      [float(w[1:]) for w in words[2:]])))
        if kind == "layer":
            made = Layer(words[0], options_of(words[2:]))
            initialise(made.module, int(words[1][1:]))
            self.parameters += [(f"m{k}.{n}", k, p) for n, p in sorted(made.module.named_parameters())]
            self.buffers += [(f"m{k}.{n}", b) for n, b in made.module.named_buffers()]
            inputs = [int(w[1:]) for w in words[2:] if "=" not in w]
            return self.steps.append((outputs, "call", (made, [lambda v, i=i: v[i] for i in inputs])))
        if kind == "op":
            return self.steps.append((outputs, "call", (self.table[words[0]], [self.argument(w) for w in words[1:]])))
        if kind in ("const", "param"):
            made = drawn(integers(words[0][1:]), int(words[1][1:]), float(words[2][1:]), float(words[3][1:]))
        elif kind == "mask":
            made = drawn(integers(words[0][1:]), int(words[1][1:]), 0, 1) < float(words[2][1:])
        else:
            made = torch.tensor(integers(words[1][1:]), dtype=torch.int64).reshape(integers(words[0][1:]))
        if kind == "param":
            self.parameters.append((f"p{k}", k, made.requires_grad_()))
        self.steps.append((outputs, "constant", made))

    def argument(self, word):
        """A function of the variables."""
        kind, rest = word[0], word[1:]
        if kind == "t":
            number = int(rest)
            return lambda v: v[number]
        if kind == "L":
            numbers = [int(n) for n in rest.split(",")]
            return lambda v: [v[n] for n in numbers]
        if kind == "x":
            parts = [self.argument(w) for w in rest.split(",")]
            return lambda v: [p(v) for p in parts]
        if kind == "s" and rest == "::":
            constant = slice(None)
        else:
            constant = dict(i=int, d=float, s=str, n=lambda _: None, b=lambda x: x == "1",
                            l=lambda x: integers(x, self.examples))[kind](rest)
        return lambda v: constant

    def loss(self, step):
        v = [None] * self.count
        for outputs, kind, what in self.steps:
            if kind == "constant":
                v[outputs[0]] = what
            elif kind == "call":
                f, arguments = what
                made = f(*[a(v) for a in arguments])
                if len(outputs) == 1:
                    v[outputs[0]] = made[0] if isinstance(made, (tuple, list)) else made
                else:
                    for k, t in zip(outputs, made):
                        v[k] = t
            else:
                shape, seed, bounds = what
                x = drawn(shape, seed + 1000003 * step, *(bounds if kind == "data" else (0, bounds[0])))
                v[outputs[0]] = x if kind == "data" else x.floor().long()
        return v[int(self.others["loss"][0])]

    def optimizer(self):
        groups = []
        for k, words in enumerate(self.groups):
            last = int(self.groups[k + 1][0]) if k + 1 < len(self.groups) else math.inf
            members = [p for _, at, p in self.parameters if int(words[0]) <= at < last]
            options = options_of(words)
            if "beta1" in options:
                options["betas"] = (options.pop("beta1"), options.pop("beta2"))
            if members:
                groups.append(dict(options, params=members))
        # The first group's options are the defaults, too, which Adagrad's first sums are.
        defaults = {k: x for k, x in groups[0].items() if k != "params"}
        return getattr(torch.optim, self.groups[0][1])(groups, **defaults)

    def scheduler(self, optimizer):
        if "scheduler" not in self.others:
            return None
        name, *words = self.others["scheduler"]
        options = options_of(words)
        if name == "MultiStepLR":
            options["milestones"] = list(options["milestones"])
        return getattr(torch.optim.lr_scheduler, name)(optimizer, **options)

    def clip(self):
        if "clip" in self.others:
            kind, bound = self.others["clip"]
            tensors = [p for *_, p in self.parameters]
            if kind == "norm":
                nn.utils.clip_grad_norm_(tensors, float(bound), foreach=False)
            else:
                nn.utils.clip_grad_value_(tensors, float(bound), foreach=False)

    def perturb(self, epsilon, seed):
        with torch.no_grad():
            for k, (_, _, p) in enumerate(self.parameters):
                p.mul_(1 + epsilon * drawn(list(p.shape), seed + k, -1, 1))

    def shake(self, loss, seed):
        """Adds what rounding the loss may do to gradients, which optimizers that divide by their size magnify."""
        noise = 1e-16 * max(1.0, abs(loss))
        for k, (_, _, p) in enumerate(self.parameters):
            if p.grad is not None:
                p.grad.add_(noise * drawn(list(p.shape), seed + k, -1, 1))

    def train(self, seed=0):
        """The losses, and parameters and buffers by name. With a seed, parameters and gradients are slightly others."""
        if seed:
            self.perturb(1e-14, 1000 * seed)
        optimizer = self.optimizer()
        scheduler = self.scheduler(optimizer)
        losses = []
        for step in range(STEPS):
            loss = self.loss(step)
            losses.append(loss.item())
            optimizer.zero_grad()
            loss.backward()
            if seed:
                self.shake(losses[-1], 1000 * seed + 31 * step)
            self.clip()
            optimizer.step()
            if scheduler:
                scheduler.step()
        found = {"losses": torch.tensor(losses, dtype=torch.float64)}
        found.update((name, p.detach().double().reshape(-1)) for name, _, p in self.parameters)
        found.update((name, b.double().reshape(-1)) for name, b in self.buffers)
        return found


class Comparison:
    """Compares Tandem's results of a network with PyTorch's."""

    def __init__(self, program):
        torch.set_num_threads(1)
        torch.backends.cuda.enable_flash_sdp(False)  # on the CPU, too: with masks some of its gradients are wrong
        warnings.simplefilter("ignore")
        self.functions = Functions(program)

    def train(self, d, seed=0):
        return TorchNetwork(str(d), self.functions, 16).train(seed)

    def differences(self, d, lines):
        """What differs between the lines that test_networks answered and PyTorch's results: a line each."""
        failed = [line for line in lines if line.startswith("error")]
        try:
            wanted = self.train(d)
        except (RuntimeError, IndexError, ValueError, TypeError) as error:
            # Tandem may compute the gradient where a saved tensor was overwritten.
            allowed = failed or "modified by an inplace operation" in str(error)
            return [] if allowed else [f"error in PyTorch: {str(error).splitlines()[0]}"]
        if failed:
            return failed
        own = {"losses": [float.fromhex(line.split()[1]) for line in lines if line.startswith("loss")]}
        own |= {words[1]: list(map(float.fromhex, words[2:])) for words in map(str.split, lines) if words[0] == "value"}
        own = {name: torch.tensor(x) for name, x in own.items()}
        if own.keys() != wanted.keys():
            return [f"names: {own.keys() ^ wanted.keys()}"]
        finite = int(wanted["losses"].isfinite().cumprod(0).sum())
        if finite < STEPS:  # gradients of NaN differ: PyTorch's logcumsumexp takes them for 0
            own, wanted = ({"losses": x["losses"][:finite]} for x in (own, wanted))
        bad = [name for name, x in wanted.items() if not within(own[name], x, 0)]
        if not bad:
            return []
        runs = [self.train(d, seed) for seed in (1, 2, 3)]
        moved = {name: max(movement(run[name][:len(wanted[name])], wanted[name]) for run in runs) for name in bad}
        return [f"PyTorch: {name} differs by {movement(own[name], wanted[name]):.3g}, bound {20 * moved[name]:.3g}"
                for name in bad if not within(own[name], wanted[name], moved[name])]


def movement(x, wanted):
    """The largest difference; infinite if x is NaN or infinite elsewhere than `wanted`."""
    same = (x == wanted) | (x.isnan() & wanted.isnan())
    return (x - wanted).abs().nan_to_num(math.inf).masked_fill(same, 0).max().item() if x.numel() else 0.0


def within(own, wanted, moved):
    """Whether the difference is a few roundings, or comparable with how far results move when parameters do.

    moved: the largest change of the tensor in three runs where each parameter changes by at most 1e-14 of itself, about
    50 roundings, and gradients by a rounding of the loss. So a network that magnifies roundings is compared no more
    closely than it is conditioned, and only those tensors that depend on what does.
    """
    finite = wanted[wanted.isfinite()].abs()
    scale = finite.max().item() if finite.numel() else 0.0
    return movement(own, wanted) <= 1e-11 * (0.01 + scale) + 20 * moved
