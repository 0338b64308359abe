"""The places of a C++ file where a mutant can differ from it, found with libclang.

A site is an expression or a jump, and each of its mutants a text in its stead. Comments, strings, branches that the
preprocessor drops and everything that the compiler must know (template arguments, case labels, constexpr variables,
static_assert) stay as they are, and so do the parts of messages of errors. Local constexpr numbers are computed when
the program runs, so theirs can be mutated: `relaxed` says where `constexpr` must become `const`.
"""
import functools
import re
import sys
import tempfile
import typing

try:
    from clang import cindex
except ImportError:  # Debian's package serves its own Python, and works with others
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        from clang import cindex
    except ImportError:
        cindex = None

BINARY = {
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"], "<": ["<=", ">="], "<=": ["<", ">"],
    ">": [">=", "<="], ">=": [">", "<"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "&": ["|"],
    "|": ["&"], "^": ["&"], "<<": [">>"], ">>": ["<<"], "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="],
    "%=": ["/="], "|=": ["&="], "&=": ["|="], "^=": ["|="], "<<=": [">>="], ">>=": ["<<="],
}
NAMES = {"min": "max", "max": "min", "floor": "ceil", "ceil": "floor", "front": "back", "back": "front",
         "any_of": "all_of", "all_of": "any_of", "sin": "cos", "cos": "sin"}
# Calls whose arguments, after the first one of `check`, make the text of an error or of a profile.
MESSAGES = {"check", "check_alike", "fail", "concat", "refuse", "Error", "Record", "warn", "warn_once"}
# Calls whose arguments may be swapped.
SYMMETRIC = {"min", "max", "swap", "hypot", "equal", "same", "equal_saved", "logical_and", "logical_or", "logical_xor",
             "maximum", "minimum", "add_sizes", "result_type", "promote_types", "__builtin_add_overflow",
             "__builtin_mul_overflow"}
# Code that says how work is parted, what is fetched ahead or how memory grows: it tunes speed only.
TUNING = re.compile(r"\bk(Count)?Grain\b|\bkInline\w+|\bkEnough\w+|\bkTask\w+|\bk(Few|Many)[A-Z]\w+|\bkFetchAhead\b"
                    r"|\bk(Max)?KeptBytes\b|\bkCallsBefore\w+|\w*grain\b|\breserve\(|prefetch")


class Mutant(typing.NamedTuple):
    path: str
    line: int
    column: int
    kind: str  # expression, condition, statement or jump: how a switch is written around it
    start: int  # offsets in bytes
    end: int
    old: str
    new: str
    relaxed: int  # offset of the `constexpr` of the variable it is in, or -1
    number: int = 0  # of the mutants at this place

    @property
    def name(self):
        return f"{self.path}:{self.line}:{self.column}:{self.number}"

    @property
    def change(self):
        shown = [re.sub(r"\s+", " ", t) for t in (self.old, self.new)]
        return " => ".join(shown)


def plain(text):
    """A text without its comments."""
    return re.sub(rb"//[^\n]*|/\*.*?\*/", b" ", text, flags=re.S).strip()


