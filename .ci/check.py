#!/usr/bin/env python3
"""Runs what a change to some files can break, in a few minutes: ./run check [--quick] [--list] [PATH...]

Steps: clang-format of the named files; the checks of the whole tree that need no build; the tests that the files belong
to, in the release build; the doctest programs among these with the sanitizers. The last line adds up the steps' counts as
.ci/run does. Which tests a file belongs to (`affected`):

- A file that a test is made of: that test. So a test's source runs its program only, and a script only itself.
- A header or a Python module in tests/: the tests made of files that include it.
- Another file: the tests of the folders that FOLDERS names or, without an entry there, of the nearest folder of its name
  in tests/. A source of the library runs also each program with a test of its name: conv2d_direct.cpp runs conv2d_test.cpp.
- Sources of bench/ and examples/: their programs are built. Documents: nothing.

What tests are made of comes from the data that Meson and Ninja keep in a configured build folder.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The first pattern that matches a path names the folders in tests/ whose tests it runs.
FOLDERS = [
    ("*.md", ""),
    ("docs/*", ""),
    ("core/cpu/*", "core ops"),
    ("core/backend/*", "core autograd ops"),
    ("core/formulas/*", "core autograd ops"),
    ("core/*.h", "core autograd nn"),  # all sources include these
    ("core/*", "core autograd"),
    ("autograd/*", "autograd ops"),
    ("testing.h", "autograd ops"),
    ("tandem.h", "compat"),
    ("nn/files/tensorboard/*", "cli"),
    ("parallel/distributed/*", "distributed"),
    ("cuda/*", "cuda cuda_emulation"),
    ("tests/cuda_emulation/*", "cuda cuda_emulation"),
    ("tests/main.cpp", "core"),  # part of all programs: a few show whether it still works
    ("tests/precompiled/*", "core"),
    ("tests/*_of_others.txt", "core"),
]
BUILD_FILES = ("*meson.build", "meson_options.txt", "run", ".ci/*", "tests/run.py")  # with these, all builds are configured
CPP = (".h", ".cpp", ".cu", ".cuh")
USES = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)|^\s*(?:import|from)\s+([\w.]+)', re.M)
COUNT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$")


def matches(path, patterns):
    return any(fnmatch.fnmatch(path, p) for p in patterns)


def below(path, *folders):
    return path.startswith(tuple(f + "/" for f in folders))


# ---- the tests of a configured build folder

class Test(typing.NamedTuple):
    name: str
    suites: set
    files: set  # in tests/ and examples/, and sources of other folders that its programs repeat
    doctest: bool
    needs_build: bool


class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.targets = {t["id"]: t for t in self.info("targets")}
        for target in self.targets.values():
            target["defined_in"] = self.relative(target["defined_in"])
        self.linked = self.inputs()
        objects = json.loads((self.folder / "compile_commands.json").read_text())
        self.sources = {o["output"]: self.relative(o["file"]) for o in objects}
        self.tests = [self.test(t) for t in self.info("tests")]

    def info(self, what):
        return json.loads((self.folder / "meson-info" / f"intro-{what}.json").read_text())

    def relative(self, path):
        return os.path.relpath(os.path.join(self.folder, path), ROOT)

    def file(self, target):
        return os.path.relpath(target["filename"][0], self.folder)

    def inputs(self):
        """{program or plugin of tests/, examples/ or bench/: objects and libraries that it is linked from}"""
        files = [self.file(t) for t in self.targets.values() if below(t["defined_in"], "tests", "examples", "bench")
                 and t["type"] in ("executable", "shared module")]
        text = subprocess.run(["ninja", "-t", "query", *files], cwd=self.folder, check=True, capture_output=True, text=True).stdout
        found, part = {}, ""
        for line in text.splitlines():
            if not line.startswith(" "):
                inputs = found[line.rstrip(":")] = []
            elif not line.startswith("    "):
                part = line.strip()
            elif part.startswith("input"):
                inputs.append(line.strip(" |"))
        return found

    def test(self, entry):
        programs = [self.file(self.targets[d]) for d in entry["depends"]]
        linked = {i for p in programs for i in self.linked.get(p, [])}
        files = {self.sources[i] for i in linked if i in self.sources}
        files |= {f for f in map(self.relative, entry["cmd"]) if below(f, "tests")}
        return Test(entry["name"], {s.split(":")[-1] for s in entry["suite"]}, files, "tests/libtest_main.a" in linked,
                    bool(entry["depends"]))

    def made_of(self, path):
        """Tests that contain a file, or a folder above it."""
        places = {path, *map(str, pathlib.PurePath(path).parents)}
        return {t.name for t in self.tests if t.files & places}

    def in_folder(self, folder):
        return {t.name for t in self.tests if any(below(f, "tests/" + folder) for f in t.files)}

    def named_after(self, path):
        """Tests with a C++ file that has the name of a source, or the part of it before an underscore."""
        start = lambda file: re.sub("_(test|table)$", "", pathlib.PurePath(file).stem) + "_"
        same = lambda file: file.endswith(".cpp") and (pathlib.PurePath(path).stem + "_").startswith(start(file))
        return {t.name for t in self.tests if any(same(f) and (below(path, "cuda") or not below(f, "tests/cuda")) for f in t.files)}


# ---- which tests a file belongs to

def users(path):
    """The files in tests/ that include or import a file there, directly or not."""
    used_by = {}
    for file in (ROOT / "tests").rglob("*"):
        if file.suffix in (*CPP, ".py"):
            for header, module in USES.findall(file.read_text(errors="replace")):
                name = header or module.replace(".", "/") + ".py"
                place = name[len("tandem/"):] if name.startswith("tandem/") else os.path.normpath(file.parent.relative_to(ROOT) / name)
                used_by.setdefault(place, set()).add(str(file.relative_to(ROOT)))
    found, todo = set(), [path]
    while todo:
        new = used_by.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


def nearest(build, path):
    """The folder in tests/ that has tests and the longest part of a path in common with it."""
    for folder in pathlib.PurePath(path.removeprefix("tests/")).parents:
        if str(folder) != "." and build.in_folder(str(folder)):
            return [str(folder)]
    return []


def reasons(build, path):
    """Yields the names of tests with the reason why they belong to a path."""
    own = build.made_of(path)
    yield from ((name, "is made of it") for name in own)
    named = next((folders.split() for pattern, folders in FOLDERS if fnmatch.fnmatch(path, pattern)), None)
    if own and below(path, "tests", "examples"):
        return
    if named is None and below(path, "tests"):
        names = {name for file in users(path) for name in build.made_of(file)}
        yield from ((name, "includes it") for name in names)
        if names:
            return
    folders = nearest(build, path) if named is None else named
    yield from ((name, f"is in tests/{folder}") for folder in folders for name in build.in_folder(folder))
    if folders and path.endswith(CPP) and not below(path, "tests"):
        yield from ((name, "tests the name") for name in build.named_after(path))


def affected(build, paths):
    """{name of a test: why it runs}"""
    why = {}
    for path in paths:
        for name, reason in reasons(build, path):
            why.setdefault(name, f"{path}: {reason}")
    return why


def sanitized(build, paths, kind):
    """The doctest programs for a sanitizer."""
    names = affected(build, paths)
    return {t.name: names[t.name] for t in build.tests if t.name in names and t.doctest and "processes" not in t.suites
            and (kind == "address" or "tsan" in t.suites)}


def programs(build, paths):
    """The programs of bench/ and examples/ to build: those with a source, or all of the folder for its other files."""
    found = {}
    for path in paths:
        if below(path, "bench", "examples") and (path.endswith(CPP) or path.endswith("meson.build")):
            folder = path.split("/")[0]
            of_folder = [p for p in build.linked if below(p, folder)]
            with_source = [p for p in of_folder if path in {build.sources.get(i) for i in build.linked[p]}]
            found.update((p, path) for p in (with_source if path.endswith((".cpp", ".cu")) else of_folder))
    return found


# ---- which files have changed

def git(root, *words):
    return subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)


def base(root):
    """What the work tree is compared with: its merge base with main or, on main, with its upstream; else HEAD."""
    on_main = git(root, "symbolic-ref", "--short", "-q", "HEAD").stdout.strip() == "main"
    for other in ["@{upstream}"] if on_main else ["main", "origin/main"]:
        found = git(root, "merge-base", "HEAD", other)
        if found.returncode == 0:
            return found.stdout.strip()
    return "HEAD"


def changed(root):
    """The files that differ from the base, deleted and untracked ones included."""
    texts = [git(root, "diff", "--name-only", "--no-renames", "-z", base(root)),
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


# ---- the steps

def tally(only_checks, code, last):
    """(passed, failed, skipped) of a step that ended with an exit code and a last line."""
    count = COUNT.match(last)
    if only_checks or not count:
        return (1, 0, 0) if only_checks and code == 0 else (0, 1, 0)
    passed, failed, skipped = (int(n or 0) for n in count.groups())
    return passed, failed or int(code != 0), skipped


class Steps:
    def __init__(self, only_list):
        self.only_list, self.sums, self.lines, self.failed = only_list, [0, 0, 0], [], []

    def run(self, name, command, why, only_checks=False, quiet=False):
        """Runs a command for the reasons given, adds its counts and prints its times; says whether it succeeded."""
        if self.only_list:
            print(f"{name}:", *(f"  {key:24} {reason}".rstrip() for key, reason in sorted(why.items())), sep="\n")
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
        self.failed += [name] if counts[1] else []
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        self.lines.append(f"==== {name}: exit code {code}, {time.time() - began:.0f} s, {cpu:.0f} s of CPU time")
        print(self.lines[-1], flush=True)
        return code == 0

    def end(self):
        passed, failed, skipped = self.sums
        print(*self.lines, *(f"failed: {name}" for name in self.failed), sep="\n")
        print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
        return 1 if failed else 0


def configured(steps, kind, command, folder):
    """The data of a build folder after configuring it, or None if that fails. A list does with what is configured."""
    known = (folder / "meson-info" / "intro-tests.json").exists()
    if steps.only_list and (known or kind != "release"):
        return Build(folder) if known else None
    if steps.only_list:
        subprocess.run([*command, "--list"], stdout=subprocess.DEVNULL, check=True)
    elif not steps.run(f"configure, {kind}", [*command, "--list"], {}, only_checks=True, quiet=True):
        return None
    return Build(folder)


def check(steps, paths, quick, folder):
    run, formatted = str(ROOT / "run"), [p for p in paths if p.endswith(CPP) and (ROOT / p).exists()]
    if formatted:
        command = ["env", "clang-format", "--dry-run", "--Werror", *formatted]
        steps.run("format", command, dict.fromkeys(formatted, ""), only_checks=True)
    release = configured(steps, "release", [run, "test"], folder)
    if not release:
        return
    whole = {t.name: "" for t in release.tests if not t.needs_build and any(os.path.dirname(f) == "tests" for f in t.files)}
    steps.run("checks of the whole tree", [run, "test", *whole], whole)
    if targets := programs(release, paths):
        steps.run("build", [run, "build", *targets], targets, only_checks=True)
    names = {name: why for name, why in affected(release, paths).items() if name not in whole}
    if names:
        steps.run("tests, release", [run, "test", *names], names)
    for kind, place in [] if quick else [("address", "build-asan"), ("thread", "build-tsan")]:
        likely = sanitized(release, paths, kind)
        if likely or any(matches(p, BUILD_FILES) for p in paths):
            build = configured(steps, kind, [run, "sanitize", kind], ROOT / place)
            names = sanitized(build, paths, kind) if build else likely
            if names and (build or steps.only_list):
                steps.run(f"tests, {kind} sanitizer", [run, "sanitize", kind, *names], names)


def main():
    parser = argparse.ArgumentParser(prog="run check", usage="./run check [--quick] [--list] [PATH...]")
    parser.add_argument("build", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="without the sanitizers")
    parser.add_argument("--list", action="store_true", help="print what would run and why, and stop")
    parser.add_argument("paths", nargs="*", metavar="PATH",
                        help="files and folders (default: what differs from the merge base with the branch main)")
    args = parser.parse_intermixed_args()
    paths = files_of(args.paths, ROOT) if args.paths else changed(ROOT)
    steps = Steps(args.list)
    if not paths:
        print(f"check: no file differs from {base(ROOT)}")
    check(steps, paths, args.quick, args.build) if paths else None
    return 0 if args.list else steps.end()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
