#!/usr/bin/env python3
"""Builds and runs the tests of a Meson build folder and counts their cases. Only this script counts.

    tests/run.py BUILD [--suite NAME | --without SUITE] [-j N] [--list] [NAME...] [-- ARGUMENT FOR THE TESTS...]

The last line is `N passed, N failed` (`, N skipped` where there are any); the exit code is 1 if anything failed.
A test reports its count in doctest's summary or in a last line of that form. A test that ends without a count (a crash,
a time-out, an early exit) is one failure; exit code 77 is one skipped case. A line `[skipped] NAME: reason`, or
doctest's MESSAGE("skipped: reason"), from a passing case counts that case as skipped, not as passed. Before the last
line stand the reasons of the skipped ones, each once, and the failed tests, with the command that runs one alone.
"""
import argparse
import collections
import fnmatch
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

DOCTEST = re.compile(r"test cases:\s*\d+ \|\s*(\d+) passed \|\s*(\d+) failed \|\s*(\d+) skipped")
OWN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
SKIPPED = re.compile(r"^(?:\[skipped\] [^:\n]*:|.*MESSAGE: skipped:) *(.*)$", re.M)
CASE = re.compile(r"^TEST CASE:  (.*)(?:\n(?!TEST CASE:|={79}$).*)*?\n.*(?:ERROR|FATAL ERROR): ", re.M)


def arguments():
    own, rest = sys.argv[1:], []
    if "--" in own:
        own, rest = own[: own.index("--")], own[own.index("--") + 1 :]
    parser = argparse.ArgumentParser(prog="run test", usage="./run test [--list] [NAME...] [-- ARGUMENT...]")
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--suite", help=argparse.SUPPRESS)
    parser.add_argument("--without", metavar="SUITE", help=argparse.SUPPRESS)
    parser.add_argument("--again", default="./run test", help=argparse.SUPPRESS)  # the command that was given
    parser.add_argument("-j", type=int, default=os.cpu_count(), help=argparse.SUPPRESS)
    parser.add_argument("--wrapper", help=argparse.SUPPRESS)  # a program that runs each test's command
    parser.add_argument("--list", action="store_true", help="print the names of the tests and stop")
    parser.add_argument("names", nargs="*", metavar="NAME", help="tests to run; * and ? match")
    args = parser.parse_intermixed_args(own)
    args.rest = rest
    return args


def info(build, what):
    return json.loads((build / "meson-info" / f"intro-{what}.json").read_text())


def chosen(args):
    """The tests asked for; an unknown name ends the program with code 2."""
    suites = lambda test: {s.split(":")[-1] for s in test["suite"]}
    tests = [t for t in info(args.build, "tests") if not args.suite or args.suite in suites(t)]
    tests = [t for t in tests if args.without not in suites(t) or t["name"] in args.names]
    for name in args.names:
        if not any(fnmatch.fnmatch(t["name"], name) for t in tests):
            known = " ".join(sorted(t["name"] for t in tests))
            print(f'run: no test is named "{name}"; available tests: {known}', file=sys.stderr)
            sys.exit(2)
    if args.names:
        tests = [t for t in tests if any(fnmatch.fnmatch(t["name"], n) for n in args.names)]
    return tests


def ninja(args, *targets):
    """Builds; silent when there is nothing to do. A failed build ends the program with code 1."""
    command = ["ninja", "-C", str(args.build)]
    dry = subprocess.run([*command, "-n", *targets], capture_output=True, text=True).stdout
    if "no work to do" not in dry and subprocess.run([*command, "-j", str(args.j), *targets]).returncode:
        print("run: the build failed (see above)", file=sys.stderr)
        sys.exit(1)


def targets_of(build, tests):
    """Ninja's names of the programs that the tests run and depend on."""
    if any(t["cmd"][0].endswith(".sh") for t in tests):
        return ["all"]  # install/check.sh installs the whole build
    files = {t["id"]: t["filename"] for t in info(build, "targets")}
    paths = {path for t in tests for dep in t["depends"] for path in files.get(dep, [])}
    paths |= {t["cmd"][0] for t in tests if t["cmd"][0].startswith(str(build.resolve()))}
    return sorted(os.path.relpath(p, build.resolve()) for p in paths)


