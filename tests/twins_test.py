#!/usr/bin/env python3
"""Finds definitions that share a mangled name: an inline function in one object file, an ordinary one in another.

    tests/twins_test.py BUILD     checks the object files of the library in a build folder

The linker silently keeps one of such a pair (a violation of the one-definition rule). The last line is
`N passed, N failed`.
"""
import pathlib
import subprocess
import sys
import tempfile

INLINE, ORDINARY = set("WVu"), set("TDBR")


def twins(objects):
    """One line per symbol that is inline in one object and ordinary in another."""
    found = {}
    text = subprocess.run(["nm", "-A", "-P", "--defined-only", *map(str, objects)], check=True, capture_output=True,
                          text=True)
    for line in text.stdout.splitlines():
        place, symbol, kind = line.split()[:3]
        if kind in INLINE | ORDINARY:
            found.setdefault(symbol, {}).setdefault("inline" if kind in INLINE else "ordinary",
                                                    []).append(place.rstrip(":"))
    pairs = {s: p for s, p in found.items() if len(p) == 2}
    names = subprocess.run(["c++filt", *pairs], capture_output=True, text=True).stdout.splitlines() if pairs else []
    return [f"{n}: inline in {p['inline'][0]}, ordinary in {p['ordinary'][0]}" for n, p in zip(names, pairs.values())]


def finds_a_pair():
    with tempfile.TemporaryDirectory() as folder:
        sources = {"one": "inline int twin() { return 1; } int (*use)() = twin;", "two": "long twin() { return 2; }"}
        for name, text in sources.items():
            (pathlib.Path(folder) / f"{name}.cpp").write_text(text)
            subprocess.run(["c++", "-c", f"{name}.cpp"], cwd=folder, check=True)
        return len(twins(pathlib.Path(folder).glob("*.o"))) == 1


def main():
    build = pathlib.Path(sys.argv[1])
    objects = [*build.glob("libtandem*.p/*.o"), *build.glob("cuda/*.o")]
    bad = twins(objects)
    if len(objects) < 300:
        bad.append(f"only {len(objects)} object files in {build}: the library has more")
    if not finds_a_pair():
        bad.append("the check misses a known pair")
    print(*bad, sep="\n")
    print(f"{0 if bad else 1} passed, {1 if bad else 0} failed")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
