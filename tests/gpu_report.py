#!/usr/bin/env python3
"""Collects the results of tests/gpu.sh and prints them as one table.

  gpu_report.py probe                  prints the GPU's facts as JSON, or "no CUDA device: ..." with exit code 77
  gpu_report.py add STATE --group G --name NAME --code N --seconds S --log FILE -- COMMAND...
  gpu_report.py table STATE            prints the table of all steps in STATE (a JSON file)
  gpu_report.py merge STATE FROM...    adds the steps and facts of other states

A step's log reports its result in its last line "N passed, N failed"; JSON lines in it are benchmark rows
({"source", "row", "value", "part"} or "absent") or facts ({"fact", "value"}).
"""
import argparse
import ctypes
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time

COUNT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)

# Rows of the table: key, description, unit, goals. A goal is (what the value is compared with, how, number).
#   ("value", "most", x)    Tandem's value is at most x
#   ("torch", "times", x)   Tandem's time is at most x times PyTorch's, the shorter of eager and compiled
#   ("direct", "speed", x)  at least x times the speed of a direct call of cuBLAS or cuDNN
#   ("copy", "speed", x)    at least x times the bandwidth of a device-to-device copy
SPEED = [("direct", "speed", 0.95)]
BANDWIDTH = [("copy", "speed", 0.85)]
BEST = [("torch", "times", 1)]


def most(value):
    return [("value", "most", value), *BEST]


ROWS = [
    ("p2_epoch_eager", "LeNet epoch, eager", "s", most(0.11)),
    ("p2_epoch_captured", "LeNet epoch, captured", "s", most(0.11)),
    ("p2_epoch_captured_tf32", "the same with TF32", "s", most(0.11)),
    ("p2_epoch_captured_bf16", "the same with bfloat16 autocast", "s", most(0.11)),
    ("small_op", "host time to issue a small operation", "us", [("value", "most", 2e-6)]),
    ("captured_launches", "launches per captured step", "count", [("value", "most", 1)]),
    ("captured_syncs", "host syncs per step", "count", [("value", "most", 0)]),
    ("captured_allocations", "allocations per step after warm-up", "count", [("value", "most", 0)]),
    ("matmul_fp32", "matrix product 8192³, float32", "matmul", SPEED),
    ("matmul_tf32", "matrix product 8192³, TF32", "matmul", SPEED),
    ("matmul_bf16", "matrix product 8192³, bfloat16", "matmul", SPEED),
    ("conv_forward", "ResNet-50 convolutions, batch 32, forward", "ms", SPEED),
    ("conv_input", "their data gradients", "ms", SPEED),
    ("conv_weight", "their weight gradients", "ms", SPEED),
    ("conv_forward_bf16", "the same in bfloat16, forward", "ms", BEST),
    ("conv_input_bf16", "their data gradients", "ms", BEST),
    ("conv_weight_bf16", "their weight gradients", "ms", BEST),
    ("add", "add, 1 GiB each", "GB/s", BANDWIDTH),
    ("relu", "relu, 1 GiB", "GB/s", BANDWIDTH),
    ("exp", "exp, 1 GiB", "GB/s", BANDWIDTH),
    ("sum", "sum, 1 GiB", "GB/s", BANDWIDTH),
    ("mean", "mean, 1 GiB", "GB/s", BANDWIDTH),
    ("amax", "amax, 1 GiB", "GB/s", BANDWIDTH),
    ("copy", "copy on the device, 1 GiB", "GB/s", []),
    *((name + "_bf16", f"{name} in bfloat16, 1 GiB", "GB/s", BANDWIDTH)
      for name in ("add", "relu", "exp", "sum", "mean", "amax")),
    ("train_resnet18", "ResNet-18 training step, 64 images, float32 with each library's defaults", "ms", most(12e-3)),
    ("train_resnet50", "ResNet-50", "ms", most(31e-3)),
    ("train_vgg11", "VGG-11", "ms", most(24e-3)),
    ("train_mobilenet_v2", "MobileNetV2", "ms", most(12e-3)),
    ("attention_fp32", "causal attention and its gradients, 16,384 tokens, 12 heads of 64, float32", "ms", BEST),
    ("attention_fp32_memory", "its tensors at the peak", "MiB", [("value", "most", 2**30)]),
    ("attention_bf16", "the same in bfloat16", "ms", BEST),
    ("attention_bf16_memory", "its tensors at the peak", "MiB", [("value", "most", 2**30)]),
    ("resnet50_fp32", "ResNet-50 training step, 64 images, float32 without TF32", "ms", BEST),
    ("resnet50_bf16", "the same with bfloat16 autocast", "ms", BEST),
    ("gpt2_bf16", "GPT-2 124M training step, 8 x 1,024 tokens, bfloat16 autocast", "ms", most(31e-3)),
    ("gpt2_bf16_memory", "GPT-2's tensors at the peak", "MiB", [("value", "most", 6.5e9)]),
    ("gru_fp32", "GRU classifier training step, 32 sequences of 80 steps, 128 numbers of state", "ms", most(3e-3)),
    ("generate_fp32", "a token of a GPT-2 of 832,000 parameters, batch 1", "us", most(270e-6)),
    ("generate_bf16", "a token of GPT-2 124M in bfloat16, batch 1", "us", most(400e-6)),
    ("one_thread", "300 steps of a small network, one thread", "s", []),
    ("two_threads", "300 steps in each of two threads at once", "s", [("value", "most", 0.1)]),
]
SHOWN = {"s": lambda v: f"{v:.4f} s", "ms": lambda v: f"{v * 1e3:.3f} ms", "us": lambda v: f"{v * 1e6:.2f} µs",
         "count": lambda v: f"{v:g}", "GB/s": lambda v: f"{v / 1e9:.0f} GB/s",
         "MiB": lambda v: f"{v / 2 ** 20:,.0f} MiB",
         "matmul": lambda v: f"{v * 1e3:.2f} ms, {2 * 8192 ** 3 / v / 1e12:.1f} TFLOP/s"}


