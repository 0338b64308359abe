#!/usr/bin/env python3
"""Tests of the table that gpu.sh writes, with made-up figures, and of gpu.sh's error messages."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("gpu_report", here / "gpu_report.py")
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)

passed = failed = 0


def check(what, good, seen=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED: {what} -- {seen!r}")


def rows(source, **values):
    return [{"source": source, "row": key, "value": value, "part": ""} for key, value in values.items()]


def step(name, entries, code=0, group="bench", log=""):
    """The step as gpu.sh adds it, from a log with these lines."""
    with tempfile.TemporaryDirectory() as folder:
        state, path = f"{folder}/state", f"{folder}/log"
        with open(path, "w", encoding="utf-8") as file:
            file.write(log + "".join(json.dumps(entry) + "\n" for entry in entries))
        command = [sys.executable, here / "gpu_report.py", "add", state, "--group", group, "--name", name,
                   "--code", str(code), "--seconds", "3", "--log", path, "--", "some", "com|mand"]
        told = subprocess.run(command, check=False).returncode
        made = report.load(state)["steps"][0]
        check("the exit code of add says whether the step failed",
              told == (made["verdict"] not in ("passed", "skipped")), (told, made))
        return made


def line(state, what):
    return next((text for text in report.table(state).splitlines() if text.startswith(f"| {what} |")), "")


def state_of(*steps, **facts):
    return {"facts": facts, "steps": list(steps)}


def test_goals():
    tandem = rows("tandem", p2_epoch_eager=0.07, small_op=2.5e-6, captured_launches=1, captured_syncs=0,
                  matmul_fp32=0.0220, add=2.6e12, sum=2.0e12, copy=2.0e12)
    torch = rows("torch", p2_epoch_eager=0.20, small_op=6e-6, copy=2.9e12)
    direct = rows("direct", matmul_fp32=0.0213, copy=3.0e12)
    state = state_of(step("t", tandem), step("p", torch), step("d", direct), GPU="a GPU", date="2026-01-02")
    text = report.table(state)
    check("the title", text.startswith("# On a GPU: a GPU, 2026-01-02\n"), text[:60])
    check("an absolute goal reached", "0.0700 s | 0.2000 s |  |  | ≤ 0.1100 s | 0.0700 s | reached |" in text, text)
    check("a goal against PyTorch reached", "≤ 1 × PyTorch | 0.35 × | reached |" in text)
    check("a missed goal",
          line(state, "host time to issue a small operation").endswith("| ≤ 2.00 µs | 2.50 µs | MISSED |"))
    check("a count", line(state, "launches per captured step").endswith("| ≤ 1 | 1 | reached |"))
    check("zero is a value", line(state, "host syncs per step").endswith("| ≤ 0 | 0 | reached |"))
    check("cuBLAS", "≥ 0.95 × directly | 0.97 × | reached" in line(state, "matrix product 8192³, float32"))
    check("bandwidth against the direct copy", "| 0.87 × | reached" in line(state, "add, 1 GiB each"),
          line(state, "add, 1 GiB each"))
    check("bandwidth missed", "| 0.67 × | MISSED" in line(state, "sum, 1 GiB"))
    check("not measured is not reached", line(state, "LeNet epoch, captured").endswith("| not measured |"))
    check("sums", "Speed: 6 goals reached, 2 MISSED, " in text, text[:300])


def test_just_at_the_goal():
    for value, word in ((0.11, "reached"), (0.1100001, "MISSED")):
        state = state_of(step("t", rows("tandem", p2_epoch_eager=value)))
        check(f"{value}", line(state, "LeNet epoch, eager").endswith(f"| {word} |"), line(state, "LeNet epoch, eager"))


def test_parts():
    def conv(source, *values):
        return [{"source": source, "row": "conv_forward", "value": v, "part": f"shape {i}"}
                for i, v in enumerate(values)]
    both = state_of(step("t", conv("tandem", 0.010, 0.020)), step("d", conv("direct", 0.0098, 0.019)))
    what = "ResNet-50 convolutions, batch 32, forward"
    check("a sum and its slowest part",
          "30.000 ms" in line(both, what) and "0.96 × (least 0.95 ×: shape 1) | reached" in
          line(both, what), line(both, what))
    some = state_of(step("t", conv("tandem", 0.010, 0.020)), step("d", conv("direct", 0.0098)))
    check("other shapes are not compared", line(some, what).endswith("| not measured |"), line(some, what))
    cut = conv("tandem", 0.010) + [{"source": "tandem", "row": "conv_forward", "absent": "out of | memory"}]
    failed_row = state_of(step("t", cut), step("d", conv("direct", 0.02)))
    check("an incomplete row shows the reason instead of a figure", "out of / memory" in line(failed_row, what) and
          line(failed_row, what).endswith("| not measured |"), line(failed_row, what))


def test_without_direct():
    state = state_of(step("t", rows("tandem", add=2.6e12)), step("p", rows("torch", copy=3.0e12)))
    check("PyTorch's copy is used if there is no direct one", "| 0.87 × | reached" in line(state, "add, 1 GiB each"))
    check("no benchmark at all", "No benchmark has run." in report.table(state_of()))


def test_compiled():
    what = "the same with bfloat16 autocast | 30.000 ms"

    def judged(**of_others):
        steps = [step("t", rows("tandem", resnet50_bf16=0.030))]
        for source, value in of_others.items():
            entry = {"source": source, "row": "resnet50_bf16", "part": ""}
            steps.append(step(source, [{**entry, **({"absent": value} if isinstance(value, str) else {"value": value})}]))
        return line(state_of(*steps), what)
    check("the faster of both is what counts", judged(torch=0.040, compiled=0.020).endswith(
        "| 40.000 ms | 20.000 ms |  | ≤ 1 × PyTorch | 1.50 × | MISSED |"), judged(torch=0.040, compiled=0.020))
    check("even if it is the one that is not compiled", "| 1.50 × | MISSED |" in judged(torch=0.020, compiled=0.040))
    check("no compiled step", judged(torch=0.040, compiled="TimeoutError").endswith(
        "| 40.000 ms | TimeoutError |  | ≤ 1 × PyTorch | 0.75 × | reached |"), judged(torch=0.040, compiled="TimeoutError"))
    check("only a compiled step", "| 1.50 × | MISSED |" in judged(torch="out of memory", compiled=0.020))
    text = line(state_of(step("t", rows("tandem", gpt2_bf16_memory=9796 * 2**20))), "GPT-2's tensors at the peak")
    check("memory", text.startswith("| GPT-2's tensors at the peak | 9,796 MiB |"), text)
    late = step("PyTorch, compiled", [], code=77, log="PyTorch is not installed\n")
    check("PyTorch may be absent", late["verdict"] == "skipped", late)


def test_steps():
    good = step("suite", [], group="tests", log="x\n12 passed, 0 failed, 3 skipped\n")
    check("a count", (good["result"], good["verdict"]) == ("12 passed, 0 failed, 3 skipped", "passed"), good)
    check("no tail for a passed step", good["tail"] == [])
    check("exit code 0 with failures is a failure", step("s", [], log="1 passed, 2 failed\n")["verdict"] == "FAILED")
    check("10 failures do not read as 0 failures", step("s", [], log="1 passed, 10 failed\n")["verdict"] == "FAILED")
    check("a crash", step("s", [], code=139, log="9 passed, 0 failed\n")["verdict"] == "FAILED")
    check("skipped", step("PyTorch", [], code=77, log="none\n")["verdict"] == "skipped")
    check("a tool", step("memcheck", [], code=77, group="sanitizers", log="no tool\n")["verdict"] == "skipped")
    check("Tandem must not skip", step("Tandem", [], code=77, log="no CUDA device\n")["verdict"] == "FAILED")
    late = step("s", [], code=124, log="".join(f"line {i}\n" for i in range(100)))
    check("the time limit", late["verdict"] == "TIME LIMIT EXCEEDED")
    check("the tail", len(late["tail"]) == 40 and late["tail"][-1] == "line 99", late["tail"])
    text = report.table(state_of(good, late))
    check("its tail is in the table", "TIME LIMIT EXCEEDED (exit code 124)\n\n```\nline 60\n" in text, text)
    check("a bar in a command does not break the row", "`some 'com/mand'`" in text, text)
    check("broken lines of JSON", step("s", [], log='{"row": \n{}\n{"a": 1}\n')["rows"] == [])
    state = state_of(good)
    report.put_step(state, dict(good, verdict="FAILED"))
    check("a repeated step replaces the earlier one", [s["verdict"] for s in state["steps"]] == ["FAILED"])


def test_script():
    def said(*words):
        done = subprocess.run([here / "gpu.sh", *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr.strip(), done.stdout.strip()
    check("no part", said("--out", "x")[:2] == (2, "gpu.sh: name a part to run: tests, sanitizers, bench or all"),
          said("--out", "x"))
    check("no file", said("bench")[0] == 2 and "--out" in said("bench")[1])
    check("a wrong limit", said("bench", "--out", "x", "--limit", "soon")[0] == 2)
    check("a wrong word", said("benhc")[:2] == (2, "gpu.sh: unknown argument benhc (see tests/gpu.sh --help)"),
          said("benhc"))
    check("no value", said("bench", "--out")[:2] == (2, "gpu.sh: --out requires a value"), said("bench", "--out"))
    check("a --deps folder that does not exist", said("bench", "--out", "x", "--deps", "/nowhere")[0] == 2)
    check("help", said("--help")[0] == 0 and "tests|sanitizers|bench|all" in said("--help")[2], said("--help"))
    if report.probe()[0] is None:
        with tempfile.TemporaryDirectory() as folder:
            code, _, text = said("all", "--out", f"{folder}/x.md")
            check("without a GPU", code == 77 and text.startswith("no CUDA device: ") and not os.listdir(folder),
                  (code, text))


for test in (test_goals, test_just_at_the_goal, test_parts, test_without_direct, test_compiled, test_steps, test_script):
    test()
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
