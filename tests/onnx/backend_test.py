#!/usr/bin/env python3
"""Runs ONNX's own backend tests on Tandem's importer: the node tests that PyPI's onnx generates, and the models that it
contains.

    backend_test.py RUN_MODELS [--keep FOLDER] [NAME...]

RUN_MODELS is the program tests/onnx/run_models. NAME: only tests whose name contains it. --keep leaves the models and
their data in FOLDER. Prints what fails, a table of the counts, and last `N passed, N failed`. Out of scope is what
onnx/left_out.txt lists. Without the Python package onnx, it is skipped (exit code 77).
"""
import argparse
import collections
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# In scope, and known to differ.
EXPECTED = {
    "test_bernoulli*": "the expected values are NumPy's random draws",
    "test_training_dropout": "the same",
    "test_training_dropout_default": "the same",
    "test_training_dropout_default_mask": "the same",
    "test_training_dropout_mask": "the same",
    "test_dft_inverse*": "FFTs of float32 are computed in float32: 10 of 200 elements near 0 differ by 1.4e-6",
    "test_attention_4d_causal_fp16_expanded": "2 of 192 elements differ by one unit in the last place of float16",
}


def find_onnx():
    """Runs this script again with Debian's Python if this one has no onnx."""
    try:
        import onnx.helper  # Debian's onnx does not import its own parts
        import onnx.numpy_helper
        import numpy
        return onnx, numpy
    except ImportError:
        other = "/usr/bin/python3"
        if os.environ.get("TANDEM_TRIED") or not os.path.exists(other):
            print("there is no Python package onnx (Debian: python3-onnx; or pip install onnx in a virtual environment)")
            sys.exit(77)
        os.environ["TANDEM_TRIED"] = "1"
        os.execv(other, [other, *sys.argv])


def left_out():
    operators, dtypes = set(), []
    for line in (ROOT / "onnx/left_out.txt").read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "dtype":
            dtypes.append(words[1])
        else:
            operators.add(words[0])
    return operators, dtypes


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def is_left_out(model, operators):
    for node in nodes_of(model.graph):
        domain = "" if node.domain in ("", "ai.onnx") else node.domain + ":"
        if domain + node.op_type in operators or domain + "*" in operators:
            return True
    return False


