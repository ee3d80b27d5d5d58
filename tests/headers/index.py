# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""index.h with cursor.h and hole.h: disjoint ranges of 64-bit keys, beside a sorted list and a dict."""
import ctypes as C
import errno
import json

import core
from core import MAX, NO_ITEM_FN, TOP, U64, Item, Mismatch, expect, op
from index_calls import Cursor, Hole, HoleStats, Index, JOIN_FN, PIN_FN, Pin, Preload, Stats, UNPIN_FN, VISIT_FN, WRITE_FN, bind

ENOENT, EEXIST, EINVAL, ENOMEM = -errno.ENOENT, -errno.EEXIST, -errno.EINVAL, -errno.ENOMEM
EAGAIN, EBUSY, ENOSPC, ECANCELED = -errno.EAGAIN, -errno.EBUSY, -errno.ENOSPC, -errno.ECANCELED
MOST = 4096


def key(d):
    return (d.key(),)


def draw_item(d):
    start, size = d.key(), d.size()
    if d.chance(0.04):  # it ends with the last key
        start, size = (start, TOP - start) if TOP - start < 10000 else (MAX - size % 10000, size % 10000 + 1)
    return (start, size, d.value())


def draw_many(d):
    return tuple(draw_item(d) for _ in range(d.int(0, 12)))


def draw_scan(d):
    a, b = d.key(), d.key()
    if d.chance(0.8):
        a, b = min(a, b), max(a, b)
    return (a, b if d.chance(0.8) else MAX, d.pick([0, 1, 2, 3, 16, 100, MOST]))


def draw_hole(d):
    policy = d.int(0, 5) if d.chance(0.97) else d.pick([-1, 6])
    low, high = d.key(), d.key()
    if d.chance(0.9) and high:
        low, high = min(low, high), max(low, high)
    if d.chance(0.5):
        low = 0
    if d.chance(0.5):
        high = 0
    below = d.key() if d.chance(0.25) else 0
    align = d.pick([0, 1, 1, 1, 2, 4, 8, 64, 4096, 1 << 31, 1 << 32, 1 << 63]) if d.chance(0.95) else d.pick([3, 12, MAX, (1 << 63) + 1])
    return (d.size(), align, low, high, below, d.key(), policy, d.value())


def draw_config(d):
    flags = 0
    for flag in d.subset([core.HUGE_PAGES, core.NODE_EACH, core.HOLES, core.SMALL_PAGES, core.GAPPED, core.RANKS,
                          core.ANY_CONTEXT, core.NODE_EACH], 0.3):
        flags |= flag
    layout = d.pick([0, 0, 1])
    if not layout and not flags & core.RANKS and d.chance(0.5):  # a third of the calls is about them
        flags |= core.HOLES
    flags &= ~(core.HOLES * (layout or flags & core.RANKS > 0) | core.SMALL_PAGES * (flags & core.HUGE_PAGES > 0))
    return {"layout": layout, "flags": flags, "memory": d.chance(0.5), "single": d.chance(0.2), "null": d.chance(0.05)}


