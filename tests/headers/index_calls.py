# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Structures and calls of index.h, cursor.h and hole.h for ctypes."""
import ctypes as C

import core
from core import U64, Item


class Index(C.Structure):
    _fields_ = [("opaque", U64 * 64)]


class Preload(C.Structure):
    _fields_ = [("node", C.c_void_p * 3)]


class Cursor(C.Structure):
    _fields_ = [("index", C.c_void_p), ("leaf", C.c_void_p), ("lockword", U64), ("key", U64), ("entry", C.c_int),
                ("locked", C.c_int), ("preload", Preload)]


class Hole(C.Structure):
    _fields_ = [("size", U64), ("align", U64), ("low", U64), ("high", U64), ("below", U64), ("hint", U64), ("policy", C.c_int)]


class HoleStats(C.Structure):
    _fields_ = [("largest", U64), ("largest_order", U64), ("free", U64), ("holes", U64), ("histogram", U64 * 64),
                ("fragmentation_permille", U64), ("sampled", U64)]


class Stats(C.Structure):
    _fields_ = [(n, U64) for n in "items bytes leaves inner_nodes levels fill_permille restarts lock_falls splits merges "
                "no_downlink huge_bytes hole_searches hole_nodes".split()]


JOIN_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(Item), C.POINTER(Item))
VISIT_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(U64), C.POINTER(U64), C.c_size_t)
PIN_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(Item))
UNPIN_FN = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(Item))
WRITE_FN = C.CFUNCTYPE(None, C.c_void_p, C.c_char_p)


class Pin(C.Structure):
    _fields_ = [("pin", PIN_FN), ("unpin", UNPIN_FN), ("arg", C.c_void_p)]


def bind(lib):
    p, i, u, z, q = C.c_void_p, C.c_int, U64, C.c_size_t, C.c_int64
    core.bind(lib, {f"lath_index_{n}": t for n, t in {
        "init": (i, p, p), "fini": (None, p, core.ITEM_FN, p), "insert_item": (i, p, p, p), "preload": (i, p, p),
        "preload_release": (None, p, p), "insert_preloaded": (i, p, p, p, p), "erase_item": (i, p, u, p),
        "erase_item_at": (i, p, u, p), "replace_item": (i, p, u, u, p), "replace_if": (i, p, u, u, u, p),
        "erase_if": (i, p, u, u, p), "erase_sized": (i, p, u, u, p), "lookup_item": (i, p, u, p),
        "overlap_item": (i, p, u, u, p), "ceiling_item": (i, p, u, p), "floor_item": (i, p, u, p), "first_item": (i, p, p),
        "last_item": (i, p, p), "lookup_pin": (i, p, u, p, p), "resize": (i, p, u, u), "split": (i, p, u, u),
        "erase_part": (i, p, p, p),        "join": (i, p, u, JOIN_FN, p, p), "erase_range": (q, p, u, u, core.ITEM_FN, p), "clear": (q, p, core.ITEM_FN, p),
        "store_range": (i, p, p, core.ITEM_FN, p), "lookup_batch": (z, p, z, p, p), "get_batch": (z, p, z, p, p, p),
        "insert_batch": (z, p, z, p, p), "erase_batch": (z, p, z, p, p), "load_sorted": (i, p, z, p, p), "get": (i, p, u, p),
        "scan": (z, p, u, u, p, z, p), "scan_values": (z, p, u, u, p, p, z, p), "scan_back": (z, p, u, u, p, z, p),
        "visit_values": (i, p, u, u, z, VISIT_FN, p), "rank": (q, p, u), "select": (i, p, u, p),
        "count_range": (q, p, u, u), "prefetch": (None, p, u), "prepare": (None, p), "trim": (z, p, z, p),
        "clone": (i, p, p, p), "digest": (u, p, p, p), "count": (u, p), "get_stats": (None, p, p),
        "verify": (i, p, i, p, z), "dump": (None, p, i, WRITE_FN, p), "find_hole": (i, p, p, p),
        "insert_hole": (i, p, p, u, p), "hole_stats": (i, p, u, u, u, p)}.items()})
    core.bind(lib, {f"lath_cursor_{n}": t for n, t in {
        "init": (None, p, p), "seek": (i, p, u, p), "seek_floor": (i, p, u, p), "next": (i, p, p), "prev": (i, p, p),
        "lock": (i, p, u, p, p), "locked_floor": (i, p, u, p), "locked_ceiling": (i, p, u, p), "insert": (i, p, p, p),
        "erase": (i, p, u, p), "unlock": (None, p)}.items()})
