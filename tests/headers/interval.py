# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""interval.h: intervals that may overlap, beside a plain list."""
import collections
import ctypes as C
import errno

import core
from core import MAX, TOP, U64, Mismatch, expect, op

ENOENT, EINVAL, ENOMEM = -errno.ENOENT, -errno.EINVAL, -errno.ENOMEM
MOST = 4096


class Set(C.Structure):
    _fields_ = [("opaque", U64 * (128 + 32))]


class Interval(C.Structure):
    _fields_ = [("first", U64), ("end", U64), ("value", U64)]

    def tuple(self):
        return (self.first, self.end, self.value)


class Iter(C.Structure):
    _fields_ = [("set", C.c_void_p), ("bounds", U64 * 4), ("from_", U64), ("order", U64), ("place", C.c_uint32),
                ("at", C.c_uint32), ("copied", C.c_uint32), ("ahead", Interval * 16)]


class Stats(C.Structure):
    _fields_ = [(n, U64) for n in "items bytes classes trees lists listed".split()]


EACH_FN = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(Interval))


def bind(lib):
    core.bind(lib, "lath_", """
        intervals_init:ipip intervals_fini:-pEp intervals_insert:ipp intervals_erase:ipp
        intervals_count_overlap:upuu intervals_nearest:ipup intervals_count:up interval_iter_stab:-ppu
        interval_iter_overlap:-ppuu interval_iter_within:-ppuu interval_iter_all:-pp interval_next:ipp interval_next_batch:zppz
        intervals_get_stats:-pp intervals_verify:ippz""", E=EACH_FN)


def draw(d):
    first = d.key()
    how = d.int(0, 9)
    end = d.key() if how == 0 else MAX if how == 1 else 0 if how == 2 else min(MAX, first + d.size())
    return first, end, d.value()


