# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""LATH.POOL.*: placement, owners, leases, blocking."""
import time

import pytest
from redis.exceptions import ResponseError
from servers import Waiter

TOP = 2**64 - 1


def ranges(server, key, *words):
    return [(first, size) for first, size, _, _ in server("LATH.POOL.RANGES", key, *words)]


def holes(server, key, *words):
    return [tuple(hole) for hole in server("LATH.POOL.HOLES", key, *words)]


def test_policies(form):
    form("LATH.POOL.CREATE", "p", 1000, 1000)
    for first, size in ((1000, 100), (1150, 50), (1230, 270), (1540, 400)):
        assert form("LATH.POOL.RESERVE", "p", first, size) == first
    assert holes(form, "p") == [(1100, 50), (1200, 30), (1500, 40), (1940, 60)]

    def take(*words):
        first = form("LATH.POOL.ALLOC", "p", *words)
        if first is not None:
            assert form("LATH.POOL.FREE", "p", first, words[0]) == 1
        return first

    assert take(10) == 1100 and take(10, "FIRST") == 1100
    assert take(10, "LAST") == 1990
    assert take(10, "BEST") == 1200 and take(35, "BEST") == 1500
    assert take(10, "NEAR", 1215) in (1215, 1210, 1214, 1216)
    assert take(10, "NEAR", 1700) in (1530, 1940)
    assert take(10, "NEAR", 0) == 1100 and take(10, "NEAR", TOP) == 1990
    assert take(10, "NEXT", 1225) == 1500 and take(10, "NEXT", 1995) == 1100
    assert take(10, "EXACT", 1205) == 1205 and take(10, "EXACT", 1225) is None
    assert take(16, "ALIGN", 32) == 1120 and take(16, "ALIGN", 32, "LAST") == 1984
    assert take(16, "ALIGN", 256) is None
    assert take(10, "WITHIN", 1201, 1299) == 1201 and take(10, "WITHIN", 1225, 1499) is None
    assert take(10, "WITHIN", 1991, TOP) is None and take(10, "WITHIN", 1990, TOP) == 1990
    assert take(60) == 1940 and take(61) is None
    assert holes(form, "p", "WITHIN", 1110, 1509) == [(1110, 40), (1200, 30), (1500, 10)]
    assert holes(form, "p", "LIMIT", 1) == [(1100, 50)]
    assert ranges(form, "p", "WITHIN", 1160, 1235) == [(1150, 50), (1230, 270)]


def test_the_ends_of_the_numbers(form):
    form("LATH.POOL.CREATE", "low", 0, 10)
    form("LATH.POOL.CREATE", "high", TOP - 9, 10)
    assert [form("LATH.POOL.ALLOC", "low", 1) for _ in range(11)] == [*range(10), None]
    got = [form("LATH.POOL.ALLOC", "high", 1, "LAST") for _ in range(11)]
    assert [got[i] if got[i] is None else int(got[i]) for i in range(11)] == [*range(TOP, TOP - 10, -1), None]
    assert [int(first) for first, _ in ranges(form, "high")] == list(range(TOP - 9, TOP + 1))
    assert holes(form, "high") == [] and holes(form, "low") == []
    form("LATH.POOL.CREATE", "most", 0, TOP)
    assert form("LATH.POOL.ALLOC", "most", 2**63, "ALIGN", 2**62, "LAST") == 2**62
    stat = form("LATH.POOL.STAT", "most")
    stat = dict(zip(stat[::2], stat[1::2]))
    assert stat[b"ranges"] == 1 and int(stat[b"allocated"]) == 2**63 and int(stat[b"free"]) == TOP - 2**63
    for words in ((0, 0), (1, TOP + 1), (TOP, 2), (2, TOP)):
        with pytest.raises(ResponseError):
            form("LATH.POOL.CREATE", "bad", *words)


def test_add(form):
    form("LATH.POOL.CREATE", "p", 100, 10)
    assert form("LATH.POOL.ADD", "p", 200, 10) == b"OK"
    assert form("LATH.POOL.ADD", "p", 110, 5) == b"OK"
    assert form("LATH.POOL.ADD", "p", 0, 1) == b"OK"
    assert form("LATH.POOL.ADD", "p", TOP, 1) == b"OK"
    assert holes(form, "p") == [(0, 1), (100, 15), (200, 10), (str(TOP).encode(), 1)]
    for first, size in ((105, 1), (90, 11), (114, 2), (0, 1), (90, 200)):
        with pytest.raises(ResponseError, match="in the pool"):
            form("LATH.POOL.ADD", "p", first, size)
    assert form("LATH.POOL.ALLOC", "p", 15) == 100
    assert form("LATH.POOL.ALLOC", "p", 15) is None
    assert form("LATH.POOL.RESERVE", "p", 150, 1) is None


