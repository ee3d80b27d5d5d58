# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Hypothesis: random sequences of commands, and the same in Python's dictionaries and lists."""
import bisect
import os

import hypothesis
import hypothesis.strategies as st
import pytest
import redis
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from redis.exceptions import ResponseError
from servers import wait_for

LONG = bool(os.environ.get("LATH_VALKEY_LONG"))
TOP = 2**64 - 1
numbers = st.one_of(st.integers(0, 40), st.integers(0, TOP), st.sampled_from([2**63 - 1, 2**63, TOP]))
strings = st.one_of(st.binary(max_size=3), st.sampled_from([b"prefix prefix " + bytes([i]) for i in range(60)]),
                    st.text("ab\0", max_size=20).map(str.encode))
values = st.one_of(st.integers(0, 10**6).map(lambda n: b"%d" % n), st.binary(max_size=12))


def number(reply):
    return reply if isinstance(reply, int) else int(reply)


class Reloading(RuleBasedStateMachine):
    """What all machines share: a server, the threshold of packed keys, and what must change nothing."""

    server = None

    @initialize(packed=st.sampled_from([0, 1, 3, 32]))
    def begin(self, packed):
        self.server("FLUSHALL")
        self.server("CONFIG", "SET", "lathwork.packed-entries", packed)
        self.create()

    def create(self):
        """Makes the key, if a command has to."""

    @rule(packed=st.sampled_from([0, 32]))
    def reload(self, packed):
        self.server("CONFIG", "SET", "lathwork.packed-entries", packed)
        digest = self.server("DEBUG", "DIGEST")
        self.server("DEBUG", "RELOAD")
        assert self.server("DEBUG", "DIGEST") == digest

    @rule()
    def copy(self):
        if self.server("EXISTS", "k"):
            self.server("COPY", "k", "copy")
            assert self.server("DEBUG", "DIGEST-VALUE", "k", "copy")[0] == self.server("DEBUG", "DIGEST-VALUE", "k", "copy")[1]
            self.server("RENAME", "copy", "k")


class Maps(Reloading):
    keys = numbers

    def __init__(self):
        super().__init__()
        self.model = {}

    def key(self, reply):
        return number(reply)

    def bound(self, key, is_open):
        return f"({key}" if is_open else key

    def run(self, command, *words):
        return self.server(f"LATH.MAP.{command}", "k", *words)

    @rule(data=st.data(), value=values)
    def set(self, data, value):
        key = data.draw(self.keys)
        assert self.run("SET", key, value) == (key not in self.model)
        self.model[key] = value

    @rule(data=st.data())
    def many(self, data):
        new = data.draw(st.dictionaries(self.keys, values, min_size=1, max_size=60))
        added = len(new.keys() - self.model.keys())
        assert self.run("MSET", *(word for pair in new.items() for word in pair)) == added
        self.model.update(new)

    @rule(data=st.data())
    def delete(self, data):
        some = data.draw(st.lists(st.one_of(self.keys, st.sampled_from(sorted(self.model) or [self.some])), min_size=1, max_size=30))
        assert self.run("DEL", *some) == len(set(some) & self.model.keys())
        for key in some:
            self.model.pop(key, None)

    @rule(data=st.data())
    def get(self, data):
        some = data.draw(st.lists(self.keys, min_size=1, max_size=10)) + sorted(self.model)[:3]
        assert self.run("MGET", *some) == [self.model.get(key) for key in some]
        assert self.run("GET", some[0]) == self.model.get(some[0])

    @rule(data=st.data(), opens=st.tuples(st.booleans(), st.booleans()), limit=st.integers(0, 100), delete=st.booleans())
    def range(self, data, opens, limit, delete):
        low, high = data.draw(self.keys), data.draw(self.keys)
        low_word, high_word = self.bound(low, opens[0]), self.bound(high, opens[1])
        want = [key for key in sorted(self.model)
                if (low < key if opens[0] else low <= key) and (key < high if opens[1] else key <= high)]
        got = self.run("RANGE", low_word, high_word, "LIMIT", limit)
        assert [self.key(key) for key in got[::2]] == want[:limit]
        assert got[1::2] == [self.model[key] for key in want[:limit]]
        back = self.run("REVRANGE", high_word, low_word, "LIMIT", limit, "KEYS")
        assert [self.key(key) for key in back] == want[::-1][:limit]
        assert self.run("COUNT", low_word, high_word) == len(want)
        if want:
            rank = sorted(self.model).index(want[-1])
            assert self.run("RANK", want[-1]) == rank
            for at in (rank, rank - len(self.model)):
                key, value = self.run("SELECT", at)
                assert (self.key(key), value) == (want[-1], self.model[want[-1]])
        assert self.run("SELECT", len(self.model)) is None and self.run("SELECT", -len(self.model) - 1) is None
        if delete:
            assert self.run("DELRANGE", low_word, high_word, "LIMIT", limit) == len(want[:limit])
            for key in want[:limit]:
                del self.model[key]

    @rule(data=st.data())
    def neighbours(self, data):
        key, ordered = data.draw(self.keys), sorted(self.model)
        below, above = self.run("FLOOR", key), self.run("CEIL", key)
        i = bisect.bisect_right(ordered, key)
        assert (self.key(below[0]) if below else None) == (ordered[i - 1] if i else None)
        i = bisect.bisect_left(ordered, key)
        assert (self.key(above[0]) if above else None) == (ordered[i] if i < len(ordered) else None)

    @rule(end=st.sampled_from(["MIN", "MAX"]), n=st.integers(0, 5))
    def pop(self, end, n):
        ordered = sorted(self.model, reverse=end == "MAX")[:n]
        got = self.run("POP", end, n)
        assert [self.key(key) for key in got[::2]] == ordered
        for key in ordered:
            del self.model[key]

    @invariant()
    def same_length(self):
        assert self.run("LEN") == len(self.model)

    def teardown(self):
        got = self.run("RANGE", "-", "+")
        assert {self.key(key): value for key, value in zip(got[::2], got[1::2])} == self.model
        assert [self.key(key) for key in got[::2]] == sorted(self.model)

    some = 0


