# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Structures and calls of index.h, cursor.h, hole.h, small.h and interval.h for ctypes: of these, cases.py makes the calls that their
descriptions (tests/index, tests/small, tests/interval) do not come to."""
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


class Small(C.Structure):
    _fields_ = [("opaque", U64 * 3)]


class Kind(C.Structure):
    _fields_ = [("index", core.Config), ("blocks", C.c_void_p), ("limit", C.c_uint), ("each", U64)]


class Intervals(C.Structure):
    _fields_ = [("opaque", U64 * (128 + 32))]


INTERVAL_FN = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(Item))


def bind(lib):
    core.bind(lib, "lath_index_", """
        init:ipp fini:-pEp insert_item:ippp preload:ipp preload_release:-pp insert_preloaded:ipppp erase_item:ipup erase_item_at:ipup
        replace_item:ipuup replace_if:ipuuup erase_if:ipuup erase_sized:ipuup lookup_item:ipup overlap_item:ipuup ceiling_item:ipup
        floor_item:ipup lookup_pin:ipupp resize:ipuu split:ipuu erase_part:ippp join:ipuJpp
        erase_range:qpuuEp clear:qpEp store_range:ippEp get_batch:zpzppp insert_batch:zpzpp erase_batch:zpzpp
        load_sorted:ipzpp get:ipup scan:zpuupzp scan_places:zpuupzp scan_values:zpuuppzp scan_back:zpuupzp visit_values:ipuuzVp rank:qpu select:ipup
        count_range:qpuu prefetch:-pu prepare:-p trim:zpzp clone:ippp count:up get_stats:-pp verify:ipipz dump:-pWp
        find_hole:ippp insert_hole:ippup hole_stats:ipuuup""", E=core.ITEM_FN, J=JOIN_FN, V=VISIT_FN, W=WRITE_FN)
    core.bind(lib, "lath_cursor_", """
        init:-pp seek:ipup seek_floor:ipup next:ipp prev:ipp lock:ipupp locked_floor:ipup insert:ippp erase:ipup
        unlock:-p""")
    core.bind(lib, "lath_small_", """
        init:ipp fini:-pEp set_limit:ipn insert_item:ippp erase_item:ipup replace_item:ipuup resize:ipuu split:ipuu value_bytes:np
        get:ipup lookup_item:ipup count:up count_range:qpuu select:ipup find_hole:ippp insert_hole:ippup hole_stats:ipuuup
        index:pp""", E=core.ITEM_FN)
    core.bind(lib, "lath_intervals_", "init:ipip fini:-pEp insert:ipp", E=INTERVAL_FN)