def test_owners(form):
    form("LATH.POOL.CREATE", "p", 0, 1000)
    assert form("LATH.POOL.ALLOC", "p", 10, "OWNER", "alice") == 0
    assert form("LATH.POOL.ALLOC", "p", 10, "OWNER", "bob") == 10
    assert form("LATH.POOL.ALLOC", "p", 10, "OWNER", "alice", "LAST") == 0
    with pytest.raises(ResponseError, match="OWNERBUSY"):
        form("LATH.POOL.ALLOC", "p", 11, "OWNER", "alice")
    with pytest.raises(ResponseError, match="OWNERBUSY"):
        form("LATH.POOL.RESERVE", "p", 500, 10, "OWNER", "alice")
    assert form("LATH.POOL.RESERVE", "p", 0, 10, "OWNER", "alice") == 0
    assert form("LATH.POOL.OWNER", "p", "bob") == [10, 10, b"bob", None]
    assert form("LATH.POOL.OWNER", "p", "carol") is None
    assert form("LATH.POOL.FIND", "p", 5) == [0, 10, b"alice", None]
    assert form("LATH.POOL.FIND", "p", 20) is None and form("LATH.POOL.FIND", "p", 5000) is None
    assert form("LATH.POOL.FREE", "p", "OWNER", "alice") == 1
    assert form("LATH.POOL.FREE", "p", "OWNER", "alice") == 0
    assert form("LATH.POOL.ALLOC", "p", 5, "OWNER", "") == 0
    assert form("LATH.POOL.OWNER", "p", "") == [0, 5, b"", None]
    with pytest.raises(ResponseError, match="another size"):
        form("LATH.POOL.FREE", "p", 10, 9, "OWNER", "bob")
    for words in (("FREE", "p", 10), ("FREE", "p", 10, 10), ("LEASE", "p", 10, 100), ("LEASEAT", "p", 10, 1)):
        with pytest.raises(ResponseError, match="OWNED"):
            form(f"LATH.POOL.{words[0]}", *words[1:])
        assert form(f"LATH.POOL.{words[0]}", *words[1:], "OWNER", "") == 0
    assert form("LATH.POOL.FREE", "p", 11) == form("LATH.POOL.FREE", "p", 11, "OWNER", "bob") == 0
    assert form("LATH.POOL.OWNER", "p", "bob") == [10, 10, b"bob", None]
    assert form("LATH.POOL.FREE", "p", 10, 10, "OWNER", "bob") == 1


def test_many_owners(server):
    server("LATH.POOL.CREATE", "p", 0, 1 << 40)
    pipe = server.client.pipeline(transaction=False)
    for i in range(10000):
        pipe.execute_command("LATH.POOL.ALLOC", "p", i % 7 + 1, "ALIGN", 1 << i % 5, "OWNER", f"o{i}", "BEST")
    got = pipe.execute()
    spans = sorted((first, i % 7 + 1) for i, first in enumerate(got))
    assert all(a + n <= b for (a, n), (b, _) in zip(spans, spans[1:]))
    assert all(first % (1 << i % 5) == 0 for i, first in enumerate(got))
    for i in range(0, 10000, 97):
        assert server("LATH.POOL.OWNER", "p", f"o{i}")[0] == got[i]
    for i in range(0, 10000, 2):
        pipe.execute_command("LATH.POOL.FREE", "p", "OWNER", f"o{i}")
    assert pipe.execute() == [1] * 5000
    assert ranges(server, "p") == sorted((got[i], i % 7 + 1) for i in range(1, 10000, 2))


def test_leases(form):
    form("LATH.POOL.CREATE", "p", 0, 10)
    assert form("LATH.POOL.ALLOC", "p", 10, "OWNER", "a", "LEASE", 60) == 0
    assert form("LATH.POOL.ALLOC", "p", 10, "OWNER", "b") is None
    first, size, owner, expires = form("LATH.POOL.FIND", "p", 3)
    assert (first, size, owner) == (0, 10, b"a") and abs(expires - time.time() * 1000) < 2000
    time.sleep(0.08)
    assert form("LATH.POOL.FIND", "p", 3) is None and form("LATH.POOL.OWNER", "p", "a") is None
    assert form("LATH.POOL.ALLOC", "p", 10, "OWNER", "b", "LEASE", 60) == 0
    assert form("LATH.POOL.LEASE", "p", 0, 100000, "OWNER", "a") == form("LATH.POOL.FREE", "p", 0, "OWNER", "a") == 0, "a is late"
    assert form("LATH.POOL.LEASE", "p", 0, 100000, "OWNER", "b") == 1
    time.sleep(0.08)
    assert form("LATH.POOL.ALLOC", "p", 1) is None
    assert form("LATH.POOL.LEASE", "p", 0, 0, "OWNER", "b") == 1
    assert form("LATH.POOL.OWNER", "p", "b") == [0, 10, b"b", None]
    assert form("LATH.POOL.LEASEAT", "p", 0, 1, "OWNER", "b") == 1
    assert form("LATH.POOL.ALLOC", "p", 10) == 0
    assert form("LATH.POOL.LEASE", "p", 0, 1) == 1  # without an owner
    assert form("LATH.POOL.LEASE", "p", 1, 1) == 0
    time.sleep(0.01)
    assert form("LATH.POOL.ALLOC", "p", 10) == 0
    for words in (("LEASE", 0), ("LEASE", TOP), ("LEASE", "soon")):
        with pytest.raises(ResponseError):
            form("LATH.POOL.ALLOC", "p", 1, *words)


