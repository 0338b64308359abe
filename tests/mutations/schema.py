"""Compiles all mutants at once: each behind a switch that a number in the environment turns on when a program starts.

The mutated sources are compiled, without precompiled headers and with -O1, from a temporary folder, and the libraries
of the build folder are linked again with these objects, and so are test programs that include a mutated header.
Programs load the libraries by LD_LIBRARY_PATH. The plugin that uses Eigen is compiled as it was, because the bits of
Eigen's results, which the test `golden` knows, depend on the optimization.
"""
import collections
import concurrent.futures
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Of what is installed: tests run with TANDEM_CPU=avx2, and those of engines are of the suite `processes`.
LEFT_OUT = ("tandem_cpu_avx512", "tandem_gloo", "tandem_mpi", "tandem_nccl")
WORKERS = len(os.sched_getaffinity(0))
ORDER = {"jump": 0, "statement": 1, "condition": 2, "expression": 3}


# ---- the text of a mutated source

def switched(mutant, n, inside):
    """Pieces of text: `inside` (pieces) with a mutant's switch around them. Each side is on lines of its own."""
    on = f"TANDEM_MUTANT({n})"
    if mutant.kind == "jump":
        return [(f"\n{{ if ({on}) {{ {mutant.new} }} else {{\n", n), *inside, ("\n} }\n", n)]
    if mutant.kind == "statement":
        return [(f"\n({on} ? void() : void(\n", n), *inside, ("\n))\n", n)]
    if mutant.kind == "condition":
        new, last = f"static_cast<bool>({mutant.new})", "static_cast<bool>"
    else:
        new, last = f"({mutant.new})", ""
    return [(f"\n({on}\n? {new}\n: {last}(\n", n), *inside, ("\n))\n", n)]


def pieces(source, start, end, mutants):
    """The text from start to end with the switches of (number, mutant) in order of place, as (text, number or 0)."""
    out, at = [], start
    while mutants:
        n, first = mutants[0]
        inner = [(k, m) for k, m in mutants[1:] if m.end <= first.end and m.start < first.end]
        mutants = mutants[1 + len(inner):]
        out.append((source[at:first.start].decode(), 0))
        out += switched(first, n, pieces(source, first.start, first.end, inner))
        at = first.end
    return out + [(source[at:end].decode(), 0)]


def rewrite(source, mutants):
    """(the text with all switches, the number of the innermost mutant for each of its lines)"""
    for m in mutants.values():
        if m.relaxed >= 0:
            source = source[:m.relaxed] + b"const    " + source[m.relaxed + 9:]
    order = sorted(mutants.items(), key=lambda e: (e[1].start, -e[1].end, ORDER[e[1].kind], e[0]))
    text, owners, stack = f'#include "{HERE}/mutant.h"\n', {}, []
    for part, n in pieces(source, 0, len(source), order):
        if n:  # the first part of a mutant, or its last
            stack.pop() if stack and stack[-1] == n else stack.append(n)
        line = text.count("\n") + 1
        owner = n or (stack[-1] if stack else 0)
        owners.update({k: owner for k in range(line, line + part.count("\n") + 1) if owner})
        text += part
    return text, owners


# ---- the build folder

class Build:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        commands = json.loads((self.folder / "compile_commands.json").read_text())
        self.commands = {c["output"]: c for c in commands}
        self.users, self.precompiled = self.dependencies()
        targets = json.loads((self.folder / "meson-info/intro-targets.json").read_text())
        mutated = [os.path.relpath(t["filename"][0], self.folder) for t in targets
                   if t["type"] in ("shared library", "shared module", "executable")
                   and t["installed"] and t["name"] not in LEFT_OUT]
        self.links = {file: self.link(file) for file in mutated}
        self.objects = {o for words in self.links.values() for o in words if o.endswith(".o")}

    def flags(self, path):
        """What the compiler of a file gets that includes depend on."""
        users = self.objects.intersection(self.users[path]).intersection(self.commands)
        words = shlex.split(self.commands[min(users)]["command"]) if users else []
        words = re.findall(r"(?<!\S)(-I|-isystem|-D) ?(\S+)", " ".join(words))
        return [kind + (value if kind == "-D" else str(self.folder / value)) for kind, value in words]

    def ninja(self, *arguments):
        return subprocess.run(["ninja", "-t", *arguments], cwd=self.folder, check=True, capture_output=True,
                              text=True).stdout

    def dependencies(self):
        """({file of the tree: objects that depend on it}, files that a precompiled header contains)"""
        users, precompiled, output = collections.defaultdict(set), set(), ""
        places = {}
        for line in self.ninja("deps").splitlines():
            if line and line[0] != " ":
                output = line.split(":")[0]
                continue
            name = line.strip()
            if name and name not in places:
                real = os.path.realpath(self.folder / name)
                places[name] = os.path.relpath(real, ROOT) if real.startswith(str(ROOT) + "/") else ""
            if name and places[name]:
                users[places[name]].add(output)
                if output.endswith(".gch") or output.endswith(".pch"):
                    precompiled.add(places[name])
        return users, precompiled

    @functools.cache
    def archived(self, file):
        """The objects of a static library."""
        return [line.strip(" |") for line in self.ninja("query", file).splitlines() if line.endswith(".o")]

    @functools.cache
    def link(self, file):
        """The command that links a library or a program, with the objects of its static libraries."""
        words = shlex.split(self.ninja("commands", "-s", file))
        return [w for word in words
                for w in (self.archived(word) if word.endswith(".a") and not os.path.isabs(word) else [word])]


