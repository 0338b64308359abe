#!/usr/bin/env python3
"""Draws speed.svg: how long others take for networks, divided by Tandem's time, from the pages beside it.

    speed_picture.py            writes speed.svg
    speed_picture.py --check    ends with an error if speed.svg is not what the pages say

It is an error if a page lacks a row or a sentence that is needed, or if a network that is left out lies beyond the bars
that are shown.
"""
import math
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
PICTURE = HERE / "speed.svg"
WIDTH, LEFT, RIGHT = 600, 150, 500  # of the picture, and of the scale
LOW, HIGH, TICKS = 0.6, 3.1, (0.7, 1, 1.5, 2, 3)
BAR, PITCH, GAP = 11, 15, 5
STYLE = """    text { font: 13px system-ui, "DejaVu Sans", sans-serif; fill: #1f2328; }
    .title { font-size: 18px; font-weight: 600; }
    .head { font-weight: 600; }
    .value { paint-order: stroke; stroke: #ffffff; stroke-width: 3; }
    .note { font-size: 12px; }
    .note, .tick, .than { fill: #59636e; }
    .ground { fill: #ffffff; }
    .grid { stroke: #d1d9e0; stroke-width: 1; }
    .one { stroke: #1f2328; stroke-width: 2; }
    .eager { fill: #0969da; }
    .best { fill: #bc4c00; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .note, .tick, .than { fill: #9198a1; }
      .ground { fill: #0d1117; }
      .value { stroke: #0d1117; }
      .grid { stroke: #30363d; }
      .one { stroke: #f0f6fc; }
      .eager { fill: #58a6ff; }
      .best { fill: #f0883e; }
    }
"""


# ---- the pages

def text(page):
    return (HERE / page).read_text(encoding="utf-8")


def said(page, pattern):
    """What a page says at the groups of a pattern, which may match over the ends of lines."""
    found = re.search(pattern, " ".join(text(page).split()))
    return found.groups() if found else sys.exit(f"docs/results/{page}: nothing says \"{pattern}\"")


def table(page, *columns):
    """The rows, as {column: cell}, of the one table whose first columns have these names."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text(page), re.M):
        head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        if head[:len(columns)] == list(columns):
            found.append([{"page": page, "name": row[0], **dict(zip(head, row))} for row in rows])
    return found[0] if len(found) == 1 else sys.exit(
        f"docs/results/{page}: {len(found)} tables instead of one begin with the columns {' | '.join(columns)}")


def row(rows, *names):
    """The first row of the last name after those of the other names."""
    at = -1
    for name in names:
        at = next((i for i in range(at + 1, len(rows)) if rows[i]["name"].split(":")[0] == name), None)
        if at is None:
            sys.exit(f"docs/results/{rows[0]['page']}: the table has no row \"{name}\"")
    return rows[at]


def measured(row, column):
    """The figure and the unit in a cell."""
    found = re.fullmatch(r"([\d.]+)(| ms| s)", row.get(column, ""))
    return (float(found[1]), found[2]) if found else sys.exit(
        f"docs/results/{row['page']}: the row \"{row['name']}\" has no figure in the column {column}")


def ratio(row, column):
    """The time in a column over Tandem's; as the table says it, if it has a column for it."""
    if f"{column} / Tandem" in row:
        return measured(row, f"{column} / Tandem")[0]
    (time, unit), (own, own_unit) = measured(row, column), measured(row, "Tandem")
    return time / own if unit == own_unit else sys.exit(f"docs/results/{row['page']}: two units in \"{row['name']}\"")


# ---- what is shown: groups of a heading and rows, a row's label and bars, a bar's class, ratio and other library

def compiled(row, elsewhere=None):
    """Compiled PyTorch's ratio, and whether its time is of another run, which a sentence gives in milliseconds."""
    if row["PyTorch, compiled"] or not elsewhere:
        return ratio(row, "PyTorch, compiled"), ""
    return float(elsewhere) / measured(row, "Tandem")[0], "*"


