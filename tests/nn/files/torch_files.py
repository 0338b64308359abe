#!/usr/bin/env python3
"""Compares .pt files with those of PyTorch: torch.save, Tandem's reader and writer, torch.load(weights_only=True).

  torch_files.py [--build DIR]

Builds BUILD/tests/nn/torch_files first. Requires PyTorch 2; Tandem's test suite does not run it. The last line is
"N passed, N failed".
"""
import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    sys.exit(f"{sys.argv[0]}: this Python has no PyTorch; install it in a virtual environment: python3 -m venv DIR, "
             "DIR/bin/pip install torch numpy, DIR/bin/python " + sys.argv[0])

ROOT = pathlib.Path(__file__).resolve().parents[3]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16,
          torch.int8, torch.uint8, torch.bool, torch.complex32, torch.complex64, torch.complex128,
          torch.uint16, torch.uint32, torch.uint64]


def checkpoints():
    """Names and values that must come back equal."""
    base = torch.randn(4, 6)
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(2, 3, 4, 6)).sum().backward()
    optimizer.step()
    yield "tensor", torch.randn(3, 4)
    yield "dtypes", {str(dtype): torch.arange(6).reshape(2, 3).to(dtype) for dtype in DTYPES}
    yield "views", [base, base.t(), base[1:3, ::2], base[2], base[:, 5:], base.expand(2, 4, 6), base[0, 0]]
    yield "empty", [torch.zeros(0), torch.zeros(2, 0, 3), torch.zeros(())]
    yield "state dict", model.state_dict()
    yield "training", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": 0.25,
                       "history": [(1, 2.5), (2, None)], "name": "näme \U0001F600", "done": False, "big": 2**62,
                       "negative": -2**40}
    yield "parameter", torch.nn.Parameter(torch.ones(3))
    yield "complex parameter", torch.nn.Parameter(torch.randn(3, dtype=torch.complex64))
    waves = torch.randn(2, 3, dtype=torch.complex128)
    yield "lazy", {"conjugate": waves.conj(), "hermitian": waves.mH}
    yield "lazy negation", {"imaginary": waves.conj().imag, "expanded": waves.conj().imag.expand(4, 2, 3)}
    yield "nested", collections.OrderedDict(a=collections.OrderedDict(b={"c": [[], (), {}, [[1], (2, (3,))]]}))
    yield "many", {f"layer.{i}.weight": torch.full((i % 7, 3), float(i)) for i in range(3000)}
    yield "numbers", list(range(5000)) + [0.1 * i for i in range(5000)]


def same(a, b):
    if isinstance(a, torch.Tensor):
        if not (isinstance(b, torch.Tensor) and a.dtype == b.dtype and a.shape == b.shape and
                a.requires_grad == b.requires_grad):
            return False
        if a.is_conj() or a.is_neg():
            return a.stride() == b.stride() and torch.equal(a, b)
        bits = [t.detach().contiguous().view(-1).view(torch.uint8) for t in (a, b)]  # torch.equal knows no complex32
        return a.stride() == b.stride() and torch.equal(*bits)
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return (type(b) in (list, tuple) and isinstance(b, list) == isinstance(a, list) and len(a) == len(b) and
                all(map(same, a, b)))
    return type(a) is type(b) and a == b


def check(tool, value, folder, **how):
    given, results = f"{folder}/in.pt", f"{folder}/out.pt"
    torch.save(value, given, **how)
    done = subprocess.run([tool, given, results], capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip() or f"ended with code {done.returncode}"
    back = torch.load(results, weights_only=True)
    if isinstance(value, list) and value and isinstance(value[0], torch.Tensor) and value[0].numel():
        if len({t.untyped_storage().data_ptr() for t in back}) != 1:
            return "the tensors share their memory no more"
    return "" if same(value, back) else "other values"


class Custom:
    pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    args = parser.parse_args()
    subprocess.run(["ninja", "-C", args.build, "-j2", "tests/nn/torch_files"], check=True, stdout=subprocess.DEVNULL)
    tool = args.build / "tests/nn/torch_files"
    torch.manual_seed(1)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for name, value in checkpoints():
            for protocol in (2, 3, 4, 5):
                results.append((f"{name}, protocol {protocol}", check(tool, value, folder, pickle_protocol=protocol)))
        refused = check(tool, torch.ones(2).to(torch.float8_e5m2), folder)
        results.append(("float8",
                        "" if "of dtype torch.float8_e5m2, which Tandem lacks" in refused else refused or "was accepted"))
        refused = check(tool, {"a": Custom()}, folder)
        results.append(("a class", "" if "Custom, which is refused" in refused else refused or "was accepted"))
        for name, value in checkpoints():
            for protocol in (2, 3, 4, 5):
                how = {"_use_new_zipfile_serialization": False, "pickle_protocol": protocol}
                results.append((f"{name}, the old format, protocol {protocol}", check(tool, value, folder, **how)))
    for name, problem in results:
        passed, failed = passed + (not problem), failed + bool(problem)
        if problem:
            print(f"{name}: {problem}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