class StringMaps(Maps):
    keys = strings
    some = b""

    def create(self):
        self.run("CREATE", "STRINGS")

    def key(self, reply):
        return reply

    def bound(self, key, is_open):
        return (b"(" if is_open else b"[") + key


class FloatMaps(Maps):
    keys = st.one_of(st.floats(allow_nan=False), st.integers(-40, 40).map(lambda n: n / 4))

    def create(self):
        self.run("CREATE", "FLOATS")

    def key(self, reply):
        return float(reply)


class Pools(Reloading):
    """Every answer must be a place that is free, aligned and within; there is none only if there is none."""

    spans = [(0, 50), (100, 100), (TOP - 20, 21)]

    def __init__(self):
        super().__init__()
        self.taken = {}

    def run(self, command, *words):
        return self.server(f"LATH.POOL.{command}", "k", *words)

    def create(self):
        self.run("CREATE", *self.spans[0])
        for span in self.spans[1:]:
            self.run("ADD", *span)

    def holes(self):
        free = []
        for first, size in self.spans:
            at = first
            for start, (length, _) in sorted(self.taken.items()):
                if first <= start < first + size:
                    if start > at:
                        free.append((at, start - at))
                    at = start + length
            if at < first + size:
                free.append((at, first + size - at))
        return free

    def places(self, size, align, low, high):
        for first, length in self.holes():
            for place in range(first, first + length - size + 1):
                if place % align == 0 and low <= place and place + size - 1 <= high:
                    yield place, length

    @rule(size=st.integers(1, 30), align=st.sampled_from([1, 2, 8, 32]), window=st.tuples(numbers, numbers),
          policy=st.sampled_from(["FIRST", "LAST", "BEST", "NEAR", "NEXT", "EXACT"]), hint=st.integers(0, 220),
          owner=st.one_of(st.none(), st.sampled_from(["a", "b", "c"])), use=st.booleans())
    def alloc(self, size, align, window, policy, hint, owner, use):
        low, high = sorted(window) if use else (0, TOP)
        words = [size, "ALIGN", align, policy]
        words += [hint] if policy in ("NEAR", "NEXT", "EXACT") else []
        words += ["WITHIN", low, high] if use else []
        words += ["OWNER", owner] if owner else []
        there = [start for start, (_, who) in self.taken.items() if owner and who == owner]
        try:
            got = self.run("ALLOC", *words)
        except ResponseError as error:
            if "OWNERBUSY" in str(error):
                assert there and self.taken[there[0]][0] != size
            else:
                assert policy == "EXACT" and (hint % align or hint < low or hint + size - 1 > high)
            return
        if there:
            assert number(got) == there[0]
            return
        places = list(self.places(size, align, low, high))
        if policy == "EXACT":
            places = [place for place in places if place[0] == hint]
        if not places:
            assert got is None
            return
        assert got is not None, places
        got = number(got)
        assert got in [place for place, _ in places]
        if policy in ("FIRST", "EXACT"):
            assert got == min(places)[0]
        elif policy == "LAST":
            assert got == max(places)[0]
        elif policy == "NEAR":
            assert abs(got - hint) == min(abs(place - hint) for place, _ in places)
        elif policy == "NEXT":
            assert got == min(([p for p, _ in places if p >= hint] or [p for p, _ in places]))
        elif align == 1 and not use:
            assert got == min(places, key=lambda place: (place[1], place[0]))[0]
        self.taken[got] = (size, owner)

    @rule(first=st.one_of(st.integers(0, 220), st.just(TOP)), size=st.integers(1, 30))
    def reserve(self, first, size):
        fits = any(start <= first and first + size <= start + length for start, length in self.holes())
        if first + size > TOP + 1:
            with pytest.raises(ResponseError):
                self.run("RESERVE", first, size)
            return
        assert (self.run("RESERVE", first, size) is not None) == fits
        if fits:
            self.taken[first] = (size, None)

    @rule(data=st.data())
    def free(self, data):
        if self.taken:
            first = data.draw(st.sampled_from(sorted(self.taken)))
            owner = self.taken[first][1]
            assert self.run("FREE", first, *(("OWNER", owner) if owner is not None else ())) == 1
            del self.taken[first]

    @rule(point=st.one_of(st.integers(0, 220), st.just(TOP)))
    def find(self, point):
        got = self.run("FIND", point)
        want = [(first, size) for first, (size, _) in self.taken.items() if first <= point < first + size]
        assert ([(number(got[0]), number(got[1]))] if got else []) == want

    @invariant()
    def same(self):
        if self.server("EXISTS", "k"):
            assert [(number(a), number(b)) for a, b in self.run("HOLES")] == self.holes()
            assert [(number(row[0]), (number(row[1]), row[2] and row[2].decode())) for row in self.run("RANGES")] == \
                sorted(self.taken.items())


