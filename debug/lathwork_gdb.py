# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""For gdb: prints struct lath_index, lath_item, lath_slot, lath_bytes, lath_space and lath_store, and has the commands

    lath summary|dump|json|verify EXPRESSION

of an index, a space or a store, in a process or a core file. Loaded with liblathwork.so; for a program that links the
static library: source .../share/lathwork/debug/lathwork_gdb.py
"""
import os
import sys

import gdb
import gdb.printing

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import lathwork_walk as walk  # noqa: E402

# a function of the source that knows the struct: programs have structs called node and tree too
HOME = {"node": "lath_index_init", "tree": "lath_index_init", "pool": "lath_index_init",
        "counts": "lath_index_init", "stripe": "lath_index_init", "lath_space": "lath_space_create",
        "lath_space_config": "lath_space_create", "lath_store": "lath_store_open", "layer": "lath_bytes_init",
        "bytes_set": "lath_bytes_init"}


class Memory:
    def __init__(self):
        self.types, self.offsets = {}, {}

    def type(self, name):
        if name not in self.types:
            symbol = gdb.lookup_global_symbol(HOME[name])
            if symbol is None or not symbol.symtab:
                raise gdb.GdbError(f"no debug information of {HOME[name]}(): is liblathwork built with -g, and not stripped?")
            # gdb.lookup_type() takes the program's own
            for each in symbol.symtab.static_block():
                if each.name == name and each.addr_class == gdb.SYMBOL_LOC_TYPEDEF:
                    self.types[name] = each.type
            if name not in self.types:
                raise LookupError(name)
        return self.types[name]

    def offset(self, name, member):
        if (name, member) not in self.offsets:
            found = self.find(self.type(name), member)
            if found is None:
                raise LookupError(f"struct {name} has no member {member}")
            self.offsets[name, member] = found
        return self.offsets[name, member]

    def find(self, kind, member):
        for field in kind.fields():
            at = field.bitpos // 8
            if field.name == member:
                return at
            if not field.name:  # an unnamed struct or union
                inner = self.find(field.type, member)
                if inner is not None:
                    return at + inner
        return None

    def size(self, name):
        return self.type(name).sizeof

    @staticmethod
    def read(address, n):
        return gdb.selected_inferior().read_memory(address, n).tobytes() if n else b""


KINDS = {"lath_index": walk.Index, "tree": walk.Index, "lath_bytes": walk.Bytes, "lath_space": walk.Space,
         "lath_store": walk.Store}
memory = Memory()


def forget(_event=None):
    memory.__init__()


def stripped(value):
    """The value behind pointers and references."""
    kind = value.type.strip_typedefs()
    while kind.code in (gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF):
        value = value.referenced_value()
        kind = value.type.strip_typedefs()
    return value, kind


def find_object(value, depth=4):
    """The index, space or store that the value is, points to, or has as a member (the classes in C++)."""
    value, kind = stripped(value)
    name = (kind.tag or kind.name or "").removeprefix("struct ")
    if name in KINDS and value.address is not None:
        return KINDS[name](memory, int(value.address))
    if kind.code == gdb.TYPE_CODE_STRUCT and depth:
        for field in kind.fields():
            if hasattr(field, "bitpos"):
                try:
                    found = find_object(value[field], depth - 1)
                except gdb.error:
                    found = None
                if found:
                    return found
    return None


def object_of(text):
    found = find_object(gdb.parse_and_eval(text))
    if not found:
        raise gdb.GdbError(f"{text} is not an index, space or store of lathwork")
    return found


class Lath(gdb.Command):
    """lath summary|dump|json|verify EXPRESSION

Look into an index, a space or a store of lathwork: figures, all nodes and items, the lines of lath_index_dump(), or
the invariants that do not hold. Reads memory only: works on core files."""

    WAYS = ("summary", "dump", "json", "verify")

    def __init__(self):
        super().__init__("lath", gdb.COMMAND_DATA)

    def complete(self, text, word):
        if " " in text.strip() or text.endswith(" "):
            return gdb.COMPLETE_EXPRESSION
        return [way for way in self.WAYS if way.startswith(word)]

    def invoke(self, argument, _from_tty):
        way, _, expression = argument.strip().partition(" ")
        if way not in self.WAYS or not expression:
            raise gdb.GdbError("usage: lath summary|dump|json|verify EXPRESSION")
        try:
            found = object_of(expression)
            if way == "summary":
                gdb.write(found.summary() + "\n")
                return
            n = 0
            for line in getattr(found, way)():
                gdb.write(line + "\n")
                n += 1
        except walk.Broken as error:
            raise gdb.GdbError(str(error)) from error
        if way == "verify":
            if n:
                raise gdb.GdbError(f"{n} invariants are broken")
            gdb.write("all invariants that can be checked hold\n")


class IndexPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            return walk.Index(memory, int(self.value.address)).summary()
        except (walk.Broken, gdb.error, gdb.GdbError, TypeError) as error:
            return f"lath_index ({error})"

    def children(self):
        limit = gdb.parameter("print elements") or 10**6
        try:
            items = walk.Index(memory, int(self.value.address)).items()
            for n, (key, size, value) in enumerate(items):
                if n > limit:
                    return
                yield (f"[{key:#x}]" if size == 1 else f"[{key:#x}, +{size:#x})"), value
        except (walk.Broken, gdb.error, gdb.GdbError, TypeError):
            return


class ObjectPrinter:
    """A space, a store or a set of byte keys."""

    def __init__(self, value, kind):
        self.value, self.kind = value, kind

    def to_string(self):
        try:
            return self.kind(memory, int(self.value.address)).summary()
        except (walk.Broken, LookupError, gdb.error, gdb.GdbError, TypeError) as error:
            return f"({error})"


class ItemPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        text = f"[{int(self.value['key']):#x}, +{int(self.value['size']):#x})"
        if any(field.name == "value" for field in self.value.type.fields()):
            text += f" -> {int(self.value['value']):#x}"
        return text


printers = gdb.printing.RegexpCollectionPrettyPrinter("lathwork")
printers.add_printer("lath_index", "^lath_index$", IndexPrinter)
printers.add_printer("lath_item", "^lath_(item|slot)$", ItemPrinter)
printers.add_printer("lath_space", "^lath_space$", lambda value: ObjectPrinter(value, walk.Space))
printers.add_printer("lath_bytes", "^lath_bytes$", lambda value: ObjectPrinter(value, walk.Bytes))
printers.add_printer("lath_store", "^lath_store$", lambda value: ObjectPrinter(value, walk.Store))
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
gdb.events.new_objfile.connect(forget)
Lath()
