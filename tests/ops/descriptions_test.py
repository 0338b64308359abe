#!/usr/bin/env python3
"""Checks that every operation of autograd/ops/ has a description in tests/ops.

    descriptions_test.py TEST_OPS

The operations are the functions that the headers declare in namespace tandem; functions defined in a header are other
names of operations. The last line is "N passed, N failed".
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
# Operations without a description, and why.
EXCEPTIONS = {
    "empty empty_like": "have no defined values",
    "tensor from_blob": "take numbers and memory instead of tensors",
    "rand randn randint randperm rand_like randn_like randint_like normal bernoulli multinomial":
        "return random numbers",
    "uniform exponential cauchy cauchy_ log_normal log_normal_ geometric geometric_ random poisson binomial "
    "_standard_gamma _sample_dirichlet":
        "return random numbers",
    "empty_strided new_empty_strided empty_permuted": "have no defined values",
    "from_file": "reads a file",
    "cross_entropy_loss": "is described under its name in PyTorch, cross_entropy",
}
DECLARATION = re.compile(
    r"^(?!inline|template|requires|using|struct|class|namespace|return)\w[\w:<>, ]*[&\s]\s*(\w+)(?=\()", re.M)


def declared(text):
    """The names of the functions in namespace tandem that are declared and not defined."""
    text = re.sub(r"^namespace (\w+::autograd|autograd|detail) \{.*?^\}  // namespace \1$", "", text, flags=re.S | re.M)
    text = re.sub(r"//[^\n]*", "", text)
    for match in DECLARATION.finditer(text):
        depth, at = 1, match.end() + 1
        while depth:
            depth += (text[at] == "(") - (text[at] == ")")
            at += 1
        if text[at:at + 1] == ";":
            yield match[1]


def main():
    described = set(subprocess.run([sys.argv[1], "--described"], check=True, capture_output=True,
                                   text=True).stdout.split())
    excepted = {name for names in EXCEPTIONS for name in names.split()}
    headers = re.findall(r'#include "tandem/(autograd/ops/\w+/\w+\.h)"', (ROOT / "autograd/ops.h").read_text())
    found = {name: header for header in headers for name in declared((ROOT / header).read_text())}
    failures = [f"{header}: {name} needs a description in tests/ops/*_table.cpp"
                for name, header in sorted(found.items()) if name not in described | excepted]
    failures += [f"EXCEPTIONS: {name} is described or not declared"
                 for name in sorted(excepted - (found.keys() - described))]
    if len(found) < 300:
        failures.append(f"found only {len(found)} operations in the headers")
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(found) - len(failures)} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
