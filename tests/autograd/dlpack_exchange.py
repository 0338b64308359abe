#!/usr/bin/env python3
"""Exchanges tensors with PyTorch and NumPy through DLPack's capsules, within one process.

  dlpack_exchange.py [--build DIR]

Builds BUILD/tests/autograd/libdlpack_exchange.so first. Requires PyTorch 2 and NumPy 2; Tandem's test suite does not
run it. The last line is "N passed, N failed".
"""
import argparse
import ctypes
import gc
import pathlib
import subprocess
import sys
import weakref

try:
    import numpy
    import torch
except ImportError:
    sys.exit(f"{sys.argv[0]}: this Python has no PyTorch or no NumPy; install them in a virtual environment: python3 "
             f"-m venv DIR, DIR/bin/pip install torch numpy, DIR/bin/python " + sys.argv[0])

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# By the number of ScalarType.
DTYPES = {0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16,
          6: torch.float32, 7: torch.float64, 9: torch.complex64, 10: torch.complex128, 11: torch.bool, 15: torch.bfloat16,
          27: torch.uint16, 28: torch.uint32, 29: torch.uint64}
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = {False: b"used_dltensor", True: b"used_dltensor_versioned"}  # capsules keep a pointer to their name


class Producer:
    """What numpy.from_dlpack expects."""

    def __init__(self, pointer, versioned):
        self.pointer, self.versioned = pointer, versioned

    def __dlpack__(self, **_):
        return api.PyCapsule_New(self.pointer, NAMES[self.versioned], None)

    def __dlpack_device__(self):
        return (1, 0)


passed = failed = 0


def check(name, good):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("FAILED:", name)


def load(build):
    subprocess.run(["ninja", "-C", build, "-j2", "tests/autograd/libdlpack_exchange.so"], check=True,
                   stdout=subprocess.DEVNULL)
    library = ctypes.CDLL(str(build / "tests/autograd/libdlpack_exchange.so"))
    for function in (library.make, library.make_versioned):
        function.restype = ctypes.c_void_p
    for function in (library.take, library.take_versioned):
        function.argtypes = [ctypes.c_void_p]
    library.bytes_in_use.restype = library.kept_stride.restype = ctypes.c_int64
    library.kept_stride.argtypes = [ctypes.c_int64]
    library.kept_sum.restype = ctypes.c_double
    return library


def make(library, index, versioned, read_only=0):
    return library.make_versioned(index, read_only) if versioned else library.make(index)


def outgoing(library):
    before = library.bytes_in_use()
    for index, dtype in DTYPES.items():
        expected = torch.arange(12.0).to(dtype).view(3, 4).t()[:, 1:]
        for versioned in (False, True):
            capsule = api.PyCapsule_New(make(library, index, versioned), NAMES[versioned], None)
            tensor = torch.utils.dlpack.from_dlpack(capsule)
            check(f"to PyTorch: {dtype}, {versioned}",
                  tensor.dtype == dtype and tensor.stride() == expected.stride() and torch.equal(tensor, expected))
            del tensor, capsule
            if dtype != torch.bfloat16:
                array = numpy.from_dlpack(Producer(make(library, index, versioned), versioned))
                check(f"to NumPy: {dtype}, {versioned}",
                      numpy.array_equal(array, expected.numpy()) and array.strides == expected.numpy().strides)
                del array
    array = numpy.from_dlpack(Producer(make(library, 6, True, 1), True))
    check("to NumPy: read-only", not array.flags.writeable)
    del array
    gc.collect()
    check("all tensors are freed", library.bytes_in_use() == before)


def take(library, source, versioned):
    """Hands a tensor of PyTorch or NumPy to Tandem, as a consumer of the capsule."""
    capsule = source.__dlpack__(max_version=(1, 0)) if versioned else source.__dlpack__()
    pointer = api.PyCapsule_GetPointer(capsule, NAMES[versioned])
    refused = (library.take_versioned if versioned else library.take)(pointer)
    if not refused:
        api.PyCapsule_SetName(capsule, USED[versioned])
    return not refused


def incoming(library):
    for index, dtype in DTYPES.items():
        for versioned in (False, True):
            tensor = torch.ones(4, 6).to(dtype)[1:3, ::2]
            check(f"from PyTorch: {dtype}, {versioned}",
                  take(library, tensor, versioned) and library.kept_dtype() == index and
                  library.kept_sum() == 6 and library.kept_stride(0) == 6 and library.kept_stride(1) == 2)
            library.zero()
            check(f"the same memory: {dtype}", not tensor.to(torch.complex128).any())
    array = numpy.ones((3, 2), dtype="f4")
    for versioned in (False, True):
        check("from NumPy", take(library, array, versioned) and library.kept_sum() == 6)
    fixed = numpy.ones(3)
    fixed.flags.writeable = False
    check("read-only from NumPy", take(library, fixed, True) and library.kept_sum() == 3)
    library.zero()
    check("a copy of it", fixed.sum() == 3)
    check("an unknown dtype", not take(library, torch.ones(3, dtype=torch.complex32), False))
    check("negative strides", not take(library, numpy.ones(3)[::-1], False))

    class Array(numpy.ndarray):
        pass
    array = numpy.ones(3).view(Array)
    alive = weakref.ref(array)
    take(library, array, False)
    del array
    check("the array lives on", alive() is not None)
    library.drop()
    gc.collect()
    check("the array is freed", alive() is None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    library = load(parser.parse_args().build)
    outgoing(library)
    incoming(library)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
