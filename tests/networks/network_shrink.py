"""Makes a failing network smaller, as long as it fails."""
import copy
import re

from network_draw import Batch, word


def renamed(words, old, new):
    """The words with another number of a variable."""
    def one(w):
        if w[0] == "t" and "=" not in w:
            return f"t{new}" if w == f"t{old}" else w
        if w[0] == "L":
            return "L" + ",".join(str(new) if n == str(old) else n for n in w[1:].split(","))
        return re.sub(rf"(?<=[x,])t{old}(?=,|$)", f"t{new}", w) if w[0] == "x" else w
    return [one(w) for w in words]


def writes(line):
    return line.kind == "op" and line.words[0].endswith("_")


def without_unread(d):
    """Removes lines that the loss does not need. Writes stay."""
    loss = next(int(o.split()[1]) for o in d.others if o.startswith("loss"))
    needed, kept, data = {loss}, [], [at for at in d.lines if at.kind == "data"][:1]
    for line in reversed(d.lines):
        if writes(line) or line in data or needed & set(line.outputs):
            kept.append(line)
            needed |= set(line.reads)
    d.lines = kept[::-1]
    return d


def bypassed(d, k, place):
    """Line k replaced by one of the variables that it reads, of the same shape."""
    line = d.lines[k]
    shapes = {number: shape for at in d.lines for number, shape, *_ in at.made}
    read = line.reads[place]
    number, shape, *_ = line.made[0]
    if len(line.made) > 1 or list(shapes[read]) != list(shape):
        return None
    other = copy.deepcopy(d)
    del other.lines[k]
    for at in other.lines:
        at.words = renamed(at.words, number, read)
        at.reads = [read if n == number else n for n in at.reads]
    other.others = [f"loss {read}" if o == f"loss {number}" else o for o in other.others]
    return without_unread(other)


def as_data(d, k):
    """Line k replaced by data of the same shape."""
    line = d.lines[k]
    if line.kind not in ("op", "layer") or writes(line):
        return None
    other = copy.deepcopy(d)
    made = []
    for number, shape, kind, low, high in line.made:
        batch = [isinstance(n, Batch) for n in shape]
        if kind != "float" or any(batch[1:]) or (d.in_shards and shape == []):
            return None
        new = copy.copy(line)
        new.kind, new.reads = "const" if d.in_shards and not any(batch) else "data", []
        new.made = [(number, shape, kind, low, high)]
        new.words = [word(list(shape)), word(number), word(float(low)), word(float(high))]
        made.append(new)
    other.lines[k:k + 1] = made
    return without_unread(other)


def simpler_recipes(d):
    for k, text in enumerate(d.others):
        if text.startswith("loss") or text.startswith("group 0"):
            continue
        other = copy.deepcopy(d)
        del other.others[k]
        yield other
    for k, text in enumerate(d.others):
        plain = "group 0 SGD lr=0.1"
        if text.startswith("group 0") and text != plain:
            other = copy.deepcopy(d)
            other.others = [o for o in other.others if not o.startswith(("group", "scheduler"))] + [plain]
            yield other


def smaller(d):
    for k in reversed(range(len(d.lines))):
        for made in [as_data(d, k), *(bypassed(d, k, p) for p in range(len(d.lines[k].reads)))]:
            if made and len(made.lines) <= len(d.lines) and str(made) != str(d):
                yield made
    yield from simpler_recipes(d)


def shrink(d, fails, tries=600):
    """The smallest network found that still fails."""
    again = True
    while again:
        again = False
        for other in smaller(d):
            tries -= 1
            if tries < 0:
                return d
            if fails(other):
                d, again = other, True
                break
    return d

