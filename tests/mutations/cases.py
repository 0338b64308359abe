"""Runs the cases of test programs with mutants: first finds out which mutants each case reaches, then only runs these.

A mutant is killed if a program ends with an error, or takes many times as long as the original. A case is one of a
doctest program's or of a test in LISTING, each in a process of its own (what is made once in a process is reached by
all of its cases), or all of another test. Left out are tests of the suite `processes` and those that are not built,
cases that fail without a mutant, as some do with -O1, and cases that take longer than SLOW, which slow_cases.txt in the
build folder keeps.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time
import typing

WORKERS = len(os.sched_getaffinity(0))
MEMORY = (6 << 30, 80 << 30)  # bytes of address space: mutants may ask for any amount, and captured steps reserve some
SLOW = 30.0  # seconds
LISTING = {"ops", "nth_failure"}  # print their cases with --list, and run those that they are given
FIRST = 8  # so many cases run first, then four times as many, and so on
ENOUGH = 60.0  # seconds that the cases that are run with one mutant may take without it


class Case(typing.NamedTuple):
    program: str
    name: str  # "": the whole program
    memory: int
    seconds: float
    reached: frozenset


class Programs:
    """Test programs of a build folder, with what is in `folder`/lib and `folder`/bin in place of what is there.

    wanted: names of tests, `NAME` or `NAME=PATTERN,PATTERN`: of a doctest program, only cases in these sources; all
    tests if there are none.
    """

    def __init__(self, build, folder, wanted):
        tests = json.loads((build.folder / "meson-info/intro-tests.json").read_text())
        self.sources = {name: sources for name, _, sources in (w.partition("=") for w in wanted)}
        suites = lambda test: {s.split(":")[-1] for s in test["suite"]}
        quick = [t for t in tests if "processes" not in suites(t) and t["name"] != "mutations"]
        self.build, self.folder = build.folder, pathlib.Path(folder)
        built = [t for t in quick if all(os.path.exists(w) for w in t["cmd"] if w.startswith(f"{self.build}/"))]
        self.tests = {t["name"]: t for t in built if not wanted or t["name"] in self.sources}
        self.files = {name: self.own_files(t) for name, t in self.tests.items()}
        first = {name: self.files[name].get(t["cmd"][0]) for name, t in self.tests.items()}
        self.doctests = {name for name, file in first.items()
                         if file and any(o.endswith("test_main.a.p/main.cpp.o") for o in build.link(file))}
        self.slow_file = self.build / "slow_cases.txt"
        self.slow = set(self.slow_file.read_text().splitlines()) if self.slow_file.exists() else set()

    def own_files(self, test):
        """{word of a test's command: the program of the build folder that it names, relative to that folder}"""
        paths = {w: pathlib.Path(os.path.normpath(self.build / w)) for w in test["cmd"]}
        return {w: os.path.relpath(p, self.build) for w, p in paths.items()
                if p.is_relative_to(self.build) and p.is_file() and os.access(p, os.X_OK)}

    def environment(self, program):
        own = self.tests[program]["env"]
        environment = {**os.environ, **own}
        environment["LD_LIBRARY_PATH"] = ":".join([str(self.folder / "lib"), own.get("LD_LIBRARY_PATH", "")])
        if (self.build / "libtandem_cpu_avx512.so").exists():  # has no mutants
            environment["TANDEM_CPU"] = "avx2"
        return environment

    def run(self, program, arguments, mutant, memory=MEMORY[0], seconds=600.0, reached=None):
        """(exit code, output); the exit code is None if the time was not enough."""
        test = self.tests[program]
        environment = self.environment(program)
        environment["TANDEM_MUTANT"] = str(mutant)
        if reached:
            environment["TANDEM_MUTANTS_REACHED"] = reached
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        own = {w: str(self.folder / "bin" / os.path.basename(f)) for w, f in self.files[program].items()}
        command = [own[w] if w in own and os.path.exists(own[w]) else w for w in test["cmd"]] + arguments
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, cwd=test["workdir"] or self.build, env=environment,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                       start_new_session=True, preexec_fn=limit)
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # what the test started, too
                except ProcessLookupError:
                    pass
                process.wait()
            output.seek(0)
            return code, output.read().decode(errors="replace")

    def names(self, program):
        """The cases of a test; "": all of it."""
        if program in LISTING:
            return sorted(set(subprocess.run([self.tests[program]["cmd"][0], "--list"], env=self.environment(program),
                                             capture_output=True, text=True, check=True).stdout.splitlines()))
        if program not in self.doctests:
            return [""]
        filters = ["--source-file=" + self.sources[program]] if self.sources.get(program) else []
        code, text = self.run(program, ["--list-test-cases", *filters], 0)
        listed = re.search(r"listing all test case names\n=+\n(.*?)=+\n", text, re.S)
        if code != 0 or not listed:
            raise RuntimeError(f"{program} does not list its cases:\n{text}")
        return [n for n in listed.group(1).splitlines() if n]

    def selection(self, program, names):
        """Arguments for these cases."""
        if program in LISTING:
            return names
        escaped = [re.sub(r"([\\,])", r"\\\1", n) for n in names if n]
        return ["--test-case=" + ",".join(escaped), "--abort-after=1"] if escaped else []

    def case(self, entry):
        """Runs the original; the case with what it reaches, or why it is left out."""
        program, name = entry
        for memory in MEMORY:
            with tempfile.NamedTemporaryFile(dir=self.folder) as reached:
                began = time.monotonic()
                code, text = self.run(program, self.selection(program, [name]), -1, memory, SLOW, reached.name)
                seconds = time.monotonic() - began
                numbers = frozenset(map(int, pathlib.Path(reached.name).read_text().split()))
            if code in (0, 77):
                return Case(program, name, memory, seconds, numbers)
            if code is None:
                self.slow.add(f"{program}: {name}")
                return "slow"
        return f"fails without a mutant (exit code {code}): {text[-2000:]}"

    def reaching(self):
        """The cases that reach any mutant."""
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            names = dict(zip(self.tests, pool.map(self.names, self.tests)))
            entries = [(p, n) for p, found in names.items() for n in found if f"{p}: {n}" not in self.slow]
            cases = dict(zip(entries, pool.map(self.case, entries)))
        for entry, case in cases.items():
            if isinstance(case, str):
                print(f"left out: {': '.join(entry)}: {case}", flush=True)
        self.slow_file.write_text("".join(f"{name}\n" for name in sorted(self.slow)))
        return [c for c in cases.values() if isinstance(c, Case) and c.reached]

    def batches(self, cases):
        """Parts of a list of cases, the first ones in the first part, each part's by program."""
        at, size = 0, FIRST
        while at < len(cases):
            by_program = {}
            for case in cases[at:at + size]:
                by_program.setdefault((case.program, case.memory), []).append(case)
            yield from by_program.items()
            at, size = at + size, 4 * size

    def verdict(self, mutant, cases, enough):
        """killed or survived, and the tests that killed it, of which `enough` are looked for

        Cases come first that are quick and reach few mutants.
        """
        mine = sorted((c for c in cases if mutant in c.reached), key=lambda c: c.seconds * len(c.reached))
        if not mine:
            return "survived", "not reached"
        killers, left = [], ENOUGH
        for (program, memory), batch in self.batches(mine):
            seconds = sum(c.seconds for c in batch)
            left -= seconds
            if left < 0:
                break
            if program in killers:
                continue
            selection = self.selection(program, [c.name for c in batch])
            if self.run(program, selection, mutant, memory, 10 + 5 * seconds)[0] not in (0, 77):
                killers.append(program)
                if len(killers) == enough:
                    break
        reaching = f"{len(mine)} cases of {len({c.program for c in mine})} tests"
        return ("killed", " ".join(killers)) if killers else ("survived", reaching + ", not all run" * (left < 0))