def on_gpu():
    rows = table("gpu.md", "what", "Tandem", "PyTorch", "PyTorch, compiled")
    gpt2, resnet50 = said(
        "gpu.md", r"its compiled step takes ([\d.]+) ms [^.]*that of ResNet-50 in bfloat16 ([\d.]+) ms")
    lenet, resnets = "LeNet epoch, captured", "ResNet-18 training step, 64 images, float32 with each library's defaults"
    whole = "ResNet-50 training step, 64 images, float32 without TF32"
    gpt2_row = "GPT-2 124M training step, 8 x 1,024 tokens, bfloat16 autocast"
    shown = [("LeNet, captured", row(rows, lenet), None), ("ResNet-50", row(rows, resnets, "ResNet-50"), None),
             ("ResNet-50, bfloat16", row(rows, whole, "the same with bfloat16 autocast"), resnet50),
             ("MobileNetV2", row(rows, resnets, "MobileNetV2"), None), ("GPT-2, bfloat16", row(rows, gpt2_row), gpt2)]
    bars = []
    for label, line, elsewhere in shown:
        value, mark = compiled(line, elsewhere)
        bars.append((label, [("eager", ratio(line, "PyTorch"), "PyTorch"), ("best", value, "compiled PyTorch" + mark)]))
    for names in ((lenet, "the same with TF32"), (lenet, "the same with bfloat16 autocast"), (resnets,),
                  (resnets, "VGG-11"), (whole,)):
        line = row(rows, *names)
        inside(bars, 0, line, ratio(line, "PyTorch"))
        if line["PyTorch, compiled"]:
            inside(bars, 1, line, compiled(line)[0])
    return "GPU: training", bars


def engine(row):
    """The ratio and the name of the faster inference engine."""
    name = min("OpenVINO", "onnxruntime", key=lambda column: measured(row, column))
    return ratio(row, name), name


def inference():
    rows = table("cpu.md", "model", "batch", "Tandem", "PyTorch", "OpenVINO", "onnxruntime")
    single = [line for line in rows if line["batch"] == "1"]
    shown = [("ResNet-50", "resnet50"), ("MobileNetV2", "mobilenet_v2"), ("ViT-B/16", "vit_b_16")]
    bars = [(label, [("eager", ratio(line, "PyTorch"), "PyTorch"), ("best", *engine(line))])
            for label, name in shown for line in [row(single, name)]]
    for line in rows:
        inside(bars, 0, line, ratio(line, "PyTorch"))
        inside(bars, 1, line, engine(line)[0])
    return "CPU, one thread: inference of one image", bars


def training():
    rows = table("cpu.md", "network", "batch", "Tandem", "PyTorch", "PyTorch / Tandem")
    shown = [("3-d convolutions", "video"), ("1-d convolutions", "tcn")]
    bars = [(label, [("eager", ratio(row(rows, name), "PyTorch"), "PyTorch")]) for label, name in shown]
    for line in rows:
        inside(bars, 0, line, ratio(line, "PyTorch"))
    return f"CPU, one thread: training, least and most of {len(rows)} networks", bars


def inside(bars, index, row, value):
    values = [shown[index][1] for _, shown in bars]
    if not min(values) <= value <= max(values):
        sys.exit(f"docs/results/{row['page']}: \"{row['name']}\", {value:.2f}, is beyond the bars shown")


