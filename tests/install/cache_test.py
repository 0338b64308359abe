#!/usr/bin/env python3
"""Checks that what ./run compiled in one clone comes out of ccache in another one, precompiled headers included.

  cache_test.py SOURCE_ROOT LIBRARY COMPILER...

Each compiler builds a few objects in two copies of the sources, with its own cache. What the second clone then
compiles with a precompiled header from the cache must depend on its own headers, not on those of the first clone.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

# One with a precompiled header, and one without.
OBJECTS = [sys.argv[2] + ".p/core_dtype.cpp.o", "libtandem_hot.a.p/core_cpu_linalg_transpose.cpp.o"]
OPTIONS = [f"-D{name}=disabled" for name in ("cuda", "gloo", "mpi", "pt", "vision", "jpeg")]
OPTIONS += [f"-D{name}=false" for name in ("cli", "examples", "bench", "tests")] + ["-Ddebug=true"]


def build(clone, stamp, cache, compiler):
    """The cache's counts for building OBJECTS in this copy."""
    (clone / "build").mkdir(exist_ok=True)
    shutil.copy(stamp, clone / "build")
    env = dict(os.environ, CCACHE_DIR=str(cache), CXX=f"ccache {compiler}")
    for name in ("CCACHE_BASEDIR", "CCACHE_DISABLE", "CCACHE_RECACHE"):
        env.pop(name, None)
    subprocess.run(["ccache", "--zero-stats"], env=env, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run([clone / "run", "build", *OPTIONS, *OBJECTS], env=env, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout[-2000:], done.stderr[-2000:])
    stats = subprocess.run(["ccache", "--print-stats"], env=env, check=True, capture_output=True, text=True).stdout
    counts = dict(line.split("\t") for line in stats.splitlines())
    return {name: int(counts[name]) for name in ("direct_cache_hit", "cache_miss")}


def dependencies(clone):
    """The files that the first of OBJECTS was compiled from, as ninja knows them."""
    text = subprocess.run(["ninja", "-C", clone / "build", "-t", "deps", OBJECTS[0]], check=True, capture_output=True,
                          text=True)
    return [line.strip() for line in text.stdout.splitlines()]


def left_out(source):
    """What need not be copied, for shutil.copytree: build folders and the history."""
    return lambda where, names: [n for n in names if where == str(source) and (n == ".git" or n.startswith("build"))]


def main():
    source, compilers = pathlib.Path(sys.argv[1]), [c for c in sys.argv[3:] if shutil.which(c)]
    stamp = source / "build/.installed-build"  # without it, ./run would install packages
    if not shutil.which("ccache") or not stamp.exists():
        print("there is no ccache, or the packages are not from ./run")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        clones, cache = [pathlib.Path(folder, name) for name in ("one", "two")], pathlib.Path(folder, "cache")
        for clone in clones:
            shutil.copytree(source, clone, symlinks=True, ignore=left_out(source))
        (clones[1] / "core/dtype.h").touch()
        edited = clones[1] / "core/dtype.cpp"
        for compiler in compilers:
            shutil.copy(clones[0] / "core/dtype.cpp", edited)
            for clone in clones:
                shutil.rmtree(clone / "build", ignore_errors=True)
            first, second = (build(clone, stamp, cache, compiler) for clone in clones)
            with open(edited, "a") as source_file:
                source_file.write(f"// compiled with {compiler}\n")
            third = build(clones[1], stamp, cache, compiler)
            strangers = [name for name in dependencies(clones[1]) if str(clones[0]) in name]
            print(f"{compiler}: {first}, then {second}, then {third}")
            wanted = len(OBJECTS) + 1  # and the precompiled header
            if (first["cache_miss"] != wanted or third != {"direct_cache_hit": 0, "cache_miss": 1} or
                    second != {"direct_cache_hit": wanted, "cache_miss": 0}):
                failed += 1
                print(f"FAILED: {compiler}: expected {wanted} misses, then none, then 1")
            elif strangers:
                failed += 1
                print(f"FAILED: {compiler}: depends on another clone's {len(strangers)} files, such as {strangers[0]}")
    print(f"{len(compilers) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
