#!/usr/bin/env python3
"""Tests what a change to some files can break, in a few minutes: ./run check [--quick] [--list] [--since REV | PATH...]

Steps: clang-format of these files; the checks of the whole tree that need no build; in the release build, the programs
of bench/ and examples/ and the tests that the files belong to (affected.py says which); the files compiled with clang;
of these tests, the programs with the sanitizers, but not the scripts. A failed step does not stop the later ones. The
last line adds up the counts of the steps as .ci/run does.
"""
import argparse
import fnmatch
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from affected import CPP, ROOT, Build, affected, below, programs, sanitized

# with these, all builds are configured
BUILD_FILES = ("*meson.build", "meson_options.txt", "run", ".ci/*", "tests/run.py")
COUNT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")
# Lines that say what failed in a step; repeated at the end.
TOLD = re.compile(r"^failed: |^FAILED: |ERROR: |WARNING: ThreadSanitizer|error: |TIMEOUT|left no result|ended with")


def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)


def base(root):
    """The commit to compare the work tree with: its merge base with main or, on main, with its upstream; else HEAD."""
    on_main = git(root, "symbolic-ref", "--short", "-q", "HEAD").stdout.strip() == "main"
    for other in ["@{upstream}"] if on_main else ["main", "origin/main"]:
        found = git(root, "merge-base", "HEAD", other)
        if found.returncode == 0:
            return found.stdout.strip()
    return "HEAD"


def changed(root, since=None):
    """The files that differ from a commit (default: the base), deleted and untracked ones included."""
    texts = [git(root, "diff", "--name-only", "--no-renames", "-z", since or base(root)),
             git(root, "ls-files", "--others", "--exclude-standard", "-z")]
    return sorted({name for t in texts for name in t.stdout.split("\0") if name})


def files_of(names, root):
    """The files that arguments name; of a folder, all files below it. An unknown path ends the program with code 2."""
    found, differ = set(), set(changed(root))
    for name in names:
        path = os.path.relpath(name, root)
        inside = git(root, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", path).stdout
        files = {f for f in inside.split("\0") if f} | {f for f in differ if f == path or below(f, path)}
        if not files:
            print(f"check: {name} is not a file of this repository, and no folder with such files", file=sys.stderr)
            sys.exit(2)
        found |= files
    return sorted(found)


def tally(only_checks, code, last):
    """(passed, failed, skipped) of a step that ended with an exit code and a last line."""
    count = COUNT.match(last)
    if only_checks or not count:
        return (1, 0, 0) if only_checks and code == 0 else (0, 1, 0)
    passed, failed, skipped = (int(n or 0) for n in count.groups())
    return passed, failed or int(code != 0), skipped


class Steps:
    def __init__(self, only_list):
        self.only_list, self.sums, self.lines = only_list, [0, 0, 0], []

    def run(self, name, command, why, only_checks=False, quiet=False):
        """Runs a command for the reasons given, adds its counts and prints its times; says whether it succeeded."""
        if self.only_list:
            print(f"==== {name}", *(f"  {key:24} {reason}".rstrip() for key, reason in sorted(why.items())), sep="\n")
            return True
        print(f"==== {name}", flush=True)
        began, before, log = time.time(), os.times(), []
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace")
        for line in process.stdout:
            log.append(line)
            quiet or print(line, end="", flush=True)
        code, after = process.wait(), os.times()
        if quiet and code:
            print(*log, sep="")
        counts = tally(only_checks, code, log[-1].strip() if log else "")
        self.sums = [a + b for a, b in zip(self.sums, counts)]
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        self.lines += [f"==== {name}: exit code {code}, {time.time() - began:.1f} s, {cpu:.1f} s of CPU time"]
        print(self.lines[-1], flush=True)
        self.lines += [f"  {line.rstrip()}" for line in log if TOLD.search(line)][-30:] if counts[1] else []
        return code == 0

    def end(self):
        passed, failed, skipped = self.sums
        print(*(line + "\n" for line in self.lines), sep="", end="")
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return 1 if failed else 0


def configured(steps, kind, command, folder):
    """The data of a build folder after configuring it; None if there is none.
    A list configures the release build only."""
    command = [*command, "--list"]
    if not steps.run(f"configure, {kind}", command, {}, only_checks=True, quiet=True):
        return None
    if steps.only_list and kind == "release" and subprocess.run(command, stdout=subprocess.DEVNULL).returncode:
        sys.exit(1)
    return Build(folder) if (folder / "meson-info" / "intro-tests.json").exists() else None


def check(steps, paths, quick, folder):
    run, formatted = str(ROOT / "run"), [p for p in paths if p.endswith(CPP) and (ROOT / p).exists()]
    if formatted:
        command = ["env", "clang-format", "--dry-run", "--Werror", *formatted]
        steps.run("format", command, dict.fromkeys(formatted, ""), only_checks=True)
    release = configured(steps, "release", [run, "test"], folder)
    if not release:
        return
    whole = {t.name: "" for t in release.tests if not t.needs_build and
             any(os.path.dirname(f) == "tests" for f in t.files)}
    steps.run("checks of the whole tree", [run, "test", *whole], whole)
    if targets := programs(release, paths):
        steps.run("build", [run, "build", *targets], targets, only_checks=True)
    names = {name: why for name, why in affected(release, paths).items() if name not in whole}
    if names:
        steps.run("tests, release", [run, "test", *names], names)
    for kind, place in [] if quick else [("thread", "build-tsan"), ("address", "build-asan")]:
        likely = sanitized(release, paths, kind) or kind == "address" and release.objects(paths)
        if likely or any(fnmatch.fnmatch(p, b) for p in paths for b in BUILD_FILES):
            build = configured(steps, kind, [run, "sanitize", kind], ROOT / place)
            names = sanitized(build or release, paths, kind)
            if build and kind == "address" and (objects := build.objects(paths)):
                steps.run("compile with clang", ["ninja", "-C", place, "-k", "0", *objects], objects, only_checks=True)
            if names and (build or steps.only_list):
                steps.run(f"tests, {kind} sanitizer", [run, "sanitize", kind, *names], names)


def main():
    parser = argparse.ArgumentParser(prog="run check", usage="./run check [--quick] [--list] [--since REV | PATH...]")
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="without the sanitizers")
    parser.add_argument("--list", action="store_true", help="print what would run and why, and stop")
    parser.add_argument("--since", metavar="REV", help="what differs from this commit")
    parser.add_argument("paths", nargs="*", metavar="PATH",
                        help="files and folders (default: what differs from the merge base with the branch main)")
    args = parser.parse_intermixed_args()
    if args.since and (args.paths or git(ROOT, "rev-parse", "-q", "--verify", f"{args.since}^{{commit}}").returncode):
        parser.error("--since and paths exclude each other" if args.paths else f"Git knows no commit {args.since}")
    paths = files_of(args.paths, ROOT) if args.paths else changed(ROOT, args.since)
    steps = Steps(args.list)
    if paths:
        check(steps, paths, args.quick, args.build)
    else:
        print(f"check: no file differs from {args.since or base(ROOT)}" +
              ("" if args.since else "; --since REV looks at what was committed after another"))
    return 0 if args.list else steps.end()


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `--list | head` ends quietly
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
