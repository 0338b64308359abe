"""Shows Tandem's classes in gdb and lldb: tensors with their values, modules, optimizers and small types.

    gdb:  source PATH/tandem_printers.py                  (in ~/.gdbinit, where gdb does not load it by itself)
    lldb: command script import PATH/tandem_printers.py   (in ~/.lldbinit)

Then `print tensor` (gdb) and `frame variable tensor` (lldb) say `float32 [2, 2] on cpu: [[1, 2], [3, 4]]`. In gdb,
`tandem EXPRESSION` also shows an object of which the program's debug information only names the class: an optimizer.

Everything is read from memory: nothing is called in the process, so core files work too. The offsets of members are
below, and not taken from debug information: the installed library has none, and in a program's the compilers leave
out classes whose virtual functions (g++) or constructors (clang, so TensorImpl) the library defines. Nor are they a
table in the library: a program with the static one would leave that out. The file is installed with the library, for
its version only; tests/debugger/printers_test.py compares the offsets with the compiler's.

It needs Python 3.6, which RHEL 8's gdb has, and nothing newer: gdb would show an error each time it loads the file.
"""
import itertools
import re
import struct

OFFSETS = {  # with 64-bit pointers and libstdc++; a Tensor, a Storage and a ModuleHolder start with their pointer
    "RefCounted.count_": 0,
    "TensorImpl.storage": 8, "TensorImpl.autograd": 24, "TensorImpl.numel": 32, "TensorImpl.data": 48,
    "TensorImpl.dtype": 56, "TensorImpl.tracks_grad": 58, "TensorImpl.sizes": 64, "TensorImpl.strides": 168,
    "Dims.count_": 0, "Dims.values_": 8,
    "StorageImpl.data_": 8, "StorageImpl.nbytes_": 16, "StorageImpl.device_": 60,
    "Device.type_": 0, "Device.index_": 1,
    "AutogradMeta.view_base": 48,
    "Scalar.imag_": 8, "Scalar.kind_": 16,
    "ArrayRef.data_": 0, "ArrayRef.size_": 8,
    "OrderedDict.items_": 56,
    "Module.parameters_": 24, "Module.buffers_": 136, "Module.children_": 248, "Module.is_training_": 400,
    "Optimizer.param_groups_": 8,
    "OptimizerParamGroup.params_": 0, "OptimizerParamGroup.options_": 24,
}
HOLDERS = ("tandem::Tensor", "tandem::nn::ModuleHolder<", "std::shared_ptr<")  # they start with their pointer
STRING_SIZE = 32  # std::string starts with its pointer and its length
GROUP_SIZE = 48  # of an OptimizerParamGroup
# The members of optimizers' options, in their order, each after its format.
OPTIONS = {
    "AdadeltaOptions": "d lr d rho d eps d weight_decay ? maximize",
    "AdagradOptions": "d lr d lr_decay d weight_decay d initial_accumulator_value d eps",
    "AdamOptions": "d lr betas betas d eps d weight_decay ? amsgrad ? maximize",
    "AdamWOptions": "d lr betas betas d eps d weight_decay ? amsgrad ? maximize",
    "AdamaxOptions": "d lr betas betas d eps d weight_decay ? maximize",
    "LBFGSOptions": "d lr q max_iter",  # the first two
    "NAdamOptions": "d lr betas betas d eps d weight_decay d momentum_decay ? decoupled_weight_decay ? maximize",
    "RAdamOptions": "d lr betas betas d eps d weight_decay ? decoupled_weight_decay ? maximize",
    "RMSpropOptions": "d lr d alpha d eps d weight_decay d momentum ? centered",
    "SGDOptions": "d lr d momentum d dampening d weight_decay ? nesterov ? maximize",
}
DTYPES = {  # ScalarType: name, size, format; a second letter means real and imaginary part
    0: ("uint8", 1, "B"), 1: ("int8", 1, "b"), 2: ("int16", 2, "h"), 3: ("int32", 4, "i"), 4: ("int64", 8, "q"),
    5: ("float16", 2, "e"), 6: ("float32", 4, "f"), 7: ("float64", 8, "d"), 8: ("complex32", 4, "ee"),
    9: ("complex64", 8, "ff"), 10: ("complex128", 16, "dd"), 11: ("bool", 1, "?"), 15: ("bfloat16", 2, "bfloat16"),
    27: ("uint16", 2, "H"), 28: ("uint32", 4, "I"), 29: ("uint64", 8, "Q"),
}
DEVICES = ("cpu cuda mkldnn opengl opencl ideep hip fpga maia xla vulkan metal xpu mps meta hpu ve lazy ipu mtia "
           "privateuseone").split()
