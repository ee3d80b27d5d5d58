# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""store.h: a key-value store, mem: and file:, beside a dict and a sorted list."""
import bisect
import ctypes as C
import errno
import os
import shutil
import tempfile

import core
from core import MAX, U64, Mismatch, expect, op

ENOENT, EEXIST, EINVAL, EAGAIN, ERANGE, EOPNOTSUPP, EBADMSG = (
    -getattr(errno, n) for n in "ENOENT EEXIST EINVAL EAGAIN ERANGE EOPNOTSUPP EBADMSG".split())
MOST = 3000
VERSIONS, READ_ONLY, EXISTING = 2, 4, 8
FAR = 1 << 50
I64 = (-(1 << 63), (1 << 63) - 1)


class Key(C.Structure):
    _fields_ = [("data", C.c_void_p), ("n", U64)]


class Ref(C.Structure):
    _fields_ = [("data", C.c_void_p), ("size", U64), ("version", U64), ("expires", U64), ("small", C.c_ubyte * 16)]


class Entry(C.Structure):
    _fields_ = [("key", Key), ("value", C.c_void_p), ("size", U64), ("expires", U64)]


class Change(C.Structure):
    _fields_ = [("action", C.c_int), ("value", C.c_void_p), ("size", U64), ("tail", C.c_void_p), ("tail_size", U64), ("expires", U64)]


class Range(C.Structure):
    _fields_ = [("from_", C.POINTER(Key)), ("to", C.POINTER(Key)), ("prefix", C.POINTER(Key)), ("backward", C.c_int)]


class Options(C.Structure):
    _fields_ = [("size", C.c_size_t), ("keys", C.c_int), ("pages", C.c_int), ("flags", C.c_uint), ("limit", U64), ("reserve", U64),
                ("prefault", U64), ("numa", C.c_char_p), ("rcu", C.c_void_p), ("why", C.c_char_p), ("why_size", C.c_size_t)]


class Stats(C.Structure):
    _fields_ = [(n, U64) for n in "items committed index_bytes record_bytes pending_bytes free_bytes lost_bytes resident huge layers "
                "evicted expired fragmentation_permille".split()]


UPDATE_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, C.POINTER(Ref), C.POINTER(Change))
PROGRESS_FN = C.CFUNCTYPE(C.c_int, C.c_void_p, U64, U64)


def bind(lib):
    core.bind(lib, "lath_store_", """
        open:ipsp close:ip sync:ip read_begin:-p read_end:-p get:qpkpz get_ref:ipkp mget:zpzpp mget_numbers:zpzpp set:ipksz add:ipksz
        replace:ipksz delete:ipk get_or_set:qpkszpzp mset:zpzpp mdel:zpzpp cas:ipkszsz set_if:ipkusz incr:ipkqp min:ipkqp max:ipkqp
        append:qpksz expire:ipku update:ipkUp iter_begin:ippp iter_next:ippp iter_end:-p scan_numbers:zpuuppzp count:qpp rank:qpk items:qp
        get_stats:ipp sweep:qp compact:qp save:ipsPp load:ipsPp reason:s kind:ip now:u""", k=Key, U=UPDATE_FN, P=PROGRESS_FN)


def value(d):
    how = d.int(0, 9)
    if how < 2:
        return d.pick([b"", b"0", b"-1", b"12", b"-12", b"9223372036854775807", b"-9223372036854775808", b"9223372036854775808", b"007", b"x"])
    if how < 4:
        return str(d.int(-30, 30)).encode()
    if how == 4:
        return bytes([d.pick(b"0123456789+,-./\0") for _ in range(d.int(0, 16))])
    if how == 5:
        return bytes([d.int(0, 255)]) * d.pick([15, 16, 17, 31, 100, 255, 256, 4000, 70000])
    return bytes(d.int(0, 255) for _ in range(d.int(0, 17)))


def key(d):
    """A number and bytes; the store uses one of them."""
    return d.key(), d.bytes()


def draw_config(d):
    return {"bytes": d.chance(0.5), "file": d.chance(0.35), "versions": d.chance(0.3), "small": d.chance(0.7), "single": d.chance(0.1)}