# ---- compiling

class Schema:
    """Compiles numbered mutants into `folder`. `refused`: the numbers of those that do not compile.

    programs: files of the build folder; they are linked again if they use a mutated header.
    """

    def __init__(self, build, folder, mutants, programs):
        self.build, self.folder = build, pathlib.Path(folder)
        self.mutants, self.refused, self.owners = dict(mutants), {}, {}
        users = {o for m in self.mutants.values() for o in build.users[m.path] if o in build.commands}
        self.links = {**build.links, **{file: build.link(file) for file in programs}}
        self.links = {file: words for file, words in self.links.items() if users.intersection(words)}
        self.objects = sorted({o for words in self.links.values() for o in users.intersection(words)})
        self.done = set()

    def place(self, path):
        return self.folder / "include/tandem" / path

    def write(self):
        by_path = collections.defaultdict(dict)
        for n, m in self.mutants.items():
            by_path[m.path]  # also if all of them are refused
            if n not in self.refused:
                by_path[m.path][n] = m
        for path, mutants in by_path.items():
            text, self.owners[str(self.place(path))] = rewrite((ROOT / path).read_bytes(), mutants)
            self.place(path).parent.mkdir(parents=True, exist_ok=True)
            self.place(path).write_text(text)

    def output(self, name):
        return str(self.folder / name.replace("/", "_"))

    def compile(self, name):
        """Compiles one object; the text of the errors, or none."""
        entry = self.build.commands[name]
        words = shlex.split(entry["command"])
        source = os.path.relpath(self.build.folder / entry["file"], ROOT)
        out = words[1:2] if words[0] == "ccache" else words[:1]
        skip = {"-include": 2, "-MQ": 2, "-MF": 2, "-MD": 1, "-o": 2, "-c": 2, "-Werror": 1, "-Winvalid-pch": 1,
                "-fpch-deps": 1, "-fdiagnostics-color=always": 1}
        at = len(out) if words[0] != "ccache" else 2
        while at < len(words):
            if words[at] in skip:
                at += skip[words[at]]
                continue
            out.append(words[at] if "eigen" in name else re.sub(r"^-O\d$", "-O1", words[at]))
            at += 1
        place = self.place(source)
        out += ["-w", "-iquote", str(self.folder / "include"), "-o", self.output(name), "-c",
                str(place if place.exists() else ROOT / source)]
        return subprocess.run(out, cwd=self.build.folder, capture_output=True, text=True).stderr

    def blame(self, errors):
        """The numbers of the mutants that errors are about."""
        found = re.findall(r"^(\S+?):(\d+):(?:\d+:)?\s+(error|required|note)", errors, re.M)
        for kinds in (("error",), ("required", "note")):
            numbers = {self.owners.get(file, {}).get(int(line), 0) for file, line, kind in found if kind in kinds} - {0}
            if numbers:
                return numbers
        files = {file for file, _, _ in found}
        numbers = {n for n, m in self.mutants.items() if str(self.place(m.path)) in files and n not in self.refused}
        if not numbers:
            raise RuntimeError(errors)
        return numbers

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            while len(self.done) < len(self.objects):
                self.write()
                todo = [o for o in self.objects if o not in self.done]
                for name, errors in zip(todo, pool.map(self.compile, todo)):
                    if ": error:" in errors or "fatal error" in errors or "compiler error" in errors:
                        self.refused.update({n: errors for n in self.blame(errors)})
                    else:
                        self.done.add(name)
        self.link()

    def link(self):
        """Links the libraries and programs that the objects are part of."""
        switch = self.output("mutant.o")
        words = shlex.split(self.build.commands[self.objects[0]]["command"])
        compiler = words[1] if words[0] == "ccache" else words[0]
        source = str(HERE / "mutant.cpp")
        subprocess.run([compiler, "-std=c++20", "-O1", "-fPIC", "-c", source, "-o", switch], check=True)
        libraries = self.folder / "lib"
        libraries.mkdir()
        for pattern in ("libtandem_*.so", "parallel/distributed/*/libtandem_*.so"):  # plugins, found beside the library
            for plugin in self.build.folder.glob(pattern):
                (libraries / plugin.name).symlink_to(plugin)
        (self.folder / "bin").mkdir()
        for file, words in self.links.items():
            words = [self.output(w) if w in self.done else w for w in words]
            name = re.sub(r"(\.so\.\d+\.\d+).*", r"\1", os.path.basename(file))
            words[words.index("-o") + 1] = str(self.folder / ("lib" if ".so" in name else "bin") / name)
            subprocess.run(words + [switch], cwd=self.build.folder, check=True)