MAX_DIMS = 12
MAX_VALUES = 60  # of a tensor; one with more shows the first and the last EDGE of each dimension
EDGE = 3
MAX_ITEMS = 20  # of a list
MAX_LINES = 100  # of a module or an optimizer
MAX_DEPTH = 20  # of base classes and modules in modules


class Garbage(Exception):
    """Memory that does not hold what its type says."""


class Memory:
    """Reads numbers and Tandem's classes with `read(address, size)`, which returns bytes or raises anything."""

    def __init__(self, read):
        self.read = read
        self.registered = set()  # where the tensors and modules are that the lines of a module show

    def bytes(self, address, size):
        try:
            data = bytes(self.read(address, size)) if size > 0 else b""
        except Exception as error:  # each debugger has its own
            raise Garbage(f"cannot read memory at {address:#x}") from error
        if len(data) != size:
            raise Garbage(f"cannot read memory at {address:#x}")
        return data

    def number(self, address, code):
        return struct.unpack("<" + code, self.bytes(address, struct.calcsize(code)))[0]

    def pointer(self, address):
        return self.number(address, "Q")

    def member(self, address, name, code="Q"):
        return self.number(address + OFFSETS[name], code)

    def text(self, address, size=None):
        """`size` characters, or those up to a zero."""
        if size is not None:
            if size > 500:
                raise Garbage("a string that is too long")
            return self.bytes(address, size).decode(errors="replace")
        out = b""
        while len(out) < 1000:
            byte = self.bytes(address + len(out), 1)
            if byte == b"\0":
                return out.decode(errors="replace")
            out += byte
        raise Garbage("a string without an end")

    def vector(self, address, size):
        """The addresses of a vector's elements of `size` bytes."""
        begin, end = self.pointer(address), self.pointer(address + 8)
        if not 0 <= end - begin <= 10**8 or (end - begin) % size:
            raise Garbage("a vector without a valid size")
        return range(begin, end, size)

    # ---- types at run time

    def class_names(self, address):
        """The mangled names of the class of the object at `address` and of its first bases."""
        info = self.pointer(self.pointer(address) - 8)
        names = []
        while len(names) < MAX_DEPTH:
            names.append(self.text(self.pointer(info + 8)).lstrip("*"))
            kind = self.text(self.pointer(self.pointer(self.pointer(info) - 8) + 8))  # the class of the type_info
            if "__si_class_type_info" in kind:
                info = self.pointer(info + 16)
            elif "__vmi_class_type_info" in kind and self.number(info + 20, "I") > 0:
                info = self.pointer(info + 24)
            else:
                break
        return names

    # ---- tensors

    def value(self, address, code):
        if code == "?":  # any byte
            return "true" if self.number(address, "B") else "false"
        if code == "bfloat16":
            return number_text(struct.unpack("<f", b"\0\0" + self.bytes(address, 2))[0])
        if code == "betas":  # a tuple of two doubles, which libstdc++ stores from its end
            return f"({self.value(address + 8, 'd')}, {self.value(address, 'd')})"
        parts = struct.unpack("<" + code, self.bytes(address, struct.calcsize("<" + code)))
        return number_text(parts[0]) + (f"{parts[1]:+.6g}i" if len(parts) == 2 else "")

    def dims(self, address):
        count = self.member(address, "Dims.count_", "I")
        if count > MAX_DIMS:
            raise Garbage(f"{count} dimensions")
        return list(struct.unpack(f"<{count}q", self.bytes(address + OFFSETS["Dims.values_"], 8 * count)))

    def device(self, address):
        kind = self.member(address, "Device.type_", "b")
        index = self.member(address, "Device.index_", "b")
        if not 0 <= kind < len(DEVICES) or index < -1:
            raise Garbage("no such device")
        return DEVICES[kind] + (f":{index}" if index > 0 or kind != 0 and index == 0 else "")

    def requires_grad(self, impl):
        if self.member(impl, "TensorImpl.tracks_grad", "B"):
            return True
        meta = self.member(impl, "TensorImpl.autograd")
        base = self.member(meta, "AutogradMeta.view_base") if meta else 0
        return base != 0 and self.member(base, "TensorImpl.tracks_grad", "B") != 0

    def tensor(self, address, values=True):
        impl = self.pointer(address)
        return self.tensor_impl(impl, values) if impl else "undefined"

    def tensor_impl(self, impl, values=True):
        if not 0 < self.member(impl, "RefCounted.count_", "I") < 2**31:
            raise Garbage("a destroyed tensor, or none")
        dtype = self.member(impl, "TensorImpl.dtype", "b")
        if dtype not in DTYPES:
            raise Garbage("no such dtype")
        name, item_size, code = DTYPES[dtype]
        sizes, strides = self.dims(impl + OFFSETS["TensorImpl.sizes"]), self.dims(impl + OFFSETS["TensorImpl.strides"])
        numel = 1
        for size in sizes:
            numel *= size
        if len(strides) != len(sizes) or min(sizes, default=0) < 0 or numel != self.member(impl, "TensorImpl.numel"):
            raise Garbage("sizes do not fit")
        storage = self.member(impl, "TensorImpl.storage")
        device = self.device(storage + OFFSETS["StorageImpl.device_"])
        out = f"{name} {sizes} on {device}" + (", requires_grad" if self.requires_grad(impl) else "")
        if not values or device.split(":")[0] != "cpu":
            return out
        begin = self.member(storage, "StorageImpl.data_")
        end = begin + self.member(storage, "StorageImpl.nbytes_")
        left = MAX_VALUES

        def block(dim, address):
            nonlocal left
            if dim == len(sizes):
                left -= 1
                if not begin <= address <= end - item_size:
                    raise Garbage("an element outside the storage")
                return self.value(address, code)
            size = sizes[dim]
            shown = [*range(size)] if numel <= MAX_VALUES or size <= 2 * EDGE else \
                [*range(EDGE), None, *range(size - EDGE, size)]
            items = []
            for i in shown:
                items.append("…" if i is None or left <= 0 else block(dim + 1, address + i * strides[dim] * item_size))
                if left <= 0 and items[-1] == "…":
                    break
            return "[" + ", ".join(items) + "]"

        try:
            return f"{out}: {block(0, self.member(impl, 'TensorImpl.data')) if numel else '[]'}"
        except Garbage as error:
            return f"{out}: <{error}>"

    # ---- small types

    def scalar(self, address):
        kind = self.member(address, "Scalar.kind_", "B")
        if kind > 4:
            raise Garbage("no such kind of number")
        return self.value(address, ("d", "q", "Q", "?", "dd")[kind])

    def array(self, address, element):
        """An ArrayRef of numbers or tensors; None for others."""
        code = {"long": "q", "long long": "q", "int": "i", "double": "d", "float": "f", "bool": "?"}.get(element)
        data, count = self.member(address, "ArrayRef.data_"), self.member(address, "ArrayRef.size_")
        if code is None and element != "tandem::Tensor":
            return None
        if count > 10**8:
            raise Garbage("an array without a valid size")
        if code is None:
            return "\n".join([f"{count} tensors", *self.tensors(range(data, data + 8 * count, 8))])
        items = [self.value(data + i * struct.calcsize(code), code) for i in range(min(count, MAX_ITEMS))]
        return "[" + ", ".join(items + ["…"] * (count > MAX_ITEMS)) + "]"

    def tensors(self, addresses):
        lines = ["  " + guarded(self.tensor, address, False) for address in addresses[:MAX_ITEMS]]
        return lines + [f"  … {len(addresses) - MAX_ITEMS} more"] * (len(addresses) > MAX_ITEMS)

    # ---- modules

    def items(self, address, value_size):
        """(key, address of the value) of an OrderedDict with strings as keys."""
        for item in self.vector(address + OFFSETS["OrderedDict.items_"], STRING_SIZE + value_size):
            yield self.text(self.pointer(item), self.pointer(item + 8)), item + STRING_SIZE

    def tensor_lines(self, address, indent):
        """Of an OrderedDict of tensors."""
        for key, tensor in self.items(address, 8):
            self.registered.add(self.pointer(tensor))
            yield f"{indent}{key}: {guarded(self.tensor, tensor, False)}"

    def module_lines(self, address, start="", end="", indent="  "):
        yield start + re.sub("Impl$", "", type_name(self.class_names(address)[0])) + end
        yield from self.tensor_lines(address + OFFSETS["Module.parameters_"], indent)
        yield from self.tensor_lines(address + OFFSETS["Module.buffers_"], indent)
        children = address + OFFSETS["Module.children_"]
        if len(indent) <= 2 * MAX_DEPTH:
            yield from self.child_lines(children, indent)
        elif any(self.items(children, 16)):
            yield f"{indent}…"

    def child_lines(self, address, indent):
        """Of an OrderedDict of modules."""
        for key, child in self.items(address, 16):
            self.registered.add(self.pointer(child))
            yield from self.module_lines(self.pointer(child), f"{indent}{key}: ", "", indent + "  ")

    def module(self, address):
        training = self.member(address, "Module.is_training_", "B")
        return limited(self.module_lines(address, end=", training" if training else ", evaluating"))

    def holder(self, address):
        impl = self.pointer(address)
        return self.module(impl) if impl else "empty"

    def dictionary(self, address, value):
        """An OrderedDict with strings as keys, of tensors or modules; None for others."""
        kinds = {"tandem::Tensor": self.tensor_lines, "std::shared_ptr<tandem::nn::Module>": self.child_lines}
        lines = kinds.get(value)
        return limited(itertools.chain(["OrderedDict"], lines(address, "  "))) if lines else None

    # ---- optimizers

    def options(self, address):
        names = [type_name(name) for name in self.class_names(address)]
        members = next((OPTIONS[name] for name in names if name in OPTIONS), "")
        values = [f"{name}={self.value(address + offset, code)}" for name, code, offset in option_layout(members)]
        return f"{names[0]}({', '.join(values)})"

    def group_lines(self, address):
        params = self.vector(address + OFFSETS["OptimizerParamGroup.params_"], 8)
        options = self.member(address, "OptimizerParamGroup.options_")
        yield f"{guarded(self.options, options) if options else 'no options'}, {len(params)} parameters"
        yield from self.tensors(params)

    def group(self, address):
        return "\n".join(self.group_lines(address))

    def optimizer(self, address):
        groups = self.vector(address + OFFSETS["Optimizer.param_groups_"], GROUP_SIZE)
        lines = ("  " + line for group in groups for line in self.group_lines(group))
        return limited(itertools.chain([type_name(self.class_names(address)[0])], lines))

    # ---- calls by the debuggers

    def describe(self, name, address):
        """The text for an object whose type, or a base of it, has this name; None if that is none of Tandem's."""
        if name in SHOWN:
            return guarded(SHOWN[name], self, address)
        template, _, arguments = re.sub(">$", "", name).partition("<")
        *first, last = arguments.strip().rsplit(", ", 1)
        if template == "tandem::ArrayRef":
            return guarded(self.array, address, last)
        if template == "tandem::OrderedDict" and "string" in "".join(first):
            return guarded(self.dictionary, address, last)
        return guarded(self.holder, address) if template == "tandem::nn::ModuleHolder" else None

    def object(self, address):
        """An object with virtual functions, by its class at run time; None if that is no module and so on."""
        try:
            names = [type_name(name) for name in self.class_names(address) if "6tandem" in name]
        except Garbage:
            return None
        return next((guarded(show, self, address) for name, show in OBJECTS.items() if name in names), None)


