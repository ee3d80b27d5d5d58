# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Maps, pools and interval sets of the lathwork module for Valkey and Redis, as Python objects.

    import redis, lathwork_valkey
    client = redis.Redis()
    ages = lathwork_valkey.Map(client, "ages", "STRINGS")
    ages["alice"] = 42
    for name, age in ages.range("[a", "(b"): ...

    net = lathwork_valkey.Pool(client, "net")
    net.create(10 << 24, 1 << 24)
    first = net.alloc(16, align=16, owner="shop")

Any client will do that has execute_command() as redis-py and valkey-py do, of a cluster too. With a pipeline calls return the
pipeline, and replies come as the server sends them. With an asynchronous client calls return what is to be awaited, scan(), keys(),
values() and items() are for `async for`, and what has no place for an await (m[entry], entry in m, len(m)) raises TypeError.
Keys of maps come back as int, float or bytes, by the kind of the map; values as bytes (or str, of a client with
decode_responses). An object keeps nothing but the client and the key, so it may be shared as the client may.
"""
import inspect
import struct

__all__ = ["Map", "Pool", "Intervals", "Range", "Interval"]

from typing import NamedTuple, Optional

KINDS = ("NUMBERS", "SIGNED", "FLOATS", "STRINGS")
_PACKED = {"NUMBERS": "<QI", "SIGNED": "<qI", "FLOATS": "<dI"}
_NUMBER = 2**32 - 1  # of a packed value: eight bytes with a number follow


class Range(NamedTuple):
    """A range that is taken from a pool."""
    first: int
    size: int
    owner: Optional[bytes]
    lease_ends: Optional[int]  # ms since 1970


class Interval(NamedTuple):
    """Both ends belong to it."""
    first: int
    last: int
    value: bytes


class _Key:
    def __init__(self, client, key):
        self.client, self.key = client, key

    def _run(self, read, command, *words):
        reply = self.client.execute_command(f"LATH.{self.group}{command}", self.key, *words)
        if inspect.isawaitable(reply) and reply is not self.client:
            return self._await(read, reply)
        return reply if reply is self.client else read(reply)

    @staticmethod
    async def _await(read, reply):
        return read(await reply if inspect.isawaitable(reply) else reply)

    def _asynchronous(self):
        return inspect.iscoroutinefunction(self.client.execute_command)

    def _now(self, instead):
        if self._asynchronous():
            raise TypeError(f"the client is asynchronous: await {instead}")

    def _known(self, reply):
        """A reply that needs no command."""
        return self._await(_same, reply) if self._asynchronous() else reply


def _same(reply):
    return reply


def _int(reply):
    """Numbers from 2^63 on are strings in RESP2."""
    return None if reply is None else int(reply)


def _options(**options):
    return [word for name, value in options.items() if value is not None for word in (name, value)]


def _limit(limit, offset):
    if limit is None and not offset:
        return ()
    return ("LIMIT", offset, 2**64 - 1 if limit is None else limit)


class Map(_Key):
    """An ordered map. kind: NUMBERS, SIGNED, FLOATS or STRINGS; writes make the map if there is none."""
    group = "MAP"

    def __init__(self, client, key, kind="NUMBERS"):
        if kind not in KINDS:
            raise ValueError(f"kind: {kind!r} is not one of {', '.join(KINDS)}")
        super().__init__(client, key)
        self.kind = kind
        self._key = {"STRINGS": _same, "FLOATS": float}.get(kind, int)

    def __repr__(self):
        return f"Map({self.key!r}, {self.kind!r})"

    def _pairs(self, flat):
        return [(self._key(flat[i]), flat[i + 1]) for i in range(0, len(flat), 2)]

    def _pair(self, reply):
        return None if reply is None else (self._key(reply[0]), reply[1])

    def set(self, entry, value, nx=False, xx=False):
        """True: it is new, False: it replaced a value, None: not done (nx: it is there, xx: it is not)."""
        if nx and xx:
            raise ValueError("nx and xx exclude each other")
        condition = ("NX",) if nx else ("XX",) if xx else ()
        return self._run(lambda reply: None if reply is None else bool(reply), "SET", entry, value, *condition, self.kind)

    def update(self, pairs):
        """Sets the entries of a mapping or of pairs, in one command. Returns how many are new."""
        words = [word for pair in (pairs.items() if hasattr(pairs, "items") else pairs) for word in pair]
        return self._run(_same, "MSET", self.kind, *words) if words else self._known(0)

    def get(self, entry, default=None):
        return self._run(lambda reply: default if reply is None else reply, "GET", entry)

    def get_many(self, entries):
        """The values in order; None for an entry that is not there."""
        entries = list(entries)
        return self._run(_same, "MGET", *entries) if entries else self._known([])

    def delete(self, *entries):
        """Returns how many there were."""
        return self._run(_same, "DEL", *entries)

    def incr(self, entry, by=1):
        return self._run(_int, "INCR", entry, by, self.kind)

    def compare_and_set(self, entry, expected, value):
        return self._run(bool, "CAS", entry, expected, value)

    def range(self, min="-", max="+", limit=None, offset=0, reverse=False):
        """Pairs from min to max, which are bounds as the command takes them: 5, "(5", "[a", "-", "+"."""
        words = (max, min) if reverse else (min, max)
        return self._run(self._pairs, "REVRANGE" if reverse else "RANGE", *words, *_limit(limit, offset))

    def packed(self, min="-", max="+", limit=None, offset=0, reverse=False):
        """As range(), by a reply of one string, which takes less time in the server and here. Values that are decimal numbers
        below 2^62 are int, others bytes. The client must not decode replies."""
        words = (max, min) if reverse else (min, max)
        return self._run(self._unpack, "REVRANGE" if reverse else "RANGE", *words, *_limit(limit, offset), "PACKED")

    def _unpack(self, data):
        at, pairs = 0, []
        head = struct.Struct(_PACKED.get(self.kind, "<I"))
        while at < len(data):
            if self.kind == "STRINGS":
                [length] = head.unpack_from(data, at)
                at += 4 + length
                key = data[at - length:at]
                [size] = head.unpack_from(data, at)
                at += 4
            else:
                key, size = head.unpack_from(data, at)
                at += 12
            if size == _NUMBER:
                [value] = struct.unpack_from("<Q", data, at)
                size = 8
            else:
                value = data[at:at + size]
            at += size
            pairs.append((key, value))
        return pairs

    def by_rank(self, first, last=None, reverse=False):
        """Pairs from one rank to another, both included; -1 is the last one. Without `last` the pair of this rank, or None."""
        if last is None:
            return self._run(lambda flat: self._pairs(flat)[0] if flat else None, "RANGEBYRANK", first, first,
                             *(("REV",) if reverse else ()))
        return self._run(self._pairs, "RANGEBYRANK", first, last, *(("REV",) if reverse else ()))

    def rank(self, entry, reverse=False):
        return self._run(_same, "RANK", entry, *(("REV",) if reverse else ()))

    def count(self, min="-", max="+"):
        return self._run(_same, "COUNT", min, max)

    def floor(self, entry):
        """The pair of the last entry that is not above, or None."""
        return self._run(self._pair, "FLOOR", entry)

    def ceil(self, entry):
        """The pair of the first entry that is not below, or None."""
        return self._run(self._pair, "CEIL", entry)

    def pop(self, count=1, last=False):
        return self._run(self._pairs, "POP", "MAX" if last else "MIN", count)

    def delete_range(self, min="-", max="+", limit=None):
        return self._run(_same, "DELRANGE", min, max, *_options(LIMIT=limit))

    def scan(self, match=None, count=100):
        """Yields all pairs, `count` at a time, while others may change the map; not in a pipeline."""
        return self._scan(_same, match, count)

    def _scan(self, read, match=None, count=100):
        words = _options(MATCH=match, COUNT=count)
        first = self._run(_same, "SCAN", "0", *words)
        return (self._scan_async if inspect.iscoroutine(first) else self._scan_now)(read, first, words)

    def _scan_now(self, read, reply, words):
        while True:
            yield from map(read, self._pairs(reply[1]))
            if reply[0] in (b"0", "0"):
                return
            reply = self._run(_same, "SCAN", reply[0], *words)

    async def _scan_async(self, read, reply, words):
        while True:
            cursor, flat = await reply
            for pair in self._pairs(flat):
                yield read(pair)
            if cursor in (b"0", "0"):
                return
            reply = self._run(_same, "SCAN", cursor, *words)

    def __getitem__(self, entry):
        self._now("get()")
        value = self.get(entry)
        if value is None:
            raise KeyError(entry)
        return value

    def __setitem__(self, entry, value):
        self._now("set()")
        self.set(entry, value)

    def __delitem__(self, entry):
        self._now("delete()")
        if not self.delete(entry):
            raise KeyError(entry)

    def __contains__(self, entry):
        self._now("get()")
        return self.get(entry) is not None

    def __len__(self):
        self._now("len()")
        return self.len()

    def len(self):
        return self._run(_same, "LEN")

    def __iter__(self):
        return self.keys()

    def __aiter__(self):
        return self.keys()

    def keys(self):
        """Yields all entries, as scan() does; so do values() and items(). dict(map) takes the keys and then one command for each
        value, and raises KeyError if one has gone meanwhile: dict(map.items()) takes a hundred pairs at a time."""
        return self._scan(lambda pair: pair[0])

    def values(self):
        return self._scan(lambda pair: pair[1])

    def items(self):
        return self.scan()


class Pool(_Key):
    """Numbers from which ranges are taken."""
    group = "POOL"

    @staticmethod
    def _range(reply):
        return None if reply is None else Range(int(reply[0]), int(reply[1]), reply[2], _int(reply[3]))

    def create(self, first, size):
        return self._run(lambda reply: None, "CREATE", first, size)

    def add(self, first, size):
        return self._run(lambda reply: None, "ADD", first, size)

    def alloc(self, size, align=None, owner=None, lease=None, within=None, place=None, block=None):
        """The first number of the range, or None: there is no room. lease, block: milliseconds; block 0 waits for ever.
        within: the lowest and the highest number. place: FIRST, LAST or BEST, or a pair of NEAR, NEXT or EXACT and a number."""
        words = [] if place is None else [place] if isinstance(place, str) else list(place)
        words += [] if within is None else ["WITHIN", *within]
        return self._run(_int, "ALLOC", size, *words, *_options(ALIGN=align, OWNER=owner, LEASE=lease, BLOCK=block))

    def reserve(self, first, size, owner=None, lease=None):
        return self._run(_int, "RESERVE", first, size, *_options(OWNER=owner, LEASE=lease))

    def free(self, first=None, owner=None):
        """A range that has an owner is freed only by its name."""
        if first is None and owner is None:
            raise ValueError("free() takes the first number of a range, its owner, or both")
        return self._run(bool, "FREE", *(() if first is None else (first,)), *_options(OWNER=owner))

    def lease(self, first, ms, owner=None):
        """Renews; False: the range is not there, or is not this owner's any longer."""
        return self._run(bool, "LEASE", first, ms, *_options(OWNER=owner))

    def find(self, number):
        return self._run(self._range, "FIND", number)

    def owner(self, owner):
        return self._run(self._range, "OWNER", owner)

    def ranges(self, low=0, high=2**64 - 1, limit=None, offset=0):
        return self._run(lambda rows: [self._range(row) for row in rows], "RANGES", "WITHIN", low, high, *_limit(limit, offset))

    def holes(self, low=0, high=2**64 - 1, limit=None, offset=0):
        """First numbers and sizes of what is free."""
        return self._run(lambda rows: [(int(first), int(size)) for first, size in rows], "HOLES", "WITHIN", low, high,
                         *_limit(limit, offset))

    def stat(self):
        def read(reply):
            pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2])
            return {name.decode() if isinstance(name, bytes) else name: int(value) for name, value in pairs}
        return self._run(read, "STAT")


