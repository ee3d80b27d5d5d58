# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""range_lock.h: locks on ranges of keys, beside a dict of what is held; one thread with many owners, and some threads."""
import ctypes as C
import errno
import random
import threading

import core
from core import MAX, TOP, U64, Mismatch, expect, op

EINVAL, EBUSY, ETIMEDOUT, EDEADLK = -errno.EINVAL, -errno.EBUSY, -errno.ETIMEDOUT, -errno.EDEADLK
SHARED, EXCLUSIVE = 0, 1
HOLDS = 12


class Config(C.Structure):
    _fields_ = [("size", C.c_size_t), ("flags", C.c_uint), ("usual", U64), ("buckets", C.c_uint), ("allocator", C.c_void_p),
                ("look", C.c_void_p), ("look_arg", C.c_void_p)]


class Locks(C.Structure):
    _fields_ = [("opaque", U64 * 40)]


class Hold(C.Structure):
    _fields_ = [("first", U64), ("last", U64), ("owner", U64), ("opaque", U64 * 17)]


class Info(C.Structure):
    _fields_ = [("first", U64), ("last", U64), ("owner", U64), ("mode", C.c_int), ("waits", C.c_int)]


EACH_FN = C.CFUNCTYPE(None, C.c_void_p, C.POINTER(Info))


def bind(lib):
    core.bind(lib, "lath_range_", """
        locks_init:ipp locks_fini:-p lock_for:ippuuiuu unlock:-pp downgrade:-pp
        resize:ippuu each:-pEp locks_verify:ip""", E=EACH_FN)


def draw(d):
    return d.int(0, HOLDS - 1), d.key(), d.size(), d.int(0, 1)


def apart(a, b):
    """Whether two ranges (first, last, mode) may be held together."""
    return a[1] < b[0] or b[1] < a[0] or a[2] == b[2] == SHARED


class Locker:
    """What a thread has locked. table: what each of them has, behind a mutex."""

    def __init__(self, locks, number, seed, mutex, table):
        self.locks, self.lib, self.number, self.rng = locks, locks.lib, number, random.Random(f"{seed} {number}")
        self.mutex, self.table, self.mine, self.holds = mutex, table, {}, (Hold * 3)()

    def claim(self, slot):
        mine = self.mine[slot]
        with self.mutex:
            for (other, s), theirs in self.table.items():
                if (other, s) != (self.number, slot) and not apart(mine, theirs):
                    raise Mismatch(f"{mine} is held by thread {self.number} while thread {other} holds {theirs}")
            self.table[self.number, slot] = mine

    def change(self, slot, hold):
        first, last, mode = self.mine[slot]
        how = self.rng.randrange(5)
        if how == 0 and mode == EXCLUSIVE:
            self.mine[slot] = (first, last, SHARED)
            with self.mutex:
                self.table[self.number, slot] = self.mine[slot]
            self.lib.lath_range_downgrade(self.locks.at, hold)
        elif how == 1 and not self.locks.deadlocks:
            key = max(0, first + self.rng.randint(-2, 2))
            end = min(MAX, last + self.rng.randint(-2, 2))
            if max(key, first) > min(end, last):
                return
            with self.mutex:
                self.table[self.number, slot] = (max(key, first), min(end, last), mode)
            result = self.lib.lath_range_resize(self.locks.at, hold, key, end - key + 1)
            expect("resize", result, 0, EBUSY)
            if not result:
                self.mine[slot] = (key, end, mode)
            self.claim(slot)
        else:
            del self.mine[slot]
            with self.mutex:
                del self.table[self.number, slot]
            self.lib.lath_range_unlock(self.locks.at, hold)

    def lock(self, slot, hold, span):
        first = self.rng.randrange(span)
        last, mode = first + self.rng.choice([0, 0, 1, 3, 20]), self.rng.randrange(2)
        if self.locks.deadlocks:
            result = self.lib.lath_range_lock_for(self.locks.at, hold, first, last, mode, 20_000_000_000, self.number + 1)
            expect("lock_for, threads with LATH_RANGE_DEADLOCKS", result, 0, EDEADLK)
        else:
            ns = self.rng.choice([0, 1000, 100_000, 2_000_000])
            result = self.lib.lath_range_lock_for(self.locks.at, hold, first, last, mode, ns, 0)
            expect("lock_for, threads", result, 0, ETIMEDOUT if ns else EBUSY)
        if not result:
            self.mine[slot] = (first, last, mode)
            self.claim(slot)
        elif result == EDEADLK:
            for s in list(self.mine):
                with self.mutex:
                    del self.table[self.number, s]
                self.lib.lath_range_unlock(self.locks.at, C.byref(self.holds[s]))
            self.mine.clear()

    def run(self, steps, span, problems):
        try:
            for _ in range(steps):
                slot = self.rng.randrange(3)
                hold = C.byref(self.holds[slot])
                if slot in self.mine:
                    self.change(slot, hold)
                else:
                    self.lock(slot, hold, span)
        except Mismatch as e:
            problems.append(e)
        finally:
            for s in self.mine:
                with self.mutex:
                    self.table.pop((self.number, s), None)
                self.lib.lath_range_unlock(self.locks.at, C.byref(self.holds[s]))


