# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""small.h: an ordered set of points or ranges that is a block while it is small, and then an index, beside the model of an index."""
import ctypes as C
import errno

import core
import index_calls
from core import MAX, TOP, U64, Item, Mismatch, expect, op
from index import RangeSubject, draw_hole, draw_item, draw_scan
from index_calls import Hole, HoleStats, Index, Stats

ENOENT, EEXIST, EINVAL = -errno.ENOENT, -errno.EEXIST, -errno.EINVAL
MOST = 2048  # items that one scan gets
BLOCK_MOST = 64
LIMITS = [0, 1, 2, 3, 5, 8, 16, 31, 32, 33, 63, 64]
MOVE_FN = C.CFUNCTYPE(C.c_void_p, C.c_void_p, C.c_void_p, C.c_size_t)


class Small(C.Structure):
    _fields_ = [("opaque", U64 * 3)]


class Kind(C.Structure):
    _fields_ = [("index", core.Config), ("blocks", C.c_void_p), ("limit", C.c_uint), ("each", U64)]


def bind(lib):
    core.bind(lib, "lath_small_", """
        init:ipp fini:-pEp set_limit:ipn insert_item:ippp erase_item:ipup replace_item:ipuup resize:ipuu split:ipuu value_bytes:np
        get:ipup get_batch:zpzppp lookup_item:ipup ceiling_item:ipup scan_values:zpuuppzp scan_back:zpuupzp
        count:up count_range:qpuu select:ipup find_hole:ippp insert_hole:ippup hole_stats:ipuuup index:pp bytes:zp move:-pMp
        verify:ippz""", E=core.ITEM_FN, M=MOVE_FN)


def bytes_of(number):
    return (number.bit_length() + 7) // 8


def draw_value(d):
    return d.value() if d.chance(0.7) else (1 << d.int(0, 64)) - 1


def draw_fit(d):
    """A request, and the number of a free run, if it is fitted to one: by how much its size, and its limits, differ from those."""
    return draw_hole(d) + (d.pick([None, d.int(0, 70)]), d.pick([0, 0, 0, -1, 1]), d.pick([None, None, 0, 0, 1, -1]))


