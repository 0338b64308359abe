#!/usr/bin/env python3
"""Compares what training steps ask of the device with step_counts.txt, and prints what differs.

    step_counts_test.py STEP_COUNTS step_counts.txt [--write | NETWORK...]

STEP_COUNTS is the program. --write writes step_counts.txt instead. With names, only networks whose names begin so are
compared.
"""
import difflib
import subprocess
import sys

program, file, *names = sys.argv[1:]
write = names == ["--write"]
found = subprocess.run([program, *([] if write else names)], capture_output=True, text=True, check=False)
if found.returncode != 0:
    sys.exit(f"{program} failed: {found.stderr}")
if write:
    with open(file, "w", encoding="utf-8") as out:
        out.write(found.stdout)
    sys.exit()


def tables(text):
    """The tables by the name of their network."""
    return {table.split(":")[0]: table.splitlines() for table in text.split("\n\n") if table}


with open(file, encoding="utf-8") as text:
    wanted = {name: table for name, table in tables(text.read()).items()
              if not names or any(name.startswith(prefix) for prefix in names)}
seen = tables(found.stdout)
failed = 0
for name in wanted | seen:
    diff = list(difflib.unified_diff(wanted.get(name, []), seen.get(name, []), f"{file}: {name}", "this build", n=99,
                                     lineterm=""))
    failed += bool(diff)
    print(*diff, sep="\n", end="\n" if diff else "")
if failed:
    print(f"If this is meant, write the file again: {sys.argv[0]} {program} {file} --write")
print(f"{len(wanted | seen) - failed} passed, {failed} failed")
sys.exit(failed != 0 or not seen)