class Finder:
    def __init__(self, path, source):
        self.path, self.source, self.found = path, source, []
        self.Kind = cindex.CursorKind

    def text(self, start, end):
        return self.source[start:end].decode()

    def span(self, cursor):
        return cursor.extent.start.offset, cursor.extent.end.offset

    def add(self, kind, start, end, new, relaxed, at=None):
        old = self.text(start, end)
        if old == new or "#" in old or b"\n#" in self.source[start:end] or self.tunes(start, end):
            return
        before = self.source[:start if at is None else at]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        number = sum(m.line == line and m.column == column for m in self.found)
        self.found.append(Mutant(self.path, line, column, kind, start, end, old, new, relaxed, number))

    def tunes(self, start, end):
        """Whether a mutant is a part of a line, or of a statement, that tunes speed only."""
        text = self.text(start, end)
        if "{" in text:
            return False
        begin = max(self.source.rfind(c, 0, start) for c in (b";", b"{", b"}"))
        stops = [at for at in (self.source.find(c, end) for c in (b";", b"{")) if at >= 0]
        return bool(TUNING.search(self.text(begin + 1, min(stops, default=end))))

    def mine(self, cursor):
        file = cursor.location.file
        return file is not None and file.name.endswith("/" + self.path)

    def find(self, unit):
        for child in unit.cursor.get_children():
            if self.mine(child):
                self.visit(child, unit.cursor, -1)
        return self.found

    # -- the walk

    def visit(self, cursor, parent, relaxed):
        K = self.Kind
        start, end = self.span(cursor)
        if cursor.kind in (K.STATIC_ASSERT, K.ENUM_DECL, K.CXX_UNARY_EXPR, K.TEMPLATE_TYPE_PARAMETER,
                           K.TEMPLATE_NON_TYPE_PARAMETER, K.TEMPLATE_TEMPLATE_PARAMETER, K.STRING_LITERAL):
            return
        if cursor.kind in (K.VAR_DECL, K.FIELD_DECL):
            relaxed = self.variable(cursor, parent, relaxed)
            if relaxed is None:
                return
        children = [c for c in cursor.get_children()]
        self.site(cursor, parent, children, relaxed)
        for i, child in enumerate(children):
            if not self.fixed(cursor, children, i):
                self.visit(child, cursor, relaxed)

    def variable(self, cursor, parent, relaxed):
        """The new value of `relaxed` below a variable, None if the compiler must know it."""
        start, _ = self.span(cursor)
        declared = re.search(rb"[;{}(]?([^;{}(]*)$", self.source[:cursor.location.offset]).group(1)
        at = declared.rfind(b"constexpr")
        if at < 0:
            return relaxed
        number = re.fullmatch(r"const (double|float|T|[A-Z])( ?\[\d*\])*", cursor.type.spelling)
        if parent.kind != self.Kind.DECL_STMT or not number:
            return None
        return cursor.location.offset - len(declared) + at

    def fixed(self, cursor, children, i):
        """Whether child i of a cursor must stay as it is."""
        K, child = self.Kind, children[i]
        start, end = self.span(cursor)
        if cursor.kind == K.CASE_STMT:
            return i == 0
        if cursor.kind == K.IF_STMT and re.match(rb"if\s+constexpr", self.source[start:end]):
            return i == 0
        if cursor.kind in (K.DECL_REF_EXPR, K.MEMBER_REF_EXPR, K.OVERLOADED_DECL_REF):
            return child.kind in (K.INTEGER_LITERAL, K.CXX_BOOL_LITERAL_EXPR, K.DECL_REF_EXPR)
        if cursor.kind in (K.VAR_DECL, K.FIELD_DECL, K.PARM_DECL, K.CXX_METHOD, K.FUNCTION_DECL, K.FUNCTION_TEMPLATE):
            before = self.source[cursor.location.offset:self.span(child)[0]]
            return (self.span(child)[0] < cursor.location.offset or plain(before).endswith(b"[")
                    or (cursor.kind == K.PARM_DECL and child.kind.is_expression()))
        if cursor.kind in (K.CALL_EXPR, K.UNEXPOSED_EXPR, K.CXX_FUNCTIONAL_CAST_EXPR, K.CXX_THROW_EXPR):
            name = self.called(cursor)
            if cursor.kind == K.CXX_THROW_EXPR or name in MESSAGES:
                first = next((c for c in children if self.span(c)[0] >= self.after_name(cursor)), None)
                return name != "check" or first is None or child != first
        return False

    def called(self, cursor):
        """The name of what a call calls: the f of a.b::f<T>(x)."""
        if cursor.spelling:
            return cursor.spelling
        start, end = self.span(cursor)
        match = re.match(rb"[\w:.]*?(\w+)\s*(<[\w:, ]*>)?\s*[({]", self.source[start:end])
        return match.group(1).decode() if match else ""

    def after_name(self, cursor):
        start, end = self.span(cursor)
        return start + len(re.match(rb"[^({]*", self.source[start:end]).group(0))

    # -- the mutants of one cursor

    def site(self, cursor, parent, children, relaxed):
        K, kind = self.Kind, cursor.kind
        if kind in (K.BINARY_OPERATOR, K.COMPOUND_ASSIGNMENT_OPERATOR, K.CALL_EXPR) and len(children) >= 2:
            self.binary(cursor, children, relaxed)
        if kind in (K.UNARY_OPERATOR, K.CALL_EXPR):
            self.unary(cursor, children, relaxed)
        if kind in (K.INTEGER_LITERAL, K.FLOATING_LITERAL, K.CXX_BOOL_LITERAL_EXPR):
            self.literal(cursor, relaxed)
        if kind in (K.IF_STMT, K.WHILE_STMT, K.CONDITIONAL_OPERATOR):
            self.condition(cursor, children, relaxed)
        if kind == K.CALL_EXPR:
            self.call(cursor, relaxed)
        if kind in (K.BREAK_STMT, K.CONTINUE_STMT, K.RETURN_STMT):
            self.jump(cursor, children, relaxed)
        self.statements(cursor, children, relaxed)

    def binary(self, cursor, children, relaxed):
        children = sorted(children, key=lambda c: self.span(c)[0])
        left, right = children[0], children[-1]
        (start, end), (a, b), (c, d) = self.span(cursor), self.span(left), self.span(right)
        operator = plain(self.source[b:c]).decode()
        if (start, end) != (a, d) or operator not in BINARY:
            return
        at = b + self.source[b:c].index(operator.encode())
        gap = self.text(b, c)
        for other in BINARY[operator]:
            new = self.text(a, b) + gap.replace(operator, other, 1) + self.text(c, d)
            self.add("expression", start, end, new, relaxed, at)
        if operator in ("&&", "||"):
            for side in (left, right):
                self.add("condition", start, end, self.text(*self.span(side)), relaxed, at)

    def unary(self, cursor, children, relaxed):
        start, end = self.span(cursor)
        text = self.text(start, end)
        if text[:2] in ("++", "--") or text[-2:] in ("++", "--"):
            other = {"++": "--", "--": "++"}
            new = other[text[:2]] + text[2:] if text[:2] in other else text[:-2] + other[text[-2:]]
            self.add("expression", start, end, new, relaxed)
        elif text[:1] in "!-~" and children and self.span(children[-1])[0] > start:
            self.add("condition" if text[0] == "!" else "expression", start, end, text[1:], relaxed)

    def literal(self, cursor, relaxed):
        start, end = self.span(cursor)
        text = self.text(start, end)
        if text in ("true", "false"):
            self.add("expression", start, end, "false" if text == "true" else "true", relaxed)
        elif not re.match(r"[\d.]", text):  # in a macro
            return
        elif cursor.kind == self.Kind.INTEGER_LITERAL:
            value = re.sub(r"[uUlL']+$", "", text)
            far = f"({text} / 2)" if len(value) > 3 else f"({text} + 1)"  # one more is nothing to a large number
            for new in {"0": ["1"], "1": ["2", "0"]}.get(value, [far]):
                self.add("expression", start, end, text.replace(value, new, 1) if len(value) == 1 else new, relaxed)
        else:
            self.add("expression", start, end, f"({text} + 1)", relaxed)
            self.add("expression", start, end, f"({text} / 2)", relaxed)

    def condition(self, cursor, children, relaxed):
        start, end = self.span(cursor)
        if re.match(rb"if\s+constexpr", self.source[start:end]):
            return
        place = 0
        if cursor.kind == self.Kind.IF_STMT:
            ends = [i for i in range(len(children) - 1)
                    if b")" in self.source[self.span(children[i])[1]:self.span(children[i + 1])[0]]]
            place = ends[0] if ends else 0
        a, b = self.span(children[place])
        if children[place].kind.is_expression() and not self.opposed(children[place]):
            self.add("condition", a, b, "!(" + self.text(a, b) + ")", relaxed)

    def opposed(self, cursor):
        """Whether another mutant of an expression is its negation: that of a comparison or of a !."""
        K = self.Kind
        while cursor.kind == K.UNEXPOSED_EXPR and len(list(cursor.get_children())) == 1:
            cursor = next(cursor.get_children())
        children = sorted(cursor.get_children(), key=lambda c: self.span(c)[0])
        start, end = self.span(cursor)
        if cursor.kind not in (K.BINARY_OPERATOR, K.CALL_EXPR, K.UNARY_OPERATOR) or not children:
            return False
        gap = plain(self.source[self.span(children[0])[1]:self.span(children[-1])[0]])
        return gap in (b"<", b">", b"<=", b">=", b"==", b"!=") or self.source[start:start + 1] == b"!"

    def call(self, cursor, relaxed):
        start, end = self.span(cursor)
        arguments = [a for a in cursor.get_arguments() if a is not None]
        name = self.called(cursor)
        callee = next(cursor.get_children(), None)
        if name in NAMES and callee is not None:
            a, b = self.span(callee)
            new = re.sub(rf"\b{name}(?=(<.*>)?$)", NAMES[name], self.text(a, b))
            self.add("expression", start, end, self.text(start, a) + new + self.text(b, end), relaxed)
        if name in MESSAGES | SYMMETRIC or name.startswith("operator"):
            return
        for one, two in list(zip(arguments, arguments[1:]))[1 if name == "fma" else 0:]:  # the first are factors
            (a, b), (c, d) = self.span(one), self.span(two)
            same = one.type.get_canonical().spelling.replace("const ", "") == \
                two.type.get_canonical().spelling.replace("const ", "")
            if start <= a < b <= c < d <= end and same and self.text(a, b) != self.text(c, d) and b > a:
                new = self.text(start, a) + self.text(c, d) + self.text(b, c) + self.text(a, b) + self.text(d, end)
                self.add("expression", start, end, new, relaxed)

    def jump(self, cursor, children, relaxed):
        K = self.Kind
        start, end = self.span(cursor)
        if cursor.kind == K.RETURN_STMT and children:
            if children[0].type.get_canonical().kind == cindex.TypeKind.BOOL and not self.opposed(children[0]):
                a, b = self.span(children[0])
                self.add("condition", a, b, "!(" + self.text(a, b) + ")", relaxed)
            return
        rest = re.match(rb"\s*;", self.source[end:])
        if rest:
            stop = end + rest.end()
            self.add("jump", start, stop, "", relaxed)
            if cursor.kind == K.BREAK_STMT:
                self.add("jump", start, stop, "continue;", relaxed)

    def statements(self, cursor, children, relaxed):
        """Statements that are expressions can be dropped."""
        K = self.Kind
        if cursor.kind not in (K.COMPOUND_STMT, K.IF_STMT, K.FOR_STMT, K.CXX_FOR_RANGE_STMT, K.WHILE_STMT,
                               K.CASE_STMT, K.DEFAULT_STMT):
            return
        for child in children:
            start, end = self.span(child)
            whole = re.match(rb"\s*;", self.source[end:])
            begins = re.search(rb"([;{}):]|\belse|\*/)\s*$", re.sub(rb"//[^\n]*\n", b"\n", self.source[:start]))
            header = cursor.kind == K.FOR_STMT and child != children[-1]
            if child.kind.is_expression() and whole and begins and not header:
                self.add("statement", start, end, "", relaxed)