def count(result):
    """(passed, failed, skipped, remark, reasons of the skipped ones) of one test."""
    text = result.get("stdout", "") + result.get("stderr", "")
    code = result["returncode"]
    found = DOCTEST.findall(text) or OWN.findall(text)
    if not found:
        if code == 77:
            return 0, 0, 1, "", [text.strip().split("\n")[-1].removeprefix("skipped: ")]
        return 0, 1, 0, f"ended without a count ({result['result']}, exit code {code})", []
    passed, failed = (sum(int(row[i]) for row in found) for i in (0, 1))
    reasons = SKIPPED.findall(text)
    # doctest's skipped cases are filtered-out ones
    own_skips = 0 if DOCTEST.search(text) else sum(int(row[2] or 0) for row in found)
    remark = ""
    if code != 0 and failed == 0:
        failed, remark = 1, f"reported no failure, but ended with {result['result']}, exit code {code}"
    skips = min(len(reasons), passed)
    return passed - skips, failed, own_skips + skips, remark, reasons


def plain(name):
    """The name of a test in a result of Meson's, which says `project:suite / name`."""
    return name.split(" / ")[-1]


def again(command, name, text):
    """The commands that run what failed of a test alone: by doctest's cases, if it names a few."""
    cases = dict.fromkeys(CASE.findall(text))
    if not 0 < len(cases) <= 3:
        return [f"{command} {name}"]
    # doctest takes commas for separators, and * for any text
    return [f"{command} {name} -- {shlex.quote('-tc=' + case.strip().replace(',', '*'))}" for case in cases]


def run(args, tests):
    wrapper = shlex.split(args.wrapper or "")
    name = "-".join(["testlog", *map(os.path.basename, wrapper[:1])])  # Meson's
    log = args.build / "meson-logs" / (name + ".json")
    log.unlink(missing_ok=True)
    command = ["meson", "test", "-C", str(args.build), "--no-rebuild", "--num-processes", str(args.j),
               "--print-errorlogs", "--timeout-multiplier", "4"]  # the limits fit an idle machine
    if args.suite:
        command += ["--suite", args.suite]
    if args.without and not args.names:
        command += ["--no-suite", args.without]
    if wrapper:
        command.append("--wrapper=" + args.wrapper)
    if args.rest:
        command.append("--test-args=" + shlex.join(args.rest))
    environment = {"TANDEM_CACHE": str(args.build.resolve() / "cache"), **os.environ}  # not the user's
    code = subprocess.run(command + [t["name"] for t in tests], stdin=subprocess.DEVNULL, env=environment).returncode
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return code, results


def main():
    args = arguments()
    ninja(args, "build.ninja")  # reconfigures if a meson.build has changed: `chosen` reads the result
    tests = chosen(args)
    if args.list:
        print(*sorted(t["name"] for t in tests), sep="\n")
        return 0
    if args.names or args.suite or args.without:
        targets = targets_of(args.build, tests)
        if targets:  # without a name, Ninja would build everything
            ninja(args, *targets)
    else:
        ninja(args)
    code, results = run(args, tests) if tests else (0, [])
    passed = failed = skipped = 0
    reasons, failures = collections.Counter(), []
    for result in results:
        p, f, s, remark, why = count(result)
        passed, failed, skipped = passed + p, failed + f, skipped + s
        reasons.update(why)
        if f:
            name = plain(result["name"])
            failures.append(f"failed: {name}: {f}" + (f", {remark}" if remark else ""))
            failures += ["  " + line for line in again(args.again, name, result.get("stdout", ""))]
    for name in sorted({t["name"] for t in tests} - {plain(r["name"]) for r in results}):
        failed += 1
        failures += [f"failed: {name} left no result", f"  {args.again} {name}"]
    for line in [*(f"skipped: {n}: {reason}" for reason, n in reasons.most_common()), *failures]:
        print(line)
    if code and not failed:
        failed += 1
        print(f"meson test ended with code {code}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