class Pool:
    """A pool as the model has it: spans of numbers, and first -> size of what is taken."""

    def __init__(self, first, size, taken=()):
        self.spans, self.taken = [(first, size)], dict(taken)

    def copy(self):
        other = Pool(0, 1, self.taken)
        other.spans = list(self.spans)
        return other

    def place(self, size, align):
        """The lowest place, which is taken then; None: there is no room."""
        inside = set().union(*(range(first, first + length) for first, length in self.spans))
        inside -= set().union(*(range(first, first + length) for first, length in self.taken.items()), ())
        for first in sorted(inside):
            if first % align == 0 and all(number in inside for number in range(first, first + size)):
                self.taken[first] = size
                return first
        return None


class Waiting(RuleBasedStateMachine):
    """Clients wait for room in two keys, which are pools, text or nothing, and come, go and change all the time.

    Leases last for ever or are over: no answer depends on when it is asked for. After each step all clients that must be answered
    are, in the order in which they began to wait, and no other is."""

    server = replica = None
    keys = st.sampled_from(["k", "l"])

    def __init__(self):
        super().__init__()
        self.here, self.there, self.waiting, self.count = dict.fromkeys("kl"), dict.fromkeys("kl"), [], 0  # there: database 1
        self.server("FLUSHALL")

    def teardown(self):
        for connection, *_ in self.waiting:
            connection.disconnect()
        digest = self.server("DEBUG", "DIGEST")
        assert self.server("WAIT", 1, 20000) == 1 and self.replica("DEBUG", "DIGEST") == digest
        self.server("DEBUG", "LOADAOF")
        assert self.server("DEBUG", "DIGEST") == digest

    def answer(self, key, size, align):
        """What a call is told now; None: nothing, it may wait."""
        if not isinstance(self.here[key], Pool):
            return "WRONGTYPE" if self.here[key] else "no such pool"
        return self.here[key].place(size, align)

    def settle(self, *keys):
        """These keys changed: clients that wait for them are answered, or go on waiting."""
        for waiter in list(self.waiting):
            connection, key, size, align = waiter
            answer = self.answer(key, size, align) if key in keys else None
            if answer is not None:
                self.hear(connection, answer)
                self.waiting.remove(waiter)
                connection.disconnect()

    @staticmethod
    def hear(connection, answer):
        assert connection.can_read(timeout=20), f"no answer; it should be {answer}"
        try:
            got = connection.read_response()
        except ResponseError as error:
            got = error
        assert got == answer if isinstance(answer, int) else answer in str(got), (got, answer)

    def taken(self, key):
        return sorted(self.here[key].taken) if isinstance(self.here[key], Pool) else []

    @rule(key=keys, size=st.integers(1, 20), align=st.sampled_from([1, 1, 4]), lease=st.booleans())
    def wait(self, key, size, align, lease):
        self.count += 1
        connection = redis.Connection(host=self.server.host, port=self.server.port, socket_timeout=60)
        connection.connect()
        connection.send_command("LATH.POOL.ALLOC", key, size, "ALIGN", align, "OWNER", f"w{self.count}",
                                *(("LEASE", 10**9) if lease else ()), "BLOCK", 0)
        answer = self.answer(key, size, align)
        if answer is None:
            self.waiting.append((connection, key, size, align))
        else:
            self.hear(connection, answer)
            connection.disconnect()

    @rule(key=keys, first=st.integers(0, 30), size=st.integers(1, 30))
    def create(self, key, first, size):
        if self.here[key] is None:
            assert self.server("LATH.POOL.CREATE", key, first, size) == b"OK"
            self.here[key] = Pool(first, size)
            self.settle(key)

    @rule(key=keys, at=st.integers(100, 200), size=st.integers(1, 20))
    def add(self, key, at, size):
        pool = self.here[key]
        if isinstance(pool, Pool) and not any(at < first + length and first < at + size for first, length in pool.spans):
            assert self.server("LATH.POOL.ADD", key, at, size) == b"OK"
            pool.spans.append((at, size))
            self.settle(key)

    @rule(key=keys, size=st.integers(1, 12), lease=st.booleans())
    def alloc(self, key, size, lease):
        if isinstance(self.here[key], Pool):
            words = ("LEASE", 10**9) if lease else ()
            assert self.server("LATH.POOL.ALLOC", key, size, *words) == self.here[key].place(size, 1)
            self.settle(key)

    @rule(key=keys, data=st.data(), how=st.sampled_from(["FREE", "FREE", "LEASEAT", "LEASE"]))
    def free(self, key, data, how):
        """Frees a range, or has its lease end; or sets a lease that does not end."""
        if not self.taken(key):
            return
        first = data.draw(st.sampled_from(self.taken(key)))
        words = {"FREE": (), "LEASEAT": (1,), "LEASE": (10**9,)}[how]
        owner = self.server("LATH.POOL.FIND", key, first)[2]
        assert self.server(f"LATH.POOL.{how}", key, first, *words, *(() if owner is None else ("OWNER", owner))) == 1
        if how != "LEASE":
            del self.here[key].taken[first]
        self.settle(key)

    @rule(key=keys, how=st.sampled_from(["DEL", "UNLINK", "SET", "FLUSHDB", "FLUSHALL", "PEXPIREAT", "MULTI", "EVAL"]))
    def end(self, key, how):
        if how == "MULTI":
            pipe = self.server.client.pipeline(transaction=True)
            pipe.execute_command("DEL", key)
            pipe.execute_command("LATH.POOL.CREATE", key, 0, 3)
            pipe.execute()
        else:
            self.server(*{"SET": ("SET", key, "x"), "PEXPIREAT": ("PEXPIREAT", key, 1), "FLUSHDB": ("FLUSHDB",),
                          "EVAL": ("EVAL", "return redis.call('DEL', KEYS[1])", 1, key),
                          "FLUSHALL": ("FLUSHALL", "ASYNC")}.get(how, (how, key)))
        if how.startswith("FLUSH"):
            self.here = dict.fromkeys("kl")
            self.there = dict.fromkeys("kl") if how == "FLUSHALL" else self.there
            self.settle("k", "l")
        else:
            self.here[key] = Pool(0, 3) if how == "MULTI" else "text" if how == "SET" else None
            self.settle(key)

    @rule(key=keys, how=st.sampled_from(["RENAME", "COPY", "RESTORE"]))
    def move(self, key, how):
        other = "l" if key == "k" else "k"
        if self.here[key] is None:
            return
        if how == "RESTORE":
            self.server("RESTORE", other, 0, self.server("DUMP", key), "REPLACE")
        else:
            self.server(how, key, other, *(("REPLACE",) if how == "COPY" else ()))
        self.here[other] = self.here[key].copy() if isinstance(self.here[key], Pool) else self.here[key]
        if how == "RENAME":
            self.here[key] = None
        self.settle(key, other)

    @rule()
    def swap(self):
        self.server("SWAPDB", 0, 1)
        self.here, self.there = self.there, self.here
        self.settle("k", "l")

    @rule(ms=st.integers(1, 40), mode=st.sampled_from(["WRITE", "ALL"]))
    def pause(self, ms, mode):
        """What comes meanwhile is answered later."""
        self.server("CLIENT", "PAUSE", ms, mode)

    @rule(data=st.data(), how=st.sampled_from(["TIMEOUT", "ERROR", "KILL", "leave"]))
    def leave(self, data, how):
        """A client is given up; not while a pause postpones it, when Redis 7.0 stops at CLIENT UNBLOCK."""
        if not self.waiting:
            return
        self.server("CLIENT", "UNPAUSE")
        waiter = data.draw(st.sampled_from(self.waiting))
        connection = waiter[0]
        port = connection._sock.getsockname()[1]
        number = next(row["id"] for row in self.server.client.client_list() if row["addr"].endswith(f":{port}"))
        if how == "KILL":
            self.server("CLIENT", "KILL", "ID", number)
        elif how != "leave":
            assert self.server("CLIENT", "UNBLOCK", number, how) == 1
            if how == "ERROR":
                self.hear(connection, "UNBLOCKED")
            else:
                assert connection.can_read(timeout=20) and connection.read_response() is None
        self.waiting.remove(waiter)
        connection.disconnect()
        assert wait_for(lambda: not any(row["addr"].endswith(f":{port}") for row in self.server.client.client_list()))

    @rule()
    def reload(self):
        self.server("DEBUG", "RELOAD")

    @invariant()
    def same(self):
        assert wait_for(lambda: self.server("INFO", "clients")["blocked_clients"] == len(self.waiting))
        assert not any(connection.can_read(timeout=0) for connection, *_ in self.waiting)
        for key, pool in self.here.items():
            if isinstance(pool, Pool):
                assert {row[0]: row[1] for row in self.server("LATH.POOL.RANGES", key)} == pool.taken


@pytest.mark.parametrize("machine", [Maps, StringMaps, FloatMaps, Pools])
def test_like_the_model(server, machine):
    machine.server = server
    run_state_machine_as_test(machine)


def test_waiting_like_the_model(start):
    Waiting.server = start(appendonly="yes", appendfsync="no")
    Waiting.replica = start(replicaof=["127.0.0.1", str(Waiting.server.port)])
    assert wait_for(lambda: Waiting.replica("INFO", "replication")["master_link_status"] == "up")
    run_state_machine_as_test(Waiting, settings=hypothesis.settings(max_examples=1500 if LONG else 60))