def test_leases_end_while_nobody_asks(form):
    """RANGES, HOLES and STAT say the same."""
    form("LATH.POOL.CREATE", "p", 0, 100)
    for first, size, *lease in ((0, 10, 60), (10, 10), (20, 10, 60), (30, 5, 10**6), (50, 10, 61), (70, 1)):
        form("LATH.POOL.RESERVE", "p", first, size, "OWNER", first, *(("LEASE", *lease) if lease else ()))
    time.sleep(.1)
    assert ranges(form, "p") == [(10, 10), (30, 5), (70, 1)]
    stat = form("LATH.POOL.STAT", "p")
    assert dict(zip(stat[::2], stat[1::2])).items() >= {b"allocated": 16, b"free": 84, b"ranges": 3, b"leases": 1, b"largest-hole": 35}.items()
    assert holes(form, "p") == [(0, 10), (20, 10), (35, 35), (71, 29)]


def test_clients_that_wait_are_woken(form):
    form("LATH.POOL.CREATE", "p", 0, 10)
    form("LATH.POOL.ALLOC", "p", 10, "LEASE", 150)
    first, seconds = Waiter(form, "p", 10, "LEASE", 100).served()
    assert first == 0 and 0.05 < seconds < 5, "the lease was over; no other command came"
    first, seconds = Waiter(form, "p", 10, "OWNER", "a").served()
    assert first == 0 and seconds < 5, "and so was that of the first client"
    waiter = Waiter(form, "p", 4)
    form("LATH.POOL.LEASE", "p", 0, 50, "OWNER", "a")  # there was none when the client began to wait
    assert waiter.served()[1] < 5
    assert form("LATH.POOL.ALLOC", "p", 6, "LEASE", 100) == 4
    waiter = Waiter(form, "p", 6)
    form("LATH.POOL.LEASE", "p", 4, 400)  # later than it seemed
    assert 0.3 < waiter.served()[1] < 5
    form("LATH.POOL.ADD", "p", 100, 1)
    waiters = [Waiter(form, "p", 8, "LEASE", 30) for _ in range(4)]
    form("LATH.POOL.ADD", "p", 200, 8)  # one after the other has it
    assert all(waiter.served()[0] == 200 for waiter in waiters)
    waiters = [Waiter(form, "p", 8), Waiter(form, "p", 2)]
    form("LATH.POOL.FREE", "p", 0)
    form("LATH.POOL.FREE", "p", 4)
    assert None not in [waiter.served()[0] for waiter in waiters]


def test_wrong_use(server):
    server("SET", "text", "x")
    server("LATH.POOL.CREATE", "p", 0, 100)
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        server("LATH.POOL.ALLOC", "text", 1)
    with pytest.raises(ResponseError, match="no such pool"):
        server("LATH.POOL.ALLOC", "none", 1)
    with pytest.raises(ResponseError, match="exists"):
        server("LATH.POOL.CREATE", "p", 0, 100)
    for words in ((1, "ALIGN", 3), (1, "ALIGN", 0), (0,), (-1,), (1, "WITHIN", 5, 4), (1, "FIRST", "LAST"), (1, "NEAR"),
                  (1, "OWNER"), (1, "OWNER", "a", "OWNER", "b"), (1, "BLOCK", -1), (1, "NONSENSE"), (4, "ALIGN", 4, "EXACT", 2)):
        with pytest.raises(ResponseError):
            server("LATH.POOL.ALLOC", "p", *words)
    for words in (("ALLOC", "p"), ("CREATE", "q", 1), ("FREE", "p"), ("STAT",), ("FIND", "p"), ("RESERVE", "p", 1)):
        with pytest.raises(ResponseError, match="wrong number of arguments"):
            server(f"LATH.POOL.{words[0]}", *words[1:])
    assert holes(server, "p") == [(0, 100)]


def test_small_pools_are_small(server):
    server("LATH.POOL.CREATE", "p", 0, 1 << 32)
    for i in range(20):
        server("LATH.POOL.ALLOC", "p", 256)
    assert server("MEMORY", "USAGE", "p") <= 2048
