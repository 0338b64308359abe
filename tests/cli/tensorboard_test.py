#!/usr/bin/env python3
"""Event files of SummaryWriter and of `tandem train --tensorboard`, read by hand and with PyPI's tensorboard.

  tensorboard_test.py TANDEM FILES        FILES is the program of tensorboard_files.cpp

Without the package, the comparisons with it are skipped. The last line is "N passed, N failed".
"""
import bisect
import glob
import json
import math
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import zlib

from checks import check, finish
from idx_files import write_data

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
except ImportError as error:
    EventAccumulator = None
    absent = error

tandem, files = map(os.path.abspath, sys.argv[1:3])


IMAGES = ("gray", "rows", "last", "grid", "wide", "wide, channels last")  # tags


# ---- reading by hand


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def fields(data):
    """(number, value) of a message's fields: integers, 8 or 4 bytes, or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        else:
            size = {1: 8, 2: None, 5: 4}[kind]
            size = varint() if size is None else size
            yield key >> 3, data[at:at + size]
            at += size


def events(path):
    data, at, out = open(path, "rb").read(), 0, []
    while at < len(data):
        size, sum_of_size = struct.unpack_from("<QI", data, at)
        body = data[at + 12:at + 12 + size]
        good = (masked(data[at:at + 8]) == sum_of_size and
                masked(body) == struct.unpack_from("<I", data, at + 12 + size)[0])
        if not good:
            check(f"checksums of {path} at {at}", False)
        out.append(dict(fields(body)))
        at += 16 + size
    return out


def values(event):
    """{tag: fields} of an event's summary."""
    found = [dict(fields(value)) for number, value in fields(event.get(5, b"")) if number == 1]
    return {value[1].decode(): value for value in found}


def size_of_png(data):
    return struct.unpack(">II", data[16:24])


def pixels_of(data):
    """The rows of an 8-bit gray PNG without filters, or None."""
    width, height = size_of_png(data)
    body, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += 12 + size
    raw = zlib.decompress(body)
    rows = [raw[i * (width + 1):(i + 1) * (width + 1)] for i in range(height)]
    out = []
    for row in rows:   # filters: none, and the difference to the left
        line = list(row[1:])
        if row[0] == 1:
            for i in range(1, width):
                line[i] = (line[i] + line[i - 1]) & 255
        elif row[0] == 2 and out:
            line = [(a + b) & 255 for a, b in zip(line, out[-1])]
        elif row[0] > 2:
            return None
        out.append(line)
    return out


def histogram_by_hand(data):
    """The figures, limits and counts of values, as TensorBoard defines them."""
    positive = [1e-12]
    while positive[-1] * 1.1 < 1e20:
        positive.append(positive[-1] * 1.1)
    limits = [-x for x in reversed(positive)] + [0.0] + positive + [sys.float_info.max]
    counts = [0.0] * len(limits)
    for value in data:
        counts[bisect.bisect_right(limits, value)] += 1
    used = [i for i, count in enumerate(counts) if count]
    part = slice(max(used[0] - 1, 0), used[-1] + 1)
    return min(data), max(data), len(data), limits[part], counts[part]


def many_values():
    """Those that tensorboard_files writes."""
    out, value = [], 1e-14
    while value < 1e22:
        out += [value, -value]
        value *= 1.37
    limit, i = 1e-12, 0
    while limit < 1e20:
        if i % 10 == 0:
            near = [limit, math.nextafter(limit, 0), math.nextafter(limit, 1e30)]
            out += [sign * x for x in near for sign in (1, -1)]
        limit, i = limit * 1.1, i + 1
    return out


