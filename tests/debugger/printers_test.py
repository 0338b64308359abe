#!/usr/bin/env python3
"""Looks at the objects of a program with gdb and lldb, live and in a core file, through Tandem's printers.

  printers_test.py PROGRAM PRINTERS     ends with the line "N passed, N failed"

PROGRAM is tests/debugger/debugged.cpp. The printers' offsets are compared with those of the compiler, and what they do
with broken memory is tested without a debugger. A debugger that is not installed, has no Python or may not trace is
skipped.
"""
import glob
import importlib.util
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

program, source = sys.argv[1:]
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("tandem_printers", source)
printers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(printers)
passed = failed = 0


def check(name, good, message=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print(f"FAILED: {name}: {message}")


def skip(name, reason):
    global passed
    passed += 1  # tests/run.py counts it as skipped
    print(f"[skipped] {name}: {reason}")


# ---- offsets

def test_offsets():
    output = subprocess.run([program, "offsets"], check=True, capture_output=True, text=True).stdout
    compiled = {}
    for line in output.splitlines():
        name, offset = line.rsplit(" ", 1)
        name = re.sub(r"^(Tensors|Modules)\.", "OrderedDict.", re.sub(r"^.*::|^Int(?=ArrayRef)", "", name))
        check(f"offset of {name}", compiled.setdefault(name, int(offset)) == int(offset), "depends on the element")
    known = {**printers.OFFSETS, "STRING_SIZE": printers.STRING_SIZE, "GROUP_SIZE": printers.GROUP_SIZE}
    for options, members in printers.OPTIONS.items():
        known.update({f"{options}.{name}": offset for name, _, offset in printers.option_layout(members)})
    for name in {**known, **compiled}:
        check(f"offset of {name}", known.get(name) == compiled.get(name),
              f"the printers say {known.get(name)}, the compiler {compiled.get(name)}: change {source}")


# ---- broken memory

TENSOR, IMPL, STORAGE, DATA = 0x1000, 0x2000, 0x3000, 0x4000


def tensor_memory():
    """The memory of a tensor of 2 x 3 floats, by address."""
    memory = {TENSOR: bytearray(8), IMPL: bytearray(300), STORAGE: bytearray(64), DATA: bytearray(24)}

    def put(block, member, code, *values):
        offset = sum(printers.OFFSETS[name] for name in member.split())
        struct.pack_into("<" + code, memory[block], offset, *values)

    struct.pack_into("<Q", memory[TENSOR], 0, IMPL)
    put(IMPL, "RefCounted.count_", "I", 1)
    put(IMPL, "TensorImpl.storage", "Q", STORAGE)
    put(IMPL, "TensorImpl.numel", "q", 6)
    put(IMPL, "TensorImpl.data", "Q", DATA)
    put(IMPL, "TensorImpl.dtype", "b", 6)
    for name, values in {"sizes": (2, 3), "strides": (3, 1)}.items():
        put(IMPL, f"TensorImpl.{name} Dims.count_", "I", 2)
        put(IMPL, f"TensorImpl.{name} Dims.values_", "2q", *values)
    put(STORAGE, "StorageImpl.data_", "Q", DATA)
    put(STORAGE, "StorageImpl.nbytes_", "Q", 24)
    struct.pack_into("<6f", memory[DATA], 0, *range(6))
    return memory


def reader(memory):
    def read(address, size):
        for start, block in memory.items():
            if start <= address and address + size <= start + len(block):
                return block[address - start:address - start + size]
        raise OSError("no memory")
    return printers.Memory(read)


def test_broken_memory():
    check("tensor", reader(tensor_memory()).describe("tandem::Tensor", TENSOR)
          == "float32 [2, 3] on cpu: [[0, 1, 2], [3, 4, 5]]")
    on_cuda = tensor_memory()
    struct.pack_into("<2b", on_cuda[STORAGE], printers.OFFSETS["StorageImpl.device_"], 1, 0)
    check("tensor on CUDA", reader(on_cuda).describe("tandem::Tensor", TENSOR) == "float32 [2, 3] on cuda:0")
    rng = random.Random(1)

    def fail(address, size):
        raise OSError("no memory")

    kinds = [*printers.SHOWN, "tandem::ArrayRef<long>", "tandem::ArrayRef<tandem::Tensor>",
             "tandem::nn::ModuleHolder<X>", "tandem::OrderedDict<std::string, tandem::Tensor>",
             "tandem::OrderedDict<std::string, std::shared_ptr<tandem::nn::Module>>"]
    memories = {
        "unreadable": fail, "missing": lambda address, size: None, "short": lambda address, size: bytes(size - 1),
        "zeros": lambda address, size: bytes(size), "ones": lambda address, size: b"\xff" * size,
        "pointers to itself": lambda address, size: (struct.pack("<Q", address) * (size // 8 + 1))[:size],
        "random": lambda address, size: rng.randbytes(size),
        "small random numbers": lambda address, size: bytes(rng.choices((0, 0, 0, 1, 2, 8), k=size)),
    }
    for name, read in memories.items():
        memory = printers.Memory(read)
        texts = [memory.describe(kind, 0x1000) for kind in kinds for _ in range(20)]
        check(f"memory: {name}", all(isinstance(text, str) and len(text) < 20000 for text in texts))
        check(f"memory: {name}, by class", isinstance(memory.object(0x1000), (str, type(None))))
    lengths = []
    for _ in range(3000):
        memory = tensor_memory()
        for _ in range(rng.randint(1, 3)):
            block = memory[rng.choice([IMPL, STORAGE])]
            block[rng.randrange(len(block))] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        lengths.append(len(reader(memory).describe("tandem::Tensor", TENSOR)))
    check("tensors with changed bytes", max(lengths) < 1000)
    check("name of a class", [printers.type_name(name) for name in (
        "3Net", "N3app3NetE", "N6tandem2nn9CloneableINS0_10LinearImplEEE", "N12_GLOBAL__N_13NetE", "Z4mainE3Net",
        "99999999999999999999x")] == ["Net", "Net", "Cloneable", "Net", "Net", "9999999999999999x"])


# ---- debuggers

LINEAR = "weight: float32 [3, 2] on cpu, requires_grad\n    bias: float32 [3] on cpu, requires_grad"
SGD = "dampening=0, weight_decay=0, nesterov={}, maximize=false)"
ROWS = ", ".join(f"[{r}, {r + 1}, {r + 2}, …, {r + 97}, {r + 98}, {r + 99}]" for r in (0, 100, 200))
LAST_ROWS = ", ".join(f"[{r}, {r + 1}, {r + 2}, …, {r + 97}, {r + 98}, {r + 99}]" for r in (9700, 9800, 9900))
EXPECTED = {
    "matrix": "float32 [2, 3] on cpu: [[0, 0.25, 0.5], [0.75, 1, 1.25]]",
    "undefined": "undefined",
    "number": "float64 [] on cpu: 2.5",
    "empty_matrix": "float32 [2, 0] on cpu: []",
    "transposed": "float32 [3, 2] on cpu: [[0, 0.75], [0.25, 1], [0.5, 1.25]]",
    "column": "float32 [2, 1] on cpu: [[0.25], [1]]",
    "expanded": "float32 [2, 4] on cpu: [[1.5, 1.5, 1.5, 1.5], [1.5, 1.5, 1.5, 1.5]]",
    "bytes": "uint8 [2] on cpu: [0, 255]",
    "chars": "int8 [2] on cpu: [-1, 2]",
    "shorts": "int16 [2] on cpu: [-300, 2]",
    "ints": "int32 [2] on cpu: [-70000, 2]",
    "longs": "int64 [2] on cpu: [1099511627776, -2]",
    "bools": "bool [2] on cpu: [true, false]",
    "halves": "float16 [2] on cpu: [0.0999756, -65504]",
    "bfloats": "bfloat16 [2] on cpu: [0.100098, -3]",
    "doubles": "float64 [2] on cpu: [0.333333, 1e+300]",
    "complex_floats": "complex64 [2] on cpu: [1-2i, 0+0.5i]",
    "complex_halves": "complex32 [2] on cpu: [1-2i, 0+0.5i]",
    "complex_doubles": "complex128 [2] on cpu: [1-2i, 0+0.5i]",
    "infinite": "float32 [2] on cpu: [inf, nan]",
    "large": f"int64 [100, 100] on cpu: [{ROWS}, …, {LAST_ROWS}]",
    "leaf": "float32 [2] on cpu, requires_grad: [0, 0]",
    "leaf_view": "float32 [2, 1] on cpu, requires_grad: [[0], [0]]",
    "*dangling": "<a destroyed tensor, or none>",
    "*garbage": "<cannot read memory at 0x5a5a5a5a5a5a5a5a>",
    "cpu": "cpu",
    "cuda": "cuda:1",
    "real": "2.5",
    "integer": "-3",
    "truth": "true",
    "complex_number": "1-2i",
    "half": "1.5",
    "bfloat": "-0.25",
    "dims": "[2, 3]",
    "tensors": "2 tensors\n  float32 [2, 3] on cpu\n  undefined",
    "sequential": "Sequential, training\n  0: Linear\n    weight: float32 [1, 2] on cpu, requires_grad\n"
                  "    bias: undefined\n  1: ReLU",
    "nested": "\n".join(["Sequential, training", *("  " * i + "0: Sequential" for i in range(1, 21)), "  " * 21 + "…"]),
    "no_module": "empty",
    "module": f"Net, evaluating\n  scale: float32 [] on cpu, requires_grad\n  fc: Linear\n    {LINEAR}\n"
              "  norm: BatchNorm1d\n    weight: undefined\n    bias: undefined\n    running_mean: float32 [3] on cpu\n"
              "    running_var: float32 [3] on cpu\n    num_batches_tracked: int64 [] on cpu",
    "sgd": f"SGD\n  SGDOptions(lr=0.1, momentum=0.9, {SGD.format('true')}, 1 parameters\n"
           "    float32 [] on cpu, requires_grad\n"
           f"  SGDOptions(lr=0.01, momentum=0, {SGD.format('false')}, 2 parameters\n"
           "    float32 [3, 2] on cpu, requires_grad\n    float32 [3] on cpu, requires_grad",
    "adam": "Adam\n  AdamOptions(lr=0.001, betas=(0.9, 0.999), eps=1e-08, weight_decay=0, amsgrad=false, "
            "maximize=false), 3 parameters\n    float32 [] on cpu, requires_grad\n"
            "    float32 [3, 2] on cpu, requires_grad\n    float32 [3] on cpu, requires_grad",
}
INCOMPLETE = {"module", "sgd", "adam"}  # types for which gdb calls no printer
MEMBERS = " = {calls = 7, width = 3, spare = empty, mask = float32 [2] on cpu: [1, 1], unused = undefined, where = cpu}"
PARAMETERS = "OrderedDict\n  scale: float32 [] on cpu, requires_grad\n" \
             "  fc.weight: float32 [3, 2] on cpu, requires_grad\n  fc.bias: float32 [3] on cpu, requires_grad"


def compare(name, expected, shown):
    for expression, text in expected.items():
        check(f"{name}: {expression}", shown.get(expression) == text,
              f"expected {text!r}, got {shown.get(expression)!r}")


def run(command, **environment):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", env={**os.environ, "LC_ALL": "C.UTF-8", **environment},
                          timeout=300).stdout


def may_not_trace(output):
    return re.search("ptrace|not permitted|personality set failed", output) is not None


def gdb(name, commands, expected, *files):
    """What gdb shows in the frame of main; checks it. Returns its whole output."""
    expressions = [command for command in expected if command.split()[0] in ("print", "tandem")]
    arguments = ["gdb", "-nx", "--batch", "-iex", "set debuginfod enabled off", "-iex", "set width 0"]
    for command in [f"source {source}", *commands, "frame function main",
                    *(part for command in expressions for part in (f"echo \\n@{command}\\n", command)), "echo \\n@\\n"]:
        arguments += ["-ex", command]
    output = run([*arguments, *files])
    if "#1 " not in output and may_not_trace(output):
        skip(name, "gdb may not trace here")
    elif "@print" not in output:
        check(name, False, output)
    else:
        shown = {}
        for part in output.split("\n@")[1:]:
            command, _, text = part.partition("\n")
            shown[command] = re.sub(r"^\$\d+ = (?:\([\w:]+ &\) @0x\w+: )?", "", text.removesuffix("\n"))
        compare(name, expected, shown)
    return output


def test_gdb(core):
    installed = shutil.which("gdb") is not None
    if not installed or "9801" not in run(["gdb", "-nx", "--batch", "-ex", "python print(99 * 99)"]):
        reason = "gdb has no Python" if installed else "gdb is not installed"
        skip("gdb", reason)
        skip("gdb, core file", reason)
        return
    expected = {("tandem " if name in INCOMPLETE else "print ") + name: text for name, text in EXPECTED.items()}
    expected.update({"tandem " + name: EXPECTED[name] for name in ("matrix", "sequential")})
    expected.update({"tandem " + name: EXPECTED["module"] for name in ("net", "pointer", "reference", "unique")})
    expected.update({"tandem " + name: "null" for name in ("null_pointer", "null_shared", "null_unique")})
    expected.update({"tandem parameters": PARAMETERS, "tandem 3": "3",
                     "tandem *(int*)0": "Cannot access memory at address 0x0",
                     "tandem *null_pointer": f"<cannot read memory at {printers.OFFSETS['Module.is_training_']:#x}>",
                     "tandem nothing": 'No symbol "nothing" in current context.',
                     "print *pointer": EXPECTED["module"] + MEMBERS})
    live = gdb("gdb", ["break stop_here", "run", f"generate-core-file {core}"], expected, program)
    call = f"Breakpoint 1, stop_here (argument={EXPECTED['matrix']}, sizes=[2, 3])"
    check("gdb: arguments", call in live or may_not_trace(live), live)
    if os.path.exists(core):
        gdb("gdb, core file", [], expected, program, core)
    else:
        skip("gdb, core file", "gdb wrote no core file")


def lldb_environment(command):
    """The environment in which lldb has Python, or None. Debian 12's does not find its own module, and no lldb finds
    the system's modules if another python3 comes first in PATH."""
    path = f"/usr/bin:/bin:{os.environ['PATH']}"
    for folder in ["", *glob.glob("/usr/lib/llvm-*/lib/python3*/*-packages")]:
        environment = {"PYTHONPATH": folder, "PATH": path} if folder else {}
        if "9801" in run([command, "--no-lldbinit", "--batch", "-o", "script print(99 * 99)"], **environment):
            return environment
    return None


def lldb(name, command, environment, commands, *files):
    arguments = [command, "--no-lldbinit", "--batch", "-o", f"command script import {source}"]
    for line in [*commands, *(f"frame variable {name}" for name in EXPECTED)]:
        arguments += ["-o", line]
    output = run([*arguments, *files], **environment)
    if "stop_here" not in output and may_not_trace(output):
        skip(name, "lldb may not trace here")
        return
    shown = {}
    for part in output.split("(lldb) frame variable ")[1:]:
        expression, _, text = part.partition("\n")
        text = re.sub(r"^\(.*?\) " + re.escape(expression) + r" = (?:0x\w+ )?", "", text)
        shown[expression] = text.removesuffix("\n")
    compare(name, EXPECTED, shown)


def test_lldb(core):
    command = next((name for name in ("lldb", *(f"lldb-{n}" for n in range(25, 13, -1))) if shutil.which(name)), None)
    environment = lldb_environment(command) if command else None
    if environment is None:
        reason = f"{command} has no Python" if command else "lldb is not installed"
        skip("lldb", reason)
        skip("lldb, core file", reason)
        return
    lldb("lldb", command, environment, ["breakpoint set -n stop_here", "run", "frame select 1"], program)
    if os.path.exists(core):
        lldb("lldb, core file", command, environment, ["frame select 1"], program, "-c", core)
    else:
        skip("lldb, core file", "gdb wrote no core file")


test_offsets()
test_broken_memory()
with tempfile.TemporaryDirectory() as folder:
    for test in (test_gdb, test_lldb):
        try:
            test(os.path.join(folder, "core"))
        except subprocess.TimeoutExpired as error:
            check(test.__name__, False, error)
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