OBJECTS = {"Module": Memory.module, "Optimizer": Memory.optimizer, "OptimizerOptions": Memory.options}
SHOWN = {
    "tandem::Tensor": Memory.tensor,
    "tandem::TensorImpl": Memory.tensor_impl,
    "tandem::Device": Memory.device,
    "tandem::Scalar": Memory.scalar,
    "tandem::Dims": lambda memory, address: str(memory.dims(address)),
    "tandem::Half": lambda memory, address: memory.value(address, "e"),
    "tandem::BFloat16": lambda memory, address: memory.value(address, "bfloat16"),
    "tandem::nn::Module": Memory.module,
    "tandem::optim::Optimizer": Memory.optimizer,
    "tandem::optim::OptimizerParamGroup": Memory.group,
    "tandem::optim::OptimizerOptions": Memory.options,
}


def guarded(show, *arguments):
    try:
        return show(*arguments)
    except Garbage as error:
        return f"<{error}>"


def number_text(value):
    return str(value) if isinstance(value, int) else f"{value:.6g}"


def limited(lines):
    lines = list(itertools.islice(lines, MAX_LINES + 1))
    return "\n".join(lines[:MAX_LINES] + ["…"] * (len(lines) > MAX_LINES))


def type_name(mangled):
    """The last name in the mangled name of a class, without template arguments: "Net" for N3app3NetE."""
    last, part = mangled, re.compile(r"[A-HJ-Z_]*(\d{1,4})")  # "I" starts template arguments
    match = part.match(mangled)
    while match:
        end = match.end() + int(match[1])
        last, match = mangled[match.end():end], part.match(mangled, end)
    return last


