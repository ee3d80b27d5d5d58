# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""lathwork_valkey, the module's types as Python objects, through redis-py with both protocols."""
import asyncio
import pathlib
import sys

import pytest
import redis.asyncio
import redis.cluster
import servers

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "client"))
from lathwork_valkey import Interval, Intervals, Map, Pool, Range  # noqa: E402

TOP = 2**64 - 1
ENTRIES = {"NUMBERS": [0, 7, 2**53 + 1, TOP], "SIGNED": [-2**63, -7, 0, 2**63 - 1], "FLOATS": [float("-inf"), -0.1, 0.0, 2.5],
           "STRINGS": [b"", b"a", b"a\0", b"b"]}


@pytest.fixture(params=[2, 3])
def client(server, request):
    return server.connect(protocol=request.param)


@pytest.mark.parametrize("kind", ENTRIES)
def test_map(client, kind):
    keys, m = ENTRIES[kind], Map(client, "m", kind)
    assert list(m) == [] and len(m) == 0 and m.range() == [] and m.packed() == [] and m.floor(keys[1]) is None
    assert m.update({key: i for i, key in enumerate(keys)}) == 4 and m.update([]) == 0
    assert list(m) == keys and len(m) == 4 and m[keys[2]] == b"2" and keys[3] in m
    pairs = [(key, b"%d" % i) for i, key in enumerate(keys)]
    assert m.range() == pairs and m.range(reverse=True, limit=2, offset=1) == pairs[2:0:-1] and m.range(offset=3) == pairs[3:]
    assert m.packed() == [(key, i) for i, key in enumerate(keys)]
    assert m.set(keys[0], b"text") is False and m.packed(limit=1) == [(keys[0], b"text")]
    assert m.set(keys[0], 0, nx=True) is None and m.set(keys[0], 0, xx=True) is False
    assert m.by_rank(0) == pairs[0] and m.by_rank(-2, -1) == pairs[2:] and m.by_rank(0, 1, reverse=True) == pairs[:1:-1] and m.by_rank(9) is None
    assert m.rank(keys[1]) == 1 and m.rank(keys[1], reverse=True) == 2 and m.count() == 4
    assert m.floor(keys[1]) == m.ceil(keys[1]) == pairs[1]
    assert m.incr(keys[3], 5) == 8 and m.compare_and_set(keys[3], 8, 3) and not m.compare_and_set(keys[3], 8, 3)
    assert m.get_many([keys[3], keys[0]]) == [b"3", b"0"] and m.get_many([]) == []
    assert m.pop() == pairs[:1] and m.pop(2, last=True) == pairs[:1:-1] and m.get(keys[0], "none") == "none"
    del m[keys[1]]
    for bad in (lambda: m[keys[1]], lambda: m.__delitem__(keys[1])):
        with pytest.raises(KeyError):
            bad()
    m[keys[0]] = 1
    assert client.exists("m") and m.delete_range() == 1 and not client.exists("m")
    with pytest.raises(ValueError, match="DOUBLES"):
        Map(client, "m", "DOUBLES")


def test_scan(client):
    m = Map(client, "m", "STRINGS")
    m.update((f"user:{i:04}", i) for i in range(300))
    m["other"] = 1
    assert [key for key, _ in m.scan(match="user:00*", count=7)] == [b"user:%04d" % i for i in range(100)]
    assert len(list(m.scan(count=7))) == 301


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_mapping(client, kind):
    m, copy = Map(client, "m", kind), Map(client, "copy", kind)
    assert dict(m) == {} and list(m.items()) == [] and copy.update(m) == 0
    m.update({key: i for i, key in enumerate(ENTRIES[kind])})
    pairs = m.range()
    assert list(m.keys()) == list(m) == ENTRIES[kind] and list(m.values()) == [b"0", b"1", b"2", b"3"] and list(m.items()) == pairs
    assert dict(m) == dict(m.items()) == dict(pairs) and copy.update(m) == 4 and copy.range() == pairs


def test_more_than_one_reply(client):
    m = Map(client, "m")
    m.update((i, 2 * i) for i in range(250))
    assert list(m.keys()) == list(range(250)) and list(m.values()) == [b"%d" % (2 * i) for i in range(250)] and len(dict(m)) == 250