def test_histograms(by_tag):
    for tag, data in (("many", many_values()), ("positive", [0.0, 1e-13]), ("integers", [0.0, 1.0, 2.0, 3.0])):
        found = dict(fields(by_tag[tag][1][5]))
        numbers = [struct.unpack("<d", found[i])[0] for i in range(1, 6)]
        limits, counts = (list(struct.unpack(f"<{len(found[i]) // 8}d", found[i])) for i in (6, 7))
        least, most, count, *expected = histogram_by_hand(data)
        check(f"histogram of {tag}", [limits, counts] == expected, (limits, counts))
        total = squares = 0.0
        for value in data:
            total, squares = total + value, squares + value * value
        check(f"figures of {tag}", numbers == [least, most, count, total, squares], numbers)
    large = dict(fields(by_tag["large"][1][5]))
    count, total = (struct.unpack("<d", large[i])[0] for i in (3, 4))
    check("values in parts", count == 2**20 + 3 and total == 2 * count, (count, total))


def test_names(folder, first):
    name = os.path.basename(first)
    host = re.escape(socket.gethostname())
    pattern = rf"events\.out\.tfevents\.\d{{10}}\.{host}\.\d+\.0\.part"
    check("the name of the first file", re.fullmatch(pattern, name), name)
    umask = os.umask(0)
    os.umask(umask)
    check("its permissions", os.stat(first).st_mode & 0o777 == 0o666 & ~umask, oct(os.stat(first).st_mode))
    for where, seconds in (("later", 5000000001), ("last", 9999999999)):
        new = [n for n in sorted(os.listdir(f"{folder}/{where}")) if not n.endswith(".x")]
        check(f"a file after the last one: {where}", len(new) == 1 and int(new[0].split(".")[3]) == seconds, new)


