#!/usr/bin/env python3
"""Tests of the counting in run.py, where a lost count would hide a failure, and of ./run's error messages."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("run_tests", here / "run.py")
run_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run_tests)

SUMMARY = "[doctest] test cases: {:3} | {:2} passed | {} failed | {} skipped\n[doctest] Status\n"


def counted(stdout, code=0, stderr=""):
    result = {"stdout": stdout, "stderr": stderr, "returncode": code, "result": "OK" if code == 0 else "FAIL"}
    return run_tests.count(result)[:3]


def said(*words):
    done = subprocess.run([here.parent / "run", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.strip()


def built(program):
    """What is built for a test without dependencies."""
    with tempfile.TemporaryDirectory() as build:
        (pathlib.Path(build) / "meson-info").mkdir()
        (pathlib.Path(build) / "meson-info/intro-targets.json").write_text("[]")
        return run_tests.targets_of(pathlib.Path(build), [{"depends": [], "cmd": [program, "a_test.py"]}])


FAILURES = """
a.cpp:1:
TEST CASE:  one, two
  with a part

a.cpp:2: ERROR: CHECK( a == b ) is NOT correct!
a.cpp:3: ERROR: CHECK( a == c ) is NOT correct!
===============================================================================
a.cpp:5:
TEST CASE:  fine

a.cpp:6: MESSAGE: skipped: no data
===============================================================================
a.cpp:7:
TEST CASE:  three

a.cpp:8: FATAL ERROR: REQUIRE( a ) is NOT correct!
"""
CASES = [
    ("failed cases are run alone", run_tests.again("./run test", "core", FAILURES),
     ["./run test core -- '-tc=one* two'", "./run test core -- -tc=three"]),
    ("a failed script is run alone", run_tests.again("./run test", "kill", "ERROR: no"), ["./run test kill"]),
    ("a name in a result", [run_tests.plain(n) for n in ("tandem:tsan / pool", "pool")], ["pool", "pool"]),
    ("doctest, all passed", counted(SUMMARY.format(5, 5, 0, 0)), (5, 0, 0)),
    ("doctest, one failed", counted(SUMMARY.format(5, 4, 1, 0), 1), (4, 1, 0)),
    ("filtered cases do not count as skipped", counted(SUMMARY.format(1, 1, 0, 4)), (1, 0, 0)),
    ("a script's count line", counted("hello\n3 passed, 0 failed, 2 skipped\n"), (3, 0, 2)),
    ("a crash has no count", counted("starting\n", -11), (0, 1, 0)),
    ("an early exit with code 0 has no count", counted("starting\n"), (0, 1, 0)),
    ("a sanitizer report after the summary", counted(SUMMARY.format(5, 5, 0, 0), 66, "WARNING: data race"), (5, 1, 0)),
    ("exit code 77", counted("no GPU here\n", 77), (0, 0, 1)),
    ("a count in the middle of a line is ignored", counted("it said 3 passed, 0 failed\n"), (0, 1, 0)),
    ("a skipped case does not count as passed",
     counted("a.cpp:1: MESSAGE: skipped: no data\n" + SUMMARY.format(5, 5, 0, 0)), (4, 0, 1)),
    ("reasons of skipped ones", [run_tests.count({"stdout": text, "returncode": code})[4] for text, code in [
        ("[skipped] colours: no torchvision\n1 passed, 0 failed", 0), ("skipped: no data", 77),
        ("a.cpp:1: MESSAGE: skipped: no GPU\n" + SUMMARY.format(5, 5, 0, 0), 0)]],
     [["no torchvision"], ["no data"], ["no GPU"]]),
    ("a Python script needs no build", built("/usr/bin/python3"), []),
    ("a test of the installation needs all", built("/a/check.sh"), ["all"]),
    ("an unknown command", said("wibble"), (2, 'run: unknown command "wibble" (./run --help lists them)')),
    ("a command of the tool", said("reprot"),
     (2, 'run: unknown command "reprot"; did you mean report? (./run --help lists them)')),
    ("one of its own", said("tset"), (2, 'run: unknown command "tset"; did you mean test? (./run --help lists them)')),
    ("--deps without a folder", said("--deps"), (2, "run: --deps requires a folder: ./run --deps DIR COMMAND")),
    ("--deps with a folder that does not exist", said("--deps", "/nowhere", "test")[0], 2),
    ("deps without a folder", said("deps"), (2, "run: usage: ./run deps --to DIR")),
    ("an unknown sanitizer", said("sanitize", "adress"), (2, "run: usage: ./run sanitize address|thread")),
    ("an unknown option of package", said("package", "--tests"), (2, "run: usage: ./run package [--test]")),
    ("abi with an unknown revision", said("abi", "no-such-tag"), (2, "run: abi: Git knows no no-such-tag")),
    ("--help", said("--help"), (0, "")),
]

failed = 0
for name, found, wanted in CASES:
    if found != wanted:
        failed += 1
        print(f"FAILED: {name}\n  found    {found}\n  expected {wanted}")
print(f"{len(CASES) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
