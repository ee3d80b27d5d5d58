# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""For drgn: figures, items and invariants of indexes, spaces and stores, in a process, a core file or the kernel.

    PYTHONPATH=.../share/lathwork/debug drgn -c core
    >>> from lathwork_drgn import *
    >>> print(lath_index(prog["my_index"]).summary())
    >>> for key, size, value in lath_index(prog["my_index"]).items(): ...
    >>> for line in lath_space(prog["my_space"]).dump(): print(line)
    >>> print(list(lath_store(prog["my_store"]).verify()))

Each takes the struct, or a pointer to it. json() writes the lines of lath_index_dump().
"""
import drgn

import lathwork_walk as walk

__all__ = ["lath_bytes", "lath_index", "lath_space", "lath_store"]

# programs have structs called node and tree too
HOME = {"node": "tree/node/node.h", "tree": "tree/tree.h", "pool": "tree/tree.h",
        "counts": "tree/tree.h", "stripe": "tree/tree.h",
        "lath_space": "space/space.h", "lath_space_config": "lathwork/space.h", "lath_store": "store/kv/kv.h",
        "layer": "set/bytes/bytes.h", "bytes_set": "set/bytes/bytes.h"}


class Memory:
    def __init__(self, prog):
        self.prog, self.types, self.offsets = prog, {}, {}

    def type(self, name):
        if name not in self.types:
            self.types[name] = self.prog.type("struct " + name, filename=HOME[name])
        return self.types[name]

    def offset(self, name, member):
        if (name, member) not in self.offsets:
            self.offsets[name, member] = drgn.offsetof(self.type(name), member)
        return self.offsets[name, member]

    def size(self, name):
        return drgn.sizeof(self.type(name))

    def read(self, address, n):
        return self.prog.read(address, n) if n else b""


memories = {}


def opened(kind, value):
    pointer = value.type_.kind == drgn.TypeKind.POINTER
    if value.type_.kind == drgn.TypeKind.TYPEDEF:
        pointer = value.type_.type.kind == drgn.TypeKind.POINTER
    memory = memories.setdefault(id(value.prog_), Memory(value.prog_))
    return kind(memory, value.value_() if pointer else value.address_)


def lath_index(value):
    return opened(walk.Index, value)


def lath_bytes(value):
    return opened(walk.Bytes, value)


def lath_space(value):
    return opened(walk.Space, value)


def lath_store(value):
    return opened(walk.Store, value)
