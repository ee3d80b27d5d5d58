# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""space.h: an allocator of ranges of keys, beside a sorted list of what is allocated and a dict of segments."""
import ctypes as C
import errno

import core
from core import MAX, TOP, U64, Item, Mismatch, expect, op
from index_calls import Hole

ENOENT, EEXIST, EINVAL, ENOMEM, EBUSY, ENOSPC, EBADMSG = (
    -getattr(errno, n) for n in "ENOENT EEXIST EINVAL ENOMEM EBUSY ENOSPC EBADMSG".split())
NO_ARENAS, NO_MAGAZINES, OWNERS, SPREAD, FILL = (1 << i for i in range(5))


class Config(C.Structure):
    _fields_ = [("size", C.c_size_t), ("low", U64), ("high", U64), ("unit", U64), ("below", U64), ("flags", C.c_uint),
                ("rcu", C.c_void_p), ("allocator", C.c_void_p)]


class Segment(C.Structure):
    _fields_ = [("low", U64), ("high", U64), ("keys", U64), ("allocated", U64), ("limit", U64), ("number", C.c_uint),
                ("draining", C.c_uint)]


class Stats(C.Structure):
    _fields_ = [(n, U64) for n in "allocated free cached arena_free arenas ranges segments bytes bad_frees".split()]


WRITE_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(C.c_char), C.c_size_t)
READ_FN = C.CFUNCTYPE(C.c_int64, C.c_void_p, C.c_void_p, C.c_size_t)


def bind(lib):
    core.bind(lib, "lath_space_", """
        create:ipp destroy:-p alloc:ipuuup alloc_in:ipuuuup alloc_below:ipuuuup alloc_request:ippup reserve:ipuuu free:ipuu owner:ipup
        trim:-p next:ipup next_free:ipup add_segment:ipuuu limit_segment:ipnu drain_segment:ipni remove_segment:ipn segment_of:ipu
        segment_stats:ipnp save:ipWp load:ipRpupz get_stats:-pp verify:ippz""", W=WRITE_FN, R=READ_FN)