def notes():
    gpu, gpu_date = said("gpu.md", r"^# On a GPU: ([^,]+), ([\d-]+)")
    gpu_torch, = said("gpu.md", r"- PyTorch: (\d+\.\d+)")
    cpu, = said("cpu.md", r"^# CPU measurements (AMD EPYC) \(AVX-512\)")
    torch, = said("cpu.md", r"Tandem and PyTorch ([\d.]+) \(eager")
    date, = said("cpu.md", r"one thread, ([\d-]+), the same machine: networks of other kinds")
    openvino, onnxruntime = said("cpu.md", r"\(OpenVINO ([\d.]+) with [^)]*, onnxruntime ([\d.]+)\)")
    said("cpu.md", r"The same on [\d-]+ on an Intel Xeon with AVX-512")
    engines = [engine(line)[0] for line in table("cpu.md", "inference, fused, batch 1", "before", "Tandem")]
    steps = [ratio(line, "PyTorch") for line in table("cpu.md", "training step", "batch", "before", "Tandem")]
    gru, = said("gpu.md", r"LibTorch's time over Tandem's: [^;]*; a GRU classifier ([\d.]+\d)")
    lstm, = said("cpu.md", r"LSTM [^;]*; inference [\d.]+ and [\d.]+, ([\d.]+\d)")
    return textwrap.wrap(
        f"GPU: {gpu}, {gpu_date}, PyTorch {gpu_torch}, float32 with each library's defaults, or bfloat16; * in another "
        f"run. CPU: {cpu}, {date}, PyTorch {torch}, the faster of OpenVINO {openvino} and onnxruntime {onnxruntime}; "
        f"on an Intel Xeon, inference {min(engines):.2f} to {max(engines):.2f} against these, "
        f"training {min(steps):.2f} to {max(steps):.2f} against PyTorch. Other networks of these tables lie between "
        f"these bars. Lost elsewhere: a GRU on the GPU, {gru}, an LSTM's inference on the CPU, {lstm}.", 90)


# ---- the picture

def x_of(value):
    return LEFT + (RIGHT - LEFT) * math.log(value / LOW) / math.log(HIGH / LOW)


def words(css, x, y, content, anchor="start"):
    return f'  <text class="{css}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{content}</text>\n'


def line(css, x, y1, y2):
    return f'  <line class="{css}" x1="{x:.1f}" y1="{y1:.1f}" x2="{x:.1f}" y2="{y2:.1f}"/>\n'


def bar(css, value, than, y):
    """A bar, and what is written beside it."""
    if not LOW < value < HIGH:
        sys.exit(f"{value:.2f}, against {than}, is beyond the scale of the picture")
    one, end = x_of(1), x_of(value)
    size = f'width="{abs(end - one):.1f}" height="{BAR}"'
    return (f'  <rect class="{css}" x="{min(one, end):.1f}" y="{y:.1f}" {size}/>\n',
            words("value", max(one, end) + 7, y + BAR - 1, f'{value:.2f} <tspan class="than">{than}</tspan>'))


def group(head, rows, y):
    """The elements of a group whose heading stands at y, and where its bars end."""
    top = y + 8
    bars, labels, y = "", words("head", 16, y, head), top + GAP / 2
    for label, shown in rows:
        labels += words("label", LEFT - 8, y + (PITCH * len(shown) - PITCH + BAR) / 2 + 4.5, label, "end")
        for css, value, than in shown:
            rect, label = bar(css, value, than, y)
            bars, labels, y = bars + rect, labels + label, y + PITCH
        y += GAP
    bottom = y - GAP / 2 - (PITCH - BAR)
    grid = "".join(line("grid", x_of(tick), top, bottom) for tick in TICKS if tick != 1)
    return grid + labels + bars + line("one", x_of(1), top, bottom), bottom


def picture():
    title = "Time of others, divided by Tandem's"
    body, y = words("title", 16, 28, title), 74
    body += words("than", x_of(1) - 10, 54, "← Tandem is slower", "end")
    body += words("than", x_of(1) + 10, 54, "Tandem is faster →")
    for tick in TICKS:
        body += words("head" if tick == 1 else "tick", x_of(tick), y, f"{tick:g}", "middle")
    for head, rows in (on_gpu(), inference(), training()):
        part, y = group(head, rows, y)
        body, y = body + part, y + 24
    for note in notes():
        body, y = body + words("note", 16, y, note), y + 16
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}" width="{WIDTH}" height="{y:.0f}" '
            f'role="img">\n  <title>{title}: networks on a GPU and on a CPU</title>\n  <style>\n{STYLE}  </style>\n'
            f'  <rect class="ground" width="100%" height="100%"/>\n{body}</svg>\n')


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    made = picture()
    if not sys.argv[1:]:
        PICTURE.write_text(made, encoding="utf-8")
    elif PICTURE.read_text(encoding="utf-8") != made:
        sys.exit("docs/results/speed.svg is not what the pages say: run docs/results/speed_picture.py")


main()
