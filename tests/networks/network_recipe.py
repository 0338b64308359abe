"""Draws whole random networks: operations, losses, and how they are trained."""
import network_functions  # noqa: F401  these add to DRAWN
import network_images  # noqa: F401
import network_layers  # noqa: F401
import network_moves  # noqa: F401
import network_products  # noqa: F401
import network_reductions  # noqa: F401
import network_views  # noqa: F401
from network_draw import DRAWN, Network
from network_losses import total_loss

WEIGHTS = [weight for weight, _ in DRAWN]


def optimizer(d):
    """The optimizer, and functions that draw the options of a group."""
    name = d.pick("SGD", "SGD", "SGD", "Adam", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "RAdam", "Adamax",
                  "Adadelta")
    decay = d.pick(0.0, 0.0, 0.01, 0.1)
    more = dict(weight_decay=decay)
    if name not in ("RMSprop", "Adagrad"):
        more["maximize"] = d.chance(0.15)
    if name == "SGD":
        more["momentum"] = d.pick(0.0, 0.9, 0.5)
        more["nesterov"] = more["momentum"] > 0 and d.chance(0.4)
        more["dampening"] = d.pick(0.0, 0.3) if more["momentum"] > 0 and not more["nesterov"] else 0.0
    if name in ("Adam", "AdamW", "NAdam", "RAdam", "Adamax"):
        more |= dict(beta1=d.pick(0.9, 0.8, 0.5), beta2=d.pick(0.999, 0.99, 0.9), eps=d.pick(1e-8, 1e-6, 1e-3))
    if name in ("Adam", "AdamW"):
        more["amsgrad"] = d.chance(0.3)
    if name in ("NAdam", "RAdam"):
        more["decoupled_weight_decay"] = d.chance(0.3)
    if name == "NAdam":
        more["momentum_decay"] = d.pick(4e-3, 0.05)
    if name == "RMSprop":
        more |= dict(alpha=d.pick(0.99, 0.9), eps=d.pick(1e-8, 1e-4), momentum=d.pick(0.0, 0.9),
                     centered=d.chance(0.3))
    if name == "Adagrad":
        more |= dict(lr_decay=d.pick(0.0, 0.1), initial_accumulator_value=d.pick(0.0, 0.1), eps=d.pick(1e-10, 1e-6))
    if name == "Adadelta":
        more |= dict(rho=d.pick(0.9, 0.5), eps=d.pick(1e-6, 1e-4))
    rates = (0.1, 0.02, 0.004) if name in ("SGD", "Adagrad") else (1.0, 0.3) if name == "Adadelta" else (0.01, 0.002)
    return name, rates, more


def scheduler(d, optimizer_name, more):
    kind = d.pick(None, None, "StepLR", "MultiStepLR", "ExponentialLR", "CosineAnnealingLR", "ConstantLR", "LinearLR",
                  "PolynomialLR", "CosineAnnealingWarmRestarts", "OneCycleLR", "CyclicLR")
    cycle = optimizer_name in ("Adam", "AdamW") or optimizer_name == "SGD" and more["momentum"] > 0
    options = {
        "StepLR": dict(step_size=2, gamma=0.5), "MultiStepLR": dict(milestones="1,3", gamma=0.3),
        "ExponentialLR": dict(gamma=0.8), "CosineAnnealingLR": dict(T_max=d.pick(3, 8), eta_min=0.001),
        "ConstantLR": dict(factor=0.5, total_iters=3), "PolynomialLR": dict(total_iters=4, power=2.0),
        "LinearLR": dict(start_factor=0.25, end_factor=0.9, total_iters=3),
        "CosineAnnealingWarmRestarts": dict(T_0=2, T_mult=d.pick(1, 2)),
        "OneCycleLR": dict(max_lr=0.02, total_steps=d.pick(6, 10), cycle_momentum=cycle and d.chance(0.6)),
        "CyclicLR": dict(base_lr=0.002, max_lr=0.02, step_size_up=2, gamma=0.9, cycle_momentum=cycle and d.chance(0.6),
                         mode=d.pick("triangular", "triangular2", "exp_range")),
    }
    return kind and line("scheduler", kind, options[kind])


def line(*words):
    *words, options = words
    return " ".join([*map(str, words), *(f"{k}={v!r}" if isinstance(v, float) else f"{k}={v}"
                                         for k, v in options.items())])


def recipe(d):
    name, rates, more = optimizer(d)
    owners = [at.outputs[0] for at in d.lines if at.kind in ("layer", "param")]
    d.others.append(line("group", 0, name, dict(lr=d.pick(*rates), **more)))
    if len(owners) > 2 and d.chance(0.4):
        other = dict(more, weight_decay=d.pick(0.0, 0.05))
        d.others.append(line("group", d.random.choice(owners[1:]), name, dict(lr=d.pick(*rates), **other)))
    if d.chance(0.3):
        d.others.append(d.pick("clip norm 1.0", "clip norm 0.1", "clip value 0.05"))
    schedule = scheduler(d, name, more)
    if schedule:
        d.others.append(schedule)


def segments(d):
    """Lines that can be computed again: they neither read nor make what is written in place."""
    families = {v.number: v.family for v in d.variables}
    written = {families[at.reads[0]] for at in d.lines if at.kind == "op" and at.words[0].endswith("_")}
    allowed = [all(families[k] not in written for k in (*at.outputs, *at.reads)) for at in d.lines]
    k = 0
    while k < len(d.lines) - 4:
        length = d.whole(3, 15)
        if d.chance(0.3) and all(allowed[k:k + length]) and k + length < len(d.lines):
            d.others.append(f"segment {d.lines[k].outputs[0]} {d.lines[k + length].outputs[0]}")
            k += length
        else:
            k += 1


def grow(d, count):
    """Draws until there are `count` operations and layers."""
    done = 0
    while done < count:
        lines = len(d.lines)
        d.attempt(lambda: d.random.choices(DRAWN, WEIGHTS)[0][1](d))
        done += sum(at.kind in ("op", "layer") for at in d.lines[lines:])


def draw(seed, number):
    """The network with this number. `seed`: of all networks of a run."""
    d = Network(seed, number)
    for _ in range(d.whole(2, 3)):
        d.data(d.example_shape(d.whole(2, 5)))
    grow(d, d.whole(30, 80))
    read = {k for at in d.lines for k in at.reads}
    for v in d.variables:
        v.used = v.number in read
    loss = total_loss(d)
    d.others.append(f"loss {loss.number}")
    recipe(d)
    segments(d)
    return d
