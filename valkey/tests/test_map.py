# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""LATH.MAP.*: replies, errors, the limits of keys and values."""
import bisect
import struct
import time

import pytest
from redis.exceptions import ResponseError

TOP = 2**64 - 1


def pairs(flat):
    return list(zip(flat[::2], flat[1::2]))


def test_entries(form):
    assert form("LATH.MAP.SET", "m", 7, "seven") == 1
    assert form("LATH.MAP.SET", "m", 7, "SEVEN") == 0
    assert form("LATH.MAP.GET", "m", 7) == b"SEVEN"
    assert form("LATH.MAP.GET", "m", 8) is None
    assert form("LATH.MAP.GET", "none", 8) is None
    assert form("LATH.MAP.SET", "m", 7, "x", "NX") is None
    assert form("LATH.MAP.SET", "m", 8, "x", "XX") is None
    assert form("LATH.MAP.SET", "m", 8, "x", "NX") == 1
    assert form("LATH.MAP.SET", "m", 8, "y", "XX") == 0
    assert form("LATH.MAP.MSET", "m", 1, "a", 2, "b", 7, "c") == 2
    assert form("LATH.MAP.MGET", "m", 1, 9, 7) == [b"a", None, b"c"]
    assert form("LATH.MAP.MGET", "none", 1, 9) == [None, None]
    assert form("LATH.MAP.LEN", "m") == 4
    assert form("LATH.MAP.DEL", "m", 1, 1, 55) == 1
    assert form("LATH.MAP.DEL", "m", 2, 7, 8) == 3
    assert form("EXISTS", "m") == 0
    assert form("TYPE", "m") == b"none"


@pytest.mark.parametrize("value", [
    b"", b"a", b"1234567", b"12345678", b"\0\0\0", b"\xff" * 7, b"0", b"00", b"-1", b"1.5", b" 1", b"4611686018427387903",
    b"4611686018427387904", b"18446744073709551615", b"x" * 100000])
def test_values_come_back(form, value):
    form("LATH.MAP.SET", "m", 1, value)
    form("LATH.MAP.SET", "m", 2, "other")
    assert form("LATH.MAP.GET", "m", 1) == value
    assert form("LATH.MAP.RANGE", "m", "-", "+") == [1, value, 2, b"other"]
    assert form("LATH.MAP.CAS", "m", 1, value, "new") == 1
    assert form("LATH.MAP.CAS", "m", 1, value + b"?", "newer") == 0
    assert form("LATH.MAP.GET", "m", 1) == b"new"


def test_keys_are_exact(form):
    keys = [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, TOP - 1, TOP]
    for key in keys:
        assert form("LATH.MAP.SET", "m", key, f"v{key}") == 1
    got = form("LATH.MAP.RANGE", "m", "-", "+", "KEYS")
    assert [int(key) for key in got] == keys
    for key in keys:
        assert form("LATH.MAP.GET", "m", key) == b"v%d" % key
    assert form("LATH.MAP.CEIL", "m", TOP) == [str(TOP).encode(), b"v%d" % TOP]
    assert form("LATH.MAP.REVRANGE", "m", "+", f"({2**63}", "KEYS") == [str(TOP).encode(), str(TOP - 1).encode()]
    assert form("LATH.MAP.RANGE", "m", f"({TOP}", "+") == []
    assert form("LATH.MAP.RANGE", "m", "-", "(0") == []
    big = form.connect(protocol=3)
    assert big.execute_command("LATH.MAP.RANGE", "m", 2**63, "+", "KEYS") == [2**63, TOP - 1, TOP]


def test_ranges(form):
    for key in range(0, 1000, 10):
        form("LATH.MAP.SET", "m", key, key)
    assert form("LATH.MAP.RANGE", "m", 15, 40) == [20, b"20", 30, b"30", 40, b"40"]
    assert form("LATH.MAP.RANGE", "m", "(20", "(40") == [30, b"30"]
    assert form("LATH.MAP.REVRANGE", "m", 40, 15, "LIMIT", 2) == [40, b"40", 30, b"30"]
    assert form("LATH.MAP.RANGE", "m", "-", "+", "LIMIT", 0) == []
    assert form("LATH.MAP.RANGE", "m", 40, 15) == []
    assert form("LATH.MAP.RANGE", "none", "-", "+") == []
    assert form("LATH.MAP.COUNT", "m", 15, 40) == 3
    assert form("LATH.MAP.COUNT", "m", "-", "+") == 100
    assert len(form("LATH.MAP.RANGE", "m", "-", "+")) == 200
    assert form("LATH.MAP.REVRANGE", "m", "+", "-", "KEYS") == list(range(990, -1, -10))
    assert form("LATH.MAP.FLOOR", "m", 25) == [20, b"20"]
    assert form("LATH.MAP.CEIL", "m", 25) == [30, b"30"]
    assert form("LATH.MAP.FLOOR", "m", 990) == [990, b"990"]
    assert form("LATH.MAP.CEIL", "m", 991) is None
    assert form("LATH.MAP.DELRANGE", "m", 100, 199) == 10
    assert form("LATH.MAP.DELRANGE", "m", "-", "+", "LIMIT", 75) == 75
    assert form("LATH.MAP.POP", "m") == [850, b"850"]
    assert form("LATH.MAP.POP", "m", "MAX", 2) == [990, b"990", 980, b"980"]
    assert form("LATH.MAP.POP", "m", "MIN", 100) == sum(([k, b"%d" % k] for k in range(860, 980, 10)), [])
    assert form("LATH.MAP.POP", "m") == []
    assert form("EXISTS", "m") == 0


