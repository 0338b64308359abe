#!/usr/bin/env python3
"""Runs exported models with onnxruntime and compares the results. The programs themselves read each file again, and
compare the bits with the module's; without Python's onnx and onnxruntime, this alone is checked.

    export_test.py PROGRAM [ARGUMENTS]   PROGRAM FOLDER ARGUMENTS writes the exports (exported.h)
    export_test.py --folder FOLDER       compares those that a folder has

Ends with `N passed, N failed`.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError:
    onnxruntime = None

# |difference| <= tolerance (1 + |expected|). onnxruntime rounds float16 after each of a function's nodes.
TOLERANCE, TOLERANCE16 = 1e-4, 4e-3


def arrays(folder, name, part, what):
    """The arrays of one set of a model's inputs or outputs."""
    count = len(glob.glob(f"{glob.escape(folder)}/{glob.escape(name)}.{part}.{what}*.npy"))
    return [np.load(f"{folder}/{name}.{part}.{what}{i}.npy") for i in range(count)]


def difference(expected, found):
    """Why two arrays differ, or None."""
    if expected.shape != found.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    if expected.dtype != found.dtype:
        return f"dtype {found.dtype}, expected {expected.dtype}"
    a, b = expected.astype(np.float64), found.astype(np.float64)
    tolerance = TOLERANCE16 if expected.dtype == np.float16 else TOLERANCE
    with np.errstate(invalid="ignore"):
        wrong = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * (1 + np.abs(a))))
    if wrong.any():
        at = tuple(int(i) for i in np.argwhere(wrong)[0]) if wrong.ndim else ()
        return f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {found[at]}, expected {expected[at]}"
    return None


def compare(folder, name):
    """The first error of a model, or None, and whether onnxruntime refused the file."""
    path = f"{folder}/{name}.onnx"
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model if model.ByteSize() < 1 << 30 else path, full_check=True)
    except Exception as error:
        return f"checker: {str(error).splitlines()[0]}", False
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 2
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        unsupported = "NOT_IMPLEMENTED" in str(error) or "NotImplemented" in repr(error)
        return f"onnxruntime: {str(error).splitlines()[0]}", unsupported
    names = [i.name for i in session.get_inputs()]
    part = 0
    while arrays(folder, name, part, "out"):
        inputs, expected = arrays(folder, name, part, "in"), arrays(folder, name, part, "out")
        try:
            found = session.run(None, dict(zip(names, inputs)))
        except Exception as error:
            return f"set {part}: {str(error).splitlines()[0]}", False
        if len(found) != len(expected):
            return f"{len(found)} outputs, expected {len(expected)}", False
        for i, (a, b) in enumerate(zip(expected, found)):
            if (why := difference(a, b)) is not None:
                return f"set {part}, output {i}: {why}", False
        part += 1
    return (None if part else "no outputs were written"), False


def run(folder):
    counts = collections.Counter()
    for path in sorted(glob.glob(f"{glob.escape(folder)}/*.onnx")):
        name = os.path.basename(path)[:-len(".onnx")]
        why, unsupported = compare(folder, name)
        counts["passed" if why is None else "unsupported" if unsupported else "failed"] += 1
        if why is not None:
            print(f"{name}: {why}")
    if counts["unsupported"]:
        print(f"{counts['unsupported']} need types that onnxruntime does not have for their operators")
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return counts["failed"] != 0 or counts["passed"] == 0


if sys.argv[1] == "--folder":
    sys.exit(run(sys.argv[2]))
with tempfile.TemporaryDirectory() as folder:
    program = subprocess.run([sys.argv[1], folder, *sys.argv[2:]], stdout=subprocess.PIPE, text=True)
    print(program.stdout, end="", flush=True)
    if onnxruntime is not None:
        sys.exit(run(folder) or program.returncode != 0)
    same, other = map(int, re.search(r"^(\d+) have the same bits .*, (\d+) have not$", program.stdout, re.M).groups())
    print("onnx and onnxruntime are not installed: only the bits were compared")
    print(f"{same} passed, {other} failed")
    sys.exit(other != 0 or program.returncode != 0)

