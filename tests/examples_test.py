#!/usr/bin/env python3
"""Every example says what arguments it takes.

    examples_test.py PROGRAM...    ends with the line "N passed, N failed"
"""
import os
import subprocess
import sys

failed = 0
for program in sys.argv[1:]:
    run = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60)
    first = run.stdout.split("\n")[0]
    if run.returncode != 0 or run.stderr or "usage: " not in first or os.path.basename(program) not in first:
        print("FAILED:", program, run)
        failed += 1
print(f"{len(sys.argv) - 1 - failed} passed, {failed} failed")
sys.exit(failed != 0)
