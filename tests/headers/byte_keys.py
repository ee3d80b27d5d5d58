# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bytes.h: an ordered set of records with byte keys and tags, beside a sorted list of (key, tag)."""
import bisect
import ctypes as C
import errno

import core
from core import MAX, U64, Mismatch, expect, op

ENOENT, EEXIST, EINVAL, ENOMEM, EAGAIN, E2BIG = (-getattr(errno, n) for n in "ENOENT EEXIST EINVAL ENOMEM EAGAIN E2BIG".split())
MOST = 4096
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
        first_batch:zpzpnp find:ippp put:ippu get:ippp get_batch:zpzpp ceiling:ippp floor:ippp scan:zppnpz
        cursor_init_prefix:-pppu cursor_seek:ippp cursor_seek_floor:ippp cursor_next:ipp cursor_prev:ipp count:up rank:qppn select:ipup
        trees:up get_stats:-pp verify:ippz""", E=EACH_FN)


def draw_key(d):
    return d.bytes(), d.pick([0, 0, 0, 1, 2, MAX]) if d.chance(0.6) else d.int(0, 400)


class BytesSubject(core.MemorySubject):
    name = "bytes"
    most_ops = 1000

    @staticmethod
    def draw_config(d):
        flags = sum({f for f in d.subset([core.NODE_EACH, core.GAPPED, core.RANKS], 0.4)})
        return {"flags": flags, "memory": d.chance(0.5), "single": d.chance(0.2), "down": d.chance(0.3), "null": d.chance(0.1)}

    def __init__(self, lib, config):
        super().__init__(lib, config)
        self.memory = core.Memory() if config["memory"] and not config["null"] else None
        self.records, self.buffers, self.number = {}, {}, 0  # value -> (key, tag) and the memory of the key
        self.order, self.values = [], {}  # sorted (key, ordered tag); the record there
        self.down, self.flags = config["down"], 0 if config["null"] else config["flags"]
        self.key_fn = KEY_FN(self.key_of)
        self.c_records = Records(self.key_fn, None, int(self.down))
        self.set, self.raw = core.aligned(Set)
        self.at = C.addressof(self.set)
        self.rcu = Rcu.in_dll(lib, "lath_rcu_single" if config["single"] and not config["null"] else "lath_rcu_auto")
        self.c_config = core.Config(C.sizeof(core.Config), 0, self.flags, C.addressof(self.rcu),
                                    C.addressof(self.memory.struct) if self.memory else None, 0)
        self.out, self.many, self.report = U64(), (U64 * MOST)(), C.create_string_buffer(300)
        self.open = False
        expect("init", lib.lath_bytes_init(self.at, C.byref(self.c_records), None if config["null"] else C.byref(self.c_config)), 0)
        self.open = True
        self.cursors = []
        for prefix in (b"", b"a", b"prefix__", b"\xff"):
            cursor = Cursor()
            keep = C.create_string_buffer(prefix, len(prefix))
            if prefix:
                lib.lath_bytes_cursor_init_prefix(C.byref(cursor), self.at, C.addressof(keep), len(prefix))
            else:
                lib.lath_bytes_cursor_init_prefix(C.byref(cursor), self.at, None, 0)
            self.cursors.append([cursor, prefix, None, keep])

    def key_of(self, _ctx, value, key):
        key = key[0]
        key.data, key.size, key.tag = self.buffers[value]

    def record(self, data, tag):
        self.number += 4
        buffer = C.create_string_buffer(data, len(data)) if data else None
        self.buffers[self.number] = (C.addressof(buffer) if data else None, len(data), tag)
        self.records[self.number] = (data, tag, buffer)
        return self.number

    def place(self, data, tag):
        return (data, MAX - tag if self.down else tag)

    def c_key(self, data, tag):
        self.keep = C.create_string_buffer(data, len(data)) if data else None
        return Key(C.addressof(self.keep) if data else None, len(data), tag)

    def add(self, place, value):
        if place not in self.values:
            bisect.insort(self.order, place)
        self.values[place] = value

    def drop(self, place):
        del self.order[bisect.bisect_left(self.order, place)]
        return self.values.pop(place)

    def see(self, what, result, place, found=0, absent=ENOENT, filled=True):
        expect(what, result, absent if place is None else found)
        if place is not None and filled:
            self.same(what + ", the record", self.out.value, self.values[place])

    @op(lambda d: draw_key(d) + (d.chance(0.8),), 12)
    def insert(self, data, tag, filled):
        value, place = self.record(data, tag), self.place(data, tag)
        result = self.lib.lath_bytes_insert(self.at, value, C.byref(self.out) if filled else None)
        if self.lacks("insert", result):
            return
        if place in self.values:
            expect("insert", result, EEXIST)
            if filled:
                self.same("insert, *there", self.out.value, self.values[place])
        else:
            expect("insert", result, 0)
            self.add(place, value)

    @op(lambda d: (tuple(draw_key(d) for _ in range(d.int(0, 20))), d.chance(0.8)), 2)
    def insert_batch(self, keys, filled):
        """Of equal keys any one may be inserted: the results tell which. Without results no keys are equal."""
        filled = filled or bool(self.memory)
        if not filled:
            keys = tuple({self.place(*key): key for key in keys}.values())
        values, results = (U64 * (len(keys) + 1))(*(self.record(*key) for key in keys)), (C.c_int * (len(keys) + 1))()
        places, there = [self.place(*key) for key in keys], len(self.order)
        refused = self.memory.refused if self.memory else 0
        done = self.lib.lath_bytes_insert_batch(self.at, len(keys), values, results if filled else None)
        for i, place in enumerate(places):
            if not filled and place not in self.values or filled and results[i] == 0:
                self.same(f"insert_batch, element {i} is new", self.values.get(place), None)
                self.add(place, values[i])
        for i, place in enumerate(places if filled else ()):
            if results[i] == ENOMEM and self.memory and self.memory.refused > refused:
                self.refused = self.memory.refused
            elif results[i]:
                expect(f"insert_batch, element {i}", results[i], EEXIST if place in self.values else 0)
        self.same("insert_batch", done, len(self.order) - there)

    @op(lambda d: (d.bytes(), d.int(0, 400), d.pick([20, 200, 200, 300]) + d.int(0, 100), d.int(0, 4)), 3)
    def fill(self, stem, first, count, how):
        """Records that agree in many bytes, or in all of them; or in all but their number of zeros."""
        for i in range(first, first + count):
            if how == 0:
                self.insert(stem, i, True)
            elif how == 1:
                self.insert(stem + i.to_bytes(2, "big"), 0, True)
            elif how == 2:
                self.insert(stem + b"same bytes " + i.to_bytes(2, "little"), 0, True)
            elif how == 3:
                self.insert(stem + b"\0" * (i % 20), i // 20, True)
            else:
                self.insert(stem + b"\xff" * (i % 40), i // 40, True)
            self.calls += 1

    @op(lambda d: draw_key(d) + (d.chance(0.8),), 6)
    def erase(self, data, tag, filled):
        place = self.place(data, tag)
        result = self.lib.lath_bytes_erase(self.at, C.byref(self.c_key(data, tag)), C.byref(self.out) if filled else None)
        place = place if place in self.values else None
        self.see("erase", result, place, filled=filled)
        if place is not None:
            self.drop(place)

    @op(lambda d: (d.bytes(), d.int(1, 200)), 1)
    def erase_many(self, data, count):
        for place in self.order[bisect.bisect_left(self.order, (data, 0)):][:count]:
            self.erase(place[0], self.place(*place)[1], True)
            self.calls += 1

    @op(lambda d: draw_key(d) + (d.chance(0.8),))
    def replace(self, data, tag, filled):
        value, place = self.record(data, tag), self.place(data, tag)
        result = self.lib.lath_bytes_replace(self.at, value, C.byref(self.out) if filled else None)
        there = place in self.values
        self.see("replace", result, place if there else None, filled=filled)
        if there:
            self.values[place] = value

    @op(lambda d: draw_key(d) + (d.chance(0.6), d.chance(0.5)))
    def conditional(self, data, tag, right, erase):
        place = self.place(data, tag)
        there = self.values.get(place)
        expected = there if right and there else self.record(data, tag)
        value = self.record(data, tag)
        if erase:
            result = self.lib.lath_bytes_erase_if(self.at, expected, C.byref(self.out))
        else:
            result = self.lib.lath_bytes_replace_if(self.at, expected, value, C.byref(self.out))
        what = "erase_if" if erase else "replace_if"
        expect(what, result, ENOENT if not there else 0 if there == expected else EAGAIN)
        if result == EAGAIN:
            self.same(what + ", *there", self.out.value, there)
        elif not result and erase:
            self.drop(place)
        elif not result:
            self.values[place] = value

    @op(lambda d: draw_key(d) + (d.int(0, 2), d.int(0, 3)), 4)
    def find_put(self, data, tag, put, between):
        """between: a change of the same key between the two, to which put answers -EAGAIN."""
        lib, place, spot = self.lib, self.place(data, tag), Place()
        value = self.record(data, tag) if put < 2 else 0
        key = self.c_key(data, tag)
        keep = self.keep
        self.rcu.read_lock()
        try:
            found = lib.lath_bytes_find(self.at, C.byref(key), C.byref(spot))
            before = self.values.get(place, 0)
            expect("find", found, int(before != 0))
            self.same("find, place.value", spot.value, before)
            if between == 3:
                self.insert(data, tag, True)
            now = self.values.get(place, 0)
            result = lib.lath_bytes_put(self.at, C.byref(spot), value)
            if self.lacks("put", result):
                return
            if now != before:
                expect("put after a change", result, EAGAIN, *([EINVAL] if not value and not before else []))
            elif not value and not now:
                expect("put, nothing to erase", result, EINVAL, EAGAIN)
            else:
                expect("put", result, *([0] if between != 3 else [0, EAGAIN]))
            if not result and value:
                self.add(place, value)
            elif not result:
                self.drop(place)
        finally:
            self.rcu.read_unlock()
            del keep

    @op(draw_key, 6)
    def get(self, data, tag):
        place = self.place(data, tag)
        result = self.lib.lath_bytes_get(self.at, C.byref(self.c_key(data, tag)), C.byref(self.out))
        self.see("get", result, place if place in self.values else None, 1, 0)

    @op(lambda d: (tuple(draw_key(d) for _ in range(d.int(0, 20))),), 2)
    def get_batch(self, keys):
        c_keys, keep = (Key * max(1, len(keys)))(), []
        for i, (data, tag) in enumerate(keys):
            c_keys[i] = self.c_key(data, tag)
            keep.append(self.keep)
        n = self.lib.lath_bytes_get_batch(self.at, len(keys), c_keys, self.many)
        model = [self.values.get(self.place(*k), 0) for k in keys]
        self.same("get_batch", self.many[:len(keys)], model)
        self.same("get_batch, found", n, sum(v != 0 for v in model))

    @op(draw_key, 4)
    def near(self, data, tag):
        key, place = C.byref(self.c_key(data, tag)), self.place(data, tag)
        i = bisect.bisect_left(self.order, place)
        self.see("ceiling", self.lib.lath_bytes_ceiling(self.at, key, C.byref(self.out)), self.order[i] if i < len(self.order) else None)
        i = bisect.bisect_right(self.order, place)
        self.see("floor", self.lib.lath_bytes_floor(self.at, key, C.byref(self.out)), self.order[i - 1] if i else None)

    def from_place(self, place, flags):
        """The places that a scan copies, in its order."""
        if flags & BACK:
            i = (bisect.bisect_left if flags & BEHIND else bisect.bisect_right)(self.order, place)
            return self.order[:i][::-1]
        i = (bisect.bisect_right if flags & BEHIND else bisect.bisect_left)(self.order, place)
        return self.order[i:]

    @op(lambda d: draw_key(d) + (d.int(0, 7), d.pick([0, 1, 2, 33, 200, MOST]), d.chance(0.1)), 4)
    def scan(self, data, tag, flags, most, null):
        if null:
            flags &= BACK
        model = self.order[::-1 if flags & BACK else 1] if null else self.from_place(self.place(data, tag), flags)
        if flags & SAME:
            model = [p for p in model if p[0] == data]
        n = self.lib.lath_bytes_scan(self.at, None if null else C.byref(self.c_key(data, tag)), flags, self.many, most)
        self.same("scan", self.many[:n], [self.values[p] for p in model[:most]])

    @op(lambda d: (tuple(draw_key(d) for _ in range(d.int(0, 20))), d.int(0, 3)), 2)
    def first_batch(self, keys, flags):
        c_keys, keep, model = (Key * max(1, len(keys)))(), [], []
        for i, (data, tag) in enumerate(keys):
            c_keys[i] = self.c_key(data, tag)
            keep.append(self.keep)
            model.append(next((self.values[p] for p in self.from_place(self.place(data, tag), flags) if p[0] == data), 0))
        n = self.lib.lath_bytes_first_batch(self.at, len(keys), c_keys, flags, self.many)
        self.same("first_batch", self.many[:len(keys)], model)
        self.same("first_batch, found", n, sum(v != 0 for v in model))

    @op(lambda d: (d.int(0, 3), d.int(0, 3)) + draw_key(d) + (d.pick([1, 1, 2, 40]),), 4)
    def cursor(self, which, step, data, tag, times):
        """Moves with no change in between are exact. Once the set changes the cursor is placed anew by a seek."""
        cursor, prefix, _, _ = slot = self.cursors[which]
        c, order = C.byref(cursor), [p for p in self.order if p[0].startswith(prefix)] if prefix else self.order
        if step >= 2 and slot[2] and slot[2] != (slot[2][0], self.version(), slot[2][2]):
            step -= 2
        if step < 2:
            data = prefix + data
            key, place = C.byref(self.c_key(data, tag)), self.place(data, tag)
            if step == 0:
                result = self.lib.lath_bytes_cursor_seek(c, key, C.byref(self.out))
                i = bisect.bisect_left(order, place)
                found = order[i] if i < len(order) else None
            else:
                result = self.lib.lath_bytes_cursor_seek_floor(c, key, C.byref(self.out))
                i = bisect.bisect_right(order, place)
                found = order[i - 1] if i else None
            self.see(f"cursor {('seek', 'seek_floor')[step]}, prefix {prefix}", result, found, 1, 0)
            if found:
                slot[2] = (found, self.version(), 0)
            elif slot[2]:
                slot[2] = (slot[2][0], -1, 0)  # it stays, perhaps on a record that is no longer there: the next step is a seek
            return
        for _ in range(times):
            self.calls += 1
            at = slot[2][0] if slot[2] else None
            if step == 2:
                result = self.lib.lath_bytes_cursor_next(c, C.byref(self.out))
                i = bisect.bisect_right(order, at) if at else 0
                found = order[i] if i < len(order) else None
            else:
                result = self.lib.lath_bytes_cursor_prev(c, C.byref(self.out))
                i = bisect.bisect_left(order, at) if at else len(order)
                found = order[i - 1] if i else None
            self.see(f"cursor {('next', 'prev')[step - 2]}, prefix {prefix}", result, found, 1, 0)
            if not found:
                break
            slot[2] = (found, self.version(), 0)

    def version(self):
        """The content, so that a cursor knows whether something changed since it read ahead."""
        return hash((tuple(self.order), tuple(self.values[p] for p in self.order)))

    @op(draw_key, 2)
    def order_statistics(self, data, tag):
        lib, key, place, ranks = self.lib, C.byref(self.c_key(data, tag)), self.place(data, tag), self.flags & core.RANKS
        expect("rank", lib.lath_bytes_rank(self.at, key, 0), bisect.bisect_left(self.order, place) if ranks else EINVAL)
        expect("rank BEHIND", lib.lath_bytes_rank(self.at, key, BEHIND), bisect.bisect_right(self.order, place) if ranks else EINVAL)
        expect("rank, another flag", lib.lath_bytes_rank(self.at, key, BACK), EINVAL)
        for rank in (0, tag % (len(self.order) + 2), len(self.order), MAX):
            result = lib.lath_bytes_select(self.at, rank, C.byref(self.out))
            if ranks:
                self.see("select", result, self.order[rank] if rank < len(self.order) else None)
            else:
                expect("select", result, EINVAL)

    @op(lambda d: (), 1)
    def counts(self):
        stats = Stats()
        expect("count", self.lib.lath_bytes_count(self.at), len(self.order))
        self.lib.lath_bytes_get_stats(self.at, C.byref(stats))
        self.same("stats.items", stats.items, len(self.order))
        self.same("stats.trees", stats.trees, self.lib.lath_bytes_trees(self.at))

    @op(lambda d: (d.chance(0.5),), 0.1)
    def clear(self, each):
        seen = []
        self.lib.lath_bytes_clear(self.at, EACH_FN(lambda _a, v: seen.append(v)) if each else EACH_FN(), None)
        if each:
            self.same("clear calls each", sorted(seen), sorted(self.values.values()))
        self.order, self.values = [], {}

    def check(self):
        self.judge_verify(self.lib.lath_bytes_verify(self.at, self.report, 300))

    def check_all(self):
        self.check()
        n = self.lib.lath_bytes_scan(self.at, None, 0, self.many, MOST)
        self.same("the content", self.many[:n], [self.values[p] for p in self.order[:MOST]])

    def close(self):
        if not self.open:
            return
        seen = []
        self.end(lambda: self.lib.lath_bytes_fini(self.at, EACH_FN(lambda _a, v: seen.append(v)), None))
        self.same("fini calls each", sorted(seen), sorted(self.values.values()))


def setup(lib):
    bind(lib)
    return [BytesSubject]