class RangeLockSubject(core.Subject):
    name = "range_lock"
    most_ops = 400

    @staticmethod
    def draw_config(d):
        return {"deadlocks": d.int(0, 1), "usual": d.pick([0, 0, 1, 16, 4096, 1 << 40, MAX]),
                "buckets": d.pick([1, 2, 16, 100, 1024]), "memory": d.chance(0.5), "null": d.chance(0.02)}

    def __init__(self, lib, config):
        super().__init__(lib, config)
        null = config["null"]
        self.deadlocks = config["deadlocks"] and not null
        self.memory = core.Memory() if config["memory"] and not null else None
        self.set, self.raw = core.aligned(Locks)
        self.at = C.addressof(self.set)
        self.c_config = Config(C.sizeof(Config), int(self.deadlocks), config["usual"], config["buckets"],
                               C.addressof(self.memory.struct) if self.memory else None)
        self.holds = (Hold * HOLDS)()
        self.held = {}  # number of the hold -> (first, last, mode, owner); owner None: this thread
        self.me = None
        self.open = False
        expect("init", lib.lath_range_locks_init(self.at, None if null else C.byref(self.c_config)), 0)
        self.open = True

    def in_way(self, first, last, mode, but=None):
        """Owners of the ranges that a range would wait for."""
        return [h[3] for n, h in self.held.items() if n != but and not apart((first, last, mode), h)]

    def took(self, what, slot, first, last, mode, owner):
        hold = self.holds[slot]
        if (hold.first, hold.last) != (first, last):
            raise Mismatch(f"{what}: the hold says [{hold.first}, {hold.last}], not [{first}, {last}]")
        if owner is None:
            self.me = self.me or hold.owner
            expect(what + ", owner", hold.owner, self.me)
        else:
            expect(what + ", owner", hold.owner, owner)
        self.held[slot] = (first, last, mode, owner)

    def lock(self, what, slot, first, last, mode, owner, wait, late, call):
        """wait: whether the call waits: at all, or until a time after which it returns one of late."""
        way = self.in_way(first, last, mode)
        if way and wait and late is None and not (self.deadlocks and set(way) == {owner}):
            return  # it would wait for ever, or first for others and then for itself
        result = call()
        if not way:
            expect(what, result, 0)
            self.took(what, slot, first, last, mode, owner)
        elif self.deadlocks and owner in way:
            expect(what, result, EDEADLK, *(late or ()))
        else:
            expect(what, result, *late)

    @op(lambda d: (d.int(0, HOLDS - 1), d.key(), d.key(), d.int(0, 60), d.int(0, 1), d.pick([0, 0, 0, 1, 5000, MAX]),
                   d.pick([0, 1, 2, 3, 5, 1 << 63, MAX])), 28)
    def lock_for(self, slot, first, last, near, mode, ns, owner):
        if slot in self.held:
            return
        if near:
            last = min(MAX, first + near - 1)
        call = lambda: self.lib.lath_range_lock_for(self.at, C.byref(self.holds[slot]), first, last, mode, ns, owner)  # noqa: E731
        if last < first:
            expect("lock_for", call(), EINVAL)
        else:
            late = (EBUSY,) if ns == 0 else None if ns == MAX else (ETIMEDOUT,)
            self.lock("lock_for", slot, first, last, mode, owner or None, ns != 0, late, call)

    @op(lambda d: (d.int(0, HOLDS - 1),), 10)
    def unlock(self, slot):
        if slot in self.held:
            self.lib.lath_range_unlock(self.at, C.byref(self.holds[slot]))
            del self.held[slot]

    @op(lambda d: (d.int(0, HOLDS - 1),), 3)
    def downgrade(self, slot):
        if slot in self.held and self.held[slot][2] == EXCLUSIVE:
            first, last, _, owner = self.held[slot]
            self.lib.lath_range_downgrade(self.at, C.byref(self.holds[slot]))
            self.took("downgrade", slot, first, last, SHARED, owner)

    @op(lambda d: (d.int(0, HOLDS - 1), d.key(), d.size(), d.int(-4, 4), d.int(-4, 4), d.chance(0.7)), 6)
    def resize(self, slot, key, size, low, high, near):
        """near: the old bounds and a few keys less or more."""
        if slot not in self.held:
            return
        first, last, mode, owner = self.held[slot]
        if near:
            key = min(max(0, first + low), MAX)
            size = min(max(0, last + high - key + 1), MAX)
        end = key + size - 1 if key or size else MAX  # all keys
        call = lambda: self.lib.lath_range_resize(self.at, C.byref(self.holds[slot]), key, size)  # noqa: E731
        if size == 0 < key or end > MAX or end < first or last < key:
            expect("resize", call(), EINVAL)
        else:
            way = self.in_way(key, end, mode, slot)
            if way and self.deadlocks and set(way) != {owner}:
                return  # it would wait for ever
            # whether shared ranges are in the way of a shared one is not said
            shares = mode == SHARED and self.in_way(key, end, EXCLUSIVE, slot)
            result = call()
            if way:
                expect("resize", result, *((EDEADLK,) if self.deadlocks else (EBUSY,)))
            else:
                expect("resize", result, 0, *((EBUSY,) if shares and not self.deadlocks else ()))
            if not result:
                self.took("resize", slot, key, end, mode, owner)
        hold = self.holds[slot]
        if (hold.first, hold.last) != self.held[slot][:2]:
            raise Mismatch(f"resize: the hold says [{hold.first}, {hold.last}], not {self.held[slot][:2]}")

    @op(lambda d: (), 1)
    def each(self):
        seen = []
        self.lib.lath_range_each(self.at, EACH_FN(
            lambda _a, i: seen.append((i[0].first, i[0].last, i[0].owner, i[0].mode, i[0].waits))), None)
        model = [(first, last, self.me if owner is None else owner, mode, 0) for first, last, mode, owner in self.held.values()]
        if sorted(seen) != sorted(model):
            raise Mismatch(f"each: the library says {sorted(seen)}, the model {sorted(model)}")

    @op(lambda d: (d.int(0, 1 << 30), d.int(2, 4), d.int(1, 120), d.pick([3, 12, 1000])), 0.05)
    def threads(self, seed, count, steps, span):
        """Threads that lock ranges of few keys, with timeouts. Nothing else is held."""
        for slot in list(self.held):
            self.unlock(slot)
        mutex, table, problems = threading.Lock(), {}, []
        workers = [threading.Thread(target=Locker(self, n, seed, mutex, table).run, args=(steps, span, problems)) for n in range(count)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        self.calls += count * steps
        if problems:
            raise problems[0]

    def check(self):
        broken = self.lib.lath_range_locks_verify(self.at)
        if broken:
            raise Mismatch(f"verify: {broken}")

    def check_all(self):
        self.check()
        self.each()

    def close(self):
        if not self.open:
            return
        for slot in list(self.held):
            self.unlock(slot)
        self.lib.lath_range_locks_fini(self.at)
        if self.memory:
            self.memory.check(True)


def setup(lib):
    bind(lib)
    return [RangeLockSubject]
