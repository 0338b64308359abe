#!/usr/bin/env python3
"""Predicts a training step of GPT-2 on several GPUs of one machine: FullyShardedDataParallel and
DistributedDataParallel under autocast to bfloat16, with Adam. Prints what fits into memory, and the time per step.

    fully_sharded.py [--ranks P] [--layers N] [--width N] [--tflops RATE] [--link GB/S] [--round MIB]

The assumptions are the constants below; docs/results/scaling.md says where they are from.
"""
import argparse
import dataclasses
import math

VOCABULARY, TOKENS = 50257, 1024  # of a sequence
# Of an H100 SXM with NVLink, in bytes per second, and seconds per call.
LINK, LATENCY, MEMORY_RATE = 370e9, 30e-6, 0.88 * 3.35e12
MEMORY, RESERVED = 80e9, 3e9  # bytes; the latter for the driver, its libraries and NCCL
# GPT-2 124M, 8 sequences, on an H200 with 4.2 TB/s: seconds per step.
MEASURED, MEASURED_RATE = 0.031277, 4.2e12
# Bytes that a layer keeps for backward, per token and feature, and the scores of a token, per entry of the vocabulary.
KEPT, SCORES = 28 * 2**20 / (1024 * 768), 6
ADAM = 28  # bytes that it reads and writes per parameter


@dataclasses.dataclass
class Unit:
    elements: int
    forward: float  # seconds of computation
    backward: float
    half: float = 0.5  # the share of backward after which half of the gradients have arrived


class Timeline:
    """A rank: its computation, and its group's calls one after another. A call starts when the computation has come to
    it, and the calls before it have ended."""

    def __init__(self):
        self.now = self.free = 0.0
        self.calls = []

    def compute(self, seconds):
        self.now += seconds

    def call(self, name, seconds):
        self.calls.append(name)
        self.free = max(self.free, self.now) + seconds
        return self.free

    def wait(self, end):
        self.now = max(self.now, end)


def fully_sharded(root, blocks, gather, reduce, reshard=True):
    """The timeline of forward and backward, as in unit_schedule.h. gather and reduce give the seconds of a unit's
    calls. The root's computation lies between forward and backward of the blocks."""
    line = Timeline()

    def gathered(i):
        return line.call(f"gather {i}", gather(blocks[i]))
    line.wait(line.call("gather root", gather(root)))
    ahead = gathered(0)
    for i, block in enumerate(blocks):
        line.wait(ahead)
        if i + 1 < len(blocks):
            ahead = gathered(i + 1)
        line.compute(block.forward)
    line.compute(root.forward + root.backward)
    ahead, reduced = None, None
    for i in reversed(range(len(blocks))):
        if reshard:
            line.wait(gathered(i) if ahead is None else ahead)
            ahead = gathered(i - 1) if i > 0 and reduced is None else None
        line.compute(blocks[i].backward * blocks[i].half)
        line.wait(reduced or 0)
        if reshard and i > 0 and ahead is None:
            ahead = gathered(i - 1)
        line.compute(blocks[i].backward * (1 - blocks[i].half))
        reduced = line.call(f"reduce {i}", reduce(blocks[i]))
    line.wait(reduced)
    line.wait(line.call("reduce root", reduce(root)))
    return line


def replicated(root, blocks, buckets, reduce):
    """The timeline of DistributedDataParallel. buckets: the shares of a block's gradients in one call each, in the
    order of backward."""
    line = Timeline()
    line.compute(sum(block.forward for block in blocks) + root.forward + root.backward)
    for i in reversed(range(len(blocks))):
        for share in buckets:
            line.compute(blocks[i].backward * share)
            line.call(f"reduce {i}", reduce(blocks[i].elements * share))
    line.wait(line.call("reduce root", reduce(root.elements)))
    return line


@dataclasses.dataclass
class Model:
    layers: int
    width: int

    def block_elements(self):
        return 12 * self.width**2 + 13 * self.width

    def root_elements(self):
        return (VOCABULARY + TOKENS + 2) * self.width

    def elements(self):
        return self.layers * self.block_elements() + self.root_elements()

    def block_work(self):
        """Floating-point operations of forward for a sequence; attention counts all scores."""
        return TOKENS * (24 * self.width**2 + 4 * TOKENS * self.width)

    def root_work(self):
        return TOKENS * 2 * VOCABULARY * self.width

    def work(self):
        return 3 * (self.layers * self.block_work() + self.root_work())

    def units(self, sequences, rate, checkpoint):
        """The root and a block. The products of a block's second half, whose gradients come first, have 16 of the 24
        operations, and 8 of 12 weights."""
        forward, head = sequences * self.block_work() / rate, sequences * self.root_work() / rate
        mlp = 16 * self.width**2 * TOKENS / self.block_work()
        if checkpoint:
            return Unit(self.root_elements(), head, 2 * head), Unit(self.block_elements(), forward, 3 * forward,
                                                                    (1 + 2 * mlp) / 3)
        return Unit(self.root_elements(), head, 2 * head), Unit(self.block_elements(), forward, 2 * forward, mlp)

    def activations(self, checkpoint):
        """Bytes for a sequence."""
        layer, scores = KEPT * TOKENS * self.width, SCORES * TOKENS * VOCABULARY
        return scores + (self.layers * 4 * TOKENS * self.width + layer if checkpoint else self.layers * layer)


def measured_rate():
    """Floating-point operations per second, of all that a step of GPT-2 124M does but for Adam."""
    small = Model(12, 768)
    return 8 * small.work() / (MEASURED - ADAM * small.elements() / MEASURED_RATE)


