# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Structures and calls of bytes.h for ctypes: cases.py makes those that the description (tests/bytes) does not come to."""
import ctypes as C

import core
from core import U64

BACK, BEHIND, SAME = 1, 2, 4


class Key(C.Structure):
    _fields_ = [("data", C.c_void_p), ("size", U64), ("tag", U64)]


KEY_FN = C.CFUNCTYPE(None, C.c_void_p, U64, C.POINTER(Key))
EACH_FN = C.CFUNCTYPE(None, C.c_void_p, U64)


class Records(C.Structure):
    _fields_ = [("key_of", KEY_FN), ("ctx", C.c_void_p), ("flags", C.c_uint)]


class Set(C.Structure):
    _fields_ = [("opaque", U64 * (64 * 7 // 4))]


class Place(C.Structure):
    _fields_ = [("opaque", U64 * 3), ("value", U64)]


class Cursor(C.Structure):
    _fields_ = [("set", C.c_void_p), ("prefix", C.c_void_p), ("prefix_size", U64), ("at", U64), ("i", C.c_uint32),
                ("n", C.c_uint32), ("ask", C.c_uint32), ("back", C.c_uint32), ("ahead", U64 * 32)]


class Stats(C.Structure):
    _fields_ = [(n, U64) for n in "items bytes trees arrays arrayed".split()]


class Rcu(C.Structure):
    _fields_ = [("name", C.c_char_p), ("read_lock", C.CFUNCTYPE(None)), ("read_unlock", C.CFUNCTYPE(None))]


def bind(lib):
    core.bind(lib, "lath_bytes_", """
        init:ippp fini:-pEp clear:-pEp insert:ipup erase:ippp replace:ipup erase_if:ipup replace_if:ipuup insert_batch:zpzpp
        first_batch:zpzpnp find:ippp put:ippu get:ippp get_batch:zpzpp scan:zppnpz
        cursor_init_prefix:-pppu cursor_seek:ippp cursor_seek_floor:ippp cursor_next:ipp cursor_prev:ipp count:up rank:qppn select:ipup
        trees:up get_stats:-pp verify:ippz""", E=EACH_FN)
