#!/usr/bin/env python3
"""Do the tests notice when code is wrong? Makes small faults at random, and runs the tests with each of them.

    tests/mutations/mutate.py [BUILD] [--seed N] [--count N] [--only PATTERN...] [--mutant ID...]

A mutant differs from the library by one operator, constant, condition, statement, jump or order of arguments, in the
folders of FOLDERS. Needs libclang (Debian: python3-clang-14), which finds the places, and a built folder BUILD
(build/) that nothing builds in at the same time. All mutants are compiled at once, each behind a switch that is read
from the environment (schema.py), because a formula is part of forty objects and compiling these takes minutes, but
running the cases that reach a mutant takes a second. Headers that a precompiled header contains stay as they are: all
programs would have to be compiled again.

Survivors are printed as differences. Put one that no test can notice into equivalent.txt, with the reason. The
last lines are a table by folder and `N passed, N failed`: a failure is a survivor that is not listed there, or an entry
there that is none of the mutants of its file. --mutant takes the names that are printed.
"""
import argparse
import concurrent.futures
import difflib
import fnmatch
import pathlib
import random
import re
import sys
import tempfile
import typing

import cases
import schema
import sites

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def doctest(*patterns):
    """Filters of a doctest program: sources of the cases that are run."""
    return ("--source-file=" + ",".join(patterns),) if patterns else ()


OTHER = None  # in place of filters: not a doctest program
# {folder: (the files that are mutated, [(files, {test: filters}), …])}: the first pattern that matches counts.
FOLDERS = {
    "nn/optim": (("nn/optim/*",), [
        ("nn/optim/sgd.cpp", {"nn": doctest("*/optim/*")}),
        ("*", {"nn": ("--source-file-exclude=*/layers/*",)})]),
    "nn/files": (("nn/files/*",), [
        ("nn/files/tensorboard/*", {"tensorboard": OTHER}),
        ("nn/files/safetensors_index.cpp", {"nn": doctest("*/files/*")}),
        ("nn/files/crc32.cpp", {"nn": doctest("*/files/*"), "pt": doctest()}),
        ("nn/files/*pt/*", {"pt": doctest(), "broken_npz": OTHER, "broken_pickle": OTHER, "broken_pt": OTHER}),
        ("nn/files/*", {"nn": ("--source-file-exclude=*/layers/*,*/optim/*",), "pt": doctest(), "broken_npy": OTHER,
                        "broken_safetensors": OTHER, "broken_safetensors_index": OTHER, "tensorboard": OTHER})]),
    "parallel": (("parallel/*/tree_exchange*", "parallel/*/buckets*", "parallel/*/reducer*"), [
        ("parallel/*/buckets*", {"parallel": doctest("*buckets*")}),
        ("*", {"data_parallel": doctest(), "replicas": doctest(), "parameter_server": doctest(),
               "distributed_training": doctest()})]),
    "core/formulas": (("core/formulas/*",), [
        ("core/formulas/optim_math.h", {"nn": doctest("*/optim/*")}),
        ("core/formulas/recurrent_math.h", {"nn": doctest("*recurrent*"), "ops": OTHER}),
        ("core/formulas/*random*", {"functions": doctest("*/random/*"), "core": doctest("*random*"),
                                    "nn": doctest("*draws*", "*init*", "*dropout*")}),
        ("*", {"pointwise": doctest(), "reduce": doctest(), "functions": doctest(), "network_operations": doctest(),
               "autograd": doctest(), "nn": doctest("*/layers/*"), "ops": OTHER})]),
}


def tests_of(folder, path):
    return next(tests for pattern, tests in FOLDERS[folder][1] if fnmatch.fnmatch(path, pattern))


# ---- the list of equivalent mutants

class Entry(typing.NamedTuple):
    pattern: str
    change: str  # "OLD => NEW"; "": any
    code: str  # a part of the line; "": any
    line: int


