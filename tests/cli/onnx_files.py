"""Writes small ONNX models for the tests, field by field: Python's onnx package need not be installed."""
import random
import struct

FLOAT, INT64, BOOL, FLOAT16 = 1, 7, 9, 10


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of protobuf: an integer, or the bytes of a text or of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def slot(name, dtype, sizes):
    """A ValueInfoProto; texts are names of unknown sizes."""
    shape = b"".join(field(1, field(2 if isinstance(s, str) else 1, s)) for s in sizes)
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, shape)))


def tensor(name, sizes, values, dtype=FLOAT):
    raw = struct.pack(f"<{len(values)}{ {FLOAT: 'f', INT64: 'q', BOOL: '?', FLOAT16: 'e'}[dtype] }", *values)
    return b"".join(field(1, s) for s in sizes) + field(2, dtype) + field(8, name) + field(9, raw)


def elsewhere(name, sizes, file):
    """A tensor whose data are in another file."""
    return (b"".join(field(1, s) for s in sizes) + field(2, FLOAT) + field(8, name) +
            field(13, field(1, "location") + field(2, file)) + field(14, 1))


def attribute(name, value):
    if isinstance(value, list):
        return field(1, name) + b"".join(field(8, v) for v in value) + field(20, 7)
    return field(1, name) + field(3, value) + field(20, 2)


def node(op, inputs, outputs, name="", **attributes):
    return (b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs) + field(3, name) +
            field(4, op) + b"".join(field(5, attribute(k, v)) for k, v in attributes.items()))


def model(nodes, tensors, inputs, outputs, metadata={}):
    graph = (b"".join(field(1, n) for n in nodes) + field(2, "test") + b"".join(field(5, t) for t in tensors) +
             b"".join(field(11, slot(*i)) for i in inputs) + b"".join(field(12, slot(*o)) for o in outputs))
    return (field(1, 8) + field(2, "tests") + field(3, "1.0") + field(7, graph) + field(8, field(1, "") + field(2, 17)) +
            b"".join(field(14, field(1, k) + field(2, v)) for k, v in metadata.items()))


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def classifier(path, channels=3, size=8, classes=2, batch="N", end="", metadata={}, dtype=FLOAT, norm=True, data=None,
               merged=False, training=False):
    """A convolution, a batch normalisation, ReLU and a linear layer. `end`: an operator after it; `data`: the name of the
    file with the weight of the linear layer; `merged`: the variance is a copy of the normalisation's factor; `training`: exported in training mode,
    with a Dropout."""
    draw = random.Random(1)
    values = lambda n, scale=0.3: [draw.uniform(-scale, scale) for _ in range(n)]
    t = lambda name, sizes, numbers: tensor(name, sizes, numbers, dtype)
    features = 4 * size * size
    linear = values(classes * features, 0.05)
    tensors = [t("conv.weight", [4, channels, 3, 3], values(4 * channels * 9)), t("conv.bias", [4], values(4)),
               t("fc.weight", [classes, features], linear), t("fc.bias", [classes], values(classes))]
    if data:
        write(data, struct.pack(f"<{len(linear)}f", *linear))
        tensors[2] = elsewhere("fc.weight", [classes, features], data.rpartition("/")[2])
    nodes = [node("Conv", ["image", "conv.weight", "conv.bias"], ["a"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
    if norm:
        tensors += [t("bn.weight", [4], [1, 0.5, 2, 1]), t("bn.bias", [4], values(4)),
                    t("bn.running_mean", [4], values(4))]
        if merged:
            nodes.append(node("Identity", ["bn.weight"], ["bn.running_var"]))
        else:
            tensors.append(t("bn.running_var", [4], [1, 2, 0.5, 1]))
        nodes.append(node("BatchNormalization",
                          ["a", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"],
                          ["b", "mean", "variance"] if training else ["b"], "bn", **{"training_mode": 1} if training else {}))
    nodes += [node("Relu", ["b" if norm else "a"], ["c"], "relu"), node("Flatten", ["c"], ["f" if training else "d"], "flatten"),
              node("Gemm", ["d", "fc.weight", "fc.bias"], ["e" if end else "scores"], "fc", transB=1)]
    if training:
        tensors += [t("ratio", [], [0.5]), tensor("always", [], [1], BOOL)]
        nodes.insert(-1, node("Dropout", ["f", "ratio", "always"], ["d"], "dropout"))
    if end:
        nodes.append(node(end, ["e"], ["scores"], "end"))
    write(path, model(nodes, tensors, [("image", dtype, [batch, channels, size, size])],
                      [("scores", dtype, [batch, classes])], metadata))
