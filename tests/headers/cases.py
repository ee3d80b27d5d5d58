# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Calls that the draws do not come to, or come to rarely: wrong configurations, keys that are no multiples of a unit, memory that
ends in a full leaf, stores on all that carries one. Each refusal is the same a second time, and changes nothing.
"""
import ctypes as C
import errno
import itertools
import os
import shutil
import tempfile

import byte_keys
import core
import index_calls
import store
from core import MAX, U64, Item, Memory, Mismatch, Subject, expect

EINVAL, ENOENT, EEXIST, ENOMEM, ENOSPC, EAGAIN, EBUSY, EROFS, E2BIG, EIO, EBADMSG, EINTR, ERANGE, EDEADLK, EOPNOTSUPP, ENODEV, ENOTEMPTY, \
    ENAMETOOLONG = (-getattr(errno, n) for n in "EINVAL ENOENT EEXIST ENOMEM ENOSPC EAGAIN EBUSY EROFS E2BIG EIO EBADMSG EINTR ERANGE "
                    "EDEADLK EOPNOTSUPP ENODEV ENOTEMPTY ENAMETOOLONG".split())
by = C.byref
OUT = (1, 1 << 30)  # for Memory.arm(): there is no memory any more


def refuse(lib, prefix, first, state, rows):
    """rows: (call without prefix, arguments behind the first ones, result)."""
    before = state()
    for name, args, result in rows:
        for _ in range(2):
            expect(f"{name}{args}", getattr(lib, prefix + name)(*first, *args), result)
            Subject.same(f"the state after {name}{args}", state(), before)


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
                   {"layout": core.POINTS, "flags": core.HOLES}) + more:
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
    Subject.same("lookup_item_rcu", out.tuple(), (100, 40, 7))
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
    Subject.same("insert_batch, results", results[:], [EINVAL, EINVAL, E2BIG, EEXIST])
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
    wrong_configs("intervals_init", intervals_init, {"layout": core.POINTS}, {"flags": core.HOLES}, {"flags": core.RANKS})
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


# The calls on one key, with arguments that would change or find an entry.
NOW, ADDED = C.c_int64(12345), C.c_int(7)
PUT = store.UPDATE_FN(lambda _arg, _old, change: setattr(change[0], "action", 1) or 0)
READS = {"get": (None, 0), "get_ref": (by(store.Ref()),), "rank": ()}
WRITES = {"set": (b"x", 1), "add": (b"x", 1), "replace": (b"x", 1), "delete": (), "get_or_set": (b"x", 1, None, 0, by(ADDED)),
          "cas": (b"five", 4, b"x", 1), "incr": (1, by(NOW)), "min": (1, by(NOW)), "max": (1, by(NOW)), "append": (b"x", 1),
          "expire": (1,), "update": (PUT, None)}
NO_FN, STOP = store.PROGRESS_FN(), store.PROGRESS_FN(lambda *_: 1)


class Scene(store.StoreSubject):
    """A store with the entries 5, "five", and 6, "6"; the name of one in shared memory is gone at once."""

    def __init__(self, lib, spec, kind=0, flags=0, limit=0, filled=True):
        super().__init__(lib, {"bytes": bool(kind), "spec": spec, "flags": flags, "limit": limit, "versions": flags & store.VERSIONS,
                               "small": True})
        self.kind, self.long = kind, C.create_string_buffer(65536)
        for number, text in ((5, b"five"), (6, b"6")) if filled else ():
            self.set(number, b"%d" % number, text)

    def __call__(self, name, *args):
        return getattr(self.lib, "lath_store_" + name)(self.store, *args)

    def key(self, number):
        return self.k(number, b"%d" % number)[1]

    def check_all(self):
        super().check_all()
        Subject.same("*now, *added", (NOW.value, ADDED.value), (12345, 7))

    def on(self, name, key):
        """What a call on one key says of it."""
        if name == "get_ref":
            self("read_begin")
        result = self(name, key, *{**READS, **WRITES}[name])
        if name == "get_ref":
            self("read_end")
        return result

    def batches(self, key):
        """What elements of mset and mdel say of a key."""
        found, entry, answers = C.c_int(7), store.Entry(key, C.cast(C.c_char_p(b"x"), C.c_void_p), 1, 0), []
        for name, first in (("mset", by(entry)), ("mdel", by(key))):
            expect(name, self(name, 1, first, None) + self(name, 1, first, by(found)), 0)
            answers.append(found.value)
        return answers

    def ranges(self, key):
        """What iterators and counts say of a range with this key."""
        answers = []
        for bound, backward in itertools.product(("from_", "to", "prefix"), (0, 1)):
            span = store.Range(backward=backward)
            setattr(span, bound, C.pointer(key))
            answers += [self("iter_begin", by(span), by(C.c_void_p()))] + [self("count", by(span))] * (bound != "prefix")
        return answers

    def refuse(self, rows):
        refuse(self.lib, "lath_store_", (self.store,), self.check_all, rows)


def store_cases(lib):
    core.bind(lib, "lath_store_", "prefault:ipu remove:ispz leave:ip")
    folder = tempfile.mkdtemp(prefix="lath-headers-")
    at, shm = os.path.join(folder, "").encode(), f"shm:lath-headers-{os.getpid()}".encode()
    left = Scene(lib, b"mem:")
    expect("leave, close", (left("leave"), left("close")), (0, 0))
    try:
        open_cases(lib, at, shm)
        for spec, kind, flags in ((b"mem:", 0, 0), (b"mem:", 0, store.VERSIONS), (b"mem:", 1, 0), (shm, 0, 0), (shm, 1, 0)):
            s = Scene(lib, spec, kind, flags)
            if spec == shm:
                expect("remove", lib.lath_store_remove(spec, None, 0), 0)
            key_cases(s, kind or flags or spec == shm)
            file_cases(s, at, spec == shm)
            s.close()
        for spec in (b"file:" + at + b"reader", shm):
            reader_cases(lib, spec)
    finally:
        shutil.rmtree(folder)


def open_cases(lib, folder, shm):
    def opened(spec, **change):
        """The result of an open that fails, with a reason."""
        options, found, why = store.Options(C.sizeof(store.Options)), C.c_void_p(), C.create_string_buffer(200)
        options.why, options.why_size = C.addressof(why), 200
        for name, value in change.items():
            setattr(options, name, value)
        result = lib.lath_store_open(by(found), spec, by(options))
        Subject.same(f"open {spec} with {change}, *store, a reason", (found.value, len(why.value) > 8), (None, "size" not in change))
        return result
    for change in ({"size": 0}, {"size": store.Options.pages.offset - 1}, {"size": C.sizeof(store.Options) + 1}, {"size": MAX}, {"keys": 2},
                   {"keys": -1}, {"pages": 3}, {"pages": -1}, {"flags": 32}, {"flags": 1 << 31}, {"limit": 1}, {"limit": (8 << 20) - 1},
                   {"flags": 1}, {"numa": b"nowhere"}, {"numa": b""}, {"numa": b"bind:1023,18446744073709551616"}):
        expect(f"open with {change}", opened(b"mem:", **change), EINVAL)
    with open(folder + b"damaged", "wb") as f:
        f.write(b"x" * 200)
    one, path = C.addressof(C.c_char.in_dll(lib, "lath_rcu_single")), b"file:" + folder
    on_file, on_shm = Scene(lib, path + b"bytes", 1), Scene(lib, shm, 1)
    for spec, change, result in [(spec, {}, EINVAL) for spec in (b"nothing", b"mem:x", b"file:", b"file:/", b"shm:", b"shm:a/b", b"shm:..",
                                                                 b"shm:" + b"n" * 201, shm)] + [
            (b"mem:", {"limit": 8 << 20, "prefault": (8 << 20) + 1}, ENOSPC), (b"mem:", {"prefault": MAX}, ENOMEM),
            (path + b"none", {"flags": store.EXISTING}, ENOENT), (path + b"damaged", {}, EBADMSG), (path + b"bytes", {"keys": 1}, EBUSY),
            (b"dev:/no/such/device", {}, ENODEV), (b"dev:/no", {"keys": 1}, EOPNOTSUPP),
            (b"dev:/no", {"flags": 1, "limit": 8 << 20}, EOPNOTSUPP), (b"shm:x", {"pages": 1}, EOPNOTSUPP),
            (b"shm:x", {"rcu": one}, EOPNOTSUPP), (shm + b"-none", {"flags": store.EXISTING}, ENOENT)]:
        expect(f"open {spec} with {change}", opened(spec, **change), result)
    on_shm.close()
    on_file.lib.lath_store_close(on_file.store)
    expect("open of byte keys as numbers", opened(path + b"bytes"), EINVAL)
    on_file.open()
    on_file.close()
    refuse(lib, "lath_store_", (), tuple, [
        ("remove", (s, None, 0), EINVAL) for s in (b"mem:", b"", b"shm:", b"shm:a/b", b"shm:" + b"n" * 201)] + [
            ("remove", (shm + b"-none", None, 0), ENOENT), ("close", (None,), 0), ("iter_end", (None,), None)])
    expect("remove", lib.lath_store_remove(shm, None, 0), 0)


def key_cases(s, versions):
    kind, absent, five, tera, now = s.kind, s.key(7), s.key(5), 1 << 40, by(NOW)
    long = store.Key(C.addressof(s.long), 65536)
    wrong = store.Key(None, 5) if kind else store.Key(long.data, 1)
    for key, error in ((wrong, EINVAL), (long, E2BIG if kind else EINVAL), (store.Key(long.data, MAX), E2BIG if kind else EINVAL)):
        for name in itertools.chain(READS, WRITES):
            expect(f"{name} with a key that cannot be", s.on(name, key), error)
            s.check_all()
        Subject.same("what else says of a key that cannot be", set(s.batches(key) + s.ranges(key)), {error})
    for name in ("get", "get_ref", "replace", "delete", "cas", "expire"):
        expect(f"{name}, an absent key", s.on(name, absent), ENOENT)
    ref = store.Ref()
    s("read_begin")
    expect("get_ref", s("get_ref", five, by(ref)), 0)
    s("read_end")
    Subject.same("a version", bool(ref.version), bool(versions))
    s.refuse([("set_if", (five, other, b"x", 1), EAGAIN if versions else EOPNOTSUPP)
              for other in {0, (ref.version - 1) % core.TOP, ref.version + 1, MAX} - ({ref.version} if versions else set())] + [
        ("set_if", (absent, ref.version, b"x", 1), ENOENT if versions else EOPNOTSUPP)] + ([
            ("set_if", (wrong, ref.version, b"x", 1), EINVAL), ("set_if", (five, ref.version, b"x", tera), E2BIG)] if versions else []) + [
                ("add", (five, b"x", 1), EEXIST), ("set", (five, b"x", tera), E2BIG), ("set", (five, b"x", MAX), E2BIG),
                ("append", (five, b"x", MAX), E2BIG), ("append", (absent, b"x", tera), E2BIG), ("cas", (five, None, 0, b"x", 1), EAGAIN),
                ("cas", (five, b"fivf", 4, b"x", 1), EAGAIN), ("incr", (s.key(6), (1 << 63) - 6, now), ERANGE),
                ("mget", (0, None, None), 0), ("mset", (0, None, None), 0), ("incr", (five, 1, now), EINVAL),
                ("min", (five, 1, now), EINVAL), ("max", (five, 1, now), EINVAL)])
    refs, text, results = (store.Ref * 3)(), C.cast(C.c_char_p(b"x"), C.c_void_p), (C.c_int * 2)()
    s("read_begin")
    expect("mget", s("mget", 3, (store.Key * 3)(wrong, absent, long), refs), 0)
    Subject.same("mget of keys that cannot be", [r.data for r in refs], [None] * 3)
    s("read_end")
    expect("mset", s("mset", 2, (store.Entry * 2)((five, text, tera, 0), (wrong, text, 1, 0)), results), 0)
    Subject.same("mset, results", results[:], [E2BIG, EINVAL])
    for number in (b"99999999999999999999", b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616"):
        s.set(7, b"7", number)
        s.refuse([(name, (absent, -1, now), ERANGE) for name in ("incr", "min", "max")])
    s.delete(7, b"7")


def file_cases(s, folder, shared):
    other, kind, good, wrong = Scene(s.lib, b"mem:", not s.kind), s.kind, folder + b"good", folder + b"wrong"
    expect("save", (s("save", good, NO_FN, None), other("save", wrong, NO_FN, None)), (0, 0))
    other.close()
    held = Scene(s.lib, b"file:" + folder + b"held%d" % kind, kind)
    s.refuse([("save", (path, NO_FN, None), result) for path, result in (
        (b"", EINVAL), (b"/", EINVAL), (b"/dev/null", EINVAL), (b"/no/such/dir/s", ENOENT), (folder + b"p" * 5000, ENAMETOOLONG),
        (folder + b"p" * 245, ENAMETOOLONG), (folder + b"held%d" % kind, EBUSY))] + [
            ("load", (good, NO_FN, None), ENOTEMPTY), ("prefault", (MAX,), EOPNOTSUPP if shared else ENOMEM)] + [
                ("prefault", (1,), EOPNOTSUPP)] * shared)
    held.close()
    for name, data in ((b"empty", b""), (b"text", b"t" * 5000)):
        with open(folder + name, "wb") as f:
            f.write(data)
    for number in (5, 6):
        s.delete(number, b"%d" % number)
    s.refuse([("load", (path, fn, None), result) for path, fn, result in (
        (b"", NO_FN, EINVAL), (b"/", NO_FN, EINVAL), (b"/dev/null", NO_FN, EINVAL), (folder + b"none", NO_FN, ENOENT),
        (folder + b"empty", NO_FN, EBADMSG), (folder + b"text", NO_FN, EBADMSG), (wrong, NO_FN, EINVAL), (good, STOP, EINTR))])
    Subject.same("a reason", len(s.lib.lath_store_reason()) > 8, True)
    if s.config["flags"]:  # a snapshot that needs more than a limit
        large, limited = b"." * (9 << 20), Scene(s.lib, b"mem:", kind, limit=8 << 20, filled=False)
        s.set(5, b"5", large)
        s.refuse([("save", (good, STOP, None), EINTR)])
        expect("save", s("save", good, NO_FN, None), 0)
        limited.refuse([("load", (good, NO_FN, None), ENOSPC), ("prefault", ((8 << 20) + 1,), ENOSPC), ("prefault", (MAX,), ENOSPC),
                        ("prefault", (0,), 0), ("set", (s.key(5), large, len(large)), ENOSPC)])
        limited.close()


def reader_cases(lib, spec):
    """All that writes is refused by a handle that is read only."""
    writer = Scene(lib, spec)
    path = writer.path + b"-saved"
    expect("sync, save", (writer("sync"), writer("save", path, NO_FN, None)), (0, 0))
    s = Scene(lib, spec, 0, store.READ_ONLY, filled=False)
    s.data, s.order = writer.data, writer.order
    for name, number in itertools.product(WRITES, (5, 7)):
        expect(f"{name} of a reader", s.on(name, s.key(number)), EROFS)
    Subject.same("elements of batches", s.batches(s.key(5)), [EROFS, EROFS])
    s.refuse([("sweep", (), EROFS), ("sync", (), EROFS), ("load", (path, NO_FN, None), EROFS)])
    s.close()
    writer.close()
    if spec.startswith(b"shm:"):
        expect("remove", lib.lath_store_remove(spec, None, 0), 0)


def run(lib):
    index_calls.bind(lib)
    byte_keys.bind(lib)
    for cases in (index_cases, bytes_cases, interval_cases, small_cases, store_cases):
        cases(lib)