def test_packed_reply(form):
    values = {5: b"12", 6: b"ab", 2**63: b"", 9: b"long " * 20}
    for key, value in values.items():
        form("LATH.MAP.SET", "m", key, value)
    data, at, got = form("LATH.MAP.RANGE", "m", "-", "+", "PACKED"), 0, {}
    while at < len(data):
        key, size = struct.unpack_from("<QI", data, at)
        at += 12
        if size == 2**32 - 1:
            got[key] = b"%d" % struct.unpack_from("<Q", data, at)
            at += 8
        else:
            got[key] = data[at:at + size]
            at += size
    assert got == values and list(got) == sorted(values)
    assert form("LATH.MAP.RANGE", "none", "-", "+", "PACKED") == b""


def test_incr(form):
    assert form("LATH.MAP.INCR", "m", 1) == 1
    assert form("LATH.MAP.INCR", "m", 1, -5) == -4
    assert form("LATH.MAP.GET", "m", 1) == b"-4"
    form("LATH.MAP.SET", "m", 1, 2**63 - 2)
    assert form("LATH.MAP.INCR", "m", 1) == 2**63 - 1
    with pytest.raises(ResponseError, match="overflow"):
        form("LATH.MAP.INCR", "m", 1)
    assert form("LATH.MAP.INCR", "m", 2, -2**63) == -2**63
    form("LATH.MAP.SET", "m", 3, "words")
    with pytest.raises(ResponseError, match="not an integer"):
        form("LATH.MAP.INCR", "m", 3)
    with pytest.raises(ResponseError, match="not an integer"):
        form("LATH.MAP.INCR", "m", 1, "1.5")


@pytest.mark.parametrize("kind", ["NUMBERS", "STRINGS"])
@pytest.mark.parametrize("n", [0, 1, 9, 10, 11, 500])
def test_scan(form, kind, n):
    form("LATH.MAP.CREATE", "m", kind)
    for key in range(n):
        form("LATH.MAP.SET", "m", key, "v")
    cursor, seen = b"0", []
    while True:
        cursor, some = form("LATH.MAP.SCAN", "m", cursor, "COUNT", 10)
        assert len(some) <= 20
        seen += [int(key) for key, _ in pairs(some)]
        if cursor == b"0":
            break
    assert sorted(seen) == list(range(n)) and len(set(seen)) == n
    with pytest.raises(ResponseError, match="invalid cursor"):
        form("LATH.MAP.SCAN", "m", "nonsense")


def test_created_maps_stay(form):
    assert form("LATH.MAP.CREATE", "m") == b"OK"
    form("LATH.MAP.SET", "m", 1, 1)
    assert form("LATH.MAP.DEL", "m", 1) == 1
    assert form("EXISTS", "m") == 1 and form("LATH.MAP.LEN", "m") == 0
    with pytest.raises(ResponseError, match="exists"):
        form("LATH.MAP.CREATE", "m")


def test_strings(server):
    words = [b"", b"a", b"a\0", b"a\0\0", b"ab", b"b", b"\xff" * 20, b"user:00001", b"-", b"+", b"(", b"["]
    words += [b"user:%05d" % i for i in range(2, 300)] + [b"x" * i for i in range(1, 60)]
    words += [b"deep" * 100 + b"%d" % i for i in range(100)]
    server("LATH.MAP.CREATE", "s", "STRINGS")
    for word in words:
        assert server("LATH.MAP.SET", "s", word, b"=" + word) == 1, word
    words.sort()
    assert server("LATH.MAP.RANGE", "s", "-", "+", "KEYS") == words
    assert server("LATH.MAP.REVRANGE", "s", "+", "-", "KEYS") == words[::-1]
    assert server("LATH.MAP.MGET", "s", *words) == [b"=" + word for word in words]
    assert server("LATH.MAP.RANGE", "s", "[user:00001", "(user:00004", "KEYS") == [b"user:0000%d" % i for i in (1, 2, 3)]
    assert server("LATH.MAP.REVRANGE", "s", "(user:00004", "[user:00001", "KEYS") == [b"user:0000%d" % i for i in (3, 2, 1)]
    assert server("LATH.MAP.FLOOR", "s", "user:00003x") == [b"user:00003", b"=user:00003"]
    assert server("LATH.MAP.CEIL", "s", "user:00003x") == [b"user:00004", b"=user:00004"]
    for word in words[::2]:
        assert server("LATH.MAP.DEL", "s", word) == 1
    assert server("LATH.MAP.RANGE", "s", "-", "+", "KEYS") == words[1::2]
    with pytest.raises(ResponseError, match="min or max"):
        server("LATH.MAP.RANGE", "s", "user", "+")


