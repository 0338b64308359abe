"""Counts what a script checks."""
passed = failed = 0


def check(what, good, seen=""):
    """Prints `what`, and what was seen instead, unless it is good."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", what, *(["--", repr(seen)[:2000]] if seen != "" else []), flush=True)


def finish(skipped=0):
    """Prints the counts; the exit code."""
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return int(failed > 0)
