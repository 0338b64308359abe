"""The loss of a random network."""
from network_draw import Batch, Refused

BOUNDS = dict(low=-50.0, high=50.0)


def labels(d, x):
    """A class for each of the scores [examples, classes, …]."""
    if len(x.shape) < 2 or any(isinstance(n, Batch) for n in x.shape[1:]):
        raise Refused
    if d.in_shards and not isinstance(x.shape[0], Batch):
        raise Refused
    return d.labels(x.shape[:1] + x.shape[2:], x.shape[1])


def targets(d, x):
    """Numbers from 0 to 1 in the shape of x."""
    return d.op("expand", [d.constant(x.shape, 0.0, 1.0), x.shape], x.shape, 0.0, 1.0, saves=False)


def cross_entropy(d, x):
    return d.op("cross_entropy", [x, labels(d, x), None, "mean", -100, d.pick(0.0, 0.2)], [], **BOUNDS)


def nll(d, x):
    at = labels(d, x)
    y = d.op("log_softmax", [d.calm(x, 20), 1, None], x.shape, -60.0, 0.0)
    return d.op("nll_loss", [y, at, None, "mean", -100], [], **BOUNDS)


def multi_margin(d, x):
    if len(x.shape) != 2:
        raise Refused
    return d.op("multi_margin_loss", [x, labels(d, x), d.pick(1.0, 2.0), 1.0, None, "mean"], [], **BOUNDS)


def mean(d, x):
    if x.shape:
        x = d.op("mul", [x, d.constant(x.shape)], x.shape, -x.bound, x.bound)
    return d.op("mean", [x, None], [], x.low, x.high)


def kl_div(d, x):
    y = d.op("log_sigmoid", [d.calm(x, 20)], x.shape, -30.0, 0.0)
    return d.op("kl_div", [y, targets(d, x), d.pick("sum", "mean"), False], [], **BOUNDS)


def poisson(d, x):
    return d.op("poisson_nll_loss", [d.calm(x, 3), targets(d, x), True, False, 1e-8, "mean"], [], **BOUNDS)


def entropy(d, x):
    y = d.op("sigmoid", [d.calm(x, 4)], x.shape, 0.0, 1.0)
    return d.op("binary_cross_entropy", [y, targets(d, x), None, "mean"], [], **BOUNDS)


def entropy_of_logits(d, x):
    weight = d.pick(None, d.constant(x.shape[-1:], 0.5, 2.0))
    return d.op("binary_cross_entropy_with_logits", [x, targets(d, x), None, weight, "mean"], [], **BOUNDS)


def soft_margin(d, x):
    return d.op("soft_margin_loss", [d.calm(x, 20), targets(d, x), "mean"], [], **BOUNDS)


def difference(d, x):
    name = d.pick("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    rest = [d.pick(0.5, 1.0)] if name in ("smooth_l1_loss", "huber_loss") else []
    return d.op(name, [x, targets(d, x), "mean", *rest], [], **BOUNDS)


LOSSES = (cross_entropy, cross_entropy, nll, multi_margin, mean, mean, kl_div, poisson, entropy, entropy_of_logits,
          soft_margin, difference, difference)


def total_loss(d):
    """The sum of a loss of each variable that nothing reads."""
    losses = []
    for x in [v for v in d.variables if v.kind == "float" and not v.used]:
        losses.append(d.attempt(lambda: (d.pick(*LOSSES) if x.shape else mean)(d, x)))
    total = losses[0]
    for loss in losses[1:]:
        total = d.op("add", [total, loss, 1], [], 0.0, 0.0, saves=False)
    return total
