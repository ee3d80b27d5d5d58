# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""sortq.h: a queue of requests in the order of a sweep, beside lists of (sector, arrival, request), one per barrier."""
import bisect
import ctypes as C
import errno

import core
from core import MAX, TOP, U64, Mismatch, expect, op

ENOENT, EEXIST, EINVAL, EOPNOTSUPP = -errno.ENOENT, -errno.EEXIST, -errno.EINVAL, -errno.EOPNOTSUPP
LOWEST, AGES, MERGES, CHECKED = 1, 2, 4, 8
LOOK_ALL, LOOK_FRONT = 1, 2
LIMIT = 1 << 44
TAG_BITS, TAG_MASK = 20, (1 << 20) - 1


class Request(C.Structure):
    _fields_ = [("sector", U64), ("sectors", C.c_uint32), ("tag", C.c_uint32), ("where", U64), ("time", U64), ("node", U64 * 6)]


class Pool(C.Structure):
    _fields_ = [("base", C.c_void_p), ("stride", U64), ("count", C.c_uint32)]


class Config(C.Structure):
    _fields_ = [("size", C.c_size_t), ("engine", C.c_int), ("flags", C.c_uint), ("simd", C.c_int)]


class Queue(C.Structure):
    _fields_ = [("next", C.POINTER(U64)), ("limit", U64), ("base", U64), ("requests", C.c_void_p), ("stride", U64),
                ("fresh_count", C.c_uint32), ("fresh_cap", C.c_uint32), ("quick_in", C.c_uint8), ("quick_out", C.c_uint8),
                ("pad", C.c_uint8 * 14), ("fresh", U64 * 32), ("opaque", U64 * 120)]


class Merge(C.Structure):
    _fields_ = [("back", C.c_void_p), ("front", C.c_void_p), ("slot", U64)]


def bind(lib):
    core.bind(lib, "lath_", """
        request_pool_init:ippun sortq_memsize:zpp sortq_init:ipppp sortq_settle:-p sortq_insert_slow:ipp sortq_dispatch_slow:pp
        sortq_insert_batch:zppz sortq_lookup:-puunp sortq_insert_at:ippp sortq_back_merged:ipp sortq_front_merged:ippu sortq_remove:ipp
        sortq_first:pp sortq_dispatch_batch:zppz sortq_first_from:ppu sortq_next:ppp sortq_prev:ppp
        sortq_set_head:ipu sortq_head:up sortq_oldest:pp sortq_barrier:-p sortq_count:np sortq_verify:ip""")


def sector(d):
    how = d.int(0, 9)
    if how == 0:
        return d.pick([0, 1, LIMIT - 1, LIMIT - 2, 1 << 43, (1 << 32) - 1])
    return d.int(0, 50) if how < 4 else d.key() % LIMIT


def tag(d):
    return d.int(0, 1 << 16)