def test_by_hand(folder):
    check("CRC-32C", crc32c(b"123456789") == 0xe3069283)
    paths = sorted(glob.glob(f"{folder}/first/events*"))
    check("a file for each writer, and one after close", len(paths) == 4, paths)
    check("the suffix", paths[0].endswith(".part") and not paths[2].endswith(".part"), paths)
    found = events(paths[0])
    check("the version comes first", found[0][3] == b"brain.Event:2", found[0])
    by_tag = {tag: (event, value) for event in found[1:] for tag, value in values(event).items()}
    losses = [(event.get(2, 0), struct.unpack("<d", event[1])[0], struct.unpack("<f", value[2])[0])
              for event in found[1:] for tag, value in values(event).items() if tag == "train/loss"]
    check("steps, times and values", losses == [(i, 1000.5 + i, struct.unpack("<f", struct.pack("<f", 1 / (1 + i)))[0])
                                                for i in range(5)], losses)
    check("a negative step", by_tag["one value"][0][2] == 2**64 - 1)
    histogram = dict(fields(by_tag["values"][1][5]))
    numbers = {i: struct.unpack("<d", histogram[i])[0] for i in range(1, 6)}
    check("figures of the histogram", numbers[1] == -2 and numbers[2] == 3e20 and numbers[3] == 6, numbers)
    limits, counts = (struct.unpack(f"<{len(histogram[i]) // 8}d", histogram[i]) for i in (6, 7))
    check("limits ascend", list(limits) == sorted(set(limits)) and len(limits) == len(counts), limits)
    where = {}
    for i, count in enumerate(counts):
        if count:
            where[limits[i - 1], limits[i]] = count
    expected = {-2: 1, -1e-13: 1, 0: 1, 0.5: 2, 3e20: 1}
    check("each value is in its bucket", sum(counts) == 6 and len(where) == 5 and
          all(any(low <= v < high and n == count for (low, high), n in where.items()) for v, count in expected.items()),
          where)
    test_histograms(by_tag)
    test_names(folder, paths[0])
    check("no values, no histogram", "nothing" not in by_tag)
    image = {tag: dict(fields(by_tag[tag][1][4])) for tag in IMAGES}
    check("sizes and channels",
          [(i[1], i[2], i[3]) for i in image.values()] ==
          [(2, 3, 1), (1, 4, 1), (2, 3, 3), (2, 8, 1), (2, 6, 1), (2, 6, 1)], image)
    check("PNG files",
          all(i[4][:8] == b"\x89PNG\r\n\x1a\n" and size_of_png(i[4]) == (i[2], i[1]) for i in image.values()))
    check("values are scaled and clamped", pixels_of(image["rows"][4]) in ([[0, 255, 255, 0]], None),
          pixels_of(image["rows"][4]))
    check("eight in a row", pixels_of(image["grid"][4]) in ([list(range(8)), [8, 9] + 6 * [0]], None),
          pixels_of(image["grid"][4]))
    for tag in ("wide", "wide, channels last"):
        check(tag, pixels_of(image[tag][4]) in ([[0, 1, 2, 6, 7, 8], [3, 4, 5, 9, 10, 11]], None), image[tag])
    check("two rows of pictures", pixels_of(dict(fields(by_tag["tall"][1][4]))[4]) in (
        [[6 * (i // 3) + i % 3 + 3 * row for i in range(24)] for row in (0, 1)] +
        [[48 + i % 3 + 3 * row if i < 3 else 0 for i in range(24)] for row in (0, 1)], None))
    text = by_tag["note/text_summary"][1]
    tensor, plugin = dict(fields(text[8])), dict(fields(dict(fields(text[9]))[1]))
    check("the type of a text", tensor[1] == 7 and dict(fields(dict(fields(tensor[2]))[2]))[1] == 1 and
          plugin[1] == b"text", text)
    check("a text", dict(fields(text[8]))[8].decode() == "some *text*: ä" and b"text" in text[9], text)
    check("several curves", sorted(os.listdir(f"{folder}/first"))[:2] == ["both_te_st", "both_train"],
          os.listdir(f"{folder}/first"))
    for part, number in (("train", 1), ("te_st", 2)):
        curve = events(glob.glob(f"{folder}/first/both_{part}/events*")[0])
        value = values(curve[1])["both"]
        check(f"the curve {part}", struct.unpack("<f", value[2])[0] == number and curve[1][2] == 7 and
              struct.unpack("<d", curve[1][1])[0] == 55.5, curve)
    check("one purge", all(7 not in event for event in events(paths[3])) and found[0].get(2, 0) == 0, paths[3])
    resumed = events(paths[2])
    check("a purge", resumed[1].get(2) == 3 and dict(fields(resumed[1][7]))[1] == 1, resumed)


# ---- reading with tensorboard


def read(folder):
    found = EventAccumulator(folder, size_guidance={"scalars": 0, "histograms": 0, "images": 0, "tensors": 0})
    found.Reload()
    return found


def test_with_tensorboard(folder):
    found = read(f"{folder}/first")
    losses = [(e.step, e.value) for e in found.Scalars("train/loss")]
    check("tensorboard: purged from step 3 on",
          [step for step, _ in losses] == [0, 1, 2, 3] and losses[3][1] == 30, losses)
    check("tensorboard: tags", set(found.Tags()["images"]) == set(IMAGES) and
          set(found.Tags()["histograms"]) == {"values", "integers"} and
          found.Tags()["tensors"] == ["note/text_summary"], found.Tags())
    check("tensorboard: several curves", read(f"{folder}/first/both_train").Scalars("both")[0].value == 1)
    histogram = found.Histograms("integers")[0].histogram_value
    check("tensorboard: a histogram", (histogram.min, histogram.max, histogram.num, histogram.sum) == (0, 3, 4, 6),
          histogram)


# ---- the tool


def train(*args):
    recipe = [] if "--resume" in args else ["--recipe", "source"]
    return subprocess.run([tandem, "train", "--model", "linear", "--data", "data", "--batch-size", "50", *recipe, *args],
                          capture_output=True, text=True, timeout=120,
                          env=os.environ | {"CUDA_VISIBLE_DEVICES": ""})  # a GPU serves one process only


def scalars(folder):
    """{tag: {step: value}} of all event files, later files last."""
    out = {}
    for path in sorted(glob.glob(f"{folder}/events*")):
        for event in events(path):
            for tag, value in values(event).items():
                if 2 in value:
                    out.setdefault(tag, {})[event.get(2, 0)] = struct.unpack("<f", value[2])[0]
    return out


def near(a, b):
    return abs(a - b) <= 1e-5 * max(1, abs(b))


def test_a_run():
    plain, run = train("--epochs", "3", "--out", "plain"), train("--epochs", "2", "--out", "logged", "--tensorboard")
    check("the run", run.returncode == 0, run.stderr)
    lines = [json.loads(line) for line in open("logged/metrics.jsonl")]
    found = scalars("logged")
    check("a point for each of the few steps", list(found["train/loss"]) == list(range(1, 9)), found.get("train/loss"))
    mean = sum(found["train/loss"][i] for i in range(1, 5)) / 4
    check("the steps' mean is the epoch's", near(mean, lines[0]["train_loss"]), (mean, lines[0]))
    check("learning rate",
          set(found["train/learning_rate"].values()) == {struct.unpack("<f", struct.pack("<f", 0.2))[0]})
    check("figures of the epochs", all(near(found[f"epoch/{name}"][4 * line["epoch"]], line[name]) for line in lines
                                       for name in ("train_loss", "train_accuracy", "test_loss", "test_accuracy")),
          found)
    tags = {tag for path in glob.glob("logged/events*") for event in events(path) for tag in values(event)}
    check("histograms",
          {f"{kind}/fc.{name}" for kind in ("parameters", "gradients") for name in ("weight", "bias")} <= tags, tags)
    check("images and the configuration", {"first batch", "configuration/text_summary"} <= tags, tags)
    # As if it had been killed after more steps than its checkpoint has.
    again = train("--resume", "logged", "--epochs", "3", "--tensorboard")
    check("the resumed run", again.returncode == 0, again.stderr)
    check("a new file", len(glob.glob("logged/events*")) == 2)
    check("events do not change results", plain.returncode == 0 and
          open("plain/model.safetensors", "rb").read() == open("logged/model.safetensors", "rb").read())
    if EventAccumulator:
        steps = [e.step for e in read("logged").Scalars("train/loss")]
        check("tensorboard: all steps once", steps == list(range(1, 13)), steps)
        check("tensorboard: a batch", read("logged").Images("first batch")[0].width == 8 * 28)
        check("tensorboard: gradients",
              [e.step for e in read("logged").Histograms("gradients/fc.weight")] == [4, 8, 12])


def test_folders_and_processes():
    run = train("--epochs", "1", "--out", "two", "--tensorboard", "events", "--processes", "2", "--threads", "2")
    check("two processes", run.returncode == 0 and len(glob.glob("events/events*")) == 1, run.stderr)
    found, line = scalars("events"), json.loads(open("two/metrics.jsonl").readline())
    check("figures of both", near(found["epoch/train_loss"][4], line["train_loss"]) and len(found["train/loss"]) >= 2,
          found)
    for shards in ("0", "2"):  # without shards, the optimizer adds up the devices' gradients and does not keep the sum
        run = subprocess.run([tandem, "train", "--model", "linear", "--data", "data", "--epochs", "1",
                              "--out", f"s{shards}",
                              "--devices", "cpu:0,cpu:1", "--shards", shards, "--tensorboard"], capture_output=True,
                             text=True, timeout=120, env={**os.environ, "TANDEM_CPU_DEVICES": "2"})
        tags = {tag for path in glob.glob(f"s{shards}/events*") for event in events(path) for tag in values(event)}
        check(f"{shards} shards: whole gradients only", run.returncode == 0 and "parameters/fc.weight" in tags and
              ("gradients/fc.weight" in tags) == (shards == "2"), (run.stderr, tags))
    open("file", "w").close()
    run = train("--epochs", "1", "--out", "bad", "--tensorboard", "file/x")
    check("a folder that cannot exist", run.returncode == 2 and "--tensorboard" in run.stderr and
          run.stderr.count("\n") == 1, run.stderr)


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        run = subprocess.run([files, "made"], capture_output=True, text=True, timeout=60)
        check("the program", run.returncode == 0 and run.stdout == "", run.stdout + run.stderr)
        test_by_hand("made")
        if EventAccumulator:
            test_with_tensorboard("made")
        else:
            print(f"[skipped] comparison with tensorboard: {absent}")
            check("skipped", True)
        write_data("data", 200)
        test_a_run()
        test_folders_and_processes()
        os.chdir("/")
    sys.exit(finish())


main()