def draw_config(d):
    unit = 1 << d.pick([0, 0, 0, 1, 6, 12])
    units = d.pick([1, 3, 64, 1000, 4096, 4097, 8192, 12288, 20000, 1 << 30])
    low = unit * d.pick([0, 0, 1, 5, 4096, 4095])
    high = d.pick([low + units * unit] * 4 + [0])
    if d.chance(0.15):
        low, high = TOP - units * unit, 0
    below = d.pick([0, 0, low + (units // 2 + 1) * unit]) if high else 0
    flags = sum({f for f in d.subset([NO_ARENAS, NO_MAGAZINES, OWNERS, SPREAD, FILL], 0.3)})
    if d.chance(0.3):
        flags |= NO_ARENAS
    return {"low": low, "high": high, "unit": unit, "below": below, "flags": flags, "memory": d.chance(0.3)}


def units(d):
    """A number of units."""
    return d.pick([0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 33, 64, 100, 256, 300, 1000, 1024, 1025, 4096, 5000, 1 << 20])


def align(d):
    return d.pick([0, 0, 0, 1, 2, 4, 8, 64, 1024, 2048, 4096, 1 << 16, 1 << 63]) if d.chance(0.97) else 3


def place(d):
    """A key in units, relative to the space."""
    return d.int(-2, 40) if d.chance(0.4) else d.int(0, 20010) if d.chance(0.9) else d.key()


class SpaceSubject(core.MemorySubject):
    name = "space"
    most_ops = 900
    draw_config = staticmethod(draw_config)

    def __init__(self, lib, config):
        super().__init__(lib, config)
        self.unit, self.flags, self.low = config["unit"], config["flags"], config["low"]
        self.memory = core.Memory() if config["memory"] else None
        self.taken = core.Ranges()
        high = config["high"] or TOP
        self.segments = {0: [self.low, high, 0, 0]}
        self.c_config = Config(C.sizeof(Config), self.low, config["high"], self.unit, config["below"], self.flags, None,
                               C.addressof(self.memory.struct) if self.memory else None)
        self.space = C.c_void_p()
        self.u, self.item, self.report = U64(), Item(), C.create_string_buffer(300)
        self.create()

    def create(self):
        expect("create", self.lib.lath_space_create(C.byref(self.space), C.byref(self.c_config)), 0)

    def magazines(self):
        return not self.flags & (NO_ARENAS | NO_MAGAZINES | OWNERS | SPREAD)

    def used(self, number):
        low, high = self.segments[number][:2]
        return sum(s for k, (s, _) in self.taken.at.items() if low <= k < high)

    def room(self, size, step, low, high, mask=MAX):
        """Returns whether there is a place in a segment, and whether there is one that crosses no boundary of an arena."""
        some, certain = False, False
        block = 4096 * self.unit
        for number, (a, b, limit, draining) in self.segments.items():
            if draining or not mask >> number & 1 or (limit and self.used(number) + size > limit):
                continue
            for first, end in self.taken.free_runs(max(a, low), min(b, high)):
                at = (first + step - 1) // step * step
                if at + size <= end:
                    some = True
                    while at + size <= end and not certain and at < first + 40 * block:
                        if at // block == (at + size - 1) // block:
                            certain = True
                        at = (max(at + 1, (at // block + 1) * block) + step - 1) // step * step
        return some, certain

    def judge(self, what, result, size, step, cookie, low=0, high=TOP, mask=MAX, places=None):
        """After an allocation."""
        if self.wrong(size, step) or self.lacks(what, result):
            expect(what, result, EINVAL if self.wrong(size, step) else ENOMEM)
            return
        step = max(step or self.unit, self.unit)
        some, certain = (True, True) if result == 0 else self.room(size, step, low, high, mask)
        if self.flags & NO_ARENAS:
            certain = some
        elif step > 1024 * self.unit:
            certain = False  # served by the index, which does not look into used arenas
        allowed = ([0] if some else []) + ([] if certain else [ENOSPC])
        expect(what, result, *allowed)
        if result:
            return
        at = self.u.value
        inside = [n for n, (a, b, _, _) in self.segments.items() if a <= at and at + size <= b]
        if at % step or at < low or at + size > high:
            raise Mismatch(f"{what}: {at} is not aligned to {step} or outside of [{low}, {high})")
        if not inside or self.segments[inside[0]][3] or not mask >> inside[0] & 1:
            raise Mismatch(f"{what}: [{at}, +{size}) is not in a segment that may serve it: {self.segments}")
        if self.taken.first_overlap(at, size) is not None:
            raise Mismatch(f"{what}: [{at}, +{size}) overlaps {self.taken.item(self.taken.first_overlap(at, size))}")
        limit = self.segments[inside[0]][2]
        if limit and self.used(inside[0]) + size > limit:
            raise Mismatch(f"{what}: segment {inside[0]} has more than its limit {limit}")
        if places and at not in places:
            raise Mismatch(f"{what}: the policy gives {places}, the library {at}")
        self.taken.put(at, size, cookie)

    def wrong(self, size, step):
        return size == 0 or size % self.unit or step & (step - 1)

    def size_of(self, count, off):
        """In keys; off: a few keys too many, which only fits if the unit is one key."""
        return min(MAX, count * self.unit + off)

    @op(lambda d: (units(d), d.int(0, 1) if d.chance(0.05) else 0, align(d), d.int(0, 5)), 12)
    def alloc(self, count, off, step, cookie):
        size, step = self.size_of(count, off), min(step * self.unit, 1 << 63)
        result = self.lib.lath_space_alloc(self.space, size, step, cookie, C.byref(self.u))
        self.judge("alloc", result, size, step, cookie)

    @op(lambda d: (units(d), d.int(1, 200), d.pick([0, 1, 8])), 2)
    def fill(self, count, times, step):
        for i in range(times):
            self.alloc(count, 0, step, i)
            self.calls += 1

    @op(lambda d: (d.pick([0, 1, 2, 3, MAX, MAX - 1, MAX - 2, 1 << 63]), units(d), align(d), d.int(0, 5)), 3)
    def alloc_in(self, mask, count, step, cookie):
        size, step = self.size_of(count, 0), min(step * self.unit, 1 << 63)
        result = self.lib.lath_space_alloc_in(self.space, mask, size, step, cookie, C.byref(self.u))
        self.judge("alloc_in", result, size, step, cookie, mask=mask)

    def key_at(self, at):
        return (self.low + at * self.unit) % TOP

    @op(lambda d: (place(d), units(d), align(d), d.int(0, 5)), 3)
    def alloc_below(self, high, count, step, cookie):
        size, step, high = self.size_of(count, 0), min(step * self.unit, 1 << 63), self.key_at(high)
        result = self.lib.lath_space_alloc_below(self.space, high, size, step, cookie, C.byref(self.u))
        self.judge("alloc_below", result, size, step, cookie, high=high or TOP)

    @op(lambda d: (units(d), align(d), place(d) if d.chance(0.3) else None, place(d) if d.chance(0.3) else None, place(d), d.int(-1, 6),
                   d.int(0, 5)), 3)
    def alloc_request(self, count, step, low, high, hint, policy, cookie):
        size, step = self.size_of(count, 0), min(step * self.unit, 1 << 63)
        low = 0 if low is None else self.key_at(low)
        high = 0 if high is None else self.key_at(high)
        hint = self.key_at(hint)
        want = Hole(size, step, low, high, 0, hint, policy)
        result = self.lib.lath_space_alloc_request(self.space, C.byref(want), cookie, C.byref(self.u))
        end = high or TOP
        step = max(step, self.unit)
        if self.wrong(size, step) or low >= end or not 0 <= policy <= 5:
            expect("alloc_request", result, EINVAL)
            return
        if policy == 5:
            if hint % step or not low <= hint or hint + size > end:
                expect("alloc_request EXACT", result, EINVAL, ENOSPC)
                return
            free = any(a <= hint and hint + size <= b and not drain and not (limit and self.used(n) + size > limit)
                       for n, (a, b, limit, drain) in self.segments.items()) and self.taken.first_overlap(hint, size) is None
            if not free:
                expect("alloc_request EXACT", result, ENOSPC, EINVAL)
                return
            low, end = hint, hint + size
        places = None
        if self.flags & NO_ARENAS and len(self.segments) == 1 and policy < 2 and not self.config["below"]:
            a, b = self.segments[next(iter(self.segments))][:2]
            up = lambda k: (k + step - 1) // step * step  # noqa: E731
            spans = [(up(f), (l - size) // step * step) for f, l in self.taken.free_runs(max(a, low), min(b, end)) if l >= size]
            spans = [s for s in spans if s[0] <= s[1]]
            places = spans and [spans[0][0] if policy == 0 else spans[-1][1]]
        self.judge("alloc_request", result, size, step, cookie, low, end, places=places)

    @op(lambda d: (place(d), units(d), d.int(0, 5)), 4)
    def reserve(self, at, count, cookie):
        key, size = self.key_at(at), self.size_of(count, 0)
        result = self.lib.lath_space_reserve(self.space, key, size, cookie)
        if self.lacks("reserve", result):
            return
        inside = [n for n, (a, b, _, _) in self.segments.items() if a <= key and key + size <= b]
        if size == 0 or not inside:
            expect("reserve", result, EINVAL)
            return
        _, _, limit, draining = self.segments[inside[0]]
        allowed = []
        if draining or (limit and self.used(inside[0]) + size > limit):
            allowed.append(ENOSPC)
        if self.taken.first_overlap(key, size) is not None:
            allowed.append(EBUSY)
        expect("reserve", result, *(allowed or [0]))
        if not allowed:
            self.taken.put(key, size, cookie)

    def cut(self, key, size):
        """Removes [key, key + size) from the model."""
        for k in self.taken.overlaps(key, size):
            _, had, cookie = self.taken.drop(k)
            if k < key:
                self.taken.put(k, key - k, cookie)
            if k + had > key + size:
                self.taken.put(key + size, k + had - key - size, cookie)

    def try_free(self, key, size):
        inside = [n for n, (a, b, _, _) in self.segments.items() if a <= key and key + size <= b]
        covered = key + size <= TOP and sum(min(k + self.taken.at[k][0], key + size) - max(k, key)
                                            for k in self.taken.overlaps(key, size)) == size
        right = size and inside and covered and not size % self.unit and not key % self.unit
        if not right and self.magazines():
            return  # may be found later only, and change what others have in the meantime
        if covered and size and not inside:
            return  # adjacent segments: the header does not say
        result = self.lib.lath_space_free(self.space, key, size)
        if right:
            if self.lacks("free", result):
                self.resync(key, size)
            else:
                expect("free", result, 0)
                self.cut(key, size)
        else:
            expect("free of what is not allocated", result, EINVAL)
            if size:
                self.resync(key, min(size, TOP - key))

    def runs(self):
        found, at = [], 0
        while not self.lib.lath_space_next(self.space, at, C.byref(self.item)):
            found.append((self.item.key, self.item.size or TOP))
            at = self.item.key + found[-1][1]
            if at >= TOP:
                break
        return found

    def resync(self, key, size):
        """A free that failed may have freed parts of [key, key + size), and nothing else."""
        now = core.Ranges()
        for k, s in self.runs():
            now.put(k, s, 0)
        for a, b in now.free_runs(key, key + size):
            self.cut(a, b - a)

    @op(lambda d: (d.int(0, 1 << 30), d.int(0, 9), d.int(0, 40), d.int(1, 40)), 10)
    def free(self, which, how, skip, count):
        if not self.taken.keys:
            return
        k = self.taken.keys[which % len(self.taken.keys)]
        size = self.taken.at[k][0]
        if how == 8 and skip * self.unit < size:
            k, size = k + skip * self.unit, min(size - skip * self.unit, count * self.unit)
        elif how == 9:  # what follows it too, or less
            after = self.taken.ceiling(k + 1)
            size = min(TOP - k, size + (self.taken.at[after][0] if after is not None else count * self.unit))
        self.try_free(k, size)

    @op(lambda d: (d.int(0, 1 << 30), d.int(1, 200)), 1)
    def free_many(self, which, count):
        for i in range(count):
            self.free(which + i * 7, 0, 0, 0)
            self.calls += 1

    @op(lambda d: (place(d), units(d)), 1)
    def free_at(self, at, count):
        self.try_free(self.key_at(at), self.size_of(count, 0))

    @op(lambda d: (place(d), d.int(0, 1 << 30), d.chance(0.6)), 3)
    def owner(self, at, which, there):
        if not self.flags & (NO_ARENAS | OWNERS):
            return
        key = self.key_at(at)
        if there and self.taken.keys:
            k = self.taken.keys[which % len(self.taken.keys)]
            key = k + which % self.taken.at[k][0]
        result = self.lib.lath_space_owner(self.space, key, C.byref(self.item))
        k = self.taken.cover(key)
        expect("owner", result, ENOENT if k is None else 0)
        if k is not None:
            start, size, cookie = self.item.tuple()
            if not self.flags & NO_ARENAS:  # one unit, or a part: what crosses the boundary of an arena, and what was loaded
                if not k <= start <= key < start + size <= k + self.taken.at[k][0] or cookie != self.taken.at[k][1]:
                    raise Mismatch(f"owner({key}): the library says {self.item.tuple()}, within {self.taken.item(k)}")
                return
            if self.item.tuple() != self.taken.item(k):
                raise Mismatch(f"owner({key}): the library says {self.item.tuple()}, the model {self.taken.item(k)}")

    def merged(self):
        """Allocated runs per segment."""
        found = []
        for low, high, _, _ in sorted(self.segments.values()):
            last = None
            for k in self.taken.between(low, high - 1):
                size = self.taken.at[k][0]
                if last is not None and found[-1][0] + found[-1][1] == k:
                    found[-1] = (found[-1][0], found[-1][1] + size)
                else:
                    found.append((k, size))
                last = k
        return found

    @op(lambda d: (place(d),), 2)
    def next(self, at):
        key = self.key_at(at)
        for name in ("next", "next_free"):
            if name == "next":
                runs = self.merged()
            else:
                runs = [(a, b - a) for low, high, _, _ in sorted(self.segments.values()) for a, b in self.taken.free_runs(low, high)]
            found = next(((max(k, key), k + s - max(k, key)) for k, s in runs if k + s > key), None)
            result = getattr(self.lib, "lath_space_" + name)(self.space, key, C.byref(self.item))
            expect(f"{name}({key})", result, 0 if found else ENOENT)
            if found:
                self.same(f"{name}({key})", self.item.tuple(), (found[0], found[1] % TOP, 0))

    # segments

    @op(lambda d: (d.pick([0, 50, 1000, 20000, 20001, 40960]), d.int(-3, 3), units(d), d.pick([0, 0, 1, 100, 5000])), 1)
    def add_segment(self, at, near, count, limit):
        key, size, limit = self.key_at(at + near), self.size_of(count, 0), limit * self.unit
        result = self.lib.lath_space_add_segment(self.space, key, size, limit)
        if self.lacks("add_segment", result):
            return
        if size == 0 or key + size > TOP:
            expect("add_segment", result, EINVAL)
        elif any(a < key + size and key < b for a, b, _, _ in self.segments.values()):
            expect("add_segment", result, EEXIST, *([ENOSPC] if len(self.segments) == 64 else []))
        elif len(self.segments) == 64:
            expect("add_segment", result, ENOSPC)
        else:
            number = min(n for n in range(64) if n not in self.segments)
            expect("add_segment", result, number)
            self.segments[number] = [key, key + size, limit, 0]

    @op(lambda d: (d.pick([0, 0, 0, 1, 1, 2, 63, 64, 1 << 31]), d.int(0, 2), d.pick([0, 0, 1, 100, 5000])), 2)
    def change_segment(self, number, how, limit):
        there = number in self.segments
        if how == 0:
            expect("limit_segment", self.lib.lath_space_limit_segment(self.space, number, limit * self.unit), 0 if there else ENOENT)
            if there:
                self.segments[number][2] = limit * self.unit
        elif how == 1:
            expect("drain_segment", self.lib.lath_space_drain_segment(self.space, number, limit & 1), 0 if there else ENOENT)
            if there:
                self.segments[number][3] = limit & 1
        elif there and self.used(number) == TOP:
            pass
        else:
            result = self.lib.lath_space_remove_segment(self.space, number)
            busy = there and (not self.segments[number][3] or self.used(number))
            expect("remove_segment", result, ENOENT if not there else EBUSY if busy else 0)
            if there and not busy:
                del self.segments[number]

    @op(lambda d: (place(d), d.pick([0, 0, 1, 2, 63, 64])), 2)
    def segment(self, at, number):
        key, stats = self.key_at(at), Segment()
        expect("segment_of", self.lib.lath_space_segment_of(self.space, key),
               next((n for n, s in self.segments.items() if s[0] <= key < s[1]), ENOENT))
        result = self.lib.lath_space_segment_stats(self.space, number, C.byref(stats))
        expect("segment_stats", result, 0 if number in self.segments else ENOENT)
        if not result:
            low, high, limit, draining = self.segments[number]
            self.same("segment_stats", (stats.low, stats.high, stats.keys, stats.allocated, stats.limit, stats.number, stats.draining),
                      (low, high % TOP, min(MAX, high - low), self.used(number) % TOP, limit, number, draining))

    @op(lambda d: (), 1)
    def counts(self):
        stats = Stats()
        self.lib.lath_space_get_stats(self.space, C.byref(stats))
        used = sum(s for s, _ in self.taken.at.values())
        every = sum(b - a for a, b, _, _ in self.segments.values())
        self.same("stats: allocated, segments", (stats.allocated, stats.segments), (used % TOP, len(self.segments)))
        if every < TOP:
            self.same("stats.free", stats.free, every - used)

    @op(lambda d: (), 0.5)
    def trim(self):
        self.lib.lath_space_trim(self.space)

    @op(lambda d: (d.int(0, 5), d.int(0, 2), d.int(0, 400), d.int(1, 255)), 0.3)
    def save_load(self, cookie, how, at, bits):
        """how: 0 as it was saved, 1 a byte is changed, 2 it is cut short."""
        stream = []
        fn = WRITE_FN(lambda _a, data, n: stream.append(data[:n]) or 0)
        result = self.lib.lath_space_save(self.space, fn, None)
        if self.lacks("save", result):
            return
        expect("save", result, 0)
        saved = bytearray(b"".join(stream))
        tail = b"what follows"
        data, place = bytes(saved) + tail, [0]
        if how == 1:
            saved[at % len(saved)] ^= bits
            data = bytes(saved) + tail
        elif how == 2:
            data = bytes(saved[:at % len(saved)])

        def read(_arg, to, n):
            part = data[place[0]:place[0] + min(n, 1 + at)]
            place[0] += len(part)
            C.memmove(to, part, len(part))
            return len(part)
        read_fn = READ_FN(read)
        runs = self.merged()
        for k in list(self.taken.keys):
            _, size, _ = self.taken.item(k)
            if self.lib.lath_space_free(self.space, k, size):
                self.resync(k, size)
                return
            self.taken.drop(k)
        place[0] = 0
        result = self.lib.lath_space_load(self.space, read_fn, None, cookie, self.report, 300)
        if self.lacks("load", result):
            return
        if how:
            expect("load of a damaged stream", result, EBADMSG)
            if not self.report.value:
                raise Mismatch("load: -EBADMSG without a sentence in report")
            return
        expect("load", result, 0)
        self.same("load, report", self.report.value, b"")
        self.same("load, bytes read", place[0], len(saved))
        for k, s in runs:
            self.taken.put(k, s, cookie)

    def check(self):
        self.judge_verify(self.lib.lath_space_verify(self.space, self.report, 300))

    def check_all(self):
        self.check()
        self.same("allocated runs", self.runs(), self.merged())
        self.counts()

    def close(self):
        if self.space.value:
            self.end(lambda: self.lib.lath_space_destroy(self.space))


def setup(lib):
    bind(lib)
    return [SpaceSubject]
