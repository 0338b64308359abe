#!/usr/bin/env python3
"""PyTorch's results for the operations of test_ops: outputs and gradients.

  test_ops --dump inputs.safetensors
  torch_references.py inputs.safetensors references.safetensors
  test_ops --references references.safetensors
"""
import json
import struct
import sys

import torch
import torch.nn.functional as F

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
          "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}
NAMES = {v: k for k, v in DTYPES.items()}


def read(path):
    data = bytearray(open(path, "rb").read())
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    metadata.pop("tandem.crc32", None)  # checksums
    tensors = {}
    for key, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        dtype = DTYPES[entry["dtype"]]
        flat = torch.frombuffer(data[begin:end], dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[key] = flat.reshape(entry["shape"])
    return tensors, metadata


def write(path, tensors, metadata=None):
    header, blobs, at = {"__metadata__": metadata} if metadata else {}, [], 0
    for key, tensor in tensors.items():
        contiguous = tensor.detach().reshape(-1).clone(memory_format=torch.contiguous_format)
        blob = contiguous.view(torch.uint8).numpy().tobytes()
        header[key] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def unit(x):
    return torch.eye(x.shape[-1], dtype=x.dtype)


def spd(x):
    return x @ x.mH + unit(x) * 2


def far(x):
    return x + unit(x) * 5


def sym(x):
    return x + x.mH


def indefinite(x):
    return sym(x) * (1 - unit(x))


def lower(x):
    return x.tril(-1) + unit(x) * 2


def writes(x0, x1):
    y = x0 * 1
    y.select(0, 1).mul_(x1)
    y.transpose(0, 1)[1:3].add_(x1.sum())
    y[0].copy_(x1 * 2)
    return y * y


def put(x0, x1):
    y = x0 * 1
    y[1:3, ::2] = x1
    return y


def z(x):
    return torch.complex(x[..., 0], x[..., 1])


def parts(w):
    return torch.view_as_real(w.resolve_conj()) if w.is_complex() else w


def all_parts(w):
    return tuple(map(parts, w)) if isinstance(w, (tuple, list)) else parts(w)


def eig_exp(x):
    values, vectors = torch.linalg.eig(x)
    return vectors * values.exp().unsqueeze(-2) @ torch.linalg.inv(vectors)


# What expressions may call.
HELPERS = {f.__name__: f for f in (unit, spd, far, sym, indefinite, lower, writes, put, z, parts, all_parts, eig_exp)}


def evaluated(expression, inputs):
    """The outputs of an expression in inputs."""
    out = eval(expression, {"torch": torch, "F": F, **HELPERS, **inputs})
    return list(out) if isinstance(out, (tuple, list)) else [out]


def evaluate(key, expression, tensors, results):
    wanted, expression = expression.split(" ", 1)
    inputs = {f"x{i}": tensors[f"{key}/x{i}"] for i in range(len(wanted))}
    for i, flag in enumerate(wanted):
        inputs[f"x{i}"].requires_grad_(flag == "1")
    outputs = evaluated(expression, inputs)
    for i, tensor in enumerate(outputs):
        results[f"{key}/output{i}"] = tensor
    leaves = [inputs[f"x{i}"] for i, flag in enumerate(wanted) if flag == "1"]
    roots = [(t, tensors[f"{key}/g{i}"]) for i, t in enumerate(outputs) if t.requires_grad]
    if not leaves or not roots:
        return
    grads = torch.autograd.grad([t for t, _ in roots], leaves, [g for _, g in roots], allow_unused=True)
    for i, grad in enumerate(grads):
        if grad is not None:
            results[f"{key}/gradient{i}"] = grad


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tensors, expressions = read(sys.argv[1])
    results, failures = {}, 0
    for key, expression in expressions.items():
        try:
            evaluate(key, expression, tensors, results)
        except Exception as error:  # reports an expression that this PyTorch does not support and continues
            failures += 1
            print(f"{key}: {expression}: {error}", file=sys.stderr)
    write(sys.argv[2], results)
    print(f"{len(results)} results of PyTorch {torch.__version__}, {failures} expressions failed")


if __name__ == "__main__":
    main()
