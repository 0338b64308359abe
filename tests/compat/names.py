#!/usr/bin/env python3
"""Compares LibTorch's C++ declarations with Tandem's: compiled, refused, or left out with a reason.

    names.py CLANG TANDEM_INCLUDE COMPAT LIBTORCH_INCLUDE [--missing] > docs/results/frontend.md

Reads the headers of an installed LibTorch (PyPI's wheel) with libclang (Debian: python3-clang-14): every function,
overload, class, public member, constant, type and macro that <torch/torch.h> declares in its namespaces. For each it
writes calls with the declared types, one with the required arguments and one with all, and compiles them with CLANG
against LibTorch and against Tandem. Calls that LibTorch itself refuses are not counted. left_out.txt holds the reasons:
a pattern and a sentence per line. COMPAT: Tandem's folder compat/. --missing prints what is missing, with the error.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import headers
from clang import cindex
from clang.cindex import AccessSpecifier, CursorKind as Kind

REASONS = pathlib.Path(__file__).with_name("left_out.txt")
CLASSES = {Kind.CLASS_DECL, Kind.STRUCT_DECL}
TYPES = {Kind.TYPEDEF_DECL, Kind.TYPE_ALIAS_DECL}
NAMES = TYPES | {Kind.FUNCTION_TEMPLATE, Kind.CLASS_TEMPLATE, Kind.TYPE_ALIAS_TEMPLATE_DECL, Kind.ENUM_DECL,
                 Kind.VAR_DECL}
# Namespaces that are not read: internals, and other frontends.
INTERNAL = re.compile(
    r"at::(_ops|meta|native|symint|tracer|functorch|accelerator|blas|sequence_number|xpu|cuda)"
    r"|c10::(_hash_detail|aten|attr|CachingAllocator|CachingDeviceAllocator|detail_|enforce_detail|guts|ivalue"
    r"|namespaces|onnx|prim|raw|util|utils|cuda)"
    r"|torch::(jit|dynamo|headeronly|profiler|xpu|mps|nested|torch_dispatch_mode|utils|autograd::profiler)"
    r"|.*::(detail|impl|internal|functions|modules)")
# Rows of the table: a name, and what the header, or the header and the name, begin with.
ROWS = [
    ("functions with a given output", r"(ATen/ops/|torch/(special|fft|linalg)\.h).* .*_outf?"),
    ("functions", r"ATen/(ops/|Functions\.h)|torch/(special|fft|linalg)\.h|torch/csrc/autograd/generated/"),
    ("members of Tensor", r"ATen/core/Tensor(Body|Base)?\.h"),
    ("modules", r"torch/nn/(modules/|module\.h|cloneable\.h|pimpl.*)"),
    ("options of modules and functionals", r"torch/(nn/options/|enum\.h|expanding_array\.h)"),
    ("functionals", r"torch/nn/functional/"),
    ("initialisation, utilities, parallel modules", r"torch/nn/"),
    ("optimizers", r"torch/optim/"),
    ("data", r"torch/data/"),
    ("serialization", r"torch/serialize"),
    ("autograd", r"torch/csrc/autograd/"),
    ("types and functions of ATen and c10", r"(ATen|c10|torch/headeronly)/"),
    ("the rest of torch", r"torch/"),
]
PRELUDE = """#include <torch/torch.h>
template <class T> T value();
template <class T> void take(T);
"""
HEAD = """# How much of LibTorch's C++ frontend is there

