"""Says which tests belong to a file, from the data that Meson and Ninja keep in a configured build folder.

- A file that a test is made of: that test. So a test's source runs its program only, and a script only itself.
- A header or a Python module in tests/: the tests made of files that include it.
- Another file: the tests of the folders that FOLDERS names or, without an entry there, of the nearest folder of its
  name in tests/. A source of the library also runs each program with a test of its name: conv2d_direct.cpp runs
  conv2d_test.cpp.
- Sources of bench/ and examples/: their programs are built. Documents, and files of the build, have no tests.
"""
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The first pattern that matches a path names the folders in tests/ whose tests it runs. Blanks separate patterns.
FOLDERS = [
    ("README.md docs/porting.md docs/guide/* examples/README.md docs/reference/* docs/results/* docs/*.py", "guide"),
    ("*.md docs/* *meson.build", ""),  # the sources that a meson.build adds come with it
    ("core/cpu/*", "core ops"),
    ("core/backend/* core/formulas/*", "core autograd ops"),
    ("core/*.h", "core autograd nn"),  # all sources include these
    ("core/*", "core autograd"),
    ("autograd/* testing.h", "autograd ops"),
    ("tandem.h compat/headers.txt compat/forward.py", "compat"),
    ("nn/files/tensorboard/*", "cli"),
    ("nn/*", "nn"),
    ("cli/*", "cli"),
    ("parallel/distributed*", "distributed parallel"),
    ("parallel/sharded/* parallel/fully_sharded/*", "distributed"),
    ("cuda/* tests/cuda_emulation/*", "cuda cuda_emulation"),
    ("packaging/*", "install"),
    ("tests/main.cpp tests/precompiled/* tests/*_of_others.txt", "core"),  # main.cpp: of all programs, a few are enough
]
CPP = (".h", ".cpp", ".cu", ".cuh")
USES = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)|^\s*(?:import|from)\s+([\w.]+)', re.M)


def below(path, *folders):
    return path.startswith(tuple(f + "/" for f in folders))


class Test(typing.NamedTuple):
    name: str
    suites: set
    files: set  # in tests/ and examples/, and sources of other folders that its programs repeat
    compiled: bool  # a program, not a script
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
        text = subprocess.run(["ninja", "-t", "query", *files], cwd=self.folder, check=True, capture_output=True,
                              text=True).stdout
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
        linked = {i for d in entry["depends"] for i in self.linked.get(self.file(self.targets[d]), [])}
        files = {self.sources[i] for i in linked if i in self.sources}
        files |= {f for f in map(self.relative, entry["cmd"]) if below(f, "tests")}
        return Test(entry["name"], {s.split(":")[-1] for s in entry["suite"]}, files,
                    below(entry["cmd"][0], str(self.folder)), bool(entry["depends"]))

    def objects(self, paths):
        """{object: why it is compiled} of the sources among these paths."""
        return {o: f"is compiled from {s}" for o, s in self.sources.items() if s in paths}

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
        return {t.name for t in self.tests
                if any(same(f) and (below(path, "cuda") or not below(f, "tests/cuda")) for f in t.files)}


# ---- which tests a file belongs to

def users(path):
    """The files in tests/ that include or import a file there, directly or not."""
    used_by = {}
    for file in (ROOT / "tests").rglob("*"):
        if file.suffix in (*CPP, ".py"):
            for header, module in USES.findall(file.read_text(errors="replace")):
                name = header or module.replace(".", "/") + ".py"
                place = name.removeprefix("tandem/")
                if place == name:
                    place = os.path.normpath(file.parent.relative_to(ROOT) / name)
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
    """Yields the names of the tests that belong to a path, with the reason."""
    own = build.made_of(path)
    yield from ((name, f"is made of {path}") for name in own)
    named = next((folders.split() for patterns, folders in FOLDERS
                  if any(fnmatch.fnmatch(path, pattern) for pattern in patterns.split())), None)
    if own and below(path, "tests", "examples"):
        return
    if named is None and below(path, "tests"):
        names = {name for file in users(path) for name in build.made_of(file)}
        yield from ((name, f"includes {path}") for name in names)
        if names:
            return
    folders = nearest(build, path) if named is None else named
    yield from ((name, f"is in tests/{folder}, for {path}") for folder in folders for name in build.in_folder(folder))
    if folders and path.endswith(CPP) and not below(path, "tests"):
        yield from ((name, f"tests the name of {path}") for name in build.named_after(path))


def affected(build, paths):
    """{name of a test: why it runs}"""
    why = {}
    for path in paths:
        for name, reason in reasons(build, path):
            why.setdefault(name, reason)
    return why


def sanitized(build, paths, kind):
    """The test programs for a sanitizer."""
    names = affected(build, paths)
    return {t.name: names[t.name] for t in build.tests if t.name in names and t.compiled and "processes" not in t.suites
            and (kind == "address" or "tsan" in t.suites)}


def programs(build, paths):
    """The programs of bench/ and examples/ to build: those with a source, or all of the folder for its other files."""
    found = {}
    for path in paths:
        if below(path, "bench", "examples") and (path.endswith(CPP) or path.endswith("meson.build")):
            folder = path.split("/")[0]
            of_folder = [p for p in build.linked if below(p, folder)]
            with_source = [p for p in of_folder if path in {build.sources.get(i) for i in build.linked[p]}]
            found.update((p, f"is made of {path}")
                         for p in (with_source if path.endswith((".cpp", ".cu")) else of_folder))
    return found