class SmallSubject(RangeSubject):
    name = "small"

    @staticmethod
    def draw_config(d):
        layout = d.pick([0, 0, 1])
        flags = sum(set(d.subset([core.NODE_EACH, core.GAPPED, core.ANY_CONTEXT, core.SMALL_PAGES], 0.3)))
        what = d.pick([0, core.RANKS, core.HOLES, core.HOLES])
        if not flags & core.SMALL_PAGES and d.chance(0.1):
            flags |= core.HUGE_PAGES
        return {"layout": layout, "flags": flags | (what if what != core.HOLES or not layout else 0), "limit": d.pick(LIMITS),
                "each": d.pick([0, 1, 10, 40, 100, 300, 4096, MAX]), "memory": d.pick(["none", "index", "blocks", "both", "both"]),
                "single": d.chance(0.2), "null": d.chance(0.05)}

    def __init__(self, lib, config):
        super().__init__(lib, config)
        null = config["null"]
        if null:
            config = {**config, "layout": 0, "flags": 0, "limit": 32, "memory": "none", "single": False}
        self.memory = core.Memory() if config["memory"] != "none" else None
        self.points, self.flags, self.limit = config["layout"] == 1, config["flags"], config["limit"]
        self.holes, self.ranks = self.flags & core.HOLES, self.flags & core.RANKS
        at = C.addressof(self.memory.struct) if self.memory else None
        self.rcu = C.addressof(C.c_char.in_dll(lib, "lath_rcu_single"))
        self.kind = None if null else Kind(
            core.Config(C.sizeof(core.Config), config["layout"], self.flags, self.rcu if config["single"] else None,
                        None if config["memory"] == "blocks" else at, 0),
            None if config["memory"] == "index" else at, self.limit, config["each"])
        self.each, self.at_growth = config["each"], None
        self.model, self.indexed = core.Ranges(), False  # indexed: it has outgrown its block
        self.out, self.conflict, self.u, self.many = Item(), Item(), U64(), (Item * MOST)()
        self.keys, self.values, self.hits = (U64 * MOST)(), (U64 * MOST)(), (C.c_uint8 * MOST)()
        self.report, self.open, self.set = C.create_string_buffer(300), False, Small()
        expect("init", self.call("init", C.byref(self.kind) if self.kind else None), 0)
        self.open = True

    @property
    def best_exact(self):
        return not self.indexed

    def call(self, name, *args):
        if self.memory:
            self.refused = self.memory.refused  # what this call is refused counts, not what one before got on without
        return getattr(self.lib, "lath_small_" + name)(C.byref(self.set), *args)

    def add(self, judge, name, *args):
        """A call that may add an item, and make an index for it. judge: of its result, unless that is -ENOMEM."""
        before = len(self.model)
        if self.memory and self.at_growth and before in (self.limit, self.each):
            self.memory.arm(*self.at_growth)
            self.at_growth = None
        result = self.call(name, *args)
        if not self.lacks(name, result):
            judge(result)
            self.indexed = self.indexed or before < len(self.model) > self.limit
        elif before >= self.limit and self.call("index"):  # a call that fails may leave the index that the item needed
            self.indexed = True

    def near(self, key, near):
        """Returns the key of the item at or in front of key if there is one, and `near`; else key."""
        there = self.model.floor(key) if near else None
        return key if there is None else there

    # changes

    @op(lambda d: (d.pick([1, 1, 1, 2, 3, 4]), d.int(0, 3), d.chance(0.5)), 5)
    def refuse_memory(self, nth, more, growth):
        """growth: of the call that makes an index, or one of another form."""
        if growth:
            self.at_growth = (nth, more)
        elif self.memory:
            self.memory.arm(nth, more)

    @op(lambda d: draw_item(d)[:2] + (draw_value(d),) + (d.chance(0.8),), 12)
    def insert(self, start, size, value, filled):
        size = 1 if self.points and size < 4 else size
        self.add(lambda result: self.judge_insert("insert", start, size, value, result,
                                                  self.conflict.tuple() if result == EEXIST and filled else None),
                 "insert_item", C.byref(Item(start, size, value)), C.byref(self.conflict) if filled else None)

    @op(lambda d: (d.key(), d.pick([1, 1, 2, 3, 100, 1 << 50]), d.pick([1, 1, 2, 50]), d.pick([1, 8, 31, 64, 200]), d.chance(0.3)), 2)
    def fill(self, start, stride, size, count, down):
        for i in range(count):
            at = start + i * stride * (-1 if down else 1)
            if 0 <= at < TOP:
                self.insert(at, 1 if self.points else min(size, stride), i, True)
                self.calls += 1

    def judge(self, what, result, start, filled):
        """The result of a change of the item at start, which fills self.out if `filled`. Returns whether there is one."""
        there = start in self.model.at
        self.see(what, result, start if there else None, filled)
        return there

    @op(lambda d: (d.key(), d.chance(0.8), d.chance(0.5), d.int(2, 80) if d.chance(0.05) else 1), 7)
    def erase(self, start, filled, near, count):
        for _ in range(count):
            start = self.near(start, near)
            result = self.call("erase_item", start, C.byref(self.out) if filled else None)
            if self.judge("erase", result, start, filled):
                self.model.drop(start)
            self.calls += 1

    @op(lambda d: (d.key(), draw_value(d), d.chance(0.8), d.chance(0.6)))
    def replace(self, start, value, filled, near):
        start, room = self.near(start, near), self.call("value_bytes")
        result = self.call("replace_item", start, value, C.byref(self.out) if filled else None)
        if self.lacks("replace", result):
            if self.indexed or bytes_of(value) <= room or start not in self.model.at:
                raise Mismatch(f"replace: -ENOMEM for a value of {bytes_of(value)} bytes, with room for {room}")
        elif self.judge("replace", result, start, filled):
            self.model.at[start] = (self.model.at[start][0], value)

    @op(lambda d: (d.key(), d.size(), d.pick([None, None, "room", "half"]), d.int(-2, 2)))
    def resize(self, start, size, near, more):
        """near: of an item that is there, to the next one or the half, and a few keys less or more."""
        model = self.model
        start = self.near(start, near)
        if near and start in model.at:
            after = model.ceiling(start + 1)
            size = (TOP if after is None else after) - start if near == "room" else model.at[start][0] // 2
            size = max(0, min(MAX, size + more))
        result, there = self.call("resize", start, size), start in model.at
        if self.lacks("resize", result):
            if not there or size < model.at[start][0]:
                raise Mismatch("resize: -ENOMEM for a smaller size, or for no item")
            return
        errors = [EINVAL] * (self.points or self.invalid(start, size)) + [ENOENT] * (not there)
        expect("resize", result, *(errors or [EEXIST if model.overlaps(start, size) != [start] else 0]))
        if not result:
            model.at[start] = (size, model.at[start][1])

    @op(lambda d: (d.key(), draw_value(d), d.chance(0.5)))
    def split(self, at, value, near):
        """near: at the middle of an item."""
        model = self.model
        at = self.near(at, near)
        if near and at in model.at:
            at += model.at[at][0] // 2
        start = model.cover(at)

        def judge(result):
            expect("split", result, ENOENT if start is None else EEXIST if start == at else 0)
            if not result:
                size, old = model.at[start]
                model.at[start] = (at - start, old)
                model.put(at, start + size - at, value)
        self.add(judge, "split", at, value)

    @op(lambda d: (d.pick(LIMITS + [65, 1000, (1 << 32) - 1]),), 1)
    def set_limit(self, limit):
        if self.kind:
            fine = limit <= BLOCK_MOST
            expect("set_limit", self.lib.lath_small_set_limit(C.byref(self.kind), limit), 0 if fine else EINVAL)
            self.limit = limit if fine else self.limit
            self.same("set_limit, kind->limit", self.kind.limit, self.limit)

    @op(lambda d: (), 1)
    def relocate(self):
        """The struct moves, as bytes."""
        old, self.set = self.set, Small.from_buffer_copy(self.set)
        C.memset(C.byref(old), 0xa5, C.sizeof(Small))

    @op(lambda d: (d.chance(0.8),), 2)
    def move(self, really):
        moved, memory = [], self.memory

        def move(_arg, block, size):
            moved.append((memory.live.get(block) if memory else size, size))
            new = memory.alloc(None, size, 8) if really and memory else None
            if not new:
                return block
            C.memmove(new, block, size)
            C.memset(block, 0xa5, size)
            memory.free(None, block, size)
            return new
        size = self.call("bytes")
        self.call("move", MOVE_FN(move), None)
        self.same("move, the blocks", moved, [(size, size)] if len(self.model) and not self.indexed else [])

    @op(lambda d: (d.chance(0.7),), 0.15)
    def fini(self, each):
        """Ends it, which leaves it empty."""
        seen = []
        fn = core.ITEM_FN(lambda _a, item: seen.append(item[0].tuple())) if each else core.NO_ITEM_FN
        self.end(lambda: self.call("fini", fn, None))
        self.same("fini calls each", sorted(seen), self.model.items() if each else [])
        self.model, self.indexed = core.Ranges(), False

    # reads

    @op(lambda d: (d.key(),), 8)
    def point(self, at):
        model, out = self.model, C.byref(self.out)
        self.see("lookup", self.call("lookup_item", at, out), model.cover(at))
        self.see("ceiling", self.call("ceiling_item", at, out), model.ceiling(at))
        start = model.cover(at)
        expect("get", self.call("get", at, C.byref(self.u)), int(start is not None))
        if start is not None:
            self.same("get", self.u.value, model.at[start][1])

    @op(lambda d: (tuple(d.key() for _ in range(d.int(0, 40))),), 2)
    def get_batch(self, points):
        n = len(points)
        self.keys[:n] = points
        covers = [self.model.cover(p) for p in points]
        expect("get_batch", self.call("get_batch", n, self.keys, self.values, self.hits), sum(c is not None for c in covers))
        self.same("get_batch, hits", self.hits[:n], [int(c is not None) for c in covers])
        self.same("get_batch", [self.values[i] for i in range(n) if self.hits[i]], [self.model.at[c][1] for c in covers if c is not None])

    @op(lambda d: draw_scan(d)[:2] + (d.pick([0, 1, 2, 7, 40, MOST]), d.chance(0.5), d.chance(0.8), d.chance(0.2)), 6)
    def scan(self, low, last, most, back, next_too, on):
        """on: more scans, each from where the one before ended."""
        model, name, there = self.model, ("scan_values", "scan_back")[back], C.byref(self.u) if next_too else None
        at, end = (last, low) if back else (low, last)
        while at is not None:
            keys = (model.between(end, at)[::-1] if back else model.between(at, end))[:most]
            self.u.value = 0x5ca1ab1e
            if not back:
                n = self.call(name, at, end, self.keys if next_too else None, self.values, most, there)
                self.same(name, self.values[:n], [model.at[k][1] for k in keys])
                if next_too:
                    self.same(name + ", keys", self.keys[:n], keys)
            else:
                n = self.call(name, at, end, self.many, most, there)
                self.same(name, [i.tuple() for i in self.many[:n]], [model.item(k) for k in keys])
            self.calls += 1
            if keys and n == most:
                at = keys[-1] - 1 if back else (keys[-1] + 1) % TOP
            else:
                return
            if next_too:
                self.same(name + ", *next", self.u.value, at % TOP)
            if not on or at == (-1 if back else 0):
                return

    @op(lambda d: (d.key(), d.key()), 3)
    def order(self, low, last):
        keys, ranks = self.model.keys, self.ranks
        expect("count_range", self.call("count_range", low, last), len(self.model.between(low, last)) if ranks else EINVAL)
        for rank in (low, last % (len(keys) + 2), len(keys), len(keys) - 1 if keys else MAX):
            result = self.call("select", rank, C.byref(self.out))
            if ranks:
                self.see("select", result, keys[rank] if rank < len(keys) else None)
            else:
                expect("select", result, EINVAL)

    # holes

    def request(self, size, align, low, high, below, hint, policy, which, more, limits):
        runs = self.model.free_runs() if which is not None else []
        if runs:
            first, end = runs[which % len(runs)]
            if limits is not None:
                low, high = max(0, first - limits), min(MAX, end + limits) if end < TOP else 0
            size = max(0, min(MAX, end - first + more))
        return Hole(size, align, low, high, below, hint, policy)

    @op(draw_fit, 5)
    def find_hole(self, size, align, low, high, below, hint, policy, _value, *fit):
        want = self.request(size, align, low, high, below, hint, policy, *fit)
        self.judge_hole("find_hole", want, self.call("find_hole", C.byref(want), C.byref(self.u)), self.u.value)

    @op(draw_fit, 6)
    def insert_hole(self, size, align, low, high, below, hint, policy, value, *fit):
        want = self.request(size, align, low, high, below, hint, policy, *fit)

        def judge(result):
            if self.judge_hole("insert_hole", want, result, self.u.value):
                self.model.put(self.u.value, want.size, value)
        self.add(judge, "insert_hole", C.byref(want), value, C.byref(self.u))

    @op(lambda d: (d.key() if d.chance(0.5) else 0, d.key() if d.chance(0.5) else 0, d.int(0, 3)), 2)
    def hole_stats(self, low, high, leaves):
        stats = HoleStats()
        result = self.call("hole_stats", low, high, leaves, C.byref(stats))
        self.judge_hole_stats(result, stats, low, high)
        if not leaves or not self.indexed:
            self.same("hole_stats.sampled", stats.sampled, 0)

    # what it takes

    @op(lambda d: (), 2)
    def index(self):
        """The calls of an index that change nothing."""
        at, keys, stats = self.call("index"), self.model.keys, Stats()
        if at:
            self.see("last of the index", self.lib.lath_index_floor_item(at, MAX, C.byref(self.out)), keys[-1] if keys else None)
            self.lib.lath_index_get_stats(at, C.byref(stats))
            self.same("stats.items of the index", stats.items, len(keys))
            self.judge_verify(self.lib.lath_index_verify(at, 5, self.report, 300))

    def check(self):
        self.judge_verify(self.call("verify", self.report, 300))
        expect("count", self.call("count"), len(self.model))
        self.same("it is an index", bool(self.call("index")), self.indexed)
        size, width = self.call("bytes"), self.call("value_bytes")
        if self.indexed:
            self.same("value_bytes of an index", width, 8)
            if size < C.sizeof(Index):
                raise Mismatch(f"an index of {size} bytes")
            return
        items, columns = self.model.items(), 0
        needed = max((bytes_of(v) for _, _, v in items), default=0)
        if not self.memory or not self.memory.refused:
            self.same("value_bytes", width, needed)
        elif width < needed:
            raise Mismatch(f"value_bytes: room for {width}, the values need {needed}")
        if items:
            needed += bytes_of(items[-1][0] - items[0][0]) + max(bytes_of(s - 1) for _, s, _ in items)
            columns = 8 + len(items) * needed
        if size < columns or size and not items:
            raise Mismatch(f"bytes: {size}, {len(items)} items need {columns}")
        if self.memory:
            self.same("bytes that the allocator gave", sum(self.memory.live.values()), size)

    def check_all(self):
        self.check()
        self.report[0] = b"\0"
        expect("verify without a report", self.call("verify", None, 0), 0)
        self.scan(0, MAX, MOST, 0, False, False)
        self.index()

    def close(self):
        if self.open:
            self.fini(True)


def setup(lib):
    bind(lib)
    index_calls.bind(lib)
    return [SmallSubject]
