#!/usr/bin/env python3
"""Compiles programs that must not compile, and looks at what the compilers say first.

  messages_test.py SOURCE_ROOT INCLUDE COMPILER...     ends with the line "N passed, N failed"

INCLUDE is the folder of the link `tandem`. A compiler that is not installed is left out.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

source, include, *compilers = sys.argv[1:]
passed = failed = 0
LINES = 20  # of a readable message: mostly "included from"


def compile_program(compiler, text, *options):
    command = [*compiler.split(), *options, f"-I{include}", f"-I{source}/compat", f"-I{include}/../compat", "-fsyntax-only", "-x", "c++", "-"]
    return subprocess.run(command, input=text, text=True, capture_output=True, env={**os.environ, "LC_ALL": "C"})


def errors(output):
    return re.findall(r"^.*\b(?:fatal )?error: .*$", output, re.M)


# ---- an older standard: one error, whichever header comes first

HEADERS = ["tandem/tandem.h", "torch/torch.h", "torch/script.h", "torch/nn.h", "ATen/ATen.h", "tandem/testing.h",
           "tandem/core/tensor.h", "tandem/core/error.h", "tandem/core/device.h", "tandem/core/dtype.h",
           "tandem/core/stream.h", "tandem/autograd/ops.h", "tandem/autograd/function.h", "tandem/nn/nn.h",
           "tandem/nn/module.h", "tandem/nn/functional.h", "tandem/nn/optim/optim.h", "tandem/nn/files/pt/pt.h",
           "tandem/nn/files/safetensors.h", "tandem/nn/files/tensorboard/summary_writer.h", "tandem/datasets/data.h",
           "tandem/datasets/vision/transforms.h", "tandem/models/models.h", "tandem/parallel/parallel.h",
           "tandem/parallel/distributed/process_group.h"]
USE = """#include <iostream>
#include <%s>
int main() {
  tandem::Tensor x = tandem::ones({2, 2});
  tandem::nn::Linear fc(2, 2);
  std::cout << fc(x) << x.sizes() << torch::ones(3);
}
"""
CURES = ["Tandem needs C++20: compile with -std=c++20 (", "CMake: set(CMAKE_CXX_STANDARD 20)",
         "target_compile_features(TARGET PRIVATE cxx_std_20)", "Meson: default_options: ['cpp_std=c++20']"]


def older_standard(compiler, header, *options):
    result = compile_program(compiler, USE % header, *options)
    seen = errors(result.stderr)
    good = (result.returncode != 0 and len(seen) == 1 and all(cure in seen[0] for cure in CURES)
            and "warning" not in result.stderr and len(result.stderr.splitlines()) <= LINES)
    return good, f"{compiler}: {header} with {options}", result.stderr


# ---- modules: the first error names the cause and the place in the program

LAYERS = """#include "tandem/nn/layers/linear.h"
#include "tandem/nn/layers/conv.h"
using namespace tandem;
"""
NETWORK = LAYERS + """struct NetImpl : nn::%s {
  nn::Linear fc%s;
};
TANDEM_MODULE(Net);  // line 7
int main() { Net net; }
"""
MODULES = [
    # (what, program, texts in the first error with g++, with clang++, texts in the output, its lines)
    ("a member without a default constructor", NETWORK % ("Module", ""), ["no default constructor", "fc{nullptr};`"],
     ["no default constructor", "fc{nullptr};`"], [":7:"], 45),
    ("an abstract module", NETWORK % ("Cloneable<NetImpl>", "{nullptr}"), ["this module is abstract", "reset()"],
     ["this module is abstract", "reset()"], [":7:"], LINES),
    ("wrong arguments", LAYERS + 'nn::Conv2d conv("3", 16);\n', [":4:", "NoConstructorTakes = {const char (&)[2], int}"],
     [":4:", "deleted constructor of 'nn::Conv2d'"], ["no constructor of the module takes these arguments"], LINES + 5),
    ("too few arguments", LAYERS + "nn::Linear fc(3);\n", [":4:", "NoConstructorTakes = {int}"],
     [":4:", "deleted constructor of 'nn::Linear'"], ["no constructor of the module takes these arguments"], LINES + 5),
    ("another module", LAYERS + "nn::Linear fc(std::make_shared<nn::Conv2dImpl>(1, 2, 3));\n",
     [":4:", "NoConstructorTakes = {std::shared_ptr<tandem::nn::Conv2dImpl>}"],
     [":4:", "deleted constructor of 'nn::Linear'"], ["no constructor of the module takes these arguments"], LINES + 5),
    ("an argument that is no tensor", LAYERS + "nn::Linear layer(5, 2);\nauto y = layer(5);\n",
     [":5:", "ForwardTakesOthers = {int}"], [":5:", "deleted function call operator in type 'nn::Linear'"],
     ["forward() of the module does not take these arguments"], LINES + 5),
]


def module(compiler, what, program, gcc, clang, anywhere, lines):
    result = compile_program(compiler, program, "-std=c++20", "-Wall", "-Wextra")
    first = (errors(result.stderr) or [""])[0]
    good = (result.returncode != 0 and all(text in first for text in (clang if "clang" in compiler else gcc))
            and all(text in result.stderr for text in anywhere) and len(result.stderr.splitlines()) <= lines)
    return good, f"{compiler}: {what}", result.stderr


def main():
    global passed, failed
    found = [compiler for compiler in dict.fromkeys(compilers) if shutil.which(compiler.split()[-1])]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = []
        for compiler in found:
            jobs += [pool.submit(older_standard, compiler, header, "-std=c++17") for header in HEADERS]
            jobs += [pool.submit(older_standard, compiler, "tandem/tandem.h", *options)
                     for options in (["-std=c++11"], ["-std=gnu++14", "-Wall", "-Wextra", "-Wpedantic"])]
            jobs += [pool.submit(module, compiler, *case) for case in MODULES]
        for job in jobs:
            good, what, output = job.result()
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"FAILED: {what}\n{output[:4000]}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