# ---- the GPU

def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def probe():
    """(facts, "") or (None, why there is no device). Asks the driver, which is present with every GPU."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, "no driver (libcuda.so.1)"
    code = driver.cuInit(0)
    if code != 0:
        return None, f"cuInit returned {code}"
    count, device, text, version = ctypes.c_int(0), ctypes.c_int(0), ctypes.create_string_buffer(256), ctypes.c_int(0)
    if driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return None, "the driver reports none"
    driver.cuDeviceGet(ctypes.byref(device), 0)
    driver.cuDeviceGetName(text, len(text), device)
    driver.cuDriverGetVersion(ctypes.byref(version))
    facts = {"GPU": text.value.decode(errors="replace"), "GPUs": str(count.value),
             "driver's CUDA": f"{version.value // 1000}.{version.value % 1000 // 10}"}
    rows = output_of("nvidia-smi", "--query-gpu=driver_version,memory.total", "--format=csv,noheader").splitlines()
    if rows:
        facts["driver, memory"] = rows[0]
    return facts, ""


# ---- the state

def load(path):
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    return {"facts": {}, "steps": []}


def save(path, state):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file, indent=1)
    os.replace(path + ".new", path)


def put_step(state, step):
    """Replaces the earlier step of that name, or appends the step."""
    for i, old in enumerate(state["steps"]):
        if (old["group"], old["name"]) == (step["group"], step["name"]):
            state["steps"][i] = step
            return
    state["steps"].append(step)


def read_log(text):
    """(facts, rows, result) found in a log."""
    facts, rows = {}, []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if "fact" in entry:
            facts[entry["fact"]] = entry["value"]
        elif "row" in entry:
            rows.append(entry)
    counts = COUNT.findall(text)
    result = "{} passed, {} failed".format(*counts[-1][:2]) if counts else ""
    return facts, rows, result + (f", {counts[-1][2]} skipped" if counts and counts[-1][2] else "")


def verdict_of(code, result, may_skip):
    if code == 77 and may_skip:
        return "skipped"
    if code in (124, 137):
        return "TIME LIMIT EXCEEDED"
    return "passed" if code == 0 and " 0 failed" in (result or " 0 failed") else "FAILED"


def add(args):
    with open(args.log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    facts, rows, result = read_log(text)
    state = load(args.state)
    state["facts"].update(facts)
    if args.group != "facts":
        # A GPU is present, so Tandem not finding it is a failure. PyTorch and the sanitizers may be absent.
        verdict = verdict_of(args.code, result, args.group == "sanitizers" or args.name.startswith("PyTorch"))
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("{")]
        put_step(state, {"group": args.group, "name": args.name, "code": args.code, "seconds": args.seconds,
                         "command": args.command, "result": result, "verdict": verdict, "rows": rows,
                         "last": lines[-1][:300] if lines else "",
                         "tail": lines[-40:] if verdict not in ("passed", "skipped") else []})
    save(args.state, state)
    return args.group != "facts" and verdict not in ("passed", "skipped")


# ---- the table

class Figures:
    """Values by (source, row): a number, or the sum over parts; otherwise the reason why there is none."""

    def __init__(self, state):
        self.parts, self.why = {}, {}
        for step in state["steps"]:
            for row in step["rows"]:
                key = (row["source"], row["row"])
                if "absent" in row:
                    self.why[key] = row["absent"]
                else:
                    self.parts.setdefault(key, {})[row.get("part", "")] = float(row["value"])

    def value(self, source, row):
        parts = self.parts.get((source, row))
        return None if parts is None or (source, row) in self.why else sum(parts.values())

    def pair(self, row, other_source, other_row):
        """(sum, other sum, ratios by part) if both sources have all parts; otherwise None."""
        a, b = self.parts.get(("tandem", row), {}), self.parts.get((other_source, other_row), {})
        common = [part for part in a if part in b]
        broken_off = ("tandem", row) in self.why or (other_source, other_row) in self.why
        if broken_off or not common or len(common) != max(len(a), len(b)):
            return None
        return sum(a[p] for p in common), sum(b[p] for p in common), [(a[p] / b[p], p) for p in common]


def judge(figures, row, unit, goal):
    """(text of the goal, text of the result, whether it is reached or None if unknown)."""
    against, how, number = goal
    if against == "value":
        value = figures.value("tandem", row)
        return (f"≤ {SHOWN[unit](number)}", "" if value is None else SHOWN[unit](value),
                None if value is None else value <= number)
    if against == "torch":
        pairs = [figures.pair(row, source, row) for source in ("torch", "compiled")]
        pair = min((pair for pair in pairs if pair is not None), key=lambda pair: pair[1], default=None)
        found = None if pair is None else pair[0] / pair[1]
        return (f"≤ {number:g} × PyTorch", "" if pair is None else f"{found:.2f} ×",
                None if pair is None else found <= number)
    other = "copy" if against == "copy" else row
    source = "direct" if ("direct", other) in figures.parts or against == "direct" else "torch"
    pair = figures.pair(row, source, other)
    if pair is None:
        return f"≥ {number:g} × {'a copy' if against == 'copy' else 'directly'}", "", None
    faster = pair[0] / pair[1] if unit == "GB/s" else pair[1] / pair[0]
    text = f"{faster:.2f} ×"
    if len(pair[2]) > 1:
        worst = max(pair[2])
        text += f" (least {1 / worst[0]:.2f} ×: {worst[1]})"
    return f"≥ {number:g} × {'a copy' if against == 'copy' else 'directly'}", text, faster >= number


def speed_table(state):
    figures = Figures(state)
    if not figures.parts and not figures.why:
        return ["No benchmark has run.", ""], (0, 0, 0)
    lines = ["| what | Tandem | PyTorch | PyTorch, compiled | direct calls | goal | result | |",
             "|---|---|---|---|---|---|---|---|"]
    reached = missed = unknown = 0
    for key, what, unit, goals in ROWS:
        shown = []
        for source in ("tandem", "torch", "compiled", "direct"):
            value = figures.value(source, key)
            if value is not None and math.isfinite(value):
                shown.append(SHOWN[unit](value))
            else:
                shown.append(figures.why.get((source, key), ""))
        for goal in goals or [None]:
            text, found, good = judge(figures, key, unit, goal) if goal else ("", "", None)
            word = "" if goal is None else {True: "reached", False: "MISSED", None: "not measured"}[good]
            reached, missed = reached + (word == "reached"), missed + (word == "MISSED")
            unknown += word == "not measured"
            lines.append("| " + " | ".join(cell.replace("|", "/") for cell in [what, *shown, text, found, word]) + " |")
            what, shown = "", [""] * 4
    return [*lines, ""], (reached, missed, unknown)


def table(state):
    speed, (reached, missed, unknown) = speed_table(state)
    steps = state["steps"]
    bad = [s for s in steps if s["verdict"] not in ("passed", "skipped")]
    facts = state["facts"]
    out = [f"# On a GPU: {facts.get('GPU', 'none')}, {facts.get('date', time.strftime('%Y-%m-%d'))}", "",
           f"Generated by `tests/gpu.sh`. {len(steps)} steps: {sum(s['verdict'] == 'passed' for s in steps)} passed, "
           f"{len(bad)} failed, {sum(s['verdict'] == 'skipped' for s in steps)} skipped. "
           f"Speed: {reached} goals reached, {missed} MISSED, {unknown} not measured.", ""]
    out += [f"- {name}: {value}" for name, value in facts.items()] + [""]
    out += ["## Steps", "", "| | step | result | seconds | command |", "|---|---|---|---|---|"]
    for s in steps:
        result = s["result"] or s["last"]
        cells = [s["verdict"], f"{s['group']}: {s['name']}", result, f"{s['seconds']:.0f}", f"`{s['command']}`"]
        out.append("| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |")
    out += ["", "## Speed", "", "Medians; every column does the same work, in the same run.", "", *speed]
    for s in bad:
        out += [f"## {s['group']}: {s['name']}: {s['verdict']} (exit code {s['code']})", "", "```", *s["tail"],
                "```", ""]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("probe")
    one = commands.add_parser("add")
    one.add_argument("state")
    for name, kind in (("group", str), ("name", str), ("code", int), ("seconds", float), ("log", str)):
        one.add_argument("--" + name, type=kind, required=True)
    commands.add_parser("table").add_argument("state")
    merge = commands.add_parser("merge")
    merge.add_argument("state")
    merge.add_argument("others", nargs="+")
    own, command = sys.argv[1:], []
    if "--" in own:
        own, command = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    args.command = shlex.join(command)
    if args.what == "probe":
        facts, why = probe()
        if facts is None:
            print("no CUDA device:", why)
            sys.exit(77)
        for name, value in facts.items():
            print(json.dumps({"fact": name, "value": value}, ensure_ascii=False))
    elif args.what == "add":
        sys.exit(add(args))  # 1: the step failed
    elif args.what == "table":
        print(table(load(args.state)))
    else:
        state = load(args.state)
        for other in map(load, args.others):
            state["facts"].update(other["facts"])
            for step in other["steps"]:
                put_step(state, step)
        save(args.state, state)


if __name__ == "__main__":
    main()