Written by `tests/compat/names.py`, which reads the headers of LibTorch 2.15 (PyPI's wheel): every function, overload,
class, public member, constant, type and macro that `<torch/torch.h>` declares. Each declaration is called with values of
its declared types, once with the required arguments and once with all, and what it returns is taken as the type that it
declares. A declaration is compiled if Tandem compiles all of these calls; calls that LibTorch itself refuses are not
counted. What has a reason in `tests/compat/left_out.txt` is left out on purpose.

LibTorch's own tests of the frontend (`test/cpp/api` of Debian's source package, 35 files without TorchScript, the
dispatcher, FFT and nested tensors): of 1,004 tests Tandem passes **880**, LibTorch 891 (g++ 12, no GPU, 2026-11-29;
private headers read as `torch/torch.h`, LibTorch 1's names of warnings as LibTorch 2's). Of LibTorch's 891,
[left_out_tests.txt](../../tests/compat/left_out_tests.txt) names those that Tandem does not pass, each with its reason.
"""

# What a program can name. calls: statements that use it; a call "@SPACE@..." is compiled inside namespace SPACE.
Declaration = collections.namedtuple("Declaration", "name label header calls")


def kind_of(cursor):
    """None for the kinds that this version of the bindings does not know."""
    try:
        return cursor.kind
    except ValueError:
        return None


def class_template(type_):
    """The class template that a type is made from, or None."""
    declaration = type_.get_canonical().get_declaration()
    if kind_of(declaration) not in CLASSES:
        return None
    template = cindex.conf.lib.clang_getSpecializedCursorTemplate(declaration)
    return template if template and kind_of(template) == Kind.CLASS_TEMPLATE else None


def arguments_of(template, type_):
    """{parameter of the class template: its argument in the type's canonical spelling}."""
    names = [child.spelling for child in template.get_children()
             if kind_of(child) in (Kind.TEMPLATE_TYPE_PARAMETER, Kind.TEMPLATE_NON_TYPE_PARAMETER)]
    spelling = type_.get_canonical().spelling
    inner = spelling[spelling.index("<") + 1:spelling.rindex(">")]
    arguments, depth, begin = [], 0, 0
    for at, character in enumerate(inner + ","):
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            arguments.append(inner[begin:at].strip())
            begin = at + 1
    return dict(zip(names, arguments))


def namespace_of(cursor):
    parts, at = [], cursor.semantic_parent
    while at and kind_of(at) == Kind.NAMESPACE:
        parts.append(at.spelling)
        at = at.semantic_parent
    return "::".join(part for part in reversed(parts) if part != "v1")


class Reader:
    """Collects LibTorch's declarations: {label: Declaration}."""

    def __init__(self, folder):
        self.folder, self.found = folder, {}
        unit = cindex.Index.create().parse(
            "all.cpp", args=["-std=c++20", *(f"-I{path}" for path in includes_of(folder))],
            unsaved_files=[("all.cpp", PRELUDE)],
            options=cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
            | cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        for cursor in unit.cursor.get_children():
            kind = kind_of(cursor)
            if kind == Kind.NAMESPACE and cursor.spelling in ("at", "c10", "caffe2", "torch"):
                self.read_namespace(cursor, cursor.spelling)
            elif kind == Kind.MACRO_DEFINITION and re.fullmatch(r"(TORCH|C10|AT|CAFFE2)_\w*(?<!_H_)",
                                                                      cursor.spelling):
                self.add(cursor, cursor.spelling, f"#{cursor.spelling}", [])

    def add(self, cursor, name, label, calls):
        file = cursor.location.file.name if cursor.location.file else ""
        if not file.startswith(self.folder) or name.startswith("~"):
            return
        header = file.removeprefix(self.folder).lstrip("/").removeprefix("torch/csrc/api/include/")
        self.found.setdefault(label, Declaration(name, label, header, calls))

    def read_namespace(self, cursor, scope):
        if INTERNAL.fullmatch(scope):
            return
        for child in cursor.get_children():
            kind, name = kind_of(child), f"{scope}::{child.spelling}"
            if kind == Kind.NAMESPACE:
                self.read_namespace(child, name)
            elif kind == Kind.FUNCTION_DECL:
                self.add_function(child, name)
            elif kind in CLASSES and child.is_definition() and child.spelling:
                self.add(child, child.spelling, name, [f"using {name};"])
                self.read_members(child, name)
            elif kind in NAMES and child.spelling.isidentifier() and not child.spelling.startswith("operator"):
                self.add(child, child.spelling, name, [f"using {name};"])
                template = class_template(child.underlying_typedef_type) if kind in TYPES else None
                if template and re.match(r"(torch|at|c10)\b", namespace_of(template)):
                    self.read_members(template, name, arguments_of(template, child.underlying_typedef_type))

    def read_members(self, cursor, name, bound=None, depth=0):
        """The public members of a class; of a class template, those with `bound` arguments."""
        for child in cursor.get_children():
            kind = kind_of(child)
            if kind == Kind.CXX_BASE_SPECIFIER and bound is None and depth < 4:
                template = class_template(child.type)
                if template and "Cloneable" not in child.type.spelling:
                    self.read_members(template, name, arguments_of(template, child.type), depth + 1)
            elif kind is None or child.access_specifier != AccessSpecifier.PUBLIC:
                continue
            elif kind in (Kind.CXX_METHOD, Kind.CONVERSION_FUNCTION) or kind == Kind.CONSTRUCTOR and depth == 0:
                self.add_function(child, name, bound, namespace_of(cursor))
            elif kind in (Kind.FIELD_DECL, Kind.VAR_DECL):
                self.add(child, child.spelling, f"{name}::{child.spelling}",
                         [f"(void)sizeof(::value<{name}&>().{child.spelling});"])
            elif kind == Kind.FUNCTION_TEMPLATE and child.spelling.isidentifier() and bound is None:
                self.add(child, child.spelling, f"{name}::{child.spelling} (template)",
                         [f"struct D : {name} {{ using {name}::{child.spelling}; }};"])

    def add_function(self, cursor, name, bound=None, space=None):
        """name: the function's, or for a member its class's; space: the namespace of the class."""
        def spelled(type_):
            if bound is None:
                return type_.get_canonical().spelling
            return re.sub(r"\b\w+\b", lambda word: bound.get(word[0], word[0]), type_.spelling)

        def is_optional(parameter):
            return any(kind_of(child) and child.kind.is_expression() for child in parameter.get_children())

        parameters = [child for child in cursor.get_children() if kind_of(child) == Kind.PARM_DECL]
        types = [spelled(parameter.type) for parameter in (cursor.get_arguments() if bound is None else parameters)]
        needed = len(parameters)
        while needed and is_optional(parameters[needed - 1]):
            needed -= 1
        result, const = spelled(cursor.result_type), "const " if cursor.is_const_method() else ""
        calls = []
        for count in sorted({needed, len(types)}):
            values = [f"::value<{type_}>()" for type_ in types[:count]]
            call = call_of(cursor, name, f"::value<{const}{name}&>()", values)
            if call is None:
                return
            if cursor.kind == Kind.CONSTRUCTOR or result == "void" or re.search(r"\bauto\b|decltype", result):
                calls.append(f"(void)({call});")
            else:
                calls.append(f"::take<{result}>({call});")
        if bound is not None:
            calls = [f"@{space}@{call}" for call in calls]
        member = f"::{cursor.spelling}" if space is not None else ""
        self.add(cursor, cursor.spelling, f"{name}{member}({', '.join(types)}){const and ' const'}", calls)


def call_of(cursor, name, this, values):
    """The expression that calls a function or a member; None for those that have no such form."""
    inside, word = ", ".join(values), cursor.spelling
    operator = re.fullmatch(r"operator(\W+)", word)
    if cursor.kind == Kind.CONSTRUCTOR:
        return f"new {name}({inside})"
    if cursor.kind == Kind.CONVERSION_FUNCTION:
        return this
    if cursor.kind == Kind.FUNCTION_DECL:
        if not operator:
            return None if word.startswith("operator") else f"{name}({inside})"
        if operator[1].startswith('"'):
            return None
        return f"{values[0]} {operator[1]} {values[1]}" if len(values) == 2 else f"{operator[1]}{inside}"
    if cursor.is_static_method():
        return f"{name}::{word}({inside})"
    if not operator:
        return f"{this}.{word}({inside})"
    if operator[1] in ("[]", "()", "->"):
        return {"[]": f"{this}[{inside}]", "()": f"{this}({inside})", "->": f"{this}.operator->()"}[operator[1]]
    return f"{this} {operator[1]} {inside}" if len(values) == 1 else f"{operator[1]}{this}"


def includes_of(libtorch):
    return [libtorch, f"{libtorch}/torch/csrc/api/include"]


def refused(clang, includes, declarations):
    """{label: clang's first error} of the declarations whose calls do not compile."""
    lines, label_of, macros = [], {}, []
    first = PRELUDE.count("\n") + 1
    for declaration in declarations:
        if declaration.label.startswith("#"):
            macros.append(declaration)
        for call in declaration.calls:
            label_of[first + len(lines)] = declaration.label
            space = re.match(r"@([\w:]+)@", call)
            call = f"void call{len(lines)}() {{ {call[space.end() if space else 0:]} }}"
            lines.append(f"namespace {space[1]} {{ {call} }}" if space else call)
    command = [clang, "-std=c++20", "-w", "-ferror-limit=0", "-fno-caret-diagnostics", "-fno-color-diagnostics",
               "-ftemplate-backtrace-limit=0", *(f"-I{path}" for path in includes)]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "calls.cpp")
        source.write_text(PRELUDE + "\n".join(lines) + "\n")
        errors = subprocess.run([*command, "-fsyntax-only", source], capture_output=True, text=True).stderr
        source.write_text(PRELUDE)
        defined = subprocess.run([*command, "-E", "-dM", source], check=True, capture_output=True, text=True).stdout
    found, pending = {}, None
    for file, line, what, text in re.findall(r"^(.*?):(\d+):\d+: (fatal error|error|note): (.*)", errors, re.M):
        here = label_of.get(int(line)) if file.endswith("/calls.cpp") else None
        if what != "note":
            pending = None if here else text
            if here:
                found.setdefault(here, text)
        elif here and pending and "requested here" in text:
            found.setdefault(here, pending)
            pending = None
    names = set(re.findall(r"^#define (\w+)", defined, re.M))
    found.update({macro.label: "not defined" for macro in macros if macro.name not in names})
    return found


def reasons():
    lines = [line.split(None, 1) for line in REASONS.read_text().splitlines() if line and not line.startswith("#")]
    return [(re.compile(pattern), reason.strip()) for pattern, reason in lines]


def row_of(declaration):
    if declaration.label.startswith("#"):
        return "macros"
    return next(row for row, pattern in ROWS if re.match(pattern, f"{declaration.header} {declaration.name}"))


def main():
    clang, tandem, compat, libtorch = sys.argv[1:5]
    declarations = list(Reader(libtorch).found.values())
    theirs = refused(clang, includes_of(libtorch), declarations)
    declarations = [declaration for declaration in declarations if declaration.label not in theirs]
    ours = refused(clang, [tandem, compat], declarations)
    rules = reasons()
    rows = {row: [0, 0, 0, 0] for row in [*(row for row, _ in ROWS), "macros"]}
    missing, left_out = collections.defaultdict(list), collections.Counter()
    for declaration in declarations:
        row = row_of(declaration)
        counts = rows[row]
        counts[0] += 1
        if declaration.label not in ours:
            counts[1] += 1
            continue
        reason = next((reason for pattern, reason in rules
                       if any(map(pattern.fullmatch, (declaration.name, declaration.header, declaration.label)))), None)
        if reason:
            left_out[reason] += 1
            counts[2] += 1
        else:
            missing[row].append(declaration)
            counts[3] += 1
    if "--missing" in sys.argv[5:]:
        for row, entries in missing.items():
            for entry in entries:
                print(f"{row}: {entry.header}: {entry.label}: {ours[entry.label]}")
        return
    print(HEAD)
    paths = headers.public(libtorch)
    own = {path.relative_to(compat).as_posix() for path in pathlib.Path(compat).rglob("*.h")}
    print(f"A program can include all {len(paths):,} public headers of LibTorch (`tests/compat/headers.py`)."
          if paths <= own | set(headers.listed()) else "Run tests/compat/headers.py: public headers are missing.")
    print("\n| | declared | compiled | left out | missing |\n|---|---|---|---|---|")
    for row, counts in [*rows.items(), ("all", [sum(column) for column in zip(*rows.values())])]:
        print(f"| {row} | " + " | ".join(f"{count:,}" for count in counts) + " |")
    print("\n## Left out\n")
    for reason, count in sorted(left_out.items(), key=lambda item: (-item[1], item[0])):
        print(f"- {count:,}: {reason}")
    print("\n## Missing\n")
    for row, entries in missing.items():
        names = collections.Counter(entry.label.split("(")[0].lstrip("#") for entry in entries)
        print(f"**{row}**: " + ", ".join(f"{name} ({count})" if count > 1 else name
                                         for name, count in sorted(names.items())) + "\n")


if __name__ == "__main__":
    main()