class RangeSubject(core.MemorySubject):
    """What the drivers of an index and of small sets share: how results are judged. Has model, points, holes, ranks and out."""

    best_exact = False  # of several holes BEST takes the policy's choice exactly, however many there are

    def invalid(self, start, size):
        return size == 0 or start + size > TOP or (self.points and size != 1)

    def see(self, what, result, model, filled=True):
        """A call that finds the item at model, or none, and fills self.out with it if `filled`."""
        expect(what, result, ENOENT if model is None else 0)
        if model is not None and filled:
            self.same(what, self.out.tuple(), self.model.item(model))

    def judge_insert(self, what, start, size, value, result, conflict):
        if self.invalid(start, size):
            expect(what, result, EINVAL)
        elif self.model.first_overlap(start, size) is not None:
            expect(what, result, EEXIST)
            if conflict and conflict not in [self.model.item(k) for k in self.model.overlaps(start, size)]:
                raise Mismatch(f"{what}: the conflict {conflict} does not overlap or is not there")
        else:
            expect(what, result, 0)
            self.model.put(start, size, value)

    def request_error(self, want):
        high = want.high or TOP
        align = want.align or 1
        if want.size == 0 or align & (align - 1) or want.low >= high or not 0 <= want.policy <= 5:
            return EINVAL
        return 0

    def place(self, want, low, high):
        """Returns the places that the policy allows in [low, high): a set of keys, or None."""
        align = want.align or 1
        model = self.model
        up = lambda k: (k + align - 1) // align * align  # noqa: E731
        spans = []  # (first place, last place) of each free run
        for a, b in model.free_runs(low, high):
            first, last = up(a), (b - want.size) // align * align if b >= want.size else -1
            if first <= last:
                spans.append((first, last))
        if not spans:
            return None
        if want.policy == 0:
            return {spans[0][0]}
        if want.policy == 1:
            return {spans[-1][1]}
        if want.policy == 3:
            later = [max(f, up(want.hint)) for f, last in spans if max(f, up(want.hint)) <= last]
            return {later[0] if later else spans[0][0]}
        if want.policy == 4:
            down = want.hint // align * align
            near = {min(max(k, f), last) for f, last in spans for k in (down, down + align)}
            best = min(abs(k - want.hint) for k in near)
            return {k for k in near if abs(k - want.hint) == best}
        if want.policy == 5:
            return {want.hint} if any(f <= want.hint <= last for f, last in spans) else None
        # BEST: the length of a hole is that of the whole run, or of its part within the limits
        found = set()
        crowd = not self.best_exact and align > 1 and len([1 for a, b in model.free_runs() if b - a >= want.size]) >= 32
        for clipped in (False, True):
            fits = []
            for a, b in model.free_runs():
                lo, hi = max(a, low), min(b, high)
                if lo < hi and up(lo) + want.size <= hi:
                    fits.append((hi - lo if clipped else b - a, up(lo)))
                    if crowd:
                        found.add(up(lo))
            found.add(min(fits)[1])
        return found

    def judge_hole(self, what, want, result, got):
        high = want.high or TOP
        error = self.request_error(want)
        if not self.holes or error:
            expect(what, result, EINVAL)
            return False
        if want.policy == 5:
            if want.hint % (want.align or 1) or not want.low <= want.hint < high:
                expect(what, result, EINVAL)
                return False
            if want.hint + want.size > high:
                expect(what, result, EINVAL, ENOSPC)
                return False
        places = None
        if want.below and want.below > want.low:
            places = self.place(want, want.low, min(want.below, high))
        places = places or self.place(want, want.low, high)
        expect(what, result, 0 if places else ENOSPC)
        if not result and got not in places:
            raise Mismatch(f"{what}: the library says {got}, the model {sorted(places)[:4]}")
        return not result

    def judge_hole_stats(self, result, stats, low, high):
        if not self.holes or low >= (high or TOP):
            expect("hole_stats", result, EINVAL)
            return
        expect("hole_stats", result, 0)
        runs = self.model.free_runs(low, high or TOP)
        lengths = [b - a for a, b in runs]
        free = sum(lengths)
        order = 64
        for o in range(63, -1, -1):
            if any((a + (1 << o) - 1 >> o << o) + (1 << o) <= b for a, b in runs):
                order = o
                break
        if free < TOP:
            self.same("hole_stats.largest", stats.largest, max(lengths, default=0))
            self.same("hole_stats.largest_order", stats.largest_order, order)
            if not stats.sampled:
                self.same("hole_stats.free, holes", (stats.free, stats.holes), (free, len(runs)))
                histogram = [0] * 64
                for n in lengths:
                    histogram[n.bit_length() - 1] += 1
                self.same("hole_stats.histogram", list(stats.histogram), histogram)
                part = 1000 * (free - stats.largest) / max(free, 1)
                if abs(stats.fragmentation_permille - part) >= 1 + (free > MAX // 1000):  # there 1000 * free has more than 64 bits
                    raise Mismatch(f"hole_stats.fragmentation_permille: {stats.fragmentation_permille}, the model {part}")


class IndexSubject(RangeSubject):
    name = "index"

    def __init__(self, lib, config):
        super().__init__(lib, config)
        self.memory = core.Memory() if config["memory"] else None
        self.set, self.raw = core.aligned(Index)
        self.at = C.addressof(self.set)
        self.model = core.Ranges()
        self.out, self.conflict, self.old = Item(), Item(), Item()
        self.many = (Item * MOST)()
        self.u = U64()
        self.keys, self.values, self.hits = (U64 * MOST)(), (U64 * MOST)(), (C.c_uint8 * MOST)()
        self.results = (C.c_int * MOST)()
        self.report = C.create_string_buffer(300)
        self.places = [None, None]
        config = dict(config)
        if config["null"]:
            config.update(layout=0, flags=0, memory=False, single=False)
            self.memory = None
        self.points, self.flags = config["layout"] == 1, config["flags"]
        self.c_config = self.make_config(self.flags, config["layout"], config["single"])
        self.open = False
        expect("init", lib.lath_index_init(self.at, None if config["null"] else C.byref(self.c_config)), 0)
        self.open = True
        self.holes, self.ranks = self.flags & core.HOLES, self.flags & core.RANKS
        self.cursors = [Cursor(), Cursor()]
        for cursor in self.cursors:
            lib.lath_cursor_init(C.byref(cursor), self.at)

    draw_config = staticmethod(draw_config)

    def make_config(self, flags, layout, single):
        rcu = C.addressof(C.c_char.in_dll(self.lib, "lath_rcu_single")) if single else None
        return core.Config(C.sizeof(core.Config), layout, flags, rcu,
                           C.addressof(self.memory.struct) if self.memory else None, 0)

    # changes

    @op(lambda d: draw_item(d) + (d.chance(0.12), d.chance(0.12)), 16)
    def insert(self, start, size, value, preloaded=False, null=False):
        lib, item = self.lib, Item(start, size, value)
        there = None if null else C.byref(self.conflict)
        if preloaded:
            preload, result, tries = Preload(), EAGAIN, 0
            while result == EAGAIN and tries < 4:  # each may split the leaf once
                result = lib.lath_index_preload(self.at, C.byref(preload))
                if self.lacks("preload", result):
                    lib.lath_index_preload_release(self.at, C.byref(preload))
                    return
                expect("preload", result, 0)
                refused = self.memory and self.memory.fail_in
                if self.memory:
                    self.memory.fail_in = 1  # "Insert without allocating"
                result = lib.lath_index_insert_preloaded(self.at, C.byref(item), C.byref(preload), there)
                if self.memory:
                    self.memory.fail_in = refused
                tries += 1
            lib.lath_index_preload_release(self.at, C.byref(preload))
        else:
            result = lib.lath_index_insert_item(self.at, C.byref(item), there)
            if self.lacks("insert", result):
                return
        self.judge_insert("insert", start, size, value, result, self.conflict.tuple() if result == EEXIST and not null else None)

    @op(lambda d: (d.key(), d.pick([1, 1, 2, 3, 100, 1 << 50]), d.pick([1, 1, 2, 50]), d.int(1, 300), d.chance(0.3)), 2)
    def fill(self, start, stride, size, count, down):
        size = 1 if self.points else min(size, stride)
        for i in range(count):
            at = start + i * stride * (-1 if down else 1)
            if 0 <= at < TOP:
                self.insert(at, size, i)
                self.calls += 1

    @op(lambda d: (d.key(), d.chance(0.8)), 5)
    def erase(self, start, filled):
        result = self.lib.lath_index_erase_item(self.at, start, C.byref(self.out) if filled else None)
        there = start in self.model.at
        self.see("erase", result, start if there else None, filled)
        if there:
            self.model.drop(start)

    @op(lambda d: (d.key(), d.chance(0.8)), 5)
    def erase_at(self, point, filled):
        result = self.lib.lath_index_erase_item_at(self.at, point, C.byref(self.out) if filled else None)
        start = self.model.cover(point)
        self.see("erase_at", result, start, filled)
        if start is not None:
            self.model.drop(start)

    @op(lambda d: (d.key(), d.value(), d.chance(0.8)))
    def replace(self, start, value, filled):
        result = self.lib.lath_index_replace_item(self.at, start, value, C.byref(self.out) if filled else None)
        there = start in self.model.at
        self.see("replace", result, start if there else None, filled)
        if there:
            self.model.at[start] = (self.model.at[start][0], value)

    def conditional(self, what, result, start, holds):
        if start not in self.model.at:
            expect(what, result, ENOENT)
        elif holds(*self.model.at[start]):
            expect(what, result, 0)
            return True
        else:
            expect(what, result, EAGAIN)
            self.same(f"{what}, *there", self.out.tuple(), self.model.item(start))
        return False

    @op(lambda d: (d.key(), d.value(), d.value(), d.chance(0.5)))
    def replace_if(self, start, expected, value, right):
        if right and start in self.model.at:
            expected = self.model.at[start][1]
        result = self.lib.lath_index_replace_if(self.at, start, expected, value, C.byref(self.out))
        if self.conditional("replace_if", result, start, lambda s, v: v == expected):
            self.model.at[start] = (self.model.at[start][0], value)

    @op(lambda d: (d.key(), d.value(), d.chance(0.5)))
    def erase_if(self, start, expected, right):
        if right and start in self.model.at:
            expected = self.model.at[start][1]
        result = self.lib.lath_index_erase_if(self.at, start, expected, C.byref(self.out))
        if self.conditional("erase_if", result, start, lambda s, v: v == expected):
            self.model.drop(start)

    @op(lambda d: (d.key(), d.size(), d.chance(0.5)))
    def erase_sized(self, start, size, right):
        if right and start in self.model.at:
            size = self.model.at[start][0]
        result = self.lib.lath_index_erase_sized(self.at, start, size, C.byref(self.out))
        if self.conditional("erase_sized", result, start, lambda s, v: s == size):
            self.model.drop(start)

    @op(lambda d: (d.key(), d.size(), d.value(), d.chance(0.7), d.chance(0.3)))
    def erase_part(self, at, size, value, right, rest):
        """right: of what is there, with its value; rest: to its end."""
        start = self.model.cover(at)
        if right and start is not None:
            most = start + self.model.at[start][0] - at
            size, value = most if rest else min(size, most), self.model.at[start][1]
        result = self.lib.lath_index_erase_part(self.at, C.byref(Item(at, size, value)), C.byref(self.out))
        if self.lacks("erase_part", result):
            return
        if self.invalid(at, size):
            expect("erase_part", result, EINVAL)
        elif start is None or at + size > start + self.model.at[start][0]:
            expect("erase_part", result, ENOENT)
        elif self.conditional("erase_part", result, start, lambda s, v: v == value):
            self.same("erase_part, *there", self.out.tuple(), self.model.item(start))
            whole, old = self.model.at[start]
            self.model.drop(start)
            if start < at:
                self.model.put(start, at - start, old)
            if at + size < start + whole:
                self.model.put(at + size, start + whole - at - size, old)

    @op(lambda d: (d.key(), d.size(), d.chance(0.5), d.int(-3, 3)))
    def resize(self, start, size, cover, near):
        """near: to the neighbour and a few keys less or more."""
        if cover:
            start = self.model.floor(start)
            start = 0 if start is None else start
            after = self.model.ceiling(start + 1)
            size = max(0, min(MAX, (TOP if after is None else after) - start + near))
        result = self.lib.lath_index_resize(self.at, start, size)
        if self.lacks("resize", result):
            return
        allowed = []
        if self.points:  # not said by the header: not even to size 1
            expect("resize of a point", result, EINVAL)
            return
        if start not in self.model.at:
            allowed.append(ENOENT)
        if self.invalid(start, size):
            allowed.append(EINVAL)
        elif start in self.model.at and any(k != start for k in self.model.overlaps(start, size)):
            allowed.append(EEXIST)
        expect("resize", result, *(allowed or [0]))
        if not allowed:
            self.model.at[start] = (size, self.model.at[start][1])

    @op(lambda d: (d.key(), d.value()))
    def split(self, at, value):
        result = self.lib.lath_index_split(self.at, at, value)
        if self.lacks("split", result):
            return
        start = self.model.cover(at)
        expect("split", result, ENOENT if start is None else EEXIST if start == at else 0)
        if not result:
            size, old = self.model.at[start]
            self.model.at[start] = (at - start, old)
            self.model.put(at, start + size - at, value)

    @op(lambda d: (d.key(), d.int(0, 2)), 0.2)
    def join_whole(self, at, answer):
        """Two items that cover all keys: joined they would have the size 2^64."""
        if at and not self.points and not len(self.model):
            self.insert(0, at, 8)
            self.insert(at, TOP - at, 12)
            self.join(at, answer, True, False)
            self.clear(True)

    @op(lambda d: (d.key(), d.int(0, 2), d.chance(0.7), d.chance(0.6)))
    def join(self, at, answer, filled, near):
        """answer: 0 the function refuses, 1 it agrees, 2 there is none. near: at an item that has a neighbour, if there is one."""
        model = self.model
        if near:
            for k in model.keys[max(0, len(model.keys) // 2):][:50]:
                if model.floor(k - 1) is not None and model.floor(k - 1) + model.at[model.floor(k - 1)][0] == k:
                    at = k
                    break
        seen = []

        def may(_arg, left, right):
            seen.append((left[0].tuple(), right[0].tuple()))
            return answer
        fn = JOIN_FN() if answer == 2 else JOIN_FN(may)
        result = self.lib.lath_index_join(self.at, at, fn, None, C.byref(self.out) if filled else None)
        left = model.floor(at - 1) if at else None
        pair = left is not None and at in model.at and left + model.at[left][0] == at
        whole = pair and model.at[left][0] + model.at[at][0] == TOP
        if self.points:
            expect("join", result, EINVAL)
        elif not pair:
            expect("join", result, ENOENT)
        elif whole:
            expect("join", result, EINVAL, *([ECANCELED] if answer == 0 else []))
        else:
            expect("join", result, 0 if answer else ECANCELED)
            if answer != 2:
                self.same("join asks", seen[-1:], [(model.item(left), model.item(at))])
        if not result:
            gone = model.drop(at)
            model.at[left] = (model.at[left][0] + gone[1], model.at[left][1])
            if filled:
                self.same("join, *gone", self.out.tuple(), gone)

    @op(lambda d: (d.key(), d.size(), d.chance(0.7)), 1)
    def erase_range(self, start, size, each):
        seen = []
        fn = core.ITEM_FN(lambda _a, item: seen.append(item[0].tuple())) if each else NO_ITEM_FN
        result = self.lib.lath_index_erase_range(self.at, start, size, fn, None)
        if size == 0 or start + size > TOP:
            expect("erase_range", result, EINVAL)
            return
        keys = self.model.overlaps(start, size)
        expect("erase_range", result, len(keys))
        gone = [self.model.drop(k) for k in keys]
        if each:
            self.same("erase_range calls each", seen, gone)

    @op(lambda d: (d.chance(0.5),), 0.1)
    def clear(self, each):
        seen = []
        fn = core.ITEM_FN(lambda _a, item: seen.append(item[0].tuple())) if each else NO_ITEM_FN
        expect("clear", self.lib.lath_index_clear(self.at, fn, None), len(self.model))
        if each:
            self.same("clear calls each", seen, self.model.items())
        self.model.__init__()

    @op(lambda d: draw_item(d) + (d.chance(0.5),))
    def store_range(self, start, size, value, each):
        seen, model, item = [], self.model, Item(start, size, value)
        fn = core.ITEM_FN(lambda _a, i: seen.append(i[0].tuple())) if each else NO_ITEM_FN
        result = self.lib.lath_index_store_range(self.at, C.byref(item), fn, None)
        if self.lacks("store_range", result):
            self.same("store_range without memory calls each", seen, [])
            return
        if self.invalid(start, size):
            expect("store_range", result, EINVAL)
            return
        expect("store_range", result, 0)
        end, gone = start + size, []
        for k in model.overlaps(start, size):
            old, had, was = model.drop(k)
            last = old + had
            if old < start:
                model.put(old, start - old, was)
            if last > end:
                model.put(end, last - end, was)
            if old >= start and last <= end:
                gone.append((old, had, was))
        model.put(start, size, value)
        if each:
            self.same("store_range calls each", sorted(seen), gone)

    # batches

    @op(lambda d: (tuple(d.key() for _ in range(d.int(0, 40))),))
    def lookup_batch(self, points):
        n = len(points)
        self.keys[:n] = points
        covers = [self.model.cover(p) for p in points]
        hits = sum(c is not None for c in covers)
        expect("lookup_batch", self.lib.lath_index_lookup_batch(self.at, n, self.keys, self.many), hits)
        for i, c in enumerate(covers):
            if c is None:
                self.same("lookup_batch, size of an absent one", self.many[i].size, 0)
            else:
                self.same("lookup_batch", self.many[i].tuple(), self.model.item(c))
        expect("get_batch", self.lib.lath_index_get_batch(self.at, n, self.keys, self.values, self.hits), hits)
        for i, c in enumerate(covers):
            self.same("get_batch, hits", self.hits[i], int(c is not None))
            if c is not None:
                self.same("get_batch", self.values[i], self.model.at[c][1])

    @op(lambda d: (draw_many(d), d.chance(0.8)), 2)
    def insert_batch(self, items, filled):
        n = len(items)
        for i, item in enumerate(items):
            self.many[i] = Item(*item)
        refused = self.memory.refused if self.memory else 0
        done = self.lib.lath_index_insert_batch(self.at, n, self.many, self.results if filled or refused or self.memory else None)
        filled = filled or self.memory
        before = len(self.model)
        for i, item in enumerate(items):
            if filled and self.results[i] == ENOMEM and self.memory and self.memory.refused > refused:
                continue
            if filled:
                self.judge_insert(f"insert_batch, element {i}", *item, self.results[i], None)
            elif not self.invalid(*item[:2]) and self.model.first_overlap(*item[:2]) is None:
                self.model.put(*item)
        expect("insert_batch", done, len(self.model) - before)

    @op(lambda d: (tuple(d.key() for _ in range(d.int(0, 12))), d.chance(0.8)), 2)
    def erase_batch(self, keys, filled):
        n = len(keys)
        self.keys[:n] = keys
        done = self.lib.lath_index_erase_batch(self.at, n, self.keys, self.results if filled else None)
        before = len(self.model)
        for i, k in enumerate(keys):
            there = k in self.model.at
            if there:
                self.model.drop(k)
            if filled:
                expect(f"erase_batch, element {i}", self.results[i], 0 if there else ENOENT)
        expect("erase_batch", done, before - len(self.model))

    @op(lambda d: (draw_many(d), d.chance(0.7), d.chance(0.6), d.int(0, 3)), 1)
    def load_sorted(self, items, order, clear, times):
        """times: the items again and again at higher keys, so that a load makes several leaves."""
        if clear:
            self.clear(False)
        if times and items:
            step = max(k + s for k, s, _ in items)
            items = tuple((k + step * i, s, v) for i in range(times * 40) for k, s, v in items if k + step * i < TOP)
        if order:
            items = tuple(sorted(items))
        items = items[:MOST]
        for i, item in enumerate(items):
            self.many[i] = Item(*item)
        bad = C.c_size_t(77)
        result = self.lib.lath_index_load_sorted(self.at, len(items), self.many, C.byref(bad))
        if self.lacks("load_sorted", result):
            return
        wrong = None
        end = 0
        for i, (k, s, _) in enumerate(items):
            if self.invalid(k, s) or k < end:
                wrong = i
                break
            end = k + s
        if len(self.model):
            expect("load_sorted", result, EBUSY, *([EINVAL] if wrong is not None else []))
        elif wrong is not None:
            expect("load_sorted", result, EINVAL)
            self.same("load_sorted, *bad", bad.value, wrong)
        else:
            expect("load_sorted", result, 0)
            for item in items:
                self.model.put(*item)

    # reads

    @op(key, 5)
    def lookup(self, point):
        self.see("lookup", self.lib.lath_index_lookup_item(self.at, point, C.byref(self.out)), self.model.cover(point))

    @op(key, 5)
    def get(self, point):
        start = self.model.cover(point)
        expect("get", self.lib.lath_index_get(self.at, point, C.byref(self.u)), int(start is not None))
        if start is not None:
            self.same("get", self.u.value, self.model.at[start][1])

    @op(lambda d: (d.key(), d.size()), 3)
    def overlap(self, start, size):
        result = self.lib.lath_index_overlap_item(self.at, start, size, C.byref(self.out))
        if size == 0 or start + size > TOP:
            expect("overlap", result, EINVAL)
        else:
            self.see("overlap", result, self.model.first_overlap(start, size))

    @op(key)
    def ceiling(self, at):
        self.see("ceiling", self.lib.lath_index_ceiling_item(self.at, at, C.byref(self.out)), self.model.ceiling(at))

    @op(key)
    def floor(self, at):
        self.see("floor", self.lib.lath_index_floor_item(self.at, at, C.byref(self.out)), self.model.floor(at))

    @op(lambda d: (), 2)
    def ends(self):
        keys = self.model.keys
        self.see("first", self.lib.lath_index_ceiling_item(self.at, 0, C.byref(self.out)), keys[0] if keys else None)
        self.see("last", self.lib.lath_index_floor_item(self.at, MAX, C.byref(self.out)), keys[-1] if keys else None)

    @op(lambda d: (d.key(), d.chance(0.7)), 1)
    def lookup_pin(self, point, may):
        taken = []

        def take(_arg, item):
            if may:
                taken.append(item[0].tuple())
            return int(may)
        pin = Pin(PIN_FN(take), UNPIN_FN(lambda _a, item: taken.remove(item[0].tuple())), None)
        result = self.lib.lath_index_lookup_pin(self.at, point, C.byref(pin), C.byref(self.out))
        start = self.model.cover(point)
        if start is None:
            expect("lookup_pin", result, ENOENT)
            self.same("lookup_pin, references", taken, [])
        else:
            expect("lookup_pin", result, 0 if may else EBUSY)
            self.same("lookup_pin, *found", self.out.tuple(), self.model.item(start))
            self.same("lookup_pin, references", taken, [self.model.item(start)] if may else [])

    @op(draw_scan, 2)
    def scan(self, low, last, most):
        keys = self.model.between(low, last)[:most]
        n = self.lib.lath_index_scan(self.at, low, last, self.many, most, C.byref(self.u))
        self.same("scan", [i.tuple() for i in self.many[:n]], [self.model.item(k) for k in keys])
        if keys and n == most:
            self.same("scan, *next", self.u.value, (keys[-1] + self.model.at[keys[-1]][0]) % TOP)

    @op(draw_scan, 2)
    def scan_back(self, first, start, most):
        keys = self.model.between(first, start)[::-1][:most]
        n = self.lib.lath_index_scan_back(self.at, start, first, self.many, most, C.byref(self.u))
        self.same("scan_back", [i.tuple() for i in self.many[:n]], [self.model.item(k) for k in keys])
        if keys and n == most:
            self.same("scan_back, *next", self.u.value, (keys[-1] - 1) % TOP)

    @op(lambda d: draw_scan(d) + (d.chance(0.7),), 2)
    def scan_values(self, low, last, most, with_keys):
        keys = self.model.between(low, last)[:most]
        n = self.lib.lath_index_scan_values(self.at, low, last, self.keys if with_keys else None, self.values, most,
                                            C.byref(self.u) if with_keys else None)
        self.same("scan_values, values", self.values[:n], [self.model.at[k][1] for k in keys])
        if with_keys:
            self.same("scan_values, keys", self.keys[:n], keys)
            if keys and n == most:
                self.same("scan_values, *next", self.u.value, (keys[-1] + 1) % TOP)

    @op(lambda d: draw_scan(d) + (d.int(0, 3),), 1)
    def visit_values(self, low, last, expected, stop):
        seen, calls = [], []

        def visit(_arg, keys, values, n):
            seen.extend((keys[i], values[i]) for i in range(n))
            calls.append(n)
            return 7 if len(calls) == stop else 0
        result = self.lib.lath_index_visit_values(self.at, low, last, expected, VISIT_FN(visit), None)
        model = [(k, self.model.at[k][1]) for k in self.model.between(low, last)]
        if stop and len(calls) == stop:
            expect("visit_values", result, 7)
            self.same("visit_values, stopped", seen, model[:len(seen)])
        else:
            expect("visit_values", result, 0)
            self.same("visit_values", seen, model)

    @op(lambda d: (d.key(), d.key()), 3)
    def order(self, low, last):
        lib, model = self.lib, self.model
        before = lambda k: len(model.between(0, k - 1)) if k else 0  # noqa: E731
        expect("rank", lib.lath_index_rank(self.at, low), before(low) if self.ranks else EINVAL)
        expect("count_range", lib.lath_index_count_range(self.at, low, last),
               len(model.between(low, last)) if self.ranks else EINVAL)
        for rank in (low, last % (len(model) + 2)):
            result = lib.lath_index_select(self.at, rank, C.byref(self.out))
            if not self.ranks:
                expect("select", result, EINVAL)
            else:
                self.see("select", result, model.keys[rank] if rank < len(model) else None)

    @op(lambda d: (d.int(0, 3), d.key(), d.int(0, 200)), 1)
    def upkeep(self, which, at, budget):
        lib = self.lib
        if which == 0:
            lib.lath_index_prefetch(self.at, at)
        elif which == 1:
            lib.lath_index_prepare(self.at)
        elif which == 2:
            cursor = U64(0)
            for _ in range(100000):
                lib.lath_index_trim(self.at, budget, C.byref(cursor))
                if not cursor.value:
                    break
            else:
                raise Mismatch("trim: a pass does not end")
        else:
            stats = Stats()
            lib.lath_index_get_stats(self.at, C.byref(stats))
            self.same("stats.items", stats.items, len(self.model))
            expect("count", lib.lath_index_count(self.at), len(self.model))

    @op(lambda d: (), 0.2)
    def dump(self):
        text, live = [], []
        self.lib.lath_index_dump(self.at, WRITE_FN(lambda _a, t: text.append(t)), None)
        for node in map(json.loads, b"".join(text).splitlines()):
            if node["level"] == 0:
                live += [tuple(e[:3]) for e in node["entries"] if e[3]]
        self.same("dump", live, self.model.items())

    @op(lambda d: (d.int(0, 2),), 0.3)
    def clone(self, how):
        copy, raw = core.aligned(Index)
        config = None
        if how:
            config = self.make_config((self.flags ^ core.GAPPED ^ core.NODE_EACH), 1 if self.points and how == 1 else 0, False)
            if not self.points:
                config.flags = config.flags ^ core.RANKS if not self.holes else config.flags
        result = self.lib.lath_index_clone(C.addressof(copy), self.at, C.byref(config) if config else None)
        if self.lacks("clone", result):
            return
        expect("clone", result, 0)
        items = (Item * (len(self.model) + 1))()
        n = self.lib.lath_index_scan(C.addressof(copy), 0, MAX, items, len(self.model) + 1, None)
        got = [i.tuple() for i in items[:n]]
        broken = self.lib.lath_index_verify(C.addressof(copy), self.level(), self.report, 300)
        self.lib.lath_index_fini(C.addressof(copy), NO_ITEM_FN, None)
        self.same("clone, items", got, self.model.items())
        self.same("clone, verify", (broken, self.report.value if broken else b""), (0, b""))
        del raw

    # cursors

    @op(lambda d: (d.int(0, 1), d.int(0, 3), d.key()), 5)
    def cursor(self, which, step, at):
        cursor, place, model = C.byref(self.cursors[which]), self.places[which], self.model
        name = ("seek", "seek_floor", "next", "prev")[step]
        fn = getattr(self.lib, "lath_cursor_" + name)
        result = fn(cursor, at, C.byref(self.out)) if step < 2 else fn(cursor, C.byref(self.out))
        if step == 0:
            found = model.ceiling(at)
        elif step == 1:
            found = model.floor(at)
        elif place is None:
            found = (model.keys[0] if step == 2 else model.keys[-1]) if model.keys else None
        elif step == 2:
            found = model.ceiling(place + 1)
        else:
            found = model.floor(place - 1)
        expect(f"cursor {name}", result, int(found is not None))
        if found is not None:
            self.same(f"cursor {name}", self.out.tuple(), model.item(found))
            self.places[which] = found

    @op(lambda d: (d.key(), d.key(), d.key(), d.int(0, 4), draw_item(d), d.chance(0.5)), 3)
    def locked(self, at, a, b, end, item, bounds):
        lib, cursor, model = self.lib, Cursor(), self.model
        low, last = U64(), U64()
        lib.lath_cursor_init(C.byref(cursor), self.at)
        if end == 4:
            expect("cursor insert, nothing locked", lib.lath_cursor_insert(C.byref(cursor), C.byref(Item(*item)), C.byref(self.out)), EINVAL)
            expect("cursor erase, nothing locked", lib.lath_cursor_erase(C.byref(cursor), at, C.byref(self.out)), EINVAL)
            expect("locked_floor, nothing locked", lib.lath_cursor_locked_floor(C.byref(cursor), at, C.byref(self.out)), 0)
            lib.lath_cursor_unlock(C.byref(cursor))
            return
        result = lib.lath_cursor_lock(C.byref(cursor), at, C.byref(low), C.byref(last))
        if self.lacks("cursor_lock", result):
            return
        expect("cursor_lock", result, 0)
        problem = None
        try:
            low, last = low.value, last.value
            expect("cursor_lock twice", lib.lath_cursor_lock(C.byref(cursor), at, None, None), EINVAL)
            if not low <= at <= last:
                raise Mismatch(f"cursor_lock({at}) reports the keys [{low}, {last}]")
            inside = model.between(low, last)
            for k in (a, b, at):
                best = max((i for i in inside if i <= k), default=None)
                got = lib.lath_cursor_locked_floor(C.byref(cursor), k, C.byref(self.out))
                expect(f"locked_floor({k}) in [{low}, {last}]", got, int(best is not None))
                if best is not None:
                    self.same(f"locked_floor({k})", self.out.tuple(), model.item(best))
        except Mismatch as e:
            problem = e
        if end == 0 or problem:
            lib.lath_cursor_unlock(C.byref(cursor))
        elif end == 1:
            result = lib.lath_cursor_erase(C.byref(cursor), a, C.byref(self.out))
            there = a in model.at and low <= a <= last
            self.see("cursor_erase", result, a if there else None)
            if there:
                model.drop(a)
        else:
            start, size, value = item
            if end == 2:
                start = at
            refused = self.memory and self.memory.fail_in
            if self.memory:
                self.memory.fail_in = 1  # "Allocates before what an insert may need"
            result = lib.lath_cursor_insert(C.byref(cursor), C.byref(Item(start, size, value)), C.byref(self.conflict))
            if self.memory:
                self.memory.fail_in = refused
            if not low <= start <= last:
                expect("cursor_insert, begins in another leaf", result, EINVAL)
            elif result != EAGAIN:
                self.judge_insert("cursor_insert", start, size, value, result, self.conflict.tuple() if result == EEXIST else None)
        # the cursor is unlocked in any case: it can be locked again
        lib.lath_cursor_unlock(C.byref(cursor))
        if problem:
            raise problem

    # holes

    @op(draw_hole, 4)
    def find_hole(self, size, align, low, high, below, hint, policy, _value):
        want = Hole(size, align, low, high, below, hint, policy)
        result = self.lib.lath_index_find_hole(self.at, C.byref(want), C.byref(self.u))
        self.judge_hole("find_hole", want, result, self.u.value)

    @op(draw_hole, 6)
    def insert_hole(self, size, align, low, high, below, hint, policy, value):
        want = Hole(size, align, low, high, below, hint, policy)
        result = self.lib.lath_index_insert_hole(self.at, C.byref(want), value, C.byref(self.u))
        if not self.lacks("insert_hole", result) and self.judge_hole("insert_hole", want, result, self.u.value):
            self.model.put(self.u.value, size, value)

    @op(lambda d: (d.key() if d.chance(0.5) else 0, d.key() if d.chance(0.5) else 0, d.int(0, 3)), 1)
    def hole_stats(self, low, high, leaves):
        stats = HoleStats()
        self.judge_hole_stats(self.lib.lath_index_hole_stats(self.at, low, high, leaves, C.byref(stats)), stats, low, high)
        if not leaves:
            self.same("hole_stats.sampled", stats.sampled, 0)

    def level(self):
        """All of verify, but for what a change without memory may leave."""
        return 5 if self.memory and self.memory.refused else 6

    def check(self):
        self.judge_verify(self.lib.lath_index_verify(self.at, self.level(), self.report, 300))

    def check_all(self):
        self.check()
        n = self.lib.lath_index_scan(self.at, 0, MAX, self.many, MOST, None)
        self.same("the content", [i.tuple() for i in self.many[:n]], self.model.items()[:MOST])
        expect("count", self.lib.lath_index_count(self.at), len(self.model))

    def close(self):
        if not self.open:
            return
        seen = []
        self.end(lambda: self.lib.lath_index_fini(self.at, core.ITEM_FN(lambda _a, item: seen.append(item[0].tuple())), None))
        self.same("fini calls each", sorted(seen), self.model.items())


def setup(lib):
    bind(lib)
    return [IndexSubject]
