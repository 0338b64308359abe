#!/usr/bin/env python3
"""Compares the bits of results with those in golden.txt, for each set of kernels that this processor has.

    golden_test.py GOLDEN golden.txt [--write | --except FILE | --device DEVICE] [PREFIX…]

GOLDEN is the program, possibly after an emulator: "qemu-aarch64 golden". --write writes golden.txt instead. With
prefixes, only the results whose names begin so are compared. FILE has the names of results that may differ between
builds, and why: they are only compared between the sets of kernels of this one. --device compares what
TANDEM_REPRODUCIBLE=strict computes and refuses on DEVICE (cuda:0) and on this processor.
"""
import os
import subprocess
import sys

SETS = ("avx2", "avx512")


def digests(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines())


def run(program, kernels, prefixes, mode="on"):
    done = subprocess.run([*program.split(), *prefixes], capture_output=True, text=True,
                          env={**os.environ, "TANDEM_REPRODUCIBLE": mode,
                               **({"TANDEM_CPU": kernels} if kernels else {})})
    if done.returncode != 0:
        sys.exit(f"{program} failed: {done.stderr}")
    return digests(done.stdout)


def sets(program):
    """The sets of kernels of a build that has several, and that run here."""
    found = [k for k in SETS if subprocess.run([*program.split(), "none"], env={**os.environ, "TANDEM_CPU": k},
                                               capture_output=True).returncode == 0]
    return found if len(found) > 1 else [None]


def refusals(program):
    """Checks what TANDEM_REPRODUCIBLE=strict refuses, and a wrong value. Returns how many checks failed, and passed."""
    def output(value, name):
        done = subprocess.run([*program.split(), name], capture_output=True, text=True,
                              env={**os.environ, "TANDEM_REPRODUCIBLE": value, "GOLDEN_ERRORS": "1"})
        return done.stdout + done.stderr
    wanted = [("strict", "op linalg_svd", "svd: Eigen computes it"), ("strict", "op fft_fft", "fft: "),
              ("strict", "op complex det", "decompositions of complex matrices: "),
              ("stric", "op abs", "TANDEM_REPRODUCIBLE=stric: expected off, on or strict")]
    bad = [(value, name, text) for value, name, text in wanted if text not in output(value, name)]
    if "#" in output("strict", "op matmul"):
        bad.append(("strict", "op matmul", "no error"))
    for value, name, text in bad:
        print(f"TANDEM_REPRODUCIBLE={value}: {name}: expected: {text}")
    return len(bad), len(wanted) + 1 - len(bad)


def main():
    program, file, *rest = sys.argv[1:]
    if rest[:1] == ["--write"]:
        with open(file, "w") as out:
            out.writelines(f"{name} {digest}\n" for name, digest in run(program, sets(program)[-1], []).items())
        return
    if rest[:1] == ["--device"]:
        if subprocess.run([*program.split(), *rest[:2], "none"], capture_output=True).returncode != 0:
            print(f"there is no {rest[1]}\n0 passed, 0 failed, 1 skipped")
            sys.exit(77)
        wanted, found = (run(program, None, words, "strict") for words in (rest[2:], rest))
        different = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
        for name in different:
            print(f"{rest[1]}: {name}: {found.get(name)}, expected {wanted.get(name)}")
        print(f"{len(wanted) - len(different)} passed, {len(different)} failed")
        sys.exit(different != [] or not wanted)
    excepted = set()
    if rest[:1] == ["--except"]:
        with open(rest[1]) as text:
            excepted = {line.strip() for line in text if not line.startswith("#")}
        rest = rest[2:]
    with open(file) as text:
        wanted = digests(text.read())
    wanted = {name: d for name, d in wanted.items() if not rest or any(name.startswith(p) for p in rest)}
    passed = failed = 0
    for kernels in sets(program):
        found = run(program, kernels, rest)
        for name in sorted((wanted.keys() | found.keys()) - excepted):
            if wanted.get(name) == found.get(name):
                passed += 1
                continue
            failed += 1
            print(f"{kernels or 'this build'}: {name}: {found.get(name)}, expected {wanted.get(name)}")
        # What the first set computed is what the others must compute.
        wanted.update({name: digest for name, digest in found.items() if name in excepted})
        excepted = set()
    if not rest:
        bad, good = refusals(program)
        failed, passed = failed + bad, passed + good
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0 or passed == 0)


main()