class SortqSubject(core.Subject):
    name = "sortq"
    most_ops = 2000

    @staticmethod
    def draw_config(d):
        return {"fifo": d.chance(0.2), "flags": sum({f for f in d.subset([LOWEST, AGES, MERGES, CHECKED], 0.3)}),
                "simd": d.pick([0, 0, 1, 2, 3]), "count": d.pick([1, 2, 10, 64, 65, 300, 2048, 2049, 4000]), "wide": d.chance(0.3)}

    def __init__(self, lib, config):
        super().__init__(lib, config)
        self.fifo, self.flags, self.n = config["fifo"], config["flags"], config["count"]
        self.stride = 96 if config["wide"] else C.sizeof(Request)
        self.memory = C.create_string_buffer(self.n * self.stride + 64)
        self.base = (C.addressof(self.memory) + 63) // 64 * 64
        self.requests = [Request.from_address(self.base + i * self.stride) for i in range(self.n)]
        self.pool, self.c_config = Pool(), Config(C.sizeof(Config), 6 if self.fifo else 0, self.flags, config["simd"])
        expect("request_pool_init", lib.lath_request_pool_init(C.byref(self.pool), self.base, self.stride, self.n), 0)
        self.queue, self.raw = core.aligned(Queue)
        self.at = C.addressof(self.queue)
        self.make()
        self.groups = [[]]  # of (sector, arrival, tag), sorted but in a FIFO; more than one with barriers
        self.group = {}  # tag -> (group, entry)
        self.arrival, self.head = 0, 0
        self.passed = True  # whether the library has looked behind a barrier since the last request before it left
        self.out = (C.c_void_p * 4096)()

    def make(self):
        lib = self.lib
        size = lib.lath_sortq_memsize(C.byref(self.c_config), C.byref(self.pool))
        self.room = C.create_string_buffer(size + 64)
        at = (C.addressof(self.room) + 63) // 64 * 64
        result = lib.lath_sortq_init(self.at, C.byref(self.c_config), C.byref(self.pool), at)
        if result == EOPNOTSUPP and self.c_config.simd > 1:
            self.c_config.simd = 0
            result = lib.lath_sortq_init(self.at, C.byref(self.c_config), C.byref(self.pool), at)
        expect("init", result, 0)

    def address(self, i):
        return self.base + i * self.stride

    def number(self, address):
        return None if address is None else (address - self.base) // self.stride

    # the model

    def key(self, entry):
        return (entry[1],) if self.fifo else entry

    def put(self, i):
        self.arrival += 1
        entry = (self.requests[i].sector, self.arrival, i)
        group = self.groups[-1]
        if self.fifo:
            group.append(entry)
        else:
            bisect.insort(group, entry)
        self.group[i] = (group, entry)

    def drop(self, i):
        group, entry = self.group.pop(i)
        group.remove(entry)
        while len(self.groups) > 1 and not self.groups[0]:
            self.groups.pop(0)
            self.passed = False

    def order(self, group):
        if self.fifo:
            return group
        i = bisect.bisect_left(group, (self.head,))
        return group[i:] + group[:i]

    def front(self):
        group = self.groups[0]
        if not group:
            return None
        if self.fifo:
            return group[0][2]
        i = bisect.bisect_left(group, (self.head,))
        return group[i if i < len(group) else 0][2]

    def left(self, what, got):
        i = self.front()
        self.same(what, got, i)
        if i is not None:
            self.passed = True
            if not self.flags & LOWEST:
                self.head = self.requests[i].sector
            self.drop(i)

    # the calls that the header has inline

    def inline_insert(self, i):
        queue, request = self.queue, self.requests[i]
        if not queue.quick_in:
            return self.lib.lath_sortq_insert_slow(self.at, self.address(i))
        entry = request.sector << TAG_BITS | request.tag
        distance = ((entry | TAG_MASK) - queue.base) % TOP
        n = queue.fresh_count
        queue.fresh[n] = entry
        queue.fresh_count = n + 1
        queue.limit = min(distance, queue.limit)
        if n + 1 == queue.fresh_cap:
            self.lib.lath_sortq_settle(self.at)
        return 0

    def inline_dispatch(self):
        queue = self.queue
        entry = queue.next[0]
        if not queue.quick_out or (entry - queue.base) % TOP >= queue.limit:
            return self.number(self.lib.lath_sortq_dispatch_slow(self.at))
        C.cast(self.at, C.POINTER(U64))[0] += 8
        return entry & TAG_MASK

    # calls

    def judge_insert(self, what, i, result):
        if i in self.group:
            expect(what, result, EEXIST, *([EINVAL] if self.requests[i].sector >= LIMIT else []))
        elif self.requests[i].sector >= LIMIT:
            expect(what, result, EINVAL)
        else:
            expect(what, result, 0)
            self.put(i)

    @op(lambda d: (tag(d), sector(d), d.pick([1, 1, 2, 8, 100]), d.key() if d.chance(0.5) else d.int(0, 50), d.int(0, 99)), 14)
    def insert(self, i, at, sectors, when, wrong):
        i %= self.n
        refuses = self.fifo or self.flags & CHECKED
        request = self.requests[i]
        if i in self.group:
            if refuses:
                self.judge_insert("insert of a queued request", i, self.inline_insert(i))
            return
        request.sector, request.sectors, request.time = at, sectors, when
        if refuses and wrong == 0:
            request.sector = LIMIT + at
        self.judge_insert("insert", i, self.inline_insert(i))

    @op(lambda d: (tag(d), d.int(1, 400), sector(d), d.pick([0, 1, 8, 4096, 1 << 30, (1 << 44) - 9])), 2)
    def fill(self, i, count, at, step):
        for _ in range(count):
            self.insert(i, at, 1 + (step == 8) * 7, i, 1)
            i, at = i + 1, (at + step) % LIMIT
            self.calls += 1

    @op(lambda d: (tuple(tag(d) for _ in range(d.int(0, 40))), sector(d), d.int(0, 9)), 3)
    def insert_batch(self, tags, at, step):
        tags = [t % self.n for t in dict.fromkeys(tags)]
        tags = [t for t in dict.fromkeys(tags) if t not in self.group]
        for t in tags:
            self.requests[t].sector, self.requests[t].sectors = at, 1
            at = (at + step) % LIMIT
        array = (C.c_void_p * max(1, len(tags)))(*[self.address(t) for t in tags])
        self.same("insert_batch", self.lib.lath_sortq_insert_batch(self.at, array, len(tags)), len(tags))
        for t in tags:
            self.put(t)

    @op(lambda d: (), 10)
    def dispatch(self):
        self.left("dispatch", self.inline_dispatch())

    @op(lambda d: (d.int(0, 300),), 1)
    def dispatch_batch(self, most):
        model = []
        n = self.lib.lath_sortq_dispatch_batch(self.at, self.out, most)
        for _ in range(most):
            if (i := self.front()) is None:
                break
            model.append(i)
            self.left("dispatch_batch", i)
        self.same("dispatch_batch", [self.number(a) for a in self.out[:n]], model)

    @op(lambda d: (), 4)
    def first(self):
        self.same("first", self.number(self.lib.lath_sortq_first(self.at)), self.front())
        self.passed = True

    @op(lambda d: (tag(d), d.int(0, 1 << 16), d.chance(0.7)), 6)
    def remove(self, i, which, there):
        i %= self.n
        if there and self.groups[-1]:
            i = self.groups[-1][which % len(self.groups[-1])][2]
        result = self.lib.lath_sortq_remove(self.at, self.address(i))
        expect("remove", result, 0 if i in self.group else ENOENT)
        if not result:
            self.drop(i)

    @op(lambda d: (sector(d),), 3)
    def first_from(self, at):
        found = self.lib.lath_sortq_first_from(self.at, at)
        if self.fifo:
            self.same("first_from of a FIFO", found, None)
            return
        bests = [] if self.passed else [None]
        for groups in (self.groups[:1], self.groups):  # whether it looks behind a barrier is not said
            bests.append(min((e for g in groups for e in g[bisect.bisect_left(g, (at,)):][:1]), default=None))
        expect("first_from", self.number(found), *[e and e[2] for e in bests])

    @op(lambda d: (tag(d), d.int(0, 1 << 16), d.chance(0.7)), 4)
    def neighbours(self, i, which, there):
        i %= self.n
        if there and self.groups[0]:
            i = self.groups[0][which % len(self.groups[0])][2]
        got = [self.number(fn(self.at, self.address(i))) for fn in (self.lib.lath_sortq_prev, self.lib.lath_sortq_next)]
        if self.fifo or i not in self.group:
            self.same("prev, next", got, [None, None])
        elif self.group[i][0] is self.groups[0]:
            if not self.passed and got == [None, None]:
                return  # the header says that there are neighbours: nothing is in front of the barrier any more
            order = [e[2] for e in self.order(self.groups[0])]
            at = order.index(i)
            self.same("prev, next", got, [order[at - 1] if at else None, order[at + 1] if at + 1 < len(order) else None])

    @op(lambda d: (sector(d) if d.chance(0.95) else LIMIT + d.int(0, 5),), 2)
    def set_head(self, at):
        result = self.lib.lath_sortq_set_head(self.at, at)
        if self.flags & LOWEST or at >= LIMIT:
            expect("set_head", result, EINVAL)
        else:
            expect("set_head", result, 0)
            self.head = at
        self.same("head", self.lib.lath_sortq_head(self.at), self.head)

    @op(lambda d: (), 3)
    def oldest(self):
        if self.flags & AGES:
            i = min(((e[1], e[2]) for g in self.groups for e in g), default=(0, None))[1]
            self.same("oldest", self.number(self.lib.lath_sortq_oldest(self.at)), i)

    @op(lambda d: (), 0.5)
    def barrier(self):
        self.lib.lath_sortq_barrier(self.at)
        if self.groups[-1]:
            self.groups.append([])

    @op(lambda d: (tag(d), d.int(0, 1 << 16), d.pick([1 << 31, (1 << 32) - 3, 1 << 32]) if d.chance(0.05) else d.int(-3, 40)), 3)
    def front_merged(self, i, which, down):
        i %= self.n
        if which % 4 and self.groups[-1]:
            i = self.groups[-1][which % len(self.groups[-1])][2]
        request = self.requests[i]
        new = request.sector - down
        if new < 0:
            return
        if i not in self.group:
            wrong = down < 0 or request.sectors + down > 0xffffffff
            expect("front_merged", self.lib.lath_sortq_front_merged(self.at, self.address(i), new), ENOENT, *([EINVAL] if wrong else []))
            return
        group, entry = self.group[i]
        if any(e[0] == new and e[2] != i for e in group):
            return  # the order among equal sectors is not said
        sectors = request.sectors
        result = self.lib.lath_sortq_front_merged(self.at, self.address(i), new)
        if down < 0 or sectors + down > 0xffffffff:
            expect("front_merged", result, EINVAL)
            return
        expect("front_merged", result, 0)
        self.same("front_merged, sector and sectors", (request.sector, request.sectors), (new, sectors + down))
        moved = (new, entry[1], i)
        if self.fifo:
            group[group.index(entry)] = moved
        else:
            group.remove(entry)
            bisect.insort(group, moved)
        self.group[i] = (group, moved)

    @op(lambda d: (tag(d), d.int(0, 1 << 16), d.int(0, 20)), 2)
    def back_merged(self, i, which, more):
        i %= self.n
        if which % 8 and self.groups[-1]:
            i = self.groups[-1][which % len(self.groups[-1])][2]
        if i in self.group:
            self.requests[i].sectors += more
            expect("back_merged", self.lib.lath_sortq_back_merged(self.at, self.address(i)), 0)
        elif self.fifo or self.flags & CHECKED:  # the header says -ENOENT in one place, and in another 0 without LATH_SORTQ_MERGES
            expect("back_merged", self.lib.lath_sortq_back_merged(self.at, self.address(i)), ENOENT, *([] if self.flags & MERGES else [0]))

    @op(lambda d: (tag(d), d.int(0, 1 << 16), sector(d), d.pick([1, 1, 2, 8]), d.int(0, 3), d.int(0, 2), d.chance(0.5)), 4)
    def lookup(self, i, which, start, sectors, flags, near, insert):
        """near: 1 behind a request that is queued, 2 before one. insert: a request there, if i is free."""
        i %= self.n
        group = self.groups[-1]
        if near and group:
            other = self.requests[group[which % len(group)][2]]
            start = other.sector + other.sectors if near == 1 else max(0, other.sector - sectors)
        end, found = start + sectors, Merge()
        self.lib.lath_sortq_lookup(self.at, start, end, flags, C.byref(found))
        back, front = self.number(found.back), self.number(found.front)
        ends = [e[2] for g in self.groups for e in g if e[0] + self.requests[e[2]].sectors == start]
        starts = [e[2] for g in self.groups for e in g if e[0] == end]
        if back is not None and (back not in ends or flags & LOOK_FRONT):
            raise Mismatch(f"lookup: back is {back}, the model {ends}")
        if front is not None and front not in starts:
            raise Mismatch(f"lookup: front is {front}, the model {starts}")
        if self.flags & MERGES and len(self.groups) == 1 and self.passed:  # not behind a barrier: not said
            if ends and back is None and not flags & LOOK_FRONT:
                raise Mismatch(f"lookup: no back merge, the model {ends}")
            if starts and front is None and (back is None or flags & LOOK_ALL) and not start < self.head <= end:
                raise Mismatch(f"lookup: no front merge, the model {starts}")
        if insert and i not in self.group and start < LIMIT:
            self.requests[i].sector, self.requests[i].sectors = start, sectors
            expect("insert_at", self.lib.lath_sortq_insert_at(self.at, C.byref(found), self.address(i)), 0)
            self.put(i)

    @op(lambda d: (), 0.3)
    def again(self):
        """A queue may be initialised again after request_pool_init has marked its requests as not queued."""
        expect("request_pool_init", self.lib.lath_request_pool_init(C.byref(self.pool), self.base, self.stride, self.n), 0)
        self.make()
        self.groups, self.group, self.head, self.passed = [[]], {}, 0, True

    def check(self):
        broken = self.lib.lath_sortq_verify(self.at)
        if broken:
            raise Mismatch(f"verify: {broken}")
        self.same("count", self.lib.lath_sortq_count(self.at), len(self.group))

    def check_all(self):
        self.check()
        self.same("head", self.lib.lath_sortq_head(self.at), self.head)
        while self.group:
            self.left("dispatch at the end", self.inline_dispatch())
        self.same("dispatch of an empty queue", self.inline_dispatch(), None)


def setup(lib):
    bind(lib)
    return [SortqSubject]