class IntervalSubject(core.MemorySubject):
    name = "interval"
    most_ops = 700

    @staticmethod
    def draw_config(d):
        return {"closed": d.int(0, 1), "flags": sum({f for f in d.subset([core.NODE_EACH, core.GAPPED, core.SMALL_PAGES], 0.4)}),
                "memory": d.chance(0.5), "null": d.chance(0.1)}

    def __init__(self, lib, config):
        super().__init__(lib, config)
        self.closed = config["closed"]
        self.memory = core.Memory() if config["memory"] and not config["null"] else None
        self.set, self.raw = core.aligned(Set)
        self.at = C.addressof(self.set)
        self.model = collections.Counter()
        self.list = []  # (first, last, the interval as it was given), each once
        self.total = 0
        self.many, self.out, self.report = (Interval * MOST)(), Interval(), C.create_string_buffer(300)
        c_config = core.Config(C.sizeof(core.Config), 0, config["flags"], None,
                               C.addressof(self.memory.struct) if self.memory else None, 0)
        self.open = False
        expect("init", lib.lath_intervals_init(self.at, self.closed, None if config["null"] else C.byref(c_config)), 0)
        self.open = True

    def bounds(self, first, end):
        """The first and last key, or None for an empty one."""
        last = end if self.closed else (end or TOP) - 1
        return (first, last) if first <= last else None

    @op(draw, 10)
    def insert(self, first, end, value):
        result = self.lib.lath_intervals_insert(self.at, C.byref(Interval(first, end, value)))
        if self.lacks("insert", result):
            return
        both = self.bounds(first, end)
        expect("insert", result, 0 if both else EINVAL)
        if both:
            self.total += 1
            self.model[first, end, value] += 1
            if self.model[first, end, value] == 1:
                self.list.append(both + ((first, end, value),))

    @op(lambda d: draw(d) + (d.int(1, 60), d.pick([0, 0, 1, 1, 2, 50]), d.pick([0, 0, 1, 2])), 2)
    def fill(self, first, end, value, count, step, longer):
        for i in range(count):
            self.insert((first + i * step) % TOP, (end + i * step + i * longer) % TOP, value)
            self.calls += 1

    @op(lambda d: draw(d) + (d.chance(0.7), d.int(0, 1 << 30)), 8)
    def erase(self, first, end, value, there, which):
        if there and self.list:
            first, end, value = self.list[which % len(self.list)][2]
        result = self.lib.lath_intervals_erase(self.at, C.byref(Interval(first, end, value)))
        if not self.bounds(first, end):
            expect("erase of an empty one", result, ENOENT, EINVAL)
            return
        n = self.model.get((first, end, value), 0)
        expect("erase", result, 0 if n else ENOENT)
        if n:
            self.total -= 1
            self.model[first, end, value] -= 1
            if n == 1:
                del self.model[first, end, value]
                self.list = [i for i in self.list if i[2] != (first, end, value)]

    def judge(self, what, got, n, most, model):
        """The n intervals in self.many against those of the model, which are a Counter."""
        seen = collections.Counter(i.tuple() for i in got[:n])
        total = sum(model.values())
        if n != min(total, most):
            raise Mismatch(f"{what}: the library finds {n} of at most {most}, the model {total}")
        if seen - model:
            raise Mismatch(f"{what}: the library finds {dict(seen - model)}, which the model does not")

    def matching(self, match):
        return collections.Counter({i: self.model[i] for first, last, i in self.list if match(first, last)})

    def search(self, what, match, begin, args, batch):
        model = self.matching(match)
        it = Iter()
        begin(C.byref(it), self.at, *args)
        if batch:
            total = 0
            got = []
            while True:
                n = self.lib.lath_interval_next_batch(C.byref(it), self.many, batch)
                got += [i.tuple() for i in self.many[:n]]
                total += n
                if n < batch or total > sum(model.values()):
                    break
        else:
            got = []
            while self.lib.lath_interval_next(C.byref(it), C.byref(self.out)):
                got.append(self.out.tuple())
                if len(got) > sum(model.values()):
                    break
        if collections.Counter(got) != model:
            raise Mismatch(f"{what} by an iterator: the library finds {sorted(got)[:5]}..., the model {sorted(model.elements())[:5]}...")

    @op(lambda d: (d.key(), d.pick([0, 1, 7, 40])), 4)
    def stab(self, point, batch):
        lib = self.lib
        self.search("stab", lambda f, last: f <= point <= last, lib.lath_interval_iter_stab,
                    (point,), batch)

    @op(lambda d: draw(d)[:2] + (d.pick([0, 1, 7, 40]),), 4)
    def overlap(self, first, end, batch):
        lib, both = self.lib, self.bounds(first, end)
        match = (lambda f, last: f <= both[1] and last >= both[0]) if both else (lambda f, last: False)
        self.search("overlap", match, lib.lath_interval_iter_overlap, (first, end), batch)
        expect("count_overlap", lib.lath_intervals_count_overlap(self.at, first, end), sum(self.matching(match).values()))

    @op(lambda d: draw(d)[:2] + (d.pick([0, 1, 7, 40]),), 3)
    def within(self, first, end, batch):
        lib, both = self.lib, self.bounds(first, end)
        match = (lambda f, last: f >= both[0] and last <= both[1]) if both else (lambda f, last: False)
        self.search("within", match, lib.lath_interval_iter_within, (first, end), batch)

    @op(lambda d: (d.key(),), 4)
    def nearest(self, point):
        result = self.lib.lath_intervals_nearest(self.at, point, C.byref(self.out))
        expect("nearest", result, 0 if self.list else ENOENT)
        if not self.list:
            return
        def distance(first, last):
            """Twice the distance, and one more for an interval behind the point."""
            return 0 if first <= point <= last else 2 * (point - last) if last < point else 2 * (first - point) + 1
        best = min(distance(f, last) for f, last, _ in self.list)
        got = self.out.tuple()
        if got not in self.model or distance(*self.bounds(*got[:2])) != best:
            raise Mismatch(f"nearest({point}): the library says {got}, the model {[i for f, e, i in self.list if distance(f, e) == best][:3]}")

    @op(lambda d: (), 1)
    def counts(self):
        stats = Stats()
        expect("count", self.lib.lath_intervals_count(self.at), self.total)
        self.lib.lath_intervals_get_stats(self.at, C.byref(stats))
        self.same("stats.items", stats.items, self.total)
        it = Iter()
        self.lib.lath_interval_iter_all(C.byref(it), self.at)
        n = self.lib.lath_interval_next_batch(C.byref(it), self.many, MOST)
        self.judge("iter_all", self.many, n, MOST, self.model)

    def check(self):
        self.judge_verify(self.lib.lath_intervals_verify(self.at, self.report, 300))

    def check_all(self):
        self.check()
        self.counts()

    def close(self):
        if not self.open:
            return
        seen = []
        self.end(lambda: self.lib.lath_intervals_fini(self.at, EACH_FN(lambda _a, i: seen.append(i[0].tuple())), None))
        self.same("fini calls each", sorted(seen), sorted(self.model.elements()))


def setup(lib):
    bind(lib)
    return [IntervalSubject]