class Intervals(_Key):
    """A set of intervals with values; both ends belong to an interval."""
    group = "INTERVAL"

    @staticmethod
    def _rows(rows):
        return [Interval(int(first), int(last), value) for first, last, value in rows]

    def add(self, first, last, value):
        """Whether it is new."""
        return self._run(bool, "ADD", first, last, value)

    def add_if_free(self, first, last, value):
        """False: something overlaps."""
        return self._run(bool, "ADDNX", first, last, value)

    def remove(self, first, last, value):
        return self._run(bool, "REM", first, last, value)

    def at(self, number, limit=None, offset=0):
        return self._run(self._rows, "STAB", number, *_limit(limit, offset))

    def overlapping(self, first, last, limit=None, offset=0):
        return self._run(self._rows, "OVERLAPS", first, last, *_limit(limit, offset))

    def within(self, first, last, limit=None, offset=0):
        return self._run(self._rows, "WITHIN", first, last, *_limit(limit, offset))

    def containing(self, first, last, limit=None, offset=0):
        return self._run(self._rows, "CONTAINS", first, last, *_limit(limit, offset))

    def count(self, first, last):
        return self._run(_same, "COUNT", first, last)

    def nearest(self, number):
        return self._run(lambda row: None if row is None else self._rows([row])[0], "NEAREST", number)

    def len(self):
        return self._run(_same, "LEN")

    def __len__(self):
        self._now("len()")
        return self.len()