def option_layout(members):
    """(name, format, offset) of the members, after the pointer to virtual functions."""
    offset, words = 8, members.split()
    for code, name in zip(words[::2], words[1::2]):
        if code != "?":
            offset = -(-offset // 8) * 8
        yield name, code, offset
        offset += {"?": 1, "betas": 16}.get(code, 8)


# ---- gdb

def gdb_bases(kind, offset=0):
    """The names of a type and of its bases, with their offsets."""
    kind = kind.strip_typedefs().unqualified()
    yield kind.name or "", offset
    if kind.code == gdb.TYPE_CODE_STRUCT:
        for field in kind.fields():
            if field.is_base_class and getattr(field, "bitpos", None) is not None:  # no virtual base
                yield from gdb_bases(field.type, offset + field.bitpos // 8)


def gdb_object(value):
    """The object of a reference, or the value itself."""
    is_reference = value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
    return value.referenced_value() if is_reference else value


def gdb_memory():
    return Memory(gdb.selected_inferior().read_memory)


def gdb_text(value, memory, by_class=False):
    """The text for a value, or None. `by_class`: where its type does not say enough, by its class at run time."""
    if value.address is None:  # in registers
        return None
    address = int(value.address)
    texts = (memory.describe(name, address + offset) for name, offset in gdb_bases(value.type))
    text = next((text for text in texts if text is not None), None)
    return memory.object(address) if text is None and by_class else text


def gdb_members(value, memory):
    """The members of a program's own class and of such bases, without what the text of a module shows."""
    kind = value.type.strip_typedefs()
    if (kind.name or "").startswith("tandem::"):
        return
    for field in kind.fields():
        if field.is_base_class:
            yield from gdb_members(value[field], memory)
        elif hasattr(field, "bitpos") and not field.artificial:  # neither static nor a pointer to virtual functions
            member = value[field]
            holds = any(name.startswith(HOLDERS) for name, _ in gdb_bases(member.type))
            if not holds or guarded(memory.pointer, int(member.address)) not in memory.registered - {0}:
                yield field.name or "", member


class GdbPrinter:
    def __init__(self, value, text, memory):
        self.value, self.text, self.memory = value, text, memory

    def to_string(self):
        return self.text

    def children(self):
        return gdb_members(self.value, self.memory)


def gdb_lookup(value):
    value, memory = gdb_object(value), gdb_memory()
    text = gdb_text(value, memory)
    return None if text is None else GdbPrinter(value, text, memory)


def gdb_followed(value):
    """The object of a pointer, also of a smart one, or the value itself. None for a null pointer."""
    def unique():  # a std::tuple of the pointer and the deleter, whose bases have members of the same name
        pair = value["_M_t"]["_M_t"]
        rest_and_head = pair[pair.type.fields()[0]]
        return rest_and_head[rest_and_head.type.fields()[1]]["_M_head_impl"]

    for follow in (lambda: value["_M_ptr"], unique, lambda: value.referenced_value()):
        try:
            value = follow()
        except (gdb.error, RuntimeError):  # no std::shared_ptr; no std::unique_ptr; no pointer
            pass
        if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR and int(value) == 0:
            return None
    return value


def start_gdb():
    class Show(gdb.Command):
        """tandem EXPRESSION: shows a tensor, a module, an optimizer or a pointer to one.

Unlike `print`, it needs no complete type of a module or an optimizer."""

        def invoke(self, argument, from_tty):
            try:
                value = gdb_followed(gdb_object(gdb.parse_and_eval(argument)))
                text = gdb_text(value, gdb_memory(), by_class=True) if value is not None else "null"
                print(str(value) if text is None else text)
            except gdb.error as error:
                raise gdb.GdbError(str(error))  # without a trace of Python's

    Show("tandem", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)
    gdb_lookup.name = "tandem"
    gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "name", "") != "tandem"] + [gdb_lookup]