class StoreSubject(core.Subject):
    name = "store"
    most_ops = 800
    draw_config = staticmethod(draw_config)

    def __init__(self, lib, config):
        super().__init__(lib, config)
        self.bytes, self.versions = config["bytes"], config["versions"]
        self.data, self.order, self.gone = {}, [], set()  # key -> (value, expires); live keys; expired ones that may still be there
        self.used = {}  # key -> versions seen
        self.folder = tempfile.mkdtemp(prefix="lath-headers-")
        self.path = os.path.join(self.folder, "store").encode()
        self.spec = config["spec"] if "spec" in config else b"file:" + self.path if config["file"] else b"mem:"
        self.store = C.c_void_p()
        self.buffer = C.create_string_buffer(80000)
        self.now, self.why = C.c_int64(), C.create_string_buffer(300)
        self.refs, self.keys, self.results = (Ref * MOST)(), (U64 * MOST)(), (C.c_int * MOST)()
        self.options = Options(C.sizeof(Options), int(self.bytes), 2 if config["small"] else 0, config.get("flags", VERSIONS * self.versions),
                               config.get("limit", 0))
        self.keep = []
        self.open()

    def open(self):
        result = self.lib.lath_store_open(C.byref(self.store), self.spec, C.byref(self.options))
        if result:
            self.store = C.c_void_p()
        expect("open", result, 0)
        expect("kind", self.lib.lath_store_kind(self.store), int(self.bytes))

    def k(self, number, data):
        """The key of this store, for the model and for the library."""
        if not self.bytes:
            return number, Key(None, number)
        buffer = C.create_string_buffer(data, max(1, len(data)))
        self.keep = self.keep[-60:] + [buffer]
        return data, Key(C.addressof(buffer), len(data))

    def put(self, k, text, expires=None):
        """expires None: as before."""
        if k not in self.data:
            bisect.insort(self.order, k)
            self.gone.discard(k)
            before = 0
        else:
            before = self.data[k][1]
        self.data[k] = (text, before if expires is None else expires)
        if 0 < self.data[k][1] < FAR:
            self.drop(k)
            self.gone.add(k)

    def drop(self, k):
        del self.data[k]
        del self.order[bisect.bisect_left(self.order, k)]

    @op(lambda d: key(d) + (value(d),), 10)
    def set(self, number, data, text):
        k, c = self.k(number, data)
        expect("set", self.lib.lath_store_set(self.store, c, text, len(text)), 0)
        self.put(k, text, 0)

    @op(lambda d: key(d) + (d.int(1, 200), d.pick([1, 1, 2, 256, 1 << 40]), d.pick([0, 3, 9, 20, 300])), 2)
    def fill(self, number, data, count, step, size):
        for i in range(count):
            self.set((number + i * step) % (MAX + 1), data + (i * step & 0xffff).to_bytes(2, "big"), b"%d" % i + b"." * size)
            self.calls += 1

    @op(lambda d: key(d) + (value(d), d.chance(0.5)), 4)
    def add_replace(self, number, data, text, add):
        k, c = self.k(number, data)
        there = k in self.data
        if add:
            expect("add", self.lib.lath_store_add(self.store, c, text, len(text)), EEXIST if there else 0)
            if not there:
                self.put(k, text, 0)
        else:
            expect("replace", self.lib.lath_store_replace(self.store, c, text, len(text)), 0 if there else ENOENT)
            if there:
                old = self.data[k][1]
                self.put(k, text, 0)
                if old:  # whether replace keeps the time of expiry is not said
                    self.learn_expiry(k, c, (0, old))

    def learn_expiry(self, k, c, allowed):
        ref = Ref()
        self.lib.lath_store_read_begin(self.store)
        result = self.lib.lath_store_get_ref(self.store, c, C.byref(ref))
        expires = ref.expires
        self.lib.lath_store_read_end(self.store)
        expect("get_ref", result, 0)
        expect("time of expiry", expires, *allowed)
        self.data[k] = (self.data[k][0], expires)

    @op(key, 5)
    def delete(self, number, data):
        k, c = self.k(number, data)
        there = k in self.data
        expect("delete", self.lib.lath_store_delete(self.store, c), 0 if there else ENOENT)
        if there:
            self.drop(k)

    @op(lambda d: key(d) + (d.pick([0, 1, 5, 80000]),), 6)
    def get(self, number, data, room):
        k, c = self.k(number, data)
        self.buffer[:20] = b"~" * 20
        result = self.lib.lath_store_get(self.store, c, self.buffer, room)
        if k not in self.data:
            expect("get", result, ENOENT)
            return
        text = self.data[k][0]
        expect("get", result, len(text))
        n = min(len(text), room)
        self.same("get, the value", self.buffer[:n], text[:n])
        if n < 20:
            self.same("get, behind the value", self.buffer[n:20], b"~" * (20 - n))

    def see(self, what, ref, k):
        text, expires = self.data[k]
        self.same(what + ", value", C.string_at(ref.data, ref.size), text)
        self.same(what + ", expires", ref.expires, expires)
        if ref.version == 0 and (self.versions or self.bytes):
            # without versions it is not always 0, though the header says so: entries that expire have one
            raise Mismatch(f"{what}: version 0 in a store with versions")

    @op(lambda d: (tuple(key(d) for _ in range(d.int(0, 20))),), 3)
    def get_refs(self, keys):
        lib, pairs = self.lib, [self.k(*k) for k in keys]
        lib.lath_store_read_begin(self.store)
        try:
            for k, c in pairs[:1]:
                result = lib.lath_store_get_ref(self.store, c, C.byref(self.refs[0]))
                expect("get_ref", result, 0 if k in self.data else ENOENT)
                if not result:
                    self.see("get_ref", self.refs[0], k)
            for name in ("mget", "mget_numbers"):
                if name == "mget":
                    c_keys = (Key * max(1, len(pairs)))(*[c for _, c in pairs])
                    n = lib.lath_store_mget(self.store, len(pairs), c_keys, self.refs)
                elif self.bytes:
                    break
                else:
                    self.keys[:len(pairs)] = [k for k, _ in pairs]
                    n = lib.lath_store_mget_numbers(self.store, len(pairs), self.keys, self.refs)
                self.same(name, n, sum(k in self.data for k, _ in pairs))
                for i, (k, _) in enumerate(pairs):
                    if k in self.data:
                        self.see(name, self.refs[i], k)
                    elif self.refs[i].data is not None:
                        raise Mismatch(f"{name}: an absent key has data")
        finally:
            lib.lath_store_read_end(self.store)

    @op(lambda d: key(d) + (value(d), d.pick([0, 3, 80000])), 3)
    def get_or_set(self, number, data, text, room):
        k, c = self.k(number, data)
        added = C.c_int(77)
        result = self.lib.lath_store_get_or_set(self.store, c, text, len(text), self.buffer, room, C.byref(added))
        there = k in self.data
        self.same("get_or_set, *added", added.value, int(not there))
        if there:
            text = self.data[k][0]
            n = min(len(text), room)
            self.same("get_or_set, the value", self.buffer[:n], text[:n])
        else:
            self.put(k, text, 0)
        expect("get_or_set", result, len(text))

    @op(lambda d: (tuple(key(d) + (value(d), d.pick([0, 0, 0, 1, FAR])) for _ in range(d.int(0, 12))), d.chance(0.5)), 2)
    def mset(self, entries, filled):
        c_entries = (Entry * max(1, len(entries)))()
        for i, (number, data, text, expires) in enumerate(entries):
            c_entries[i].key = self.k(number, data)[1]
            buffer = C.create_string_buffer(text, max(1, len(text)))
            self.keep.append(buffer)
            c_entries[i].value, c_entries[i].size, c_entries[i].expires = C.addressof(buffer), len(text), expires
        done = self.lib.lath_store_mset(self.store, len(entries), c_entries, self.results if filled else None)
        self.same("mset", done, len(entries))
        if filled:
            self.same("mset, results", self.results[:len(entries)], [0] * len(entries))
        for number, data, text, expires in entries:
            self.put(data if self.bytes else number, text, expires)

    @op(lambda d: (tuple(key(d) for _ in range(d.int(0, 12))), d.chance(0.5)), 2)
    def mdel(self, keys, filled):
        pairs = [self.k(*k) for k in keys]
        c_keys = (Key * max(1, len(pairs)))(*[c for _, c in pairs])
        done = self.lib.lath_store_mdel(self.store, len(pairs), c_keys, self.results if filled else None)
        names = [k for k, _ in pairs]
        self.same("mdel", done, len({k for k in names if k in self.data}))
        for k in dict.fromkeys(names):
            there = k in self.data
            if filled:  # of equal keys one deletes it
                got = sorted(self.results[i] for i, n in enumerate(names) if n == k)
                self.same("mdel, results", got, sorted([0 if there else ENOENT] + [ENOENT] * (names.count(k) - 1)))
            if there:
                self.drop(k)

    @op(lambda d: key(d) + (value(d), value(d), d.chance(0.6)), 4)
    def cas(self, number, data, expected, text, right):
        k, c = self.k(number, data)
        there = self.data.get(k)
        if right and there:
            expected = there[0]
        result = self.lib.lath_store_cas(self.store, c, expected, len(expected), text, len(text))
        expect("cas", result, ENOENT if not there else 0 if there[0] == expected else EAGAIN)
        if not result:
            self.put(k, text)

    @op(lambda d: key(d) + (value(d), d.pick([0, 0, 0, 1, -1]), d.chance(0.1)), 3)
    def set_if(self, number, data, text, off, other):
        k, c = self.k(number, data)
        there, version = k in self.data, 5
        if there:
            ref = Ref()
            self.lib.lath_store_read_begin(self.store)
            self.lib.lath_store_get_ref(self.store, c, C.byref(ref))
            version = ref.version
            self.lib.lath_store_read_end(self.store)
        result = self.lib.lath_store_set_if(self.store, c, (version + off) % (MAX + 1), text, len(text))
        if not self.versions and not self.bytes:
            expect("set_if in a store without versions", result, EOPNOTSUPP)
            return
        expect("set_if", result, ENOENT if not there else EAGAIN if off else 0)
        if not result:
            self.put(k, text)
            self.used.setdefault(k, set()).add(version)
            self.lib.lath_store_read_begin(self.store)
            self.lib.lath_store_get_ref(self.store, c, C.byref(ref))
            version = ref.version
            self.lib.lath_store_read_end(self.store)
            if version in self.used[k]:
                raise Mismatch(f"version {version} is used twice for {k}")

    @staticmethod
    def number(text):
        """The number that a text is; None: none; False: the header does not say whether it is one."""
        digits = text[1:] if text[:1] == b"-" else text
        if not digits or any(c not in b"0123456789" for c in digits):
            return False if text[:1] in (b"+", b" ") or text[-1:] == b"\0" else None
        if len(text) > 999 or str(int(text)).encode() != text:  # int() refuses 4,301 digits
            return False
        return int(text) if I64[0] <= int(text) <= I64[1] else False

    @op(lambda d: key(d) + (d.pick([0, 1, -1, 5, -7, I64[0], I64[1], 1 << 62]), d.int(0, 2), d.chance(0.8)), 5)
    def arithmetic(self, number, data, by, which, filled):
        name = ("incr", "min", "max")[which]
        k, c = self.k(number, data)
        there = self.data.get(k)
        old = self.number(there[0]) if there else 0
        result = getattr(self.lib, "lath_store_" + name)(self.store, c, by, C.byref(self.now) if filled else None)
        if old is False:
            expect(name, result, 0, EINVAL, ERANGE)
            if not result:
                expires = there[1]
                n = self.lib.lath_store_get(self.store, c, self.buffer, 80000)
                self.put(k, self.buffer[:n], expires)
                self.learn_expiry(k, c, (0, expires))
            return
        if old is None:
            expect(name, result, EINVAL)
            return
        new = old + by if which == 0 else by if not there else min(old, by) if which == 1 else max(old, by)
        if not I64[0] <= new <= I64[1]:
            expect(name, result, ERANGE)
            return
        expect(name, result, 0)
        if filled:
            self.same(name + ", *now", self.now.value, new)
        old = there[1] if there else 0
        self.put(k, str(new).encode(), old)
        if old:
            self.learn_expiry(k, c, (0, old))

    @op(lambda d: key(d) + (value(d),), 4)
    def append(self, number, data, tail):
        k, c = self.k(number, data)
        there = self.data.get(k, (b"", 0))
        if len(there[0]) > 1000000:
            return
        expect("append", self.lib.lath_store_append(self.store, c, tail, len(tail)), len(there[0]) + len(tail))
        self.put(k, there[0] + tail, there[1])
        if there[1]:
            self.learn_expiry(k, c, (0, there[1]))

    @op(lambda d: key(d) + (d.pick([0, 1, 2, FAR, FAR + 1]),), 3)
    def expire(self, number, data, when):
        k, c = self.k(number, data)
        there = self.data.get(k)
        expect("expire", self.lib.lath_store_expire(self.store, c, when), 0 if there else ENOENT)
        if there:
            self.put(k, there[0], when)

    @op(lambda d: key(d) + (value(d), value(d), d.int(0, 4), d.pick([None, 0, 1, FAR])), 3)
    def update(self, number, data, text, tail, action, expires):
        """action: 0 keep, 1 put, 2 remove, 3 put with a tail, 4 the function fails."""
        k, c = self.k(number, data)
        seen, hold = [], [C.create_string_buffer(text, max(1, len(text))), C.create_string_buffer(tail, max(1, len(tail)))]
        before = self.data.get(k)

        def fn(_arg, old, change):
            seen.append(C.string_at(old[0].data, old[0].size) if old else None)
            change = change[0]
            seen.append((change.action, change.expires))
            if action == 4:
                return -99
            change.action = (0, 1, 2, 1)[action]
            change.value, change.size = C.addressof(hold[0]), len(text)
            if action == 3:
                change.tail, change.tail_size = C.addressof(hold[1]), len(tail)
            if expires is not None:
                change.expires = expires
            return 0
        result = self.lib.lath_store_update(self.store, c, UPDATE_FN(fn), None)
        self.same("update, what fn gets", seen[-2:], [before[0] if before else None, (0, before[1] if before else 0)])
        if action == 2 and not before:
            expect("update, remove of what is not there", result, 0, ENOENT)
            return
        expect("update", result, -99 if action == 4 else 0)
        if action in (1, 3):
            self.put(k, text + (tail if action == 3 else b""), (before[1] if before else 0) if expires is None else expires)
        elif action == 2:
            self.drop(k)

    # in order

    def span(self, low, high, prefix, backward):
        """The keys of the model in a range, and the range for the library."""
        keep, c = [], Range()
        for name, pair in (("from_", low), ("to", high)):
            if pair is not None:
                keep.append(self.k(*pair)[1])
                setattr(c, name, C.pointer(keep[-1]))
        names = [p if p is None else p[1] if self.bytes else p[0] for p in (low, high)]
        keys = self.order[bisect.bisect_left(self.order, names[0]) if low is not None else 0:]
        keys = [k for k in keys if names[1] is None or k < names[1]]
        if prefix is not None and self.bytes:
            keep.append(self.k(0, prefix)[1])
            c.prefix = C.pointer(keep[-1])
            keys = [k for k in keys if k.startswith(prefix)]
        c.backward = int(backward)
        return (keys[::-1] if backward else keys), c, keep

    @op(lambda d: (key(d) if d.chance(0.5) else None, key(d) if d.chance(0.5) else None, d.bytes(2) if d.chance(0.3) else None,
                   d.chance(0.4), d.int(1, 500)), 3)
    def iterate(self, low, high, prefix, backward, most):
        model, c, keep = self.span(low, high, prefix, backward)
        it = C.c_void_p()
        expect("iter_begin", self.lib.lath_store_iter_begin(self.store, C.byref(c), C.byref(it)), 0)
        k, ref = Key(), Ref()
        try:
            for want in model[:most]:
                expect("iter_next", self.lib.lath_store_iter_next(it, C.byref(k), C.byref(ref)), 1)
                got = C.string_at(k.data, k.n) if self.bytes else k.n
                self.same("iter_next, key", got, want)
                self.see("iter_next", ref, want)
            if len(model) <= most:
                expect("iter_next at the end", self.lib.lath_store_iter_next(it, C.byref(k), C.byref(ref)), 0)
        finally:
            self.lib.lath_store_iter_end(it)
        if not self.gone:
            expect("count", self.lib.lath_store_count(self.store, C.byref(c)), len(model))
        del keep

    @op(lambda d: (d.key(), d.key(), d.pick([0, 1, 2, 30, MOST])), 2)
    def scan_numbers(self, low, last, most):
        self.lib.lath_store_read_begin(self.store)
        try:
            n = self.lib.lath_store_scan_numbers(self.store, low, last, self.keys, self.refs, most, C.byref(following := U64()))
            if self.bytes:
                self.same("scan_numbers of byte keys", n, 0)
                return
            model = [k for k in self.order[bisect.bisect_left(self.order, low):] if k <= last]
            self.same("scan_numbers", self.keys[:n], model[:n])
            for i in range(n):
                self.see("scan_numbers", self.refs[i], model[i])
            if following.value == 0 and most:
                self.same("scan_numbers, nothing more", n, len(model))
            elif n < len(model):
                if not model[n - 1] < following.value <= model[n] if n else following.value > model[0]:
                    raise Mismatch(f"scan_numbers, *next {following.value}: keys would be left out")
        finally:
            self.lib.lath_store_read_end(self.store)

    @op(key, 2)
    def counts(self, number, data):
        k, c = self.k(number, data)
        lib, n = self.lib, len(self.order)
        stats = Stats()
        expect("get_stats", lib.lath_store_get_stats(self.store, C.byref(stats)), 0)
        items = lib.lath_store_items(self.store)
        self.same("stats.items", stats.items, items)
        if not n <= items <= n + len(self.gone):
            raise Mismatch(f"items: the library says {items}, the model {n} and up to {len(self.gone)} that have expired")
        rank, before = lib.lath_store_rank(self.store, c), bisect.bisect_left(self.order, k)
        if not before <= rank <= before + sum(g < k for g in self.gone):
            raise Mismatch(f"rank: the library says {rank}, the model {before}")
        if not n <= lib.lath_store_count(self.store, None) <= n + len(self.gone):
            raise Mismatch(f"count: the library says {lib.lath_store_count(self.store, None)}, the model {n}")

    @op(lambda d: (d.chance(0.3),), 1)
    def upkeep(self, compact):
        lib = self.lib
        if compact:
            result = lib.lath_store_compact(self.store)
            if result < 0:
                raise Mismatch(f"compact: {core.name_of(result)}")
            return
        before = lib.lath_store_items(self.store)
        swept = lib.lath_store_sweep(self.store)
        self.same("sweep", swept, before - len(self.order))
        self.same("items after a sweep", lib.lath_store_items(self.store), len(self.order))
        self.gone.clear()

    # the whole

    @op(lambda d: (), 0.5)
    def reopen(self):
        if self.spec == b"mem:":
            return
        expect("close", self.lib.lath_store_close(self.store), 0)
        self.store = C.c_void_p()
        if os.path.exists(self.path + b".lock"):
            raise Mismatch("close: PATH.lock is still there")
        self.used.clear()
        self.open()

    @op(lambda d: (), 0.5)
    def sync(self):
        expect("sync", self.lib.lath_store_sync(self.store), 0)
        if self.spec == b"mem:":
            return
        other, options = C.c_void_p(), Options.from_buffer_copy(self.options)
        options.flags |= READ_ONLY
        if not os.path.exists(self.path):
            expect("open to read of a file that is not there", self.lib.lath_store_open(C.byref(other), self.spec, C.byref(options)), ENOENT)
            return
        expect("open to read", self.lib.lath_store_open(C.byref(other), self.spec, C.byref(options)), 0)
        self.compare(other, "read only")
        expect("close of a store that is read only", self.lib.lath_store_close(other), 0)

    def compare(self, store, what):
        """All entries of a store, in order, with those of the model."""
        it, k, ref = C.c_void_p(), Key(), Ref()
        c = Range()
        expect("iter_begin", self.lib.lath_store_iter_begin(store, C.byref(c), C.byref(it)), 0)
        got = []
        while self.lib.lath_store_iter_next(it, C.byref(k), C.byref(ref)) == 1:
            got.append((C.string_at(k.data, k.n) if self.bytes else k.n, C.string_at(ref.data, ref.size), ref.expires))
        self.lib.lath_store_iter_end(it)
        self.same(f"the content, {what}", got, [(k,) + self.data[k] for k in self.order])

    @op(lambda d: (d.int(0, 2), d.int(0, 1 << 20), d.int(1, 255)), 0.4)
    def save_load(self, how, at, bits):
        """how: 0 as it was saved, 1 a byte is changed, 2 it is cut short."""
        path = os.path.join(self.folder, "copy").encode()
        expect("save", self.lib.lath_store_save(self.store, path, PROGRESS_FN(), None), 0)
        if how:
            with open(path, "r+b") as f:
                data = bytearray(f.read())
                at %= len(data)
                if how == 1:
                    data[at] ^= bits
                else:
                    f.truncate(at)
                    data = data[:at]
                f.seek(0)
                f.write(data)
        other, options = C.c_void_p(), Options.from_buffer_copy(self.options)
        expect("open", self.lib.lath_store_open(C.byref(other), b"mem:", C.byref(options)), 0)
        try:
            result = self.lib.lath_store_load(other, path, PROGRESS_FN(), None)
            if how:
                expect("load of a damaged file", result, EBADMSG)
                self.same("items after a load that failed", self.lib.lath_store_items(other), 0)
            else:
                expect("load", result, 0)
                self.compare(other, "loaded")
        finally:
            self.lib.lath_store_close(other)

    def check_all(self):
        self.compare(self.store, "at the end")

    def close(self):
        try:
            if self.store.value:
                expect("close", self.lib.lath_store_close(self.store), 0)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def setup(lib):
    bind(lib)
    return [StoreSubject]
