#!/usr/bin/env python3
"""TANDEM_PROFILE with the tool: the profile, an interrupted run, paths that cannot be written.

  profile_test.py TANDEM        ends with the line "N passed, N failed"
"""
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile

from checks import check, finish
from idx_files import write_data

tandem = os.path.abspath(sys.argv[1])
profile_ranks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/profile_ranks.py")


def command(*args):
    return [tandem, "train", "--model", "mlp", "--data", "data", "--recipe", "source", "--batch-size", "50",
            "--devices", "cpu:0", *args]


def train(profile, *args):
    return subprocess.run(command("--epochs", "1", *args), capture_output=True, text=True, timeout=120,
                          env=os.environ | {"TANDEM_PROFILE": profile})


def spans(path):
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    tracks = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    return [e | {"track": tracks[e["tid"]]} for e in trace["traceEvents"] if e["ph"] == "X"], trace


def test_a_run():
    run = train("trace.json", "--workers", "2", "--threads", "2", "--out", "a")
    check("the run", run.returncode == 0, run.stderr)
    check("one line names the file", run.stderr.count("\n") == 1 and "trace.json" in run.stderr, run.stderr)
    found, trace = spans("trace.json")
    names = {e["name"] for e in found}
    for name in ("epoch", "step", "SGD::step", "backward", "zero_grad", "linear", "make batch", "wait for batch",
                 "save checkpoint"):
        check(f"a span named {name}", name in names, sorted(names))
    check("a span for each step", sum(e["name"] == "step" for e in found) == 4)
    check("batches are made by the workers", {e["track"] for e in found if e["name"] == "make batch"} <=
          {"data worker 0", "data worker 1"})
    check("steps are the main thread's", {e["track"] for e in found if e["name"] == "step"} == {"main"})
    process = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    check("the process has a name", process == ["tandem"], process)
    check("no dropped spans", trace["otherData"]["dropped_spans"] == 0)
    plain = subprocess.run(command("--epochs", "1", "--out", "b"), capture_output=True, text=True, timeout=120)
    check("profiling does not change results", plain.returncode == 0 and plain.stderr == "" and
          open("a/model.safetensors", "rb").read() == open("b/model.safetensors", "rb").read(), plain.stderr)


def test_two_processes():
    run = train("rank-%p.json", "--processes", "2", "--out", "two")
    check("two processes", run.returncode == 0, run.stderr)
    files = sorted(glob.glob("rank-*.json"))
    joined = subprocess.run([sys.executable, profile_ranks, "both.json", *files], capture_output=True, text=True)
    if "gloo" not in subprocess.run([tandem, "devices"], capture_output=True, text=True).stdout:
        return
    check("profiles of ranks are joined", joined.returncode == 0 and "all_to_all" in joined.stdout, joined)
    with open("both.json", encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    check("both ranks have tracks", {e["pid"] for e in events} == {1, 2})
    calls = [sorted((e for e in events if e["pid"] == pid and e.get("cat") == "communication" and
                     e["name"] == "all_to_all"), key=lambda e: e["ts"]) for pid in (1, 2)]
    check("a call for each step", [len(c) for c in calls] == [4, 4], calls)
    check("a rank's call does not end before the other's begins",
          all(a["ts"] < b["ts"] + b["dur"] and b["ts"] < a["ts"] + a["dur"] for a, b in zip(*calls)), calls)
    one = subprocess.run([sys.executable, profile_ranks, "one.json", files[0], "trace.json"], capture_output=True,
                         text=True)
    check("profiles that do not belong together are refused", one.returncode == 1 and "two ranks" in one.stderr, one)


def test_an_interrupted_run():
    run = subprocess.Popen(command("--epochs", "100000", "--out", "c"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, env=os.environ | {"TANDEM_PROFILE": "cut.json"})
    for line in run.stdout:
        if line.startswith("epoch "):
            break
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    check("ended by the signal", run.returncode == 128 + signal.SIGINT, (run.returncode, errors))
    found, _ = spans("cut.json")
    check("the profile is complete", any(e["name"] == "step" for e in found))


def test_bad_paths():
    with open("file", "w", encoding="utf-8"):
        pass
    for number, (path, word) in enumerate((("missing/trace.json", "missing"), (".", "folder"), ("file/x", "file"),
                                           ("", ""))):
        run = train(path, "--out", f"bad{number}")
        check(f"{path!r}: the run continues", run.returncode == 0, run.stderr)
        one_line = run.stderr.count("\n") == 1 and "TANDEM_PROFILE" in run.stderr and word in run.stderr
        check(f"{path!r}: one line gives the reason", one_line if path else run.stderr == "", run.stderr)
    os.mkdir("gone")
    run = subprocess.Popen(command("--epochs", "100000", "--out", "d"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, env=os.environ | {"TANDEM_PROFILE": "gone/trace.json"})
    for line in run.stdout:
        if line.startswith("epoch "):
            break
    os.rmdir("gone")
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    check("a folder that goes away", run.returncode == 128 + signal.SIGINT and errors.count("\n") == 1 and
          "gone" in errors, (run.returncode, errors))


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        write_data("data", 200)
        test_a_run()
        test_two_processes()
        test_an_interrupted_run()
        test_bad_paths()
        os.chdir("/")
    sys.exit(finish())


main()
