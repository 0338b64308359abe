#!/usr/bin/env python3
"""Compares .npy and .npz files with those of NumPy: numpy.save, Tandem's reader and writer, numpy.load.

  numpy_files.py [--build DIR]

Builds BUILD/tests/nn/numpy_files first. Requires NumPy; Tandem's test suite does not run it. The last line is
"N passed, N failed".
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
except ImportError:
    sys.exit(f"{sys.argv[0]}: this Python has no NumPy; install it in a virtual environment: python3 -m venv DIR, "
             "DIR/bin/pip install numpy, DIR/bin/python " + sys.argv[0])

ROOT = pathlib.Path(__file__).resolve().parents[3]
DTYPES = ["bool", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16"]


def arrays():
    """Names and arrays that must come back equal."""
    draw = numpy.random.default_rng(1)
    for dtype in DTYPES:
        base = (draw.standard_normal((4, 3, 2)) * 50 +
                (1j * draw.standard_normal((4, 3, 2)) if dtype[0] == "c" else 0)).astype(dtype)
        yield f"{dtype}", base
        yield f"{dtype}, Fortran order", numpy.asfortranarray(base)
        yield f"{dtype}, a view", base[::2, :, 1:]
        yield f"{dtype}, number", base[0, 0, 0].reshape(())
        yield f"{dtype}, empty", base[:0]
        if base.dtype.itemsize > 1:
            yield f"{dtype}, big-endian", base.astype(base.dtype.newbyteorder(">"))
            yield f"{dtype}, big-endian, Fortran order", numpy.asfortranarray(base.astype(base.dtype.newbyteorder(">")))
    yield "large", draw.standard_normal((1000, 1001))
    yield "12 dimensions", numpy.arange(4096.0).reshape((2,) * 12)


def refused():
    """Names, arrays and what the error must say."""
    yield "objects", numpy.array([{}, None], dtype=object), "Python objects"
    yield "structured", numpy.zeros(2, dtype=[("a", "f4"), ("b", "i2")]), "structured"
    yield "text", numpy.array(["a", "bc"]), "dtype '<U2'"
    yield "long double", numpy.zeros(2, dtype="longdouble"), "dtype '<f16'"
    yield "dates", numpy.zeros(2, dtype="M8[s]"), "dtype '<M8[s]'"
    yield "13 dimensions", numpy.zeros((1,) * 13), "12 dimensions"


def same(a, b):
    return a.shape == b.shape and a.dtype.newbyteorder("=") == b.dtype and numpy.array_equal(a, b)


def run(tool, *files):
    done = subprocess.run([tool, *files], capture_output=True, text=True)
    return done.stderr.strip() or (f"ended with code {done.returncode}" if done.returncode else "")


def check_array(tool, array, folder, version):
    with open(f"{folder}/in.npy", "wb") as file:
        numpy.lib.format.write_array(file, array, version=version, allow_pickle=True)
    problem = run(tool, f"{folder}/in.npy", f"{folder}/out.npy")
    return problem or ("" if same(array, numpy.load(f"{folder}/out.npy")) else "another array")


def check_archive(tool, save, folder):
    given = {name.replace(" ", "_"): array for name, array in arrays()}
    save(f"{folder}/in.npz", **given)
    problem = run(tool, f"{folder}/in.npz", f"{folder}/out.npz", f"{folder}/out.compressed.npz")
    for name in ("out.npz", "out.compressed.npz"):
        if not problem:
            with numpy.load(f"{folder}/{name}") as back:
                wrong = [key for key in given if not same(given[key], back[key])] + list(set(back) ^ set(given))
                problem = f"{name}: {wrong}" if wrong else ""
    return problem


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", args.build, "-j2", "tests/nn/numpy_files"], check=True, stdout=subprocess.DEVNULL)
    tool = args.build / "tests/nn/numpy_files"
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, array in arrays():
            for version in ((1, 0), (2, 0), (3, 0)):
                results.append((f"{name}, version {version[0]}", check_array(tool, array, folder, version)))
        for name, array, words in refused():
            problem = check_array(tool, array, folder, (1, 0))
            results.append((name, "" if words in problem else problem or "was accepted"))
        for save in (numpy.savez, numpy.savez_compressed):
            results.append((save.__name__, check_archive(tool, save, folder)))
    for name, problem in results:
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            print(f"{name}: {problem}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
