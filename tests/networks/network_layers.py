"""Layers of random networks."""
import math

from network_draw import Batch, Refused, alike, drawn


@drawn(8)
def linear(d):
    x = d.calm(d.some(lambda v: v.shape and not isinstance(v.shape[-1], Batch) and v.shape[-1] <= 32), 8)
    n, out, bias = x.shape[-1], d.whole(1, 8), d.chance(0.8)
    bound = x.bound * math.sqrt(3 * n) + 1
    made = d.layer("Linear", [x], x.shape[:-1] + [out], -bound, bound, in_features=n, out_features=out, bias=bias)
    made.family.writable = True


@drawn(8)
def convolution(d):
    rank = d.pick(1, 2, 2, 3)
    x = d.calm(d.ranked(rank + 2), 8)
    c, image = x.shape[1], x.shape[2:]
    groups = d.pick(*[g for g in (1, 1, 2, 3, c) if c % g == 0 and g <= 6])
    out = groups * d.whole(1, max(1, 6 // groups))
    windows = [window_of(d, n) for n in image]
    kernel, stride, padding, dilation, places = (list(t) for t in zip(*windows))
    mode = d.pick("zeros", "zeros", "reflect", "replicate", "circular")
    if any(p >= n for p, n in zip(padding, image)) or rank == 3 and mode == "reflect":
        mode = "zeros"
    bound = x.bound * math.sqrt(3 * c // groups * math.prod(kernel)) + 1
    d.layer(f"Conv{rank}d", [x], x.shape[:1] + [out] + places, -bound, bound, in_channels=c, out_channels=out,
            kernel_size=kernel, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=d.chance(0.7),
            padding_mode=mode).family.writable = True


def window_of(d, n):
    kernel, stride, dilation = d.whole(1, 3), d.whole(1, 2), d.pick(1, 1, 2)
    padding = d.whole(0, 2)
    reach = dilation * (kernel - 1) + 1
    if n + 2 * padding < reach:
        raise Refused
    return kernel, stride, padding, dilation, (n + 2 * padding - reach) // stride + 1


@drawn(4)
def transposed(d):
    rank = d.pick(1, 2, 2, 3)
    x = d.calm(d.ranked(rank + 2), 8)
    c, image = x.shape[1], x.shape[2:]
    groups = d.pick(*[g for g in (1, 1, 2, 3) if c % g == 0])
    out = groups * d.whole(1, 3)
    kernel, stride, padding, extra, dilation, places = [], [], [], [], [], []
    for n in image:
        k, s, g = d.whole(1, 3), d.whole(1, 2), d.pick(1, 1, 2)
        p, e = d.whole(0, 1), d.whole(0, max(s, g) - 1)
        for some, value in zip((kernel, stride, padding, extra, dilation, places),
                               (k, s, p, e, g, (n - 1) * s - 2 * p + g * (k - 1) + e + 1)):
            some.append(value)
    if min(places) < 1:
        raise Refused
    bound = x.bound * c * math.prod(kernel) + 1
    d.layer(f"ConvTranspose{rank}d", [x], x.shape[:1] + [out] + places, -min(bound, 99), min(bound, 99), in_channels=c,
            out_channels=out, kernel_size=kernel, stride=stride, padding=padding, output_padding=extra, groups=groups,
            bias=d.chance(0.7), dilation=dilation)


@drawn(8)
def norm(d):
    name = d.pick("BatchNorm", "BatchNorm", "InstanceNorm", "LayerNorm", "GroupNorm")
    x = d.ranked(d.pick(3, 4, 5) if name != "BatchNorm" else d.pick(2, 3, 4, 5))
    c, image = x.shape[1], x.shape[2:]
    if name == "LayerNorm":
        last = x.shape[d.whole(1, len(x.shape) - 1):]
        if math.prod(last) < 2:
            raise Refused
        bound = 1.6 * math.sqrt(math.prod(last))
        d.layer(name, [x], x.shape, -bound, bound, normalized_shape=last, eps=d.pick(1e-5, 1e-3))
        return
    count = (2 if d.in_shards else x.shape[0]) * math.prod(image) if name == "BatchNorm" else math.prod(image)
    if count < 2:
        raise Refused
    bound = min(99.0, 1.6 * math.sqrt(x.count / c) + 0.5)
    if name == "GroupNorm":
        groups = d.pick(*[g for g in (1, 2, 3, c) if c % g == 0])
        d.layer(name, [x], x.shape, -bound, bound, num_groups=groups, num_channels=c)
    elif name == "BatchNorm":
        rank = max(1, len(image))
        d.layer(f"{name}{rank}d", [x], x.shape, -bound, bound, num_features=c, momentum=d.pick(0.1, 0.3),
                affine=d.chance(0.8), eps=d.pick(1e-5, 1e-3))
    else:
        d.layer(f"{name}{len(image)}d", [x], x.shape, -bound, bound, num_features=c, affine=d.chance(0.5),
                track_running_stats=d.chance(0.5))


@drawn(4)
def block(d):
    rank = d.pick(1, 2, 2, 3)
    x = d.ranked(rank + 2)
    c, image = x.shape[1], x.shape[2:]
    kernel, out = d.whole(1, 3), d.whole(1, 4)
    padding = d.whole(0, kernel // 2)
    places = [n + 2 * padding - kernel + 1 for n in image]
    if min(places) < 1 or (2 if d.in_shards else x.shape[0]) * math.prod(places) < 2:
        raise Refused
    activation = d.pick("none", "relu", "relu6")
    bound = min(99.0, 1.6 * math.sqrt(16 * math.prod(places)) + 0.5)
    d.layer(f"Block{rank}d", [x], x.shape[:1] + [out] + places, 0.0 if activation != "none" else -bound,
            6.0 if activation == "relu6" else bound, in_channels=c, out_channels=out, kernel_size=kernel,
            padding=padding, activation=activation)


@drawn(4)
def recurrent(d):
    name = d.pick("LSTM", "LSTM", "GRU", "RNN")
    x = d.calm(d.ranked(3), 8)
    if x.shape[1] > 8:
        raise Refused
    hidden, layers, both = d.whole(1, 5), d.pick(1, 1, 2), d.chance(0.4)
    projection = d.whole(1, hidden - 1) if name == "LSTM" and hidden > 1 and d.chance(0.2) else 0
    options = dict(input_size=x.shape[2], hidden_size=hidden, num_layers=layers, bias=d.chance(0.8), bidirectional=both)
    sides, n, size = 2 if both else 1, x.shape[0], projection or hidden
    shapes = [[n, x.shape[1], sides * size], [n, sides * layers, size]]
    bound = 1.0
    if name == "LSTM":
        shapes.append([n, sides * layers, hidden])
        options["proj_size"], bound = projection, x.shape[1] + 1.0
    if name == "RNN":
        options["nonlinearity"] = d.pick("tanh", "relu")
        bound = 1.0 if options["nonlinearity"] == "tanh" else 60.0
        if bound > 1 and x.shape[1] > 3:
            raise Refused
    d.layer(name, [x], shapes, -bound, bound, **options)


@drawn(2)
def cell(d):
    x, name = d.calm(d.ranked(2), 8), d.pick("LSTMCell", "GRUCell")
    hidden = d.whole(1, 5)
    shape = [x.shape[0], hidden]
    d.layer(name, [x], [shape] * (2 if name == "LSTMCell" else 1), -1.0, 1.0, input_size=x.shape[1], hidden_size=hidden,
            bias=d.chance(0.8))


@drawn(3)
def attention_layer(d):
    x = d.calm(d.ranked(3), 4)
    n, steps, size = x.shape
    if steps > 8 or size > 16:
        raise Refused
    heads = d.pick(*[h for h in (1, 2, 3, 4) if size % h == 0])
    if d.chance(0.4):
        bound = 2.0 * math.sqrt(size)
        d.layer("TransformerEncoderLayer", [x], x.shape, -bound, bound, d_model=size, nhead=heads,
                dim_feedforward=d.whole(2, 8), activation=d.pick("relu", "gelu"))
        return
    other = [v for v in d.variables if v.kind == "float" and alike(v.shape, x.shape) and v.bound <= 4 and v is not x]
    inputs = [x, d.random.choice(other)] if other and d.chance(0.5) else [x]
    bound = 4 * size * max(v.bound for v in inputs) + 1
    d.layer("MultiheadAttention", inputs, [x.shape, [n, steps, steps]], -min(bound, 99), min(bound, 99),
            embed_dim=size, num_heads=heads, bias=d.chance(0.8))


@drawn(2)
def embedding(d):
    count, size = d.whole(2, 8), d.whole(1, 6)
    at = d.labels([d.batch] + [d.whole(1, 5) for _ in range(d.whole(0, 2))], count)
    d.layer("Embedding", [at], at.shape + [size], -2.0, 2.0, num_embeddings=count, embedding_dim=size)


@drawn(2)
def small(d):
    x = d.ranked(d.pick(2, 3, 4))
    if d.chance(0.5):
        bound = 1.5 * x.bound
        d.layer("PReLU", [x], x.shape, -bound, bound, num_parameters=d.pick(1, x.shape[1]))
    else:
        d.layer("Dropout", [x], x.shape, x.low, x.high, p=0.0)


@drawn(1)
def bilinear(d):
    x = d.calm(d.ranked(2), 4)
    y = d.calm(d.some(lambda v: len(v.shape) == 2 and alike(v.shape[:1], x.shape[:1]) and
                      not isinstance(v.shape[1], Batch)), 4)
    n, m, out = x.shape[1], y.shape[1], d.whole(1, 4)
    bound = x.bound * y.bound * n * m + 1
    d.layer("Bilinear", [x, y], [x.shape[0], out], -min(bound, 99), min(bound, 99), in1_features=n, in2_features=m,
            out_features=out)
