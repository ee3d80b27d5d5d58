# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the cases share: bindings, memory that fails, structures of several headers."""
import ctypes as C
import errno

import errors
from errors import Mismatch

SEEN = errors.Seen()
TOP = 1 << 64
MAX = TOP - 1
U64 = C.c_uint64
PTR = C.c_void_p


def name_of(result):
    """A result as a person reads it: -EEXIST rather than -17."""
    if isinstance(result, int) and -200 < result < 0 and -result in errno.errorcode:
        return "-" + errno.errorcode[-result]
    return repr(result)


def expect(what, got, *allowed):
    if got not in allowed:
        raise Mismatch(f"{what}: the library says {name_of(got)}, the model {' or '.join(name_of(a) for a in allowed)}")


def same(what, got, want):
    if got != want:
        raise Mismatch(f"{what}: the library says {str(got)[:1000]}, not {str(want)[:1000]}")


class Item(C.Structure):
    _fields_ = [("key", U64), ("size", U64), ("value", U64)]

    def tuple(self):
        return (self.key, self.size, self.value)


class Allocator(C.Structure):
    ALLOC = C.CFUNCTYPE(PTR, PTR, C.c_size_t, C.c_size_t)
    FREE = C.CFUNCTYPE(None, PTR, PTR, C.c_size_t)
    _fields_ = [("alloc", ALLOC), ("free", FREE), ("ctx", PTR)]


class Config(C.Structure):
    _fields_ = [("size", C.c_size_t), ("layout", C.c_int), ("flags", C.c_uint), ("rcu", PTR), ("allocator", PTR), ("id", U64), ("value_size", C.c_size_t)]


ITEM_FN = C.CFUNCTYPE(None, PTR, C.POINTER(Item))
NO_ITEM_FN = ITEM_FN()

POINTS = 1
HUGE_PAGES, NODE_EACH, HOLES, SMALL_PAGES, SHARED, _, RANKS, ANY_CONTEXT = (1 << i for i in range(8))


class Memory:
    """A lath_allocator that checks what it is given back, and refuses the n-th block if it is told to."""

    libc = C.CDLL(None)
    libc.aligned_alloc.restype = PTR
    libc.aligned_alloc.argtypes = [C.c_size_t, C.c_size_t]
    libc.free.argtypes = [PTR]

    def __init__(self):
        self.live, self.fail_in, self.fail_more, self.refused, self.wrong = {}, 0, 0, 0, None
        self.struct = Allocator(Allocator.ALLOC(self.alloc), Allocator.FREE(self.free), None)

    def alloc(self, _ctx, size, align):
        if self.fail_in:
            self.fail_in -= 1
            if not self.fail_in:
                self.refused += 1
                if self.fail_more:
                    self.fail_more -= 1
                    self.fail_in = 1
                return None
        if align & (align - 1) or not align:
            self.wrong = f"alloc() was asked for an alignment of {align}"
        align = max(align, 16)
        block = self.libc.aligned_alloc(align, (size + align - 1) // align * align)
        self.live[block] = size
        return block

    def free(self, _ctx, block, size):
        if self.live.pop(block, None) != size:
            self.wrong = f"free() got a block or a size that alloc() did not give: {size}"
        self.libc.free(block)

    def arm(self, nth, more):
        self.fail_in, self.fail_more = nth, more

    def check(self, ended=False):
        if self.wrong:
            raise Mismatch(self.wrong)
        if ended and self.live:
            raise Mismatch(f"{len(self.live)} blocks were not given back at the end: {sorted(self.live.values())[:8]}")

    def __del__(self):
        for block in self.live:
            self.libc.free(block)


def aligned(kind, align=64):
    """Returns a zeroed structure at an aligned address, and the buffer that holds it."""
    raw = C.create_string_buffer(C.sizeof(kind) + align)
    at = (C.addressof(raw) + align - 1) // align * align
    return kind.from_address(at), raw


TYPES = {"p": PTR, "i": C.c_int, "u": U64, "z": C.c_size_t, "q": C.c_int64, "n": C.c_uint32, "s": C.c_char_p, "-": None}


def bind(lib, prefix, calls, **types):
    """calls: of each its name behind the prefix, and letters for the types of its result and of its arguments; types: more letters."""
    for name, letters in (call.split(":") for call in calls.split()):
        fn = getattr(lib, prefix + name)
        fn.restype, *fn.argtypes = ({**TYPES, **types}[letter] for letter in letters)
        SEEN.watch(prefix + name, fn)