class Writer:
    """Writes tests as folders."""

    def __init__(self, onnx, folder, names, operators):
        self.onnx, self.folder, self.names, self.operators = onnx, folder, names, operators
        self.written, self.out_of_scope = collections.defaultdict(list), collections.Counter()

    def wanted(self, name):
        return not self.names or any(part in name for part in self.names)

    def proto(self, value, info):
        helper = self.onnx.numpy_helper
        for field, function in (("sequence_type", "from_list"), ("optional_type", "from_optional"),
                                ("map_type", "from_dict")):
            if info.type.HasField(field):
                return getattr(helper, function)(value, info.name)
        if isinstance(value, self.onnx.TensorProto):
            return value
        import numpy
        return helper.from_array(numpy.asarray(value), info.name)

    def add(self, kind, name, model, sets, rtol, atol):
        if is_left_out(model, self.operators):
            self.out_of_scope[kind] += 1
            return
        folder = self.folder / kind / name
        if folder.exists():  # onnx 1.12 has two tests of one name
            return
        folder.mkdir(parents=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        (folder / "tolerance").write_text(f"{rtol} {atol}\n")
        initialisers = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in initialisers]
        for number, (given, expected) in enumerate(sets):
            data = folder / f"test_data_set_{number}"
            data.mkdir()
            for prefix, values, infos in (("input", given, inputs), ("output", expected, model.graph.output)):
                for i, (value, info) in enumerate(zip(values, infos)):
                    (data / f"{prefix}_{i}.pb").write_bytes(self.proto(value, info).SerializeToString())
        self.written[kind].append(folder)

    def add_nodes(self):
        import onnx.backend.test.case.node as nodes
        import onnx.backend.test.case.model as models
        for case in list(nodes.collect_testcases(None)) + list(models.collect_testcases()):
            if case.model is None or not self.wanted(case.name):
                continue
            try:
                self.add(case.kind, case.name, case.model, case.data_sets, case.rtol, case.atol)
            except (AttributeError, TypeError, ValueError) as error:  # data that this version of onnx cannot write
                self.out_of_scope[case.kind] += 1
                shutil.rmtree(self.folder / case.kind / case.name, ignore_errors=True)
                print(f"{case.name}: onnx cannot write its data: {error}")

    def add_files(self):
        """Models that the package contains, with their data or, of the published ones, with their outputs."""
        data = pathlib.Path(self.onnx.__file__).parent / "backend/test/data"
        for kind in ("simple", "pytorch-operator", "pytorch-converted"):
            for folder in sorted(data.glob(f"{kind}/*")):
                target = self.folder / kind / folder.name
                if target.exists() or not self.wanted(folder.name):
                    continue
                if is_left_out(self.onnx.load(folder / "model.onnx"), self.operators):
                    self.out_of_scope[kind] += 1
                    continue
                shutil.copytree(folder, target)
                self.written[kind].append(target)
        for file in sorted(data.glob("light/light_*.onnx")):
            if not self.wanted(file.stem):
                continue
            import numpy
            model = self.onnx.load(file)
            initialisers = {tensor.name for tensor in model.graph.initializer}
            given = []
            for info in model.graph.input:
                if info.name not in initialisers:  # as onnx's own runner does
                    sizes = [dim.dim_value or 1 for dim in info.type.tensor_type.shape.dim]
                    count = int(numpy.prod(sizes))
                    given.append((numpy.arange(count).reshape(sizes) / count).astype(numpy.float32))
            expected = [self.onnx.TensorProto.FromString(file.with_name(f"{file.stem}_output_{i}.pb").read_bytes())
                        for i in range(len(model.graph.output))]
            self.add("light", file.stem, model, [(given, expected)], 1e-3, 1e-7)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--keep")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    onnx, numpy = find_onnx()
    numpy.random.seed(0)
    warnings.simplefilter("ignore")  # of tests that divide by zero on purpose
    for name, type in (("float", float), ("int", int), ("bool", bool), ("object", object)):
        if name not in vars(numpy):  # Debian's onnx still uses names that Debian's NumPy has no more
            setattr(numpy, name, type)
    operators, dtypes = left_out()
    with tempfile.TemporaryDirectory() as temporary:
        writer = Writer(onnx, pathlib.Path(options.keep or temporary), options.names, operators)
        writer.add_nodes()
        writer.add_files()
        rows, passed, failed = [], 0, 0
        for kind, folders in writer.written.items():
            counts, expected_failures = collections.Counter(), 0
            out = subprocess.run([options.program, *folders], capture_output=True, text=True)
            lines = [line for line in out.stdout.splitlines() if line.split(" ")[0] in ("passed", "skipped", "FAILED")]
            if len(lines) != len(folders):
                print(f"FAILED: {options.program} ended after {len(lines)} of {len(folders)} models: {out.stderr}")
                failed += 1
            for line in lines:
                result, name = line.split(" ")[:2]
                name = name.rstrip(":")
                if result == "skipped":
                    dtype = line.split(": ", 1)[1].removeprefix("dtype ").removeprefix("a ")
                    if not any(fnmatch.fnmatch(dtype, pattern) for pattern in dtypes):
                        result = "FAILED"
                if result == "FAILED" and any(fnmatch.fnmatch(name, pattern) for pattern in EXPECTED):
                    result = "differs"
                elif result == "FAILED":
                    print(line)
                counts[result] += 1
            passed += counts["passed"]
            failed += counts["FAILED"]
            in_scope = counts["passed"] + counts["FAILED"] + counts["differs"]
            share = f"{100 * counts['passed'] / in_scope:.1f} %" if in_scope else "-"
            rows.append((kind, counts["passed"], in_scope, share, counts["skipped"] + writer.out_of_scope[kind]))
    print(f"onnx {onnx.__version__}")
    print("| tests | passed | in scope | share | out of scope |\n|---|---|---|---|---|")
    for row in rows:
        print("| " + " | ".join(str(entry) for entry in row) + " |")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