def test_pool(client):
    p = Pool(client, "p")
    p.create(2**63, 100)
    p.add(0, 10)
    assert p.alloc(10, align=2) == 0 and p.alloc(7, owner="me", lease=10**6, place=("NEAR", 2**63 + 50), within=(2**63, TOP)) == 2**63 + 50
    there = p.find(2**63 + 55)
    assert there == p.owner("me") and there[:3] == (2**63 + 50, 7, b"me") and there.lease_ends > 10**12 and isinstance(there, Range)
    assert p.ranges() == [Range(0, 10, None, None), there] and p.ranges(limit=1, offset=1) == [there] and p.ranges(0, 5)[0].size == 10
    assert p.holes() == [(2**63, 50), (2**63 + 57, 43)] and p.alloc(100) is None and p.alloc(100, block=1) is None
    assert p.reserve(2**63, 5, owner="you") == 2**63 and p.reserve(2**63, 5) is None
    assert p.free(0) and not p.free(0) and p.free(owner="me") and p.lease(2**63, 1000, owner="you") and p.find(5) is None
    assert not p.lease(2**63, 1000, owner="me") and not p.free(2**63, owner="me") and p.owner("you").first == 2**63
    assert p.stat()["capacity"] == 110 and p.stat()["ranges"] == 1
    with pytest.raises(ValueError, match="first number of a range, its owner, or both"):
        p.free()


def test_intervals(client):
    s = Intervals(client, "i")
    assert s.add(9, 10, "ann") and not s.add(9, 10, "ann") and not s.add_if_free(10, 11, "bob") and s.add_if_free(2**63, TOP, "bob")
    ann, bob = Interval(9, 10, b"ann"), Interval(2**63, TOP, b"bob")
    assert s.at(9) == s.overlapping(1, 20) == s.within(0, 100) == s.containing(9, 9) == [ann] and s.at(TOP) == [bob]
    assert s.overlapping("-", "+", limit=1, offset=1) == [bob] and s.count(0, TOP) == len(s) == 2 and s.nearest(3) == ann
    assert s.remove(9, 10, "ann") and s.remove(2**63, TOP, "bob") and s.nearest(3) is None and len(s) == 0


def test_in_a_pipeline(client):
    pipe = client.pipeline()
    m = Map(pipe, "m")
    assert m.set(1, "a") is pipe and m.get(1) is pipe
    assert pipe.execute() == [1, b"a"]


async def asynchronous(port, protocol):
    client = redis.asyncio.Redis(port=port, protocol=protocol)
    m, p, s = Map(client, "m", "STRINGS"), Pool(client, "p"), Intervals(client, "i")
    assert await m.set("alice", 42) is True and await m.get("alice") == b"42" and await m.get("bob") is None
    assert await m.update((f"{i:03}", i) for i in range(250)) == 250 and await m.len() == 251
    pairs = await m.range()
    assert [pair async for pair in m.items()] == pairs and [entry async for entry in m] == [entry for entry, _ in pairs]
    assert await m.update([]) == 0 and await m.get_many([]) == []
    assert [value async for value in m.values()] == [value for _, value in pairs] and (await m.packed(limit=1)) == [(b"000", 0)]
    assert await p.create(0, 10) is None and await p.alloc(4, owner="a") == 0 and (await p.stat())["free"] == 6
    assert await s.add(1, 5, "x") is True and await s.at(3) == [Interval(1, 5, b"x")] and await s.len() == 1
    for wrong in (lambda: "alice" in m, lambda: m["alice"], lambda: m.__setitem__("alice", 1), lambda: m.__delitem__("alice"), lambda: len(m), lambda: len(s)):
        with pytest.raises(TypeError, match="asynchronous: await"):
            wrong()
    pipe = client.pipeline()
    assert Map(pipe, "m", "STRINGS").set("bob", 7) is pipe and await pipe.execute() == [1] and await m.get("bob") == b"7"
    await client.aclose()


@pytest.mark.parametrize("protocol", [2, 3])
def test_an_asynchronous_client(server, protocol):
    asyncio.run(asynchronous(server.port, protocol))


def test_a_client_of_a_cluster(start):
    """redis-py's takes names with one dot alone."""
    server = start(cluster_enabled="yes", port=servers.free_port())
    server("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    assert servers.wait_for(lambda: b"cluster_state:ok" in server("CLUSTER", "INFO"))
    client = redis.cluster.RedisCluster(host="127.0.0.1", port=server.port)
    m, p = Map(client, "m"), Pool(client, "p")
    p.create(0, 5)
    assert m.set(1, 2) and m[1] == b"2" and p.alloc(5) == 0 and Intervals(client, "i").add(1, 2, "x")
    pipe = client.pipeline()
    Map(pipe, "m").get(1)
    assert pipe.execute() == [b"2"]
