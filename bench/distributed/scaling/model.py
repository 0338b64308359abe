"""The cost model of the sums over P ranks: what each schedule does, and what it takes.

    seconds = latency * rounds + message * messages + byte * bytes + local * (local bytes - hidden bytes) + wait * waits

- rounds: messages that must wait for one another. Over a network their latency counts.
- messages: those that a rank sends. Between processes of one machine each costs processor time, and there is no latency.
- bytes: those that a rank sends.
- local bytes: those that a rank adds or copies.
- hidden bytes: those of them that it adds while other messages arrive, where that needs no processor.
- waits: see on_cores().
"""
import dataclasses
import math

SEGMENT, PART, SMALL = 4 << 20, 4 << 20, 1 << 20  # of gloo_engine.cpp and ServerOptions


@dataclasses.dataclass
class Counts:
    rounds: float = 0
    messages: float = 0
    bytes: float = 0
    local: float = 0
    hidden: float = 0
    waits: float = 0


def ring(size, ranks):
    """Gloo's: a chunk per rank, each of at least two segments that are in flight together."""
    segments = max(2, math.ceil(size / ranks / SEGMENT))
    steps, share = 2 * (ranks - 1), size / ranks
    local = (ranks - 1) * share
    return Counts(steps, steps * segments, steps * share, local, local - share / segments)


def halving(size, ranks):
    """Gloo's "bcube": log2(P) steps in which pairs exchange a half of what they have, and back."""
    steps, share = 2 * math.log2(ranks), size / ranks
    return Counts(steps, steps, 2 * (ranks - 1) * share, (ranks - 1) * share)


def all_reduce(size, ranks):
    small = size <= SMALL and ranks & (ranks - 1) == 0
    return (halving if small else ring)(size, ranks)


def exchange(size, ranks, part=PART):
    """The sum in tree order, with one tree node per rank: for each part an all_to_all, all of whose messages are sent at
    once, the additions, and an all_gather in a ring. Both copy the rank's own segment."""
    parts, share = math.ceil(size / part), size / ranks
    return Counts(parts * ranks, parts * 2 * (ranks - 1), 2 * (ranks - 1) * share, (ranks + 1) * share)


def add(size, ranks):
    return Counts(local=size)


SCHEDULES = {"ring": ring, "halving": halving, "all_reduce": all_reduce, "exchange": exchange, "add": add}


def on_cores(counts, ranks, cores):
    """For P > C ranks on C cores. Sending, receiving and adding are work for a processor here, so that everything takes P / C
    times as long; in addition every message waits for a core until P / C - 1 other ranks have run."""
    load = max(1, ranks / cores)
    return Counts(0, counts.messages * load, counts.bytes * load, counts.local * load, 0, counts.messages * (load - 1))
