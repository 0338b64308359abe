#!/usr/bin/env python3
"""Counts the jobs of Ninja: commands of ./run that have been run compile nothing the second time, and ./run test takes
the objects that ./run train has compiled.

    reuse_test.py BUILD     the folder of ./run, in which the tool is up to date
"""
import pathlib
import re
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
JOB = re.compile(r"^\[\d+/\d+\] (.*)$", re.M)


def said(*command):
    done = subprocess.run(command, cwd=build.parent, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# Ninja leaves stamps and symbol files behind that a later run finds out of date, although nothing is to be compiled.
said("ninja", "-C", build, "cli/tandem")
objects = {line for line in said("ninja", "-C", build, "-t", "inputs", "cli/tandem").split("\n") if line.endswith(".o")}
assert len(objects) > 100, objects
planned = JOB.findall(said("ninja", "-C", build, "-n"))
CASES = [
    ("the tool once more", JOB.findall(said("./run", "tandem", "--version"))),
    ("./run train", JOB.findall(said("./run", "train", "--help"))),
    ("./run build", JOB.findall(said("./run", "build", "cli/tandem"))),
    ("the tool's objects in all targets", [job for job in planned if job.split()[-1] in objects]),
]
failed = 0
for name, found in CASES:
    if found:
        failed += 1
        print(f"FAILED: {name}: {len(found)} jobs: {found[:3]}")
print(f"{len(CASES) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