def read_equivalents():
    """equivalent.txt: a pattern of paths, below it changes (two spaces), below these their reason (four)."""
    entries, pattern, unexplained = [], "", []
    for number, line in enumerate((HERE / "equivalent.txt").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("    "):
            entries += unexplained
            unexplained = []
        elif line.startswith("  "):
            change, _, code = line.strip().partition(" @ ")
            unexplained.append(Entry(pattern, change, code, number) if "=>" in change else
                               Entry(pattern, "", change, number))
        else:
            pattern = line.strip()
    if unexplained:
        raise RuntimeError(f"equivalent.txt:{unexplained[0].line}: no reason is given")
    return entries


def listed(mutant, lines, entries):
    """The entry for a mutant, or None; lines: of its file."""
    for entry in entries:
        if (fnmatch.fnmatch(mutant.path, entry.pattern) and entry.change in ("", mutant.change.strip())
                and entry.code in lines[mutant.line - 1]):
            return entry
    return None


# ---- choosing

def paths_of(folder, build, only):
    found = {p for p in build.users if any(fnmatch.fnmatch(p, pattern) for pattern in FOLDERS[folder][0])}
    found = {p for p in found if p.endswith((".h", ".cpp")) and p not in build.precompiled}
    found = {p for p in found if build.objects.intersection(build.users[p])}
    return sorted(p for p in found if not only or any(fnmatch.fnmatch(p, pattern) for pattern in only))


def find(arguments):
    path, include = arguments
    return sites.find(path, (ROOT / path).read_bytes(), include)


def draw(args, build):
    """({folder: all of its mutants in the files asked for}, {folder: those drawn})"""
    found = {f: paths_of(f, build, args.only or [m.split(":")[0] for m in args.mutant]) for f in FOLDERS}
    found = {f: paths for f, paths in found.items() if paths}
    with concurrent.futures.ProcessPoolExecutor(schema.WORKERS) as pool:
        every = {f: [m for ms in pool.map(find, [(p, str(build.folder / "include")) for p in paths]) for m in ms]
                 for f, paths in found.items()}
    drawn = {}
    for i, (folder, mutants) in enumerate(every.items()):
        if args.mutant:
            drawn[folder] = [m for m in mutants if m.name in args.mutant]
            continue
        share = (args.count + i) // len(every)
        drawn[folder] = random.Random(f"{args.seed} {folder}").sample(mutants, min(share, len(mutants)))
    return every, drawn


def difference(mutant):
    source = (ROOT / mutant.path).read_bytes()
    text = mutant.new or ("{}" if mutant.kind == "jump" else "")
    new = source[:mutant.start] + text.encode() + source[mutant.end:]
    lines = [t.decode().splitlines(keepends=True) for t in (source, new)]
    hunk = difflib.unified_diff(*lines, f"a/{mutant.path}", f"b/{mutant.path}", n=1)
    return "".join(hunk)


# ---- running

def judge(args, build, folders, mutants, entries):
    """{number: (verdict, remark)} of numbered mutants."""
    lines = {p: (ROOT / p).read_text().splitlines() for p in {m.path for m in mutants.values()}}
    verdicts, rest = {}, {}
    for n, m in mutants.items():
        entry = None if args.mutant else listed(m, lines[m.path], entries)
        if entry:
            verdicts[n] = ("equivalent", "")
        else:
            rest[n] = m
    if not rest:
        return verdicts
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        programs = cases.Programs(build.folder, scratch)
        wanted = {p for f, numbers in folders.items() for n in numbers for p in tests_of(f, mutants[n].path)}
        compiled = schema.Schema(build, scratch, rest, programs.files(wanted))
        compiled.run()
        verdicts.update({n: ("refused", e) for n, e in compiled.refused.items()})
        alive = {folder: [n for n in numbers if n not in verdicts] for folder, numbers in folders.items()}
        tests = {n: tests_of(f, mutants[n].path) for f, numbers in alive.items() for n in numbers}
        reaching = programs.reaching({entry for wanted in tests.values() for entry in wanted.items()})
        print(f"{len(tests)} mutants, {sum(map(len, reaching.values()))} cases that reach any", flush=True)
        judge_one = lambda n: programs.verdict(n, [c for entry in tests[n].items() for c in reaching.get(entry, [])])
        with concurrent.futures.ThreadPoolExecutor(schema.WORKERS) as pool:
            for n, verdict in zip(tests, pool.map(judge_one, tests)):
                verdicts[n] = verdict
                show(mutants[n], *verdict)
    return verdicts


def show(mutant, verdict, remark):
    print(f"{verdict}: {mutant.name}: {mutant.change[:100]} ({remark})", flush=True)
    if verdict == "survived":
        print(difference(mutant), flush=True)


def table(folders, verdicts):
    print(f"{'':14}{'killed':>10}{'survived':>10}{'equivalent':>12}{'not compiled':>14}{'rate':>8}")
    rows = {f: [verdicts[n][0] for n in numbers] for f, numbers in folders.items()}
    rows["all"] = [v for row in rows.values() for v in row]
    for name, row in rows.items():
        count = {kind: row.count(kind) for kind in ("killed", "survived", "equivalent", "refused")}
        alive = count["killed"] + count["survived"]
        rate = f"{100 * count['killed'] / alive:.0f} %" if alive else "-"
        print(f"{name:14}{count['killed']:>10}{count['survived']:>10}{count['equivalent']:>12}{count['refused']:>14}"
              f"{rate:>8}")
    return rows["all"].count("killed") + rows["all"].count("equivalent"), rows["all"].count("survived")


def stale(every, entries):
    """Entries of equivalent.txt that are about files that were read, and that mean no mutant."""
    mutants = [m for ms in every.values() for m in ms]
    lines = {p: (ROOT / p).read_text().splitlines() for p in {m.path for m in mutants}}
    used = {e for e in entries for m in mutants if listed(m, lines[m.path], [e])}
    read = lambda e: "*" not in e.pattern and e.pattern in lines
    return [e for e in entries if read(e) and e not in used]


def main():
    parser = argparse.ArgumentParser(prog="mutate.py")
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", nargs="+", default=[], metavar="PATTERN")
    parser.add_argument("--mutant", nargs="+", default=[], metavar="ID")
    args = parser.parse_args()
    if sites.cindex is None:
        print("skipped: needs libclang (Debian: python3-clang-14)")
        sys.exit(77)
    build, entries = schema.Build(args.build), read_equivalents()
    every, drawn = draw(args, build)
    mutants, folders = {}, {}
    for folder, chosen in drawn.items():
        folders[folder] = range(len(mutants) + 1, len(mutants) + 1 + len(chosen))
        mutants.update(zip(folders[folder], chosen))
    print(f"seed {args.seed}: {len(mutants)} of {sum(map(len, every.values()))} mutants", flush=True)
    verdicts = judge(args, build, folders, mutants, entries)
    old = [] if args.mutant else stale(every, entries)
    for entry in old:
        print(f"equivalent.txt:{entry.line}: no mutant of {entry.pattern} is `{entry.change or entry.code}`")
    passed, failed = table(folders, verdicts)
    print(f"{passed} passed, {failed + len(old)} failed")
    sys.exit(failed + len(old) > 0)


if __name__ == "__main__":
    main()