@dataclasses.dataclass
class Way:
    name: str
    sharded: bool = True
    reshard: bool = True
    rounded: bool = False  # gather_rounded: of a block all but the normalisations, which are a call by themselves

    def item(self):
        """Bytes of an element of a block that is gathered."""
        return 2 if self.rounded else 4

    def calls(self):
        """Of a block, to gather or to reduce it."""
        return 2 if self.rounded else 1


WAYS = (Way("DistributedDataParallel", sharded=False), Way("fully sharded"),
        Way("fully sharded, gather_rounded", rounded=True), Way("kept after forward", reshard=False),
        Way("kept after forward, gather_rounded", reshard=False, rounded=True))


@dataclasses.dataclass
class Machine:
    ranks: int
    link: float
    rate: float
    round: float  # bytes that reduce_scatter exchanges at a time

    def moved(self, size):
        return size * (self.ranks - 1) / self.ranks / self.link

    def gather(self, elements, item=4, calls=1):
        return calls * LATENCY + self.moved(elements * item)

    def reduce(self, elements, calls=1):
        """An all_to_all in rounds, the sum of what has come, and the division."""
        rounds = math.ceil(elements * 4 / self.round) + calls - 1
        return rounds * LATENCY + self.moved(4 * elements) + elements / self.ranks * (
            12 * (self.ranks - 1) + 16) / MEMORY_RATE

    def all_reduce(self, elements):
        return LATENCY + 2 * self.moved(4 * elements)

    def memory(self, model, way):
        """Bytes without activations. Autocast keeps a bfloat16 copy of the float32 weights it is given."""
        n, unit, root = model.elements(), model.block_elements(), model.root_elements()
        if not way.sharded:
            return 16 * n + 2 * n
        copies = 2 * (root if way.rounded else n)
        values = 0 if way.reshard else way.item() * model.layers * unit
        return 16 * n / self.ranks + copies + values + 4 * (3 * unit + 2 * root)

    def largest(self, model, way, checkpoint):
        """The most sequences that fit."""
        return int((MEMORY - RESERVED - self.memory(model, way)) // model.activations(checkpoint))

    def step(self, model, way, sequences, checkpoint):
        root, block = model.units(sequences, self.rate, checkpoint)
        blocks = [block] * model.layers
        if way.sharded:
            copied = Unit(block.elements, block.forward, block.backward + 8 * block.elements / MEMORY_RATE, block.half)

            def gather(unit):
                return self.gather(unit.elements, *(() if unit is root else (way.item(), way.calls())))

            def reduce(unit):
                return self.reduce(unit.elements, 1 if unit is root else way.calls())
            line = fully_sharded(root, [copied] * model.layers, gather, reduce, way.reshard)
        else:
            line = replicated(root, blocks, (4 / 12, 4 / 12, 1 / 12, 3 / 12), self.all_reduce)
        return line.now + ADAM * model.elements() / (self.ranks if way.sharded else 1) / MEMORY_RATE


def print_memory(machine, model):
    print("| | without activations | of a sequence | sequences that fit | of a sequence with checkpoint() | "
          "sequences that fit |\n|---|---|---|---|---|---|")
    for way in WAYS:
        plain, less = (f"{model.activations(c) / 1e9:.2f} GB | {machine.largest(model, way, c)}" for c in (False, True))
        print(f"| {way.name} | {machine.memory(model, way) / 1e9:.1f} GB | {plain} | {less} |")


def print_steps(machine, model):
    print("\n| sequences per GPU | computation | " + " | ".join(way.name for way in WAYS) + " |\n|" +
          "---|" * (2 + len(WAYS)))
    for sequences, checkpoint in ((1, False), (2, False), (4, False), (8, False), (16, False), (32, True), (64, True)):
        root, block = model.units(sequences, machine.rate, checkpoint)
        computed = root.forward + root.backward + model.layers * (block.forward + block.backward)
        cells = [f"{machine.step(model, way, sequences, checkpoint) * 1e3:.0f} ms"
                 if sequences <= machine.largest(model, way, checkpoint) else "does not fit" for way in WAYS]
        print(f"| {sequences}{', checkpoint()' if checkpoint else ''} | {computed * 1e3:.0f} ms | " + " | ".join(cells)
              + " |")


def print_others(machine, model, sequences):
    print(f"\nWith {sequences} sequences, fully sharded over computation alone, without and with gather_rounded\n\n"
          "| computation, TFLOP/s | 370 GB/s | 185 GB/s | 50 GB/s |\n|---|---|---|---|")
    for rate in (0.7 * machine.rate, machine.rate, machine.rate * MEASURED / 0.0199):
        cells = []
        for link in (370e9, 185e9, 50e9):
            other = dataclasses.replace(machine, link=link, rate=rate)
            alone = sequences * model.work() / rate
            cells.append(", ".join(f"{other.step(model, way, sequences, False) / alone:.2f}" for way in WAYS[1:3]))
        print(f"| {rate / 1e12:.0f} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--width", type=int, default=1600)
    parser.add_argument("--tflops", type=float, help="default: the measured rate of GPT-2 124M")
    parser.add_argument("--link", type=float, default=LINK / 1e9, help="GB/s")
    parser.add_argument("--round", type=float, default=32, help="MiB that reduce_scatter exchanges at a time")
    arguments = parser.parse_args()
    rate = arguments.tflops * 1e12 if arguments.tflops else measured_rate()
    machine = Machine(arguments.ranks, arguments.link * 1e9, rate, arguments.round * 2**20)
    model = Model(arguments.layers, arguments.width)
    print(f"{model.elements():,} parameters, {arguments.ranks} GPUs, {rate / 1e12:.0f} TFLOP/s each, "
          f"{arguments.link:.0f} GB/s\n")
    print_memory(machine, model)
    print_steps(machine, model)
    print_others(machine, model, 4)


if __name__ == "__main__":
    main()
