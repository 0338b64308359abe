"""Counts what a script checks."""
import os
import shutil
import tempfile

passed = failed = 0


def check(what, good, seen=""):
    """Prints `what`, and what was seen instead, unless it is good."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what, *(["--", repr(seen)[:2000]] if seen != "" else []), flush=True)


def refused(what, run, *parts, code=2):
    """Checks for one line on standard error that contains `parts`, and the exit code."""
    good = run.returncode == code and run.stderr.count("\n") == 1 and all(p in run.stderr for p in parts)
    check(what, good and len(run.stderr) < 1000, (run.returncode, run.stderr[:400]))


def in_new_folder(tests):
    """Calls the tests in a folder of their own, which is then removed."""
    place = tempfile.mkdtemp()
    os.chdir(place)
    try:
        for test in tests:
            test()
    finally:
        os.chdir("/")
        shutil.rmtree(place)


def finish(skipped=0):
    """Prints the counts; the exit code."""
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return int(failed > 0)
