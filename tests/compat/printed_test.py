#!/usr/bin/env python3
"""Compares what NAME.cpp of this folder prints with what LibTorch prints.

    printed_test.py PROGRAM                      compares the lines of PROGRAM, called NAME, with NAME.txt
    printed_test.py PROGRAM --libtorch FOLDER    compiles NAME.cpp against LibTorch, too, and writes NAME.txt

FOLDER contains LibTorch's include/ and lib/. Without it, the wheel `torch` of this Python is taken if there is one:
then NAME.txt is compared with what it prints.
"""
import difflib
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# What of conversions.txt Tandem lacks (-) and what it has besides (+), by reason: patterns of whole lines. A pattern
# that fits no difference fails, too.
CONVERSIONS = {
    "at::Reduction is a class that converts from and to int64_t": (
        r"\+(bool|char|u?int\d*_t|int|float|double|torch::DeviceIndex) constructs: nn::L1LossOptions",
        r"\+\{(1|i)\} is taken as: nn::L1LossOptions",
        r"\+\{torch::kSum\} is taken as: (nn::|torch::optim::|torch::ExpandingArray).*"),
    "the constants of a kind share a type: most calls throw for those that they do not know": (
        r"\+(nn::.*|One<nn::L1LossOptions>::f\(c\)) takes: k\w+",),
    "LibTorch declares constructors for all arguments; most do not compile": (
        r"-.* constructs: nn::Linear", r"-std::shared_ptr<nn::Module> constructs: nn::AnyModule"),
    "c10::complex is std::complex": (
        r"-c10::complex<\w+> constructs: (bool|std::optional<bool>)",
        r"\+\{\{1, 2\}\} is taken as: c10::complex<float>", r"-\{\{1, 2\}\} constructs: c10::complex<float>"),
    "a pointer and a storage are no numbers, and a null pointer is no generator": (
        r"-(int64_t\*|int64_t\(&\)\[2\]|const char\*|torch::Storage) constructs: "
        r"(torch::Scalar|std::optional<torch::Scalar>)",
        r"-\{\"(\.\.\.|cpu)\"\} constructs: std::optional<torch::Scalar>",
        r"-(std::nullptr_t|\{nullptr\}) constructs: (torch::Generator|std::optional<torch::Generator>)"),
    "literals name devices: DataParallel(net, {\"cpu:0\", \"cpu:1\"})": (
        r"\+const char\* converts to: (torch::Device|std::optional<torch::Device>)",
        r"-const char\* constructs: (torch::Device|std::optional<torch::Device>)",
        r"\+\"cpu\" prefers bool to: torch::Device",
        r"\+\{\"(\.\.\.|cpu)\"\} is taken as: std::optional<torch::Device>",
        r"-\{\"(\.\.\.|cpu)\"\} constructs: std::optional<torch::Device>"),
    "there are default constructors, explicit ones": (r"\+\{\} constructs: (torch::Device|nn::AnyValue)",),
    "functions take an optional<ArrayRef> where LibTorch's take an OptionalArrayRef": (
        r"\+torch::OptionalIntArrayRef converts to: std::optional<torch::IntArrayRef>",),
    "LibTorch's Scalar has a private constructor with two parameters": (
        r"\+\{\{1, 2\}\} is taken as: torch::ArrayRef<torch::Scalar>",),
    "a generator can be made from its seed": (
        r"\+(bool|char|u?int\d*_t|int|float|double|at::\w+|torch::(DeviceIndex|Storage)|std::optional<\w+>|"
        r"\{[\w.]+\}) constructs: "
        r"(torch::Generator|std::optional<torch::Generator>)",),
    "a missing tensor is an undefined one: functions take `const Tensor&` where LibTorch's take an optional": (
        r"\+(std::nullopt_t|std::optional<Tensor>) converts to: (const )?Tensor&?",
        r"\+(std::nullopt_t|std::optional<Tensor>) constructs: (torch::TensorList|TensorIndex)",
        r"\+\{(torch::nullopt|torch::indexing::None, torch::indexing::None)\} is taken as: "
        r"((const )?Tensor&?|torch::TensorList|std::(vector|initializer_list)<Tensor>)"),
    "TypeMeta converts to ScalarType": (
        r"\+caffe2::TypeMeta converts to: (torch::ScalarType|std::optional<torch::ScalarType>)",
        r"\+(torch::ScalarType|\{torch::kFloat\}) constructs: caffe2::TypeMeta",
        r"\+\{t\.dtype\(\)\} is taken as: (torch::ScalarType|std::optional<torch::ScalarType>)"),
    "x[positions] is x.index({positions})": (r"[-+]x\[at\] is: .*",),
}

# The same for strides.txt.
STRIDES = {
    "channels-last where LibTorch's gradient is row-major": (
        r"[-+](masked_fill|adaptive_avg_pool2d to a pixel|interpolate (bicubic|nearest 3d)).*",),
    "a gradient has the layout of the operand that it belongs to": (r"[-+]maximum the (first|second): .*",),
    "of other permutations only channels-last ones are kept": (r"[-+]stack: .*",),
    "a gradient that LibTorch copies stays an expanded view": (r"[-+]mean of channels: .*",),
    "is composed of narrow, whose gradient is row-major in LibTorch, too": (r"[-+]roll: .*",),
}

# The same for draws.txt.
DRAWS = {
    "the first dimension of three is the batch": (r"[-+]dropout2d of 3 dimensions: .*",),
}
KNOWN = {"conversions": CONVERSIONS, "draws": DRAWS, "strides": STRIDES}


def lines_of(program):
    out = subprocess.run([program], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return out.splitlines()


def libtorch(name, folder):
    include, lib = folder / "include", folder / "lib"
    with tempfile.TemporaryDirectory() as work:
        program = pathlib.Path(work, name)
        subprocess.run(["c++", "-std=c++20", "-w", f"-I{include}", f"-I{include}/torch/csrc/api/include",
                        HERE / f"{name}.cpp", "-o", program, f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed",
                        "-ltorch", "-ltorch_cpu", "-lc10"], check=True)
        return lines_of(program)


def parts(lines):
    """One line for each name of "what: name; name", so that a difference is a single name."""
    for line in lines:
        what, colon, names = line.partition(": ")
        yield from (what + colon + name for name in names.split("; "))


def same(name, wanted, got, known=()):
    different = list(difflib.unified_diff(list(parts(wanted)), list(parts(got)), "LibTorch", name, lineterm="", n=0))
    unused = [pattern for pattern in known if not any(re.fullmatch(pattern, line) for line in different)]
    different = [line for line in different[2:] if not line.startswith("@@") and
                 not any(re.fullmatch(pattern, line) for pattern in known)]
    print("\n".join(different[:100] + [f"no such difference any more: {pattern}" for pattern in unused]))
    return not different and not unused


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    name = program.name
    file = HERE / f"{name}.txt"
    if sys.argv[2:3] == ["--libtorch"]:
        file.write_text("\n".join(libtorch(name, pathlib.Path(sys.argv[3]))) + "\n")
    known = [p for patterns in KNOWN.get(name, {}).values() for p in patterns]
    stored = file.read_text().splitlines()
    results = [same("Tandem", stored, lines_of(program), known)]
    found = importlib.util.find_spec("torch")
    if found and found.submodule_search_locations:
        wheel = pathlib.Path(found.submodule_search_locations[0])
        results.append(same(file.name, libtorch(name, wheel), stored))
    else:
        print(f"[skipped] {file.name} against LibTorch: no wheel torch")
        results.append(True)  # tests/run.py counts it as skipped, by that line
    passed, failed = results.count(True), results.count(False)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
