# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Calls that the draws do not come to, or come to rarely: wrong configurations, keys that are no multiples of a unit, memory that
ends in a full leaf. Each refusal is the same a second time, and changes nothing.
"""
import ctypes as C
import errno
import itertools

import byte_keys
import core
import index_calls
from core import MAX, U64, Item, Memory, Mismatch, expect

EINVAL, ENOENT, EEXIST, ENOMEM, ENOSPC, EAGAIN, E2BIG = (-getattr(errno, n) for n in "EINVAL ENOENT EEXIST ENOMEM ENOSPC EAGAIN E2BIG".split())
by = C.byref
OUT = (1, 1 << 30)  # for Memory.arm(): there is no memory any more


def refuse(lib, prefix, first, state, rows):
    """rows: (call without prefix, arguments behind the first ones, result)."""
    before = state()
    for name, args, result in rows:
        for _ in range(2):
            expect(f"{name}{args}", getattr(lib, prefix + name)(*first, *args), result)
            core.same(f"the state after {name}{args}", state(), before)


def starve(what, make, end):
    """make(address of an allocator): each of the blocks that it asks for is refused in turn."""
    memory = Memory()
    for n in itertools.count(1):
        refused = memory.refused
        memory.arm(n, 0)
        result = make(C.addressof(memory.struct))
        memory.arm(0, 0)
        expect(what, result, ENOMEM, 0)
        if not result:
            end()
        memory.check(True)
        if memory.refused == refused:
            return


def until(error, what, call, tries=100000):
    """Calls call(0), call(1) ... until it returns the error."""
    if not any(call(i) == error for i in range(tries)):
        raise Mismatch(f"{what}: never {core.name_of(error)}")


def exhaust(lib, prefix, memory, at, rows):
    """Each of these calls, whose arguments a function of a number makes, needs memory at last, and there is none."""
    memory.arm(*OUT)
    for name, args in rows:
        until(ENOMEM, name, lambda i: getattr(lib, prefix + name)(at, *args(i)))  # pylint: disable=cell-var-from-loop


def wrong_configs(what, init, *more):
    for change in ({"size": 0}, {"size": C.sizeof(core.Config) + 1}, {"layout": 2}, {"flags": 1 << 20},
                   {"flags": core.HUGE_PAGES | core.SMALL_PAGES}, {"flags": core.HOLES | core.RANKS},
                   {"layout": core.POINTS, "flags": core.HOLES}, {"value_size": 12}, {"value_size": 72},
                   {"value_size": 16, "flags": core.HOLES}) + more:
        config = core.Config(size=C.sizeof(core.Config))
        for name, value in change.items():
            setattr(config, name, value)
        expect(f"{what} of {change}", init(by(config)), EINVAL)


def config_of(allocator, flags=0):
    return by(core.Config(C.sizeof(core.Config), 0, flags, None, allocator, 0))


def index_cases(lib):
    core.bind(lib, "lath_index_", "create:pp destroy:-ppp layout:n lookup_item_rcu:ipup")
    (index, _raw), (copy, _raw2), memory, out, key = core.aligned(index_calls.Index), core.aligned(index_calls.Index), Memory(), Item(), U64()
    rcu, many = byte_keys.Rcu.in_dll(lib, "lath_rcu_auto"), (Item * 20000)(*((i, 1, i) for i in range(20000)))
    at, other = C.addressof(index), C.addressof(copy)
    def end(which=at):
        lib.lath_index_fini(which, core.NO_ITEM_FN, None)
    def insert(key, size):
        return lib.lath_index_insert_item(at, by(Item(key, size, 7)), None)
    wrong_configs("index_init", lambda c: lib.lath_index_init(at, c))
    wrong_configs("index_create", lambda c: EINVAL if lib.lath_index_create(c) is None else 0)
    starve("index_init", lambda a: lib.lath_index_init(at, config_of(a)), end)
    expect("index_init", lib.lath_index_init(at, config_of(C.addressof(memory.struct), core.NODE_EACH | core.HOLES)), 0)
    for i in range(500):
        insert(100 * i, 40)
    wrong_configs("index_clone", lambda c: lib.lath_index_clone(other, at, c))
    starve("index_clone", lambda a: lib.lath_index_clone(other, at, config_of(a)), lambda: end(other))
    rcu.read_lock()
    refuse(lib, "lath_index_", (), lambda: lib.lath_index_count(at), [
        ("init", (None, None), EINVAL), ("init", (at + 8, None), EINVAL), ("layout", (), lib.lath_index_layout()),
        ("destroy", (None, None, None), None), ("lookup_item_rcu", (at, 40, by(out)), ENOENT), ("lookup_item_rcu", (at, 139, by(out)), 0)])
    rcu.read_unlock()
    core.same("lookup_item_rcu", out.tuple(), (100, 40, 7))
    point = lambda i: by(Item(i, 1, 7))  # noqa: E731
    until(EAGAIN, "insert_preloaded", lambda i: lib.lath_index_insert_preloaded(at, point(100000 + i), by(index_calls.Preload()), None))
    cursor = index_calls.Cursor()
    lib.lath_cursor_init(by(cursor), at)
    def locked(key):
        return lib.lath_cursor_lock(by(cursor), key, None, None) or lib.lath_cursor_insert(by(cursor), point(key), None)
    expect("cursor_erase", lib.lath_cursor_erase(by(cursor), 0, None), EINVAL)
    expect("cursor_lock", lib.lath_cursor_lock(by(cursor), 0, None, None), 0)
    expect("cursor_insert in another leaf", lib.lath_cursor_insert(by(cursor), point(199999), None), EINVAL)
    until(EAGAIN, "cursor_insert", lambda i: locked(200000 + i))
    memory.arm(*OUT)
    until(ENOMEM, "cursor_lock", lambda i: locked(300000 + i))
    exhaust(lib, "lath_index_", memory, at, [
        ("store_range", lambda i: (point(400000 + i), core.NO_ITEM_FN, None)), ("preload", lambda i: (by(index_calls.Preload()),)),
        ("insert_hole", lambda i: (by(index_calls.Hole(1, 0, 500000)), 7, by(key))), ("split", lambda i: (100 * i + 30, 7)),
        ("erase_part", lambda i: (point(100 * i + 5), None))])
    def resize(i):
        """The last item in front of 100 * i, over keys whose items have left a leaf that has become full again."""
        lib.lath_index_erase_range(at, 100 * i, 40, core.NO_ITEM_FN, None)
        any(insert(100 * i + 50 + k, 1) == ENOMEM for k in range(50))
        lib.lath_index_floor_item(at, 100 * i, by(out))
        return lib.lath_index_resize(at, out.key, 100 * i + 1 - out.key)
    until(ENOMEM, "resize", lambda i: resize(i + 1), 498)
    expect("verify", lib.lath_index_verify(at, 5, None, 0), 0)
    end()
    memory.arm(0, 0)
    expect("index_init", lib.lath_index_init(at, config_of(C.addressof(memory.struct))), 0)
    exhaust(lib, "lath_index_", memory, at, [("load_sorted", lambda i: (len(many), many, None))])
    expect("count", lib.lath_index_count(at), 0)
    end()
    memory.check(True)


def bytes_cases(lib):
    def key_of(_ctx, value, key):
        """No bytes, and a tag for each two values."""
        key[0].data, key[0].size, key[0].tag = None, (1 << 30) + 1 if value == 80 else 0, value >> 3
    records = byte_keys.Records(byte_keys.KEY_FN(key_of), None, 0)
    (made, _raw), found, rcu = core.aligned(byte_keys.Set), U64(77), byte_keys.Rcu.in_dll(lib, "lath_rcu_auto")
    at = C.addressof(made)
    def bytes_init(config):
        return lib.lath_bytes_init(at, by(records), config)
    wrong_configs("bytes_init", bytes_init, {"layout": core.POINTS}, {"flags": core.HOLES}, {"flags": core.RANKS | core.SHARED})
    starve("bytes_init", lambda a: bytes_init(config_of(a)), lambda: lib.lath_bytes_fini(at, byte_keys.EACH_FN(), None))
    refuse(lib, "lath_bytes_init", (), tuple, [("", (None, by(records), None), EINVAL), ("", (at, None, None), EINVAL)] + [
        ("", (at, by(byte_keys.Records(fn, None, flag)), None), EINVAL) for fn, flag in ((byte_keys.KEY_FN(), 0), (records.key_of, 2))])
    memory = Memory()
    expect("bytes_init", bytes_init(config_of(C.addressof(memory.struct), core.RANKS)), 0)
    expect("insert", lib.lath_bytes_insert(at, 8, None), 0)
    results, first, fresh, spot, spot2 = ((C.c_int * 4)(), byte_keys.Key(None, 0, 1), byte_keys.Key(None, 0, 5), byte_keys.Place(),
                                            byte_keys.Place())
    rcu.read_lock()
    expect("find", (lib.lath_bytes_find(at, by(first), by(spot)), lib.lath_bytes_find(at, by(fresh), by(spot2))), (1, 0))
    refuse(lib, "lath_bytes_", (at,), lambda: (lib.lath_bytes_count(at), lib.lath_bytes_verify(at, None, 0), found.value), [
        ("insert", (12, None), EEXIST), ("insert", (80, None), E2BIG), ("replace", (16, by(found)), ENOENT), ("erase_if", (12, None), EAGAIN),
        ("erase_if", (16, by(found)), ENOENT), ("replace_if", (12, 12, None), EAGAIN), ("replace_if", (16, 20, by(found)), ENOENT),
        ("select", (1, by(found)), ENOENT), ("select", (MAX, by(found)), ENOENT), ("erase", (by(fresh), None), ENOENT),
        ("rank", (by(first), byte_keys.SAME), EINVAL), ("put", (by(spot), 5), EINVAL), ("put", (by(spot2), 0), EINVAL),
        ("put", (by(spot2), 80), E2BIG), ("insert_batch", (4, (U64 * 4)(0, 9, 80, 12), results), 0)] + [
        (name, args + (None,), EINVAL) for value in (0, 2, 7, 18, MAX) for name, args in (
            ("insert", (value,)), ("replace", (value,)), ("erase_if", (value,)), ("replace_if", (value, 8)), ("replace_if", (8, value)))])
    core.same("insert_batch, results", results[:], [EINVAL, EINVAL, E2BIG, EEXIST])
    exhaust(lib, "lath_bytes_", memory, at, [("insert", lambda i: (800 + 8 * i, None))])
    def put(value):
        lib.lath_bytes_find(at, by(byte_keys.Key(None, 0, value >> 3)), by(spot))
        return lib.lath_bytes_put(at, by(spot), value)
    until(ENOMEM, "put", lambda i: put(8000000 + 8 * i))
    lib.lath_bytes_find(at, by(first), by(spot))
    expect("put, and once more", (lib.lath_bytes_put(at, by(spot), 12), lib.lath_bytes_put(at, by(spot), 8)), (0, EAGAIN))
    rcu.read_unlock()
    lib.lath_bytes_fini(at, byte_keys.EACH_FN(), None)
    memory.check(True)


def interval_cases(lib):
    (made, _raw), memory = core.aligned(index_calls.Intervals), Memory()
    at = C.addressof(made)
    def intervals_init(config, bounds=0):
        return lib.lath_intervals_init(at, bounds, config)
    wrong_configs("intervals_init", intervals_init, {"layout": core.POINTS}, {"flags": core.HOLES})
    starve("intervals_init", lambda a: intervals_init(config_of(a)), lambda: lib.lath_intervals_fini(at, index_calls.INTERVAL_FN(), None))
    refuse(lib, "lath_intervals_init", (), tuple, [("", (None, 0, None), EINVAL), ("", (at, 2, None), EINVAL)])
    expect("intervals_init", intervals_init(config_of(C.addressof(memory.struct))), 0)
    exhaust(lib, "lath_intervals_", memory, at, [("insert", lambda i: (by(Item(i, i + 9, 1)),))])
    lib.lath_intervals_fini(at, index_calls.INTERVAL_FN(), None)
    memory.check(True)


def small_cases(lib):
    (made, _raw), memory, out = core.aligned(index_calls.Small), Memory(), Item()
    at = C.addressof(made)
    def kind(config, limit=3):
        return by(index_calls.Kind(config, None, limit, 100))
    wrong_configs("small_init", lambda c: lib.lath_small_init(at, kind(c._obj)), {"flags": core.SHARED})
    good, hole, key = core.Config(C.sizeof(core.Config), 0, core.HOLES, None, C.addressof(memory.struct), 0), index_calls.Hole, U64()
    for limit, result in ((65, EINVAL), ((1 << 32) - 1, EINVAL), (3, 0)):
        keep = kind(good, limit)
        expect("small_init", lib.lath_small_init(at, keep), result)
    for start in (5, 20):
        expect("small_insert_item", lib.lath_small_insert_item(at, by(Item(start, 2, 1)), None), 0)
    memory.arm(*OUT)
    refuse(lib, "lath_small_", (at,), lambda: (lib.lath_small_count(at), lib.lath_small_lookup_item(at, 5, by(out)), out.tuple()), [
        ("insert_item", (by(Item(9, 1, 1)), None), ENOMEM), ("resize", (20, 1 << 40), ENOMEM), ("replace_item", (5, MAX, None), ENOMEM),
        ("split", (6, 2), ENOMEM), ("insert_hole", (by(hole(1)), 1, by(key)), ENOMEM), ("insert_item", (by(Item(6, 1, 1)), None), EEXIST),
        ("resize", (5, 16), EEXIST), ("split", (5, 1), EEXIST), ("split", (7, 1), ENOENT), ("find_hole", (by(hole(MAX)), by(key)), ENOSPC)])
    lib.lath_small_fini(at, core.NO_ITEM_FN, None)
    memory.check(True)


def run(lib):
    index_calls.bind(lib)
    byte_keys.bind(lib)
    for cases in (index_cases, bytes_cases, interval_cases, small_cases):
        cases(lib)
