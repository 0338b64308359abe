#!/usr/bin/env python3
"""Runs the tool with the Nth call of a kind failing, for N = 1, 2, 3 ..., until it is not reached any more.

  tool_failure_test.py FAULTY_TANDEM [SCENARIO...] [--kind KIND] [--nth N] [--samples COUNT] [--messages]

FAULTY_TANDEM is the tool with the calls of faults.h in it. Each failure must end in success with the same results, or in
exit code 1 or 2 with one line on standard error. Afterwards no temporary file is left, each file is the old or the new
one, and the command, or the one that continues it, works. --samples: about so many calls of each kind, and three times
as many that take memory, evenly spread. The last line is "N passed, N failed".
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli"))
from idx_files import write_data  # noqa: E402
from picture_files import write_png  # noqa: E402

KINDS = ("memory map open read write sync rename close truncate unlink folder thread library socket short "
         "interrupt").split()
HARMLESS = ("short", "interrupt")
TRAIN = "--model linear --batch-size 50 --threads 2 --recipe source".split()
TIMED = ("checkpoint.safetensors", "metrics.jsonl", "curve.svg", "config.json", "compare.json", "compare.svg")  # what they hold depends on the time
passed = failed = 0


class Scenario:
    """`command` runs in a folder that `prepare` has filled. `again` are the commands of which one must work after a
    failure. `prints`: it always prints the same. `notes`: what it prints if a part of the result is left out.
    `fresh`: a folder of results that the tool does not write to again."""

    def __init__(self, name, command, prepare="", again=(), prints=True, notes=None, fresh=None):
        self.name, self.command, self.prints, self.notes = name, command.split(), prints, notes
        self.fresh = fresh
        self.prepare = [step.split() for step in prepare.split(";") if step]
        self.again = [command.split() for command in again] or [self.command]


def scenarios():
    run = "train --data data --out run --epochs 1 " + " ".join(TRAIN)
    events = run + " --tensorboard"
    return [
        Scenario("train", events, again=(events, "train --resume run --tensorboard"), prints=False),
        Scenario("resume", "train --resume run --epochs 2 --tensorboard", events, prints=False),
        Scenario("eval", "eval run", run),
        Scenario("predict", "predict run picture.png", run),
        Scenario("report", "report run --out page.html", run, notes="no predictions: "),
        Scenario("verify", "verify run", run, prints=False),
        Scenario("convert_pt", "convert run/model.safetensors model.pt", run),
        Scenario("convert_onnx", "convert run model.onnx", run),
        Scenario("inspect", "inspect run/model.safetensors", run),
        Scenario("summary", "summary --model lenet"),
        Scenario("compare", "compare --data data --out compared --epochs 1 --devices cpu:0 --devices cpu:0,cpu:1 " +
                 " ".join(TRAIN), prints=False, fresh="compared"),
    ]


def files(folder):
    """The files below the folder with sums of their contents, without the minute that a report's page names."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                content = re.sub(rb"Written on \d{4}-\d\d-\d\d \d\d:\d\d by ", b"Written by ", file.read())
                found[os.path.relpath(os.path.join(path, name), folder)] = zlib.crc32(content)
    return found


