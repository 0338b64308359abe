"""Runs the cases of test programs with mutants: first finds out which mutants each case reaches, then only runs these.

A mutant is killed if a program ends with an error, or takes many times as long as the original.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import time
import typing

WORKERS = len(os.sched_getaffinity(0))
MEMORY = 6 << 30  # bytes of address space: mutants may ask for any amount
FIRST = 8  # so many cases, the quickest, run first: a mutant that hangs does not wait for the time of all of them


class Case(typing.NamedTuple):
    program: str
    name: str  # "": the whole program
    seconds: float
    reached: frozenset


class Programs:
    """Test programs of a build folder, with what is in `folder`/lib and `folder`/bin in place of what is there."""

    def __init__(self, build, folder):
        tests = json.loads((build / "meson-info/intro-tests.json").read_text())
        self.tests = {t["name"]: t for t in tests}
        self.build, self.folder = build, pathlib.Path(folder)

    def run(self, program, arguments, mutant, seconds=600.0, reached=None):
        """(exit code, output); the exit code is None if the time was not enough."""
        test = self.tests[program]
        environment = {**os.environ, **test["env"], "TANDEM_MUTANT": str(mutant)}
        if (self.build / "libtandem_cpu_avx512.so").exists():  # has no mutants
            environment["TANDEM_CPU"] = "avx2"
        found = [str(self.folder / "lib"), test["env"].get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(found)
        if reached:
            environment["TANDEM_MUTANTS_REACHED"] = reached
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        command = [*test["cmd"], *arguments]
        own = self.folder / "bin" / os.path.basename(command[0])
        if own.exists():
            command[0] = str(own)
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

    def files(self, programs):
        """The files of programs in the build folder, but not those of scripts."""
        found = [self.tests[p]["cmd"][0] for p in programs if p in self.tests]
        return sorted(os.path.relpath(f, self.build) for f in found if pathlib.Path(f).is_relative_to(self.build))

    def names(self, program, filters):
        """The cases of a doctest program."""
        code, text = self.run(program, ["--list-test-cases", *filters], 0)
        listed = re.search(r"listing all test case names\n=+\n(.*?)=+\n", text, re.S)
        if code != 0 or not listed:
            raise RuntimeError(f"{program} does not list its cases:\n{text}")
        return [n for n in listed.group(1).splitlines() if n]

    def selection(self, names):
        escaped = [re.sub(r"([\\,])", r"\\\1", n) for n in names if n]
        return ["--test-case=" + ",".join(escaped), "--abort-after=1"] if escaped else []

    def case(self, entry):
        """Runs the original; what it reaches."""
        program, name = entry
        with tempfile.NamedTemporaryFile(dir=self.folder) as reached:
            began = time.monotonic()
            code, text = self.run(program, self.selection([name]), -1, reached=reached.name)
            if code not in (0, 77):
                raise RuntimeError(f"{program} {name} fails without a mutant (exit code {code}):\n{text}")
            numbers = frozenset(map(int, pathlib.Path(reached.name).read_text().split()))
        return Case(program, name, time.monotonic() - began, numbers)

    def reaching(self, wanted):
        """{(program, filters): its cases that reach any mutant}; filters: doctest's, None for other programs."""
        entries = {}
        for program, filters in wanted:
            if program in self.tests:
                names = [""] if filters is None else self.names(program, filters)
                entries[program, filters] = [(program, n) for n in names]
        every = sorted({e for found in entries.values() for e in found})
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            cases = dict(zip(every, pool.map(self.case, every)))
        return {wish: [cases[e] for e in found if cases[e].reached] for wish, found in entries.items()}

    def verdict(self, mutant, cases):
        """killed, survived, or unreached, and the command that killed it"""
        mine = [c for c in cases if mutant in c.reached]
        by_program = {}
        for case in mine:
            by_program.setdefault(case.program, []).append(case)
        for program, chosen in sorted(by_program.items(), key=lambda e: sum(c.seconds for c in e[1])):
            chosen.sort(key=lambda c: c.seconds)
            for batch in (chosen[:FIRST], chosen[FIRST:]):
                seconds = 10 + 5 * sum(c.seconds for c in batch)
                if batch and self.run(program, self.selection([c.name for c in batch]), mutant, seconds)[0] != 0:
                    return "killed", program
        return ("survived", shlex.join(by_program)) if mine else ("survived", "not reached")
