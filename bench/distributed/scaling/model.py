"""The cost model of sums over P ranks: the steps of each schedule, and the time that they take.

Over a network, with one rank per host:
    seconds = latency * rounds + byte * bytes + local * (local bytes - hidden bytes)
Between processes of one machine: see on_cores().

- rounds: messages that must wait for one another.
- messages: those that a rank sends. Between processes of one machine each costs processor time.
- bytes: those that a rank sends.
- local bytes: those that a rank adds or copies.
- hidden bytes: those of them that it adds while other messages arrive, where that needs no processor.
"""
import dataclasses
import math

SEGMENT, PART, SMALL = 4 << 20, 4 << 20, 1 << 20  # of gloo_engine.cpp and ServerOptions
CACHE = 3 << 18  # bytes that stay in a core's cache of 1 MiB


@dataclasses.dataclass
class Counts:
    rounds: float = 0
    messages: float = 0
    bytes: float = 0
    local: float = 0
    hidden: float = 0


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
    """The sum in tree order, with one tree node per rank: for each part an all_to_all, all of whose messages are sent
    at once, the additions, and an all_gather in a ring. Both copy the rank's own segment."""
    parts, share = math.ceil(size / part), size / ranks
    return Counts(parts * ranks, parts * 2 * (ranks - 1), 2 * (ranks - 1) * share, (ranks + 1) * share)


def add(size, ranks):
    return Counts(local=size)


SCHEDULES = {"ring": ring, "halving": halving, "all_reduce": all_reduce, "exchange": exchange, "add": add}


def on_cores(counts, size, ranks, cores):
    """The terms whose weighted sum is the time of P ranks on C cores. Here, a processor sends, receives and adds.
    With P <= C, ranks wait for each other's messages, and cores are idle meanwhile. With P > C other ranks run
    meanwhile, so that messages and bytes have other weights, and everything takes P / C times as long. Bytes cost
    more where the messages of the ranks that share a core do not fit into its cache, and so do additions of long
    tensors."""
    load, shared = max(1, ranks / cores), ranks > cores
    return {"message, own core": 0 if shared else counts.messages, "byte, own core": 0 if shared else counts.bytes,
            "message, shared core": counts.messages * load * shared, "byte, shared core": counts.bytes * load * shared,
            "local byte": counts.local * load,
            "more per byte of long messages": counts.bytes * load * (counts.bytes * load > CACHE * counts.messages),
            "more per local byte of long tensors": counts.local * load * (size > CACHE)}