def test_deep_strings_do_not_recurse(server):
    server("LATH.MAP.CREATE", "s", "STRINGS")
    common = b"x" * 200000
    for i in range(40):
        server("LATH.MAP.SET", "s", common + b"%02d" % i, i)
    assert server("LATH.MAP.MGET", "s", common + b"07", common + b"39", common) == [b"7", b"39", None]
    assert server("LATH.MAP.LEN", "s") == 40


def test_strings_from_a_few_to_many_and_back(server):
    """Order, ranks and counts in both forms, and at the steps between them; keys of one beginning, and of zeros."""
    words = sorted({b"user:%07d" % (i * 7919 % 10007) for i in range(1500)} | {b"\0" * i for i in range(40)} | {b"", b"user", b"zz\xff"})
    server("LATH.MAP.CREATE", "s", "STRINGS")
    there = []

    def check():
        assert server("LATH.MAP.RANGE", "s", "-", "+", "KEYS") == there
        assert server("LATH.MAP.REVRANGE", "s", "+", "-", "KEYS") == there[::-1]
        assert server("LATH.MAP.LEN", "s") == len(there)
        for i in range(0, len(words), 97):
            rank = bisect.bisect_left(there, words[i])
            behind = bisect.bisect_right(there, words[i])
            assert server("LATH.MAP.RANK", "s", words[i]) == (rank if behind > rank else None)
            assert server("LATH.MAP.COUNT", "s", "-", b"(" + words[i]) == rank
            assert server("LATH.MAP.COUNT", "s", b"[" + words[i], "+") == len(there) - rank
            assert server("LATH.MAP.COUNT", "s", b"(" + words[i], b"[" + words[-1 - i]) == max(0, bisect.bisect_right(there, words[-1 - i]) - behind)
        for i in {0, len(there) // 3, max(0, len(there) - 1), len(there)}:
            assert server("LATH.MAP.SELECT", "s", i) == ([there[i], b"v"] if i < len(there) else None)

    order = [words[i * 941 % len(words)] for i in range(len(words))]
    assert sorted(order) == words
    for step, word in enumerate(order):
        assert server("LATH.MAP.SET", "s", word, "v") == 1
        bisect.insort(there, word)
        if step in (0, 1, 7, 8, 30, 31, 32, 33, 200) or step % 500 == 499:
            check()
    used = server("MEMORY", "USAGE", "s", "SAMPLES", 0)
    assert used > sum(len(word) for word in words)
    for step, word in enumerate(reversed(order)):
        assert server("LATH.MAP.DEL", "s", word) == 1
        there.remove(word)
        if len(there) in (0, 1, 7, 8, 9, 31, 32, 33) or step % 500 == 499:
            check()
    assert server("MEMORY", "USAGE", "s", "SAMPLES", 0) < 500


def test_wrong_use(server):
    server("SET", "text", "x")
    server("LATH.MAP.SET", "m", 1, 1)
    for words in (("GET", "text", 1), ("SET", "text", 1, 1), ("RANGE", "text", "-", "+"), ("LEN", "text")):
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            server(f"LATH.MAP.{words[0]}", *words[1:])
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        server("GET", "m")
    for key in ("-1", "1.0", "x", "", "18446744073709551616", "01", " 1", "+1", "1e3"):
        with pytest.raises(ResponseError, match="not a number"):
            server("LATH.MAP.SET", "m", key, "v")
        with pytest.raises(ResponseError, match="not a number"):
            server("LATH.MAP.MSET", "m", 2, "v", key, "v")
    assert server("LATH.MAP.LEN", "m") == 1
    for words in (("SET", "m", 1), ("SET", "m"), ("MSET", "m", 1), ("MSET", "m", 1, 2, 3), ("GET", "m"), ("GET", "m", 1, 2),
                  ("INCR", "m"), ("CAS", "m", 1, 2), ("RANGE", "m", 1), ("LEN",), ("DEL", "m"), ("SCAN", "m"), ("POP",)):
        with pytest.raises(ResponseError, match="wrong number of arguments"):
            server(f"LATH.MAP.{words[0]}", *words[1:])
    for words in (("SET", "m", 1, 2, "ZX"), ("RANGE", "m", "-", "+", "LIMIT"), ("RANGE", "m", "-", "+", "KEYS", "PACKED"),
                  ("POP", "m", "MIDDLE"), ("DELRANGE", "m", "-", "+", "KEYS"), ("CREATE", "n", "FLOATS")):
        with pytest.raises(ResponseError, match="syntax"):
            server(f"LATH.MAP.{words[0]}", *words[1:])


def test_growth(server):
    """Through all forms: packed, nodes, chunks."""
    pipe = server.client.pipeline(transaction=False)
    for i in range(20000):
        pipe.execute_command("LATH.MAP.SET", "m", i * 7919 % 20011, f"value {i}")
    assert sum(pipe.execute()) == 20000
    assert server("LATH.MAP.RANGE", "m", "-", "+", "KEYS") == sorted(i * 7919 % 20011 for i in range(20000))
    before = server("DEBUG", "DIGEST-VALUE", "m")
    server("COPY", "m", "copy")
    assert server("DEBUG", "DIGEST-VALUE", "copy") == before
    assert server("MEMORY", "USAGE", "m") < 20000 * 70


NAMES = ["alice", "", "-1", "1.5", "18446744073709551616", "01", "\0", "[a", "a" * 1000, "nan"]


def test_a_key_that_is_not_there_has_no_entries(server):
    """Of whatever kind the entry is: the map may be one of strings that expired or was not made yet."""
    for name in [*NAMES, 7, TOP]:
        for words, reply in ((("GET", name), None), (("MGET", name, 7, name), [None] * 3), (("DEL", name), 0), (("DEL", 7, name), 0),
                             (("CAS", name, 1, 2), 0), (("RANK", name), None), (("FLOOR", name), None), (("CEIL", name), None),
                             (("SET", name, "v", "XX"), None), (("SCAN", f"({name}"), [b"0", []]), (("SCAN", f"({name}", "COUNT", 5), [b"0", []]),
                             (("RANGE", f"[{name}", f"({name}"), []), (("REVRANGE", "+", f"[{name}", "KEYS"), []),
                             (("RANGE", f"[{name}", "+", "LIMIT", 3, "PACKED"), b""), (("COUNT", f"({name}", f"[{name}"), 0),
                             (("COUNT", "-", f"[{name}"), 0), (("DELRANGE", f"[{name}", f"[{name}"), 0), (("POP",), []), (("LEN",), 0)):
            assert server(f"LATH.MAP.{words[0]}", "none", *words[1:]) == reply, (words, name)
    assert server("EXISTS", "none") == 0
    for words in (("RANGE", "alice", "+"), ("COUNT", "-", "alice"), ("DELRANGE", "", "+"), ("RANGE", "-", "1.5")):
        with pytest.raises(ResponseError, match="min or max"):  # no bound of either kind
            server(f"LATH.MAP.{words[0]}", "none", *words[1:])
    for words in (("SET", "alice", 1), ("SET", "alice", 1, "NX"), ("MSET", 1, 1, "alice", 1), ("INCR", "alice")):
        with pytest.raises(ResponseError, match="not a number"):  # these would make a map of numbers
            server(f"LATH.MAP.{words[0]}", "none", *words[1:])
    with pytest.raises(ResponseError, match="invalid cursor"):
        server("LATH.MAP.SCAN", "none", "alice")
    server("SET", "text", "x")
    for words in (("GET", "alice"), ("MGET", "alice"), ("DEL", "alice"), ("CAS", "alice", 1, 2), ("RANK", "alice"), ("FLOOR", "a"), ("CEIL", "a"),
                  ("SET", "alice", 1, "XX"), ("SCAN", "(a"), ("RANGE", "[a", "[b"), ("COUNT", "[a", "[b"), ("DELRANGE", "[a", "[b")):
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            server(f"LATH.MAP.{words[0]}", "text", *words[1:])


def test_a_map_of_strings_that_ended(server):
    for end in (("DEL", "s"), ("PEXPIRE", "s", 1), ("FLUSHDB",), ("RENAME", "s", "other")):
        server("LATH.MAP.CREATE", "s", "STRINGS")
        server("LATH.MAP.SET", "s", "alice", 1)
        server(*end)
        time.sleep(0.005)
        assert server("LATH.MAP.GET", "s", "alice") is None and server("LATH.MAP.RANGE", "s", "[a", "[z") == []
        assert server("LATH.MAP.DEL", "s", "alice") == 0 and server("LATH.MAP.SCAN", "s", "(alice") == [b"0", []]
        server("FLUSHALL")
