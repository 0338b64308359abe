#!/usr/bin/env python3
"""Do the tests notice when code is wrong? Makes small faults at random, and runs the tests with each of them.

    tests/mutations/mutate.py [BUILD] [--seed N] [--count N] [--only PATTERN...] [--mutant ID...]
                              [--tests NAME[=SOURCES]...] [--alone]

A mutant differs from the library or the tool by one operator, constant, condition, statement, jump or order of
arguments, in the folders of FOLDERS, each of which gets the same part of the count. All tests are run but those that
cases.py leaves out, or those of --tests, and of these only the cases in SOURCES (doctest's patterns). --alone looks for
a second test that notices a mutant, and prints how many mutants each test alone notices.

Needs libclang (Debian: python3-clang-14), which finds the places, and a built folder BUILD (build/) that nothing builds
in at the same time. All mutants are compiled at once, each behind a switch that is read from the environment
(schema.py), because a formula is part of forty objects and compiling these takes minutes, but running the cases that
reach a mutant takes a second. Headers that a precompiled header contains stay as they are: all programs would have to
be compiled again.

Survivors are printed as differences. Put one that no test can notice into equivalent.txt, with the reason. The
last lines are a table by folder and `N passed, N failed`: a failure is a survivor that is not listed there, or an entry
there that is none of the mutants of its file. --mutant takes the names that are printed.
"""
import argparse
import collections
import concurrent.futures
import difflib
import fnmatch
import hashlib
import json
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


# A file belongs to the longest of these that it is in.
FOLDERS = ("nn/optim", "nn/files", "parallel", "core/formulas", "autograd/ops", "autograd", "core/cpu", "core",
           "datasets", "onnx", "nn/layers", "nn", "models", "cli/train", "cuda/ops", "cuda")
# Only AVX-512 multiplies pairs of bfloat16. Cases run with AVX2's kernels if the folder has both sets (cases.py).
OF_PAIRS = {"core/cpu/conv/conv2d_half.cpp"}


def folder_of(path):
    return max((f for f in FOLDERS if path.startswith(f + "/")), key=len, default="")


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
    found = {p for p in build.users if folder_of(p) == folder and p.endswith((".h", ".cpp", ".cu"))}
    left_out = OF_PAIRS if (build.folder / "libtandem_cpu_avx512.so").exists() else set()
    found = {p for p in found - build.precompiled - left_out if build.objects.intersection(build.users[p])}
    return sorted(p for p in found if not only or any(fnmatch.fnmatch(p, pattern) for pattern in only))


def find(arguments):
    """The mutants of a file, which the build folder keeps until the file changes: finding them takes a second."""
    path, folder, flags = arguments
    source = (ROOT / path).read_bytes()
    key = hashlib.sha256(source + path.encode() + (HERE / "sites.py").read_bytes()).hexdigest()
    kept = folder / "mutants" / key
    if not kept.exists():
        found = sites.find(path, source, str(folder / "include"), flags)
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(found))
    return [sites.Mutant(*m) for m in json.loads(kept.read_text())]


def draw(args, build):
    """({folder: all of its mutants in the files asked for}, {folder: those drawn})"""
    found = {f: paths_of(f, build, args.only or [m.split(":")[0] for m in args.mutant]) for f in FOLDERS}
    found = {f: paths for f, paths in found.items() if paths}
    with concurrent.futures.ProcessPoolExecutor(schema.WORKERS) as pool:
        every = {f: [m for ms in pool.map(find, [(p, build.folder, build.flags(p)) for p in paths]) for m in ms]
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

def judge(args, build, mutants, entries):
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
        programs = cases.Programs(build, scratch, args.tests)
        compiled = schema.Schema(build, scratch, rest, {f for files in programs.files.values() for f in files.values()})
        compiled.run()
        verdicts.update({n: ("refused", e) for n, e in compiled.refused.items()})
        alive = [n for n in rest if n not in verdicts]
        reaching = programs.reaching()
        print(f"{len(alive)} mutants, {len(reaching)} cases that reach any", flush=True)
        with concurrent.futures.ThreadPoolExecutor(schema.WORKERS) as pool:
            for n, verdict in zip(alive, pool.map(lambda n: programs.verdict(n, reaching, 1 + args.alone), alive)):
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


def alone(verdicts):
    """Prints for each test how many mutants only it killed."""
    killers = collections.Counter(remark for verdict, remark in verdicts.values() if verdict == "killed")
    for test, count in killers.most_common():
        if " " not in test:
            print(f"only {test}: {count}")


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
    parser.add_argument("--tests", nargs="+", default=[], metavar="NAME[=SOURCES]")
    parser.add_argument("--alone", action="store_true")
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
    verdicts = judge(args, build, mutants, entries)
    old = [] if args.mutant else stale(every, entries)
    for entry in old:
        print(f"equivalent.txt:{entry.line}: no mutant of {entry.pattern} is `{entry.change or entry.code}`")
    if args.alone:
        alone(verdicts)
    passed, failed = table(folders, verdicts)
    print(f"{passed} passed, {failed + len(old)} failed")
    sys.exit(failed + len(old) > 0)


if __name__ == "__main__":
    main()
