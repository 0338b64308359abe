#!/usr/bin/env python3
"""Runs the operation tests under one compute-sanitizer tool: eight operations per process, several processes at a time.

  gpu_sanitize.py TEST_OPS TOOL SECONDS     ends with "N passed, N failed" (operations); exit code 77: tool not
  installed

If a process fails, its operations run again one by one to find the culprit; if none fails alone, all of them count as
failed. Operations that are not reached within SECONDS count as skipped.
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import time

AT_ONCE = 8


def run_group(command, names, until):
    """(outcome, report) of running these operations in one process."""
    seconds = until - time.monotonic()
    if seconds < 1:
        return "skipped", ""
    try:
        done = subprocess.run([*command, *names], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "skipped", ""
    return ("passed", "") if done.returncode == 0 else ("failed", f"exit code {done.returncode}\n{done.stdout}")


def show(names, outcome, report):
    lines = [line for line in report.splitlines() if line.strip("= ")]
    if outcome != "passed":
        print(f"{outcome}: {', '.join(names)}", *lines[:30], sep="\n  ", flush=True)


def main():
    program, tool, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    sanitizer = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path=home + "/bin")
    if sanitizer is None:
        print("compute-sanitizer is not installed")
        sys.exit(77)
    until = time.monotonic() + seconds
    command = [sanitizer, "--tool", tool, "--error-exitcode", "9", program]
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.splitlines()
    names = list(dict.fromkeys(listed))
    groups = [names[i:i + AT_ONCE] for i in range(0, len(names), AT_ONCE)]
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        runs = list(zip(groups, pool.map(lambda group: run_group(command, group, until), groups)))
        suspects = [name for group, (outcome, _) in runs if outcome == "failed" for name in group]
        alone = dict(zip(suspects, pool.map(lambda name: run_group(command, [name], until), suspects)))
    for group, (outcome, report) in runs:
        guilty = [name for name in group if outcome == "failed" and alone[name][0] == "failed"]
        if guilty:
            counts["passed"] += len(group) - len(guilty)
            counts["failed"] += len(guilty)
            for name in guilty:
                show([name], *alone[name])
        else:
            counts[outcome] += len(group)
            show(group, outcome, report)
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    print(f"{counts['passed']} passed, {counts['failed']} failed{skipped}")
    sys.exit(counts["failed"] > 0 or counts["passed"] == 0)


main()
