"""Recurrent networks, their cells, and padded sequences."""
import torch

from torch_cases.case import case

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def counts(d, values):
    tensor = d.constant([len(values)], torch.int64, (0, 1))
    tensor.pack()
    tensor.storage[:] = torch.tensor(values)
    return tensor


def networks():
    def draw(d, name, packed):
        t, gates = d.float(), GATES[name]
        features, size = d.whole(1, 5), d.whole(1, 40 if d.large else 5)
        layers, directions = d.whole(1, 3), d.whole(1, 2)
        out = d.whole(1, size - 1) if name == "lstm" and size > 1 and d.chance(0.3) else size
        biases, first = d.chance(0.7), not packed and d.chance(0.5)
        rows = sorted((d.whole(1, 4) for _ in range(d.whole(1, 6))), reverse=True)
        if packed:
            x = d.tensor([sum(rows), features + d.wrong], t, "finite")
        else:
            x = d.tensor([rows[0], len(rows), features + d.wrong] if first
                         else [len(rows), rows[0], features + d.wrong], t, "finite")

        def state(width):
            return d.tensor([layers * directions, rows[0], width], t, "finite")
        parameters = []
        for layer in range(layers):
            for _ in range(directions):
                parameters += [d.tensor([gates * size, features if layer == 0 else out * directions], t, "unit"),
                               d.tensor([gates * size, out], t, "unit")]
                parameters += [d.tensor([gates * size], t, "finite") for _ in range(2 * biases)]
                parameters += [d.tensor([out, size], t, "unit")] if out != size else []
        states = [state(out), state(size)] if name == "lstm" else state(out)
        sizes = [counts(d, rows)] if packed else []
        rest = [] if packed else [first]
        return [x, *sizes, states, parameters, biases, layers, 0.0, d.chance(0.5), directions == 2, *rest]

    for name in GATES:
        case(name, lambda d, name=name: draw(d, name, False), tolerance=30)
        case(name, lambda d, name=name: draw(d, name, True), label="packed", tolerance=30)


def cells():
    def draw(d, name):
        t, gates = d.float(), GATES[name]
        features, size = d.whole(1, 6), d.whole(1, 6)
        rows = [d.whole(1, 4)]
        weights = [d.tensor([gates * size, features], t, "unit"), d.tensor([gates * size, size + d.wrong], t, "unit")]
        biases = [d.tensor([gates * size], t, "finite") for _ in range(2)] if d.chance(0.7) else [None, None]
        states = [d.tensor(rows + [size], t, "finite") for _ in range(2)]
        return [d.tensor(rows + [features], t, "finite"), states if name == "lstm" else states[0], *weights, *biases]
    for name in GATES:
        case(name + "_cell", lambda d, name=name: draw(d, name), tolerance=30)


def sequences():
    def draw(d):
        t, rest = d.float(), d.shape(0, 2)
        tensors = [d.tensor([d.whole(0, 5)] + rest, t) for _ in range(d.whole(1, 4))]
        return [tensors, d.chance(0.5), d.pick(0.0, 0.5, -1.0), d.pick("left", "right")]
    case("pad_sequence", draw)

    def falling(d, low):
        return sorted((d.whole(low, 5) for _ in range(d.whole(1, 5))), reverse=True)

    def pack(d):
        lengths, first = falling(d, 0 if d.wrong else 1), d.chance(0.5)
        steps, batch = lengths[0] + d.whole(0, 2), len(lengths)
        x = d.tensor(([batch, steps] if first else [steps, batch]) + d.shape(0, 2, 1))
        return [x, counts(d, lengths), first]
    case("_pack_padded_sequence", pack)

    def pad(d):
        rows = falling(d, 1)
        x = d.tensor([sum(rows)] + d.shape(0, 2, 1), d.float())  # PyTorch ignores rows that are too many
        return [x, counts(d, rows), d.chance(0.5), d.pick(0.0, 0.5, -1.0), len(rows) + d.whole(0, 2)]
    case("_pad_packed_sequence", pad)


networks()
cells()
sequences()