class Run:
    """One run of the tool, in a folder with the given files."""

    def __init__(self, tool, folder, command, fault=None):
        env = dict(os.environ, TANDEM_CPU_DEVICES="2")
        report = os.path.join(folder, "../report")
        if os.path.exists(report):
            os.remove(report)
        if fault:
            env["TANDEM_FAULT"] = f"{fault[0]} {fault[1]} {os.path.abspath(report)}"
        try:
            done = subprocess.run([tool, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
            self.code, self.out, self.error = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            self.code, self.out, self.error = "a timeout", "", ""
        words = open(report).read().split() if os.path.exists(report) else []
        self.calls, self.fired = (int(words[0]), words[1] == "1") if len(words) == 2 else (0, False)


class Tester:
    def __init__(self, tool, scenario, folder, arguments):
        self.tool, self.scenario, self.arguments = tool, scenario, arguments
        self.before, self.folder = os.path.join(folder, "before"), os.path.join(folder, "now")
        os.makedirs(self.before)
        write_data(os.path.join(self.before, "data"), 100)
        write_png(os.path.join(self.before, "picture.png"), 28, 28, (9, 90, 200))
        for step in scenario.prepare:
            done = Run(tool, self.before, step)
            assert done.code == 0, (step, done.error)
        self.run(None)  # what a run leaves and prints
        self.old, self.new = files(self.before), files(self.folder)
        self.out = self.last.out

    def run(self, fault):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.before, self.folder)
        self.last = Run(self.tool, self.folder, self.scenario.command, fault)
        return self.last

    def same(self, what, hidden=True):
        """"" if all results are those of an undisturbed run. Hidden files may be left if they cannot be removed."""
        now = {name: sum for name, sum in files(self.folder).items() if hidden or "/." not in "/" + name}
        if {self.plain(name) for name in now} != {self.plain(name) for name in self.new}:
            return f"{what} leaves other files: {sorted(now)}"
        other = [name for name, content in now.items() if self.is_fixed(name) and content != self.new[name]]
        return f"{what} gives another {other[0]}" if other else ""

    @staticmethod
    def plain(name):
        """Events are in files whose names hold the time."""
        return os.path.join(os.path.dirname(name), "events") if "tfevents" in name else name

    @staticmethod
    def is_fixed(name):
        return "tfevents" not in name and os.path.basename(name) not in TIMED

    def fault_of(self, kind, done):
        """"" if this end of a run with a failed call is allowed."""
        if done.code == 0 and self.scenario.notes and self.scenario.notes in done.out and kind not in HARMLESS:
            return ""
        if done.code == 0:
            if self.scenario.prints and done.out != self.out:
                return f"no error, but other output: {done.out!r}"
            return self.same("it ends well, but", hidden=kind != "unlink")
        if kind in HARMLESS:
            return f"an error: {done.error!r}"
        if done.code not in (1, 2) or done.error.count("\n") != 1 or not done.error.startswith("tandem"):
            return f"{done.code}, {done.error[:600]!r}"
        known = {self.plain(name) for name in [*self.old, *self.new]}
        for name, content in files(self.folder).items():
            if self.plain(name) not in known:
                return f"{done.error!r} leaves {name}"
            if self.is_fixed(name) and content not in (self.old.get(name), self.new.get(name)):
                return f"{done.error!r} leaves a part of {name}"
        if self.scenario.fresh:
            shutil.rmtree(os.path.join(self.folder, self.scenario.fresh), ignore_errors=True)
        ends = [Run(self.tool, self.folder, command) for command in self.scenario.again]
        if not any(end.code == 0 for end in ends):
            return f"{done.error!r}: the next run fails: {ends[0].error!r}"
        return self.same(f"after {done.error!r}, the next run")

    def test_kind(self, kind):
        global passed, failed
        calls = self.run((kind, 0)).calls
        samples = self.arguments.samples * (3 if kind == "memory" else 1)
        stride = max(1, -(-calls // samples)) if samples else 1
        first, last = (self.arguments.nth, self.arguments.nth) if self.arguments.nth else (1, calls)
        good = bad = 0
        seen = set()
        for nth in range(first, last + 1, stride):
            done = self.run((kind, nth))
            if done.code in (0, 1, 2) and not done.fired:
                continue
            fault = self.fault_of(kind, done)
            good, bad = good + (not fault), bad + bool(fault)
            if fault:
                print(f"FAILED: {fault}\n  {self.scenario.name} --kind {kind} --nth {nth}")
            elif self.arguments.messages and done.error not in seen:
                seen.add(done.error)
                print(f"  {nth}: {done.error.rstrip()}")
        if calls:
            print(f"{self.scenario.name}, {kind}: {calls} calls, one in {stride}: {good} passed, {bad} failed", flush=True)
        passed, failed = passed + good, failed + bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("scenario", nargs="*")
    parser.add_argument("--kind")
    parser.add_argument("--nth", type=int)
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--messages", action="store_true")
    arguments = parser.parse_args()
    for scenario in scenarios():
        if arguments.scenario and scenario.name not in arguments.scenario:
            continue
        with tempfile.TemporaryDirectory() as folder:
            tester = Tester(os.path.abspath(arguments.tool), scenario, folder, arguments)
            for kind in KINDS:
                if arguments.kind in (None, kind):
                    tester.test_kind(kind)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