ARGUMENTS = ["-std=c++20", "-march=x86-64-v3"]


@functools.cache
def precompiled(include):
    """What most files include, parsed once in a process: a file for libclang."""
    file = tempfile.NamedTemporaryFile(suffix=".pch")
    unit = cindex.Index.create().parse(
        f"{include}/tandem/core/precompiled/all.h", args=[*ARGUMENTS, f"-I{include}", "-xc++-header"],
        options=cindex.TranslationUnit.PARSE_INCOMPLETE)
    unit.save(file.name)
    return file


def find(path, source, include, flags):
    """The mutants of a file of the tree, in the order of their places. include: the folder that has `tandem`."""
    name = f"{include}/tandem/{path}"
    language = '#include "device_language.h"\n' if "-DTANDEM_CUDA_EMULATION" in flags else ""  # nvcc knows it
    unit = cindex.Index.create().parse(
        "mutated.cpp", args=[*ARGUMENTS, f"-I{include}", *flags, "-include-pch", precompiled(include).name],
        unsaved_files=[("mutated.cpp", f'{language}#include "{name}"\n')])
    # An error without a place is libclang's own, about what is precompiled.
    errors = [d for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error and d.location.file]
    if errors:
        raise RuntimeError(f"{path}: libclang: {errors[0].spelling} ({errors[0].location})")
    found = Finder(path, source).find(unit)
    unique = {(m.start, m.end, m.new, m.kind): m for m in reversed(found)}
    return sorted(unique.values(), key=lambda m: (m.start, m.end, m.number))