# ---- lldb

def lldb_bases(kind, offset=0):
    kind = kind.GetCanonicalType().GetUnqualifiedType()
    yield kind.GetName() or "", offset
    for i in range(kind.GetNumberOfDirectBaseClasses()):
        base = kind.GetDirectBaseClassAtIndex(i)
        yield from lldb_bases(base.GetType(), offset + base.GetOffsetInBytes())


def lldb_text(value, _=None):
    value = value.GetNonSyntheticValue()
    kind, address = value.GetType(), value.GetLoadAddress()
    if kind.IsReferenceType():
        kind, address = kind.GetDereferencedType(), value.GetValueAsUnsigned()
    if address == lldb.LLDB_INVALID_ADDRESS:  # in registers
        return ""
    target, error = value.GetTarget(), lldb.SBError()
    # The target also reads what a core file leaves out because the library has it.
    memory = Memory(lambda at, size: target.ReadMemory(target.ResolveLoadAddress(at), size, error))
    texts = (memory.describe(name, address + offset) for name, offset in lldb_bases(kind))
    return next((text for text in texts if text is not None), None) or memory.object(address) or ""


class LldbChildren:
    """The members of a value that has no text."""

    def __init__(self, value, _):
        self.value = value
        self.hidden = lldb_text(value) != ""

    def has_children(self):
        return not self.hidden

    def num_children(self):
        return 0 if self.hidden else self.value.GetNumChildren()

    def get_child_at_index(self, index):
        return self.value.GetChildAtIndex(index)


def __lldb_init_module(debugger, _):
    types = ("'^tandem::(Tensor|TensorImpl|Device|Scalar|Dims|Half|BFloat16|ArrayRef<.+>|OrderedDict<.+>|nn::[A-Z].*|"
             "optim::[A-Z].*)$'")
    debugger.HandleCommand(f"type summary add -w tandem -p -e -F {__name__}.lldb_text -x {types}")
    debugger.HandleCommand(f"type synthetic add -w tandem -p -l {__name__}.LldbChildren -x {types}")
    debugger.HandleCommand("type category enable tandem")


try:
    import gdb
    start_gdb()
except ImportError:
    try:
        import lldb
    except ImportError:
        pass  # the tests import this file without a debugger
