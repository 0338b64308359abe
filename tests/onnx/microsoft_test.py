#!/usr/bin/env python3
"""Compares operators of onnxruntime's domain com.microsoft with what onnxruntime computes, which lies in
microsoft_outputs.json.

    microsoft_test.py RUN_MODELS   RUN_MODELS is the program tests/onnx/run_models
    microsoft_test.py --write      computes the outputs again, with onnxruntime

Ends with `N passed, N failed`. Without the Python package onnx, it is skipped (exit code 77).
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from backend_test import Writer, find_onnx

OUTPUTS = pathlib.Path(__file__).with_name("microsoft_outputs.json")
onnx, np = find_onnx()
random = np.random.RandomState(1)


def f(*sizes):
    return random.standard_normal(sizes).astype(np.float32)


def ints(values, dtype=np.int32):
    return np.array(values, dtype)


def cases():
    """NAME, OPERATOR, inputs (None: left out), outputs ("": left out), attributes."""
    x, gamma, beta = f(2, 3, 8), f(8), f(8)
    yield "gelu", "Gelu", [x], ["y"], {}
    yield "quick_gelu", "QuickGelu", [x], ["y"], {}
    yield "quick_gelu_alpha", "QuickGelu", [x], ["y"], {"alpha": 0.7}
    yield "fast_gelu", "FastGelu", [x], ["y"], {}
    yield "fast_gelu_bias", "FastGelu", [x, beta], ["y"], {}
    yield "bias_gelu", "BiasGelu", [x, beta], ["y"], {}

    left, right = f(2, 4, 3), f(2, 4, 5)
    yield "matmul", "FusedMatMul", [left, right], ["y"], {"transA": 1, "alpha": 0.5}
    yield "matmul_b", "TransposeMatMul", [left, f(6, 3)], ["y"], {"transB": 1}
    yield "matmul_vector", "FusedMatMul", [f(4), f(4, 3)], ["y"], {"transA": 1}
    yield "matmul_batch", "FusedMatMul", [f(5, 2, 4), f(4, 2, 3)], ["y"], {"transBatchA": 1, "transBatchB": 1}
    yield "matmul_batch_and_rows", "FusedMatMul", [f(4, 2, 5), f(2, 4, 3)], ["y"], {"transBatchA": 1, "transA": 1}

    yield "skip", "SkipLayerNormalization", [x, f(2, 3, 8), gamma, beta, f(8)], ["y", "", "", "sum"], {}
    yield "skip_shared", "SkipLayerNormalization", [x, f(3, 8), gamma], ["y"], {"epsilon": 0.1}
    yield "skip_small", "SkipLayerNormalization", [x * 1e-5, x * 0, gamma, None, f(8) * 1e-5], ["y"], {}
    yield "skip_rms", "SkipSimplifiedLayerNormalization", [x, f(1, 3, 8), gamma, f(8)], ["y", "", "", "sum"], {}
    yield "skip_rms_small", "SkipSimplifiedLayerNormalization", [x * 1e-5, x * 0, gamma], ["y"], {}
    yield "rms", "SimplifiedLayerNormalization", [x * 0.01, gamma], ["y", "inverse"], {}
    yield "rms_axis", "SimplifiedLayerNormalization", [x, f(3, 8)], ["y"], {"axis": 1, "epsilon": 0.1}

    ids, kinds, mask = ints([[1, 2, 3], [3, 2, 0]]), ints([[0, 1, 1], [1, 0, 1]]), ints([[1, 1, 0], [1, 0, 0]])
    words, positions, segments = f(5, 8), f(6, 8), f(2, 8)
    outputs = ["y", "count", "sum"]
    yield "embed", "EmbedLayerNormalization", [ids, kinds, words, positions, segments, gamma, beta, mask], outputs, {}
    yield ("embed_positions", "EmbedLayerNormalization",
           [ids, None, words, positions, None, gamma, beta, None, ints([[2, 1, 5]])], outputs, {"epsilon": 0.1})

    weight, bias = f(8, 12), f(12)

    def attention(name, given, outputs=("y",), **attributes):
        return "attention_" + name, "Attention", [x, weight, bias, *given], list(outputs), {"num_heads": 2, **attributes}

    added, past = f(1, 2, 3, 3), f(2, 2, 2, 4, 2)
    yield "attention", "Attention", [x, weight], ["y"], {"num_heads": 2}
    yield attention("causal", [], ["y", "present"], unidirectional=1, scale=0.3)
    yield attention("mask", [mask])
    yield attention("mask_causal", [mask], unidirectional=1, mask_filter_value=-3.0)
    yield attention("mask_causal_left", [ints([[0, 1, 1], [0, 0, 1]])], unidirectional=1,
                    mask_filter_value=float(np.finfo(np.float32).min))
    yield attention("mask_of_zeros", [ints([[0, 0, 0], [1, 0, 1]])], mask_filter_value=-3.0)
    yield attention("mask_of_one_column", [ints([[0], [1]])])
    yield attention("mask_of_queries", [ints([[[1, 0, 0], [1, 1, 0], [1, 0, 1]]] * 2)])
    yield attention("lengths", [ints([2, 3])])
    yield attention("ends_and_starts", [ints([3, 2, 1, 0])], unidirectional=1)
    yield attention("added", [mask, None, added])
    yield attention("past", [None, past], ["y", "present"])
    yield attention("past_causal", [ints([[1, 0, 1, 1, 1, 1, 1]] * 2), past], ["y", "present"], unidirectional=1)
    yield attention("past_only_causal", [None, past], ["y", "present"], unidirectional=1)
    yield ("attention_sizes", "Attention", [x, f(8, 14), f(14)], ["y"],
           {"num_heads": 2, "qkv_hidden_sizes": [4, 4, 6]})

    q, k, v, heads = f(2, 3, 8), f(2, 5, 8), f(2, 5, 12), {"num_heads": 2}
    yield "heads", "MultiHeadAttention", [q, k, v], ["y"], heads
    yield "heads_bias", "MultiHeadAttention", [q, k, v, f(28)], ["y", "k", "v"], {"scale": 0.3, **heads}
    yield "heads_lengths", "MultiHeadAttention", [q, k, v, None, ints([2, 5])], ["y"], heads
    yield "heads_mask", "MultiHeadAttention", [q, k, v, None, ints([[1, 0, 1, 1, 0]] * 2), f(2, 1, 3, 5)], ["y"], heads
    past_key, past_value = f(2, 2, 4, 4), f(2, 2, 4, 4)
    yield ("heads_past", "MultiHeadAttention",
           [q, f(2, 3, 8), f(2, 3, 8), f(24), None, None, past_key, past_value], ["y", "k", "v"],
           {"unidirectional": 1, **heads})
    yield "heads_causal", "MultiHeadAttention", [q, f(2, 3, 8), f(2, 3, 8)], ["y"], {"unidirectional": 1, **heads}
    yield "heads_split", "MultiHeadAttention", [q, past_key, past_value, f(24)], ["y"], heads

    cosines, sines, places = f(8, 2), f(8, 2), ints([[0, 1, 2], [4, 5, 6]], np.int64)
    yield "rotary", "RotaryEmbedding", [x, places, cosines, sines], ["y"], {}
    yield "rotary_offset", "RotaryEmbedding", [x, ints([3], np.int64), cosines, sines], ["y"], {"interleaved": 1}
    yield ("rotary_part", "RotaryEmbedding", [f(2, 3, 12), places, cosines, sines], ["y"],
           {"num_heads": 2, "rotary_embedding_dim": 4})
    yield "rotary_heads", "RotaryEmbedding", [f(2, 2, 3, 4), places, cosines, sines], ["y"], {}


def model_of(name, operator, inputs, outputs, attributes):
    helper = onnx.helper
    types = {np.dtype(np.float32): 1, np.dtype(np.int32): 6, np.dtype(np.int64): 7}
    names = ["" if value is None else f"in{i}" for i, value in enumerate(inputs)]
    domain = "" if operator == "SimplifiedLayerNormalization" else "com.microsoft"
    node = helper.make_node(operator, names, outputs, domain=domain, **attributes)
    given = [helper.make_tensor_value_info(n, types[v.dtype], v.shape) for n, v in zip(names, inputs) if v is not None]
    found = [helper.make_tensor_value_info(o, 6 if o == "count" else 1, None) for o in outputs if o]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph([node], name, given, found), opset_imports=sets, ir_version=8)


def write():
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    lines = []
    for case in cases():
        session = onnxruntime.InferenceSession(model_of(*case).SerializeToString(), options, ["CPUExecutionProvider"])
        given = {f"in{i}": value for i, value in enumerate(case[2]) if value is not None}
        found = [[list(y.shape), str(y.dtype), [float(f"{n:.7g}") for n in y.ravel()]] for y in session.run(None, given)]
        lines.append(f"{json.dumps(case[0])}: {json.dumps(found, separators=(',', ':'))}")
    OUTPUTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main():
    expected = json.loads(OUTPUTS.read_text())
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(onnx, pathlib.Path(folder), [], set())
        for case in cases():
            given = [value for value in case[2] if value is not None]
            found = [np.array(values, dtype).reshape(shape) for shape, dtype, values in expected[case[0]]]
            writer.add("node", case[0], model_of(*case), [(given, found)], 1e-5, 1e-5)
        out = subprocess.run([sys.argv[1], *writer.written["node"]], capture_output=True, text=True)
    lines = out.stdout.splitlines()
    passed = sum(line.startswith("passed ") for line in lines)
    for line in lines:
        if line.startswith(("FAILED ", "skipped ")):
            print(line)
    print(out.stderr, end="")
    print(f"{passed} passed, {len(expected) - passed} failed")
    return passed != len(expected)


sys.exit(write() if sys.argv[1] == "--write" else main())
