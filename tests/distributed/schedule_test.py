#!/usr/bin/env python3
"""The prediction of training steps (bench/distributed/scaling/fully_sharded.py): cases computed by hand, and the calls
of a real step.

    schedule_test.py WORKER

Ends with the line "N passed, N failed".
"""
import glob
import json
import os
import pathlib
import sys
import tempfile

from jobs import Job, check, finish

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench/distributed/scaling"))
import fully_sharded as prediction  # noqa: E402

worker = os.path.abspath(sys.argv[1])
ROOT = prediction.Unit(elements=2, forward=1, backward=2)
BLOCKS = [prediction.Unit(elements=1, forward=3, backward=4)] * 2


def times(seconds):
    return lambda unit: seconds * unit.elements


def sharded(gather, reduce, **options):
    return prediction.fully_sharded(ROOT, BLOCKS, times(gather), times(reduce), **options)


def test_by_hand():
    # Root 0-2, gather of the first block 2-3; forward 3-6, 6-9 while the second one arrives; the root computes to 12.
    # Backward: gather 12-13; 13-17 while the first one arrives; 17-21 while 2 s of reduction run; 21-23 and 23-27 wait.
    line = sharded(1, 2)
    check(f"fast calls: {line.now}", line.now == 27)
    check(f"order: {line.calls}", line.calls == [
        "gather root", "gather 0", "gather 1", "gather 1", "gather 0", "reduce 1", "reduce 0", "reduce root"])
    # Without the gather of 1 s that backward waits for.
    line = sharded(1, 2, reshard=False)
    check(f"kept units: {line.now}", line.now == 26)
    check(f"kept units, order: {line.calls}", line.calls == [
        "gather root", "gather 0", "gather 1", "reduce 1", "reduce 0", "reduce root"])
    # Root 0-10, gathers 10-15 and 15-20; forward 15-18, 20-23; root -26; gathers 26-31 and 31-36; backward 31-35,
    # 36-40, while the reduction runs at 36-38, behind the gather; 40-42 and 42-46 wait.
    line = sharded(5, 2)
    check(f"slow gathers: {line.now}", line.now == 46)
    # As in the first case until 17; the reduction takes 10 s, until 27, and is awaited at 19, half way; the rest takes
    # 2 s, and the last two reductions 10 and 20.
    line = sharded(1, 10)
    check(f"slow reductions: {line.now}", line.now == 59)
    # Three blocks: at its half, a unit first waits for the reduction before it, and then gathers the next one.
    line = prediction.fully_sharded(ROOT, BLOCKS[:1] * 3, times(1), times(10))
    check(f"three blocks: {line.calls}", line.calls[-7:] == [
        "gather 2", "gather 1", "reduce 2", "gather 0", "reduce 1", "reduce 0", "reduce root"])
    # Forward and the root 0-9; backward 9-17 in shares of 3 and 1 s, whose calls take 1.5 and 0.5 s: the last but one
    # ends at 17.5, the last at 18, and the root's at 22.
    line = prediction.replicated(ROOT, BLOCKS, (0.75, 0.25), lambda elements: 2 * elements)
    check(f"copies: {line.now}", line.now == 22)


def test_model():
    elements = prediction.Model(12, 768).elements()
    check(f"GPT-2 124M: {elements}", elements == 124_439_808)
    machine = prediction.Machine(ranks=8, link=1e12, rate=1e15, round=float("inf"))
    small = prediction.Model(1, 2)  # 74 parameters in the block, and 102,566 in the root
    memory = {way.name: machine.memory(small, way) for way in prediction.WAYS}
    check(f"copies: {memory}", memory["DistributedDataParallel"] == 18 * 102_640)
    check(f"slices, units and bfloat16 copies: {memory}", memory["fully sharded"] ==
          2 * 102_640 + 2 * 102_640 + 4 * (3 * 74 + 2 * 102_566))
    check(f"only the root's copies, and the block's bfloat16 values: {memory}",
          memory["kept after forward, gather_rounded"] ==
          2 * 102_640 + 2 * 102_566 + 2 * 74 + 4 * (3 * 74 + 2 * 102_566))
    moved = machine.gather(4e12, item=2) - machine.gather(0)
    check(f"7 of 8 parts arrive: {moved}", abs(moved - 7) < 1e-9)


def test_real_step():
    """The last of the worker's steps, before the parameters are gathered, on a GPT-2 of three blocks."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["env", f"TANDEM_PROFILE={folder}/%p.json", worker, "fsdp", "gpt2", "gloo"]
        with Job(2, command) as job:
            results = job.results(120)
        check(f"the ranks end with 0: {results}", all(code == 0 for code, _, _ in results.values()))
        profiles = glob.glob(f"{folder}/*.json")
        check(f"each rank writes a profile: {profiles}", len(profiles) == 2)
        expected = [{"gather": "all_gather", "reduce": "reduce_scatter"}[call.split()[0]]
                    for call in prediction.fully_sharded(ROOT, BLOCKS[:1] * 3, times(1), times(1)).calls]
        for path in profiles:
            events = [e for e in json.loads(pathlib.Path(path).read_text())["traceEvents"]
                      if e.get("cat") == "communication" and not e["name"].startswith("wait for ")]
            names = [e["name"] for e in sorted(events, key=lambda e: e["ts"])][:-4]
            check(f"calls of a step: {names} instead of {expected}", names[-len(expected):] == expected)


test_by_hand()
test_model()
test_real_step()
sys.exit(finish())
