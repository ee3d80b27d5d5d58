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
    server("LATH.MAP.SET", "s", "alice", 1, "STRINGS")
    with pytest.raises(ResponseError, match="min or max"):
        server("LATH.MAP.RANGE", "s", "alice", "+")
    for words in (("SET", "m", 1), ("SET", "m"), ("MSET", "m", 1), ("MSET", "m", 1, 2, 3), ("GET", "m"), ("GET", "m", 1, 2),
                  ("INCR", "m"), ("CAS", "m", 1, 2), ("RANGE", "m", 1), ("LEN",), ("DEL", "m"), ("SCAN", "m"), ("POP",),
                  ("MSET", "m", "NUMBERS"), ("DELRANGE", "m", "-", "+", "KEYS"), ("RANGEBYRANK", "m", 1),
                  ("INCR", "m", 1, 1, 1), ("HELP", "m")):
        with pytest.raises(ResponseError, match="wrong number of arguments"):
            server(f"LATH.MAP.{words[0]}", *words[1:])
    for words in (("SET", "m", 1, 2, "ZX"), ("RANGE", "m", "-", "+", "LIMIT"), ("RANGE", "m", "-", "+", "KEYS", "PACKED"),
                  ("POP", "m", "MIDDLE"), ("DELRANGE", "m", "-", "+", "KEYS", 1), ("CREATE", "n", "DOUBLES"),
                  ("SET", "m", 1, 2, "NX", "XX"), ("SET", "m", 1, 2, "NUMBERS", "SIGNED"), ("RANGEBYRANK", "m", 0, 1, "LIMIT", 1),
                  ("RANK", "m", 1, "BACK"), ("SCAN", "m", 0, "MATCH"), ("SCAN", "m", 0, "COUNT", 1, "MATCH"), ("SCAN", "m", 0, "NEAR", 1)):
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
    for words in (("RANGE", "alice", "+"), ("COUNT", "-", "alice"), ("DELRANGE", "", "+"), ("RANGE", "-", "1.5x"), ("RANGE", "nan", "+")):
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


def test_a_write_makes_a_map_of_the_kind_it_names(form):
    for kind, entry in (("STRINGS", "alice"), ("signed", "-5"), ("FLOATS", "-1.5"), ("NUMBERS", "7")):
        for words in (("SET", "m", entry, 1, kind), ("SET", "m", entry, 1, "NX", kind), ("SET", "m", entry, 1, kind, "NX"),
                      ("MSET", "m", kind, entry, 1), ("INCR", "m", entry, kind), ("INCR", "m", entry, 1, kind)):
            assert form(f"LATH.MAP.{words[0]}", *words[1:]) == 1, words
            assert form("LATH.MAP.GET", "m", entry) == b"1"
            for other in {"STRINGS", "SIGNED", "FLOATS", "NUMBERS"} - {kind.upper()}:
                with pytest.raises(ResponseError, match="another kind"):
                    form("LATH.MAP.SET", "m", entry, 2, other)
            assert form("LATH.MAP.SET", "m", entry, 2, kind, "XX") == 0
            form("DEBUG", "RELOAD")
            form("LATH.MAP.SET", "m", entry, 2, kind)
            assert form("LATH.MAP.DEL", "m", entry) == 1 and form("EXISTS", "m") == 0, "made by a write, so it goes"
    with pytest.raises(ResponseError, match="wrong number"):
        form("LATH.MAP.MSET", "m", "nothing", 1, 2)
    assert form("LATH.MAP.SET", "m", "alice", 1, "XX", "STRINGS") is None and form("EXISTS", "m") == 0


NUMBERS = [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, TOP - 1, TOP]
SIGNED = [-2**63, -2**63 + 1, -2**53 - 1, -10, -1, 0, 1, 9, 2**53 + 1, 2**63 - 1]
FLOATS = [float("-inf"), -1.7976931348623157e308, -2.5, -1.0, -0.1, -5e-324, 0.0, 5e-324, 0.1, 0.30000000000000004, 1.0, 1e22, float("inf")]


@pytest.mark.parametrize("kind, keys, read, pack", [("NUMBERS", NUMBERS, int, "<QI"), ("SIGNED", SIGNED, int, "<qI"), ("FLOATS", FLOATS, float, "<dI")])
def test_entries_are_exact(form, kind, keys, read, pack):
    words = [repr(key) for key in keys]
    for word in words[1::2] + words[::2]:
        assert form("LATH.MAP.SET", "m", word, f"v{word}", kind) == 1
    assert [read(key) for key in form("LATH.MAP.RANGE", "m", "-", "+", "KEYS")] == keys
    assert [read(key) for key in form("LATH.MAP.REVRANGE", "m", "+", "-", "KEYS")] == keys[::-1]
    assert form("LATH.MAP.MGET", "m", *words) == [b"v" + word.encode() for word in words]
    data, at, got = form("LATH.MAP.RANGE", "m", "-", "+", "PACKED"), 0, []
    while at < len(data):
        key, size = struct.unpack_from(pack, data, at)
        got.append(key)
        at += 12 + size
    assert got == keys
    big = form.connect(protocol=3)
    assert big.execute_command("LATH.MAP.RANGE", "m", "-", "+", "KEYS") == keys
    for i, word in enumerate(words):
        assert form("LATH.MAP.RANK", "m", word) == i and read(form("LATH.MAP.SELECT", "m", i)[0]) == keys[i]
        assert [read(key) for key in form("LATH.MAP.RANGE", "m", f"({word}", "+", "KEYS")] == keys[i + 1:]
        assert [read(key) for key in form("LATH.MAP.RANGE", "m", "-", word, "KEYS")] == keys[:i + 1]
    assert read(form("LATH.MAP.FLOOR", "m", 3)[0]) == max(key for key in keys if key <= 3)
    assert read(form("LATH.MAP.CEIL", "m", 2)[0]) == min(key for key in keys if key >= 2)
    cursor, seen = b"0", []
    while cursor != b"0" or not seen:
        cursor, some = form("LATH.MAP.SCAN", "m", cursor, "COUNT", 2)
        seen += [read(key) for key in some[::2]]
    assert seen == keys
    digest = form("DEBUG", "DIGEST-VALUE", "m")
    form("DEBUG", "RELOAD")
    assert form("DEBUG", "DIGEST-VALUE", "m") == digest and form("LATH.MAP.LEN", "m") == len(keys)
    form("COPY", "m", "copy")
    assert [read(key) for key in form("LATH.MAP.RANGE", "copy", "-", "+", "KEYS")] == keys
    popped = form("LATH.MAP.POP", "m", "MIN", 3)
    assert [read(key) for key in popped[::2]] == keys[:3]
    assert form("LATH.MAP.DELRANGE", "m", "-", 0) == sum(key <= 0 for key in keys[3:])
    bad = {"NUMBERS": ("-1", "1.0", "x", "", "18446744073709551616", "0x1", " 1", "+1", "1e3"),
           "SIGNED": ("9223372036854775808", "-9223372036854775809", "-0", "+1", "0x1", "1.5", "", "x"),
           "FLOATS": ("nan", "-nan", "1e400", "-1e400", "1e-400", "-1e-400", "0x10", " 1", "1 ", "", "1e", "x", "1,5", "1" * 200)}[kind]
    for word in bad:
        with pytest.raises(ResponseError, match="entry is not"):
            form("LATH.MAP.SET", "m", word, 1)
        with pytest.raises(ResponseError, match="min or max"):
            form("LATH.MAP.RANGE", "m", word, "+") if word else form("LATH.MAP.RANGE", "m", "-", "")


def test_floats_are_written_shortly_and_zero_is_one_key(form):
    assert form("LATH.MAP.SET", "m", "-0.0", "a", "FLOATS") == 1 and form("LATH.MAP.SET", "m", "0", "b") == 0
    form("LATH.MAP.MSET", "m", "0.1", 1, "1e3", 2, "+2.50", 3, "INF", 4)
    assert form("LATH.MAP.RANGE", "m", "-", "+", "KEYS") == [b"0", b"0.1", b"2.5", b"1000", b"inf"]
    assert form("LATH.MAP.RANGE", "m", "-inf", "(+inf", "KEYS") == [b"0", b"0.1", b"2.5", b"1000"]


def test_all_kinds_are_rewritten_as_commands(start):
    server = start(appendonly="yes", aof_use_rdb_preamble="no")
    for kind, entries in (("STRINGS", "alice bob"), ("SIGNED", "-5 5"), ("FLOATS", "-1.5 0.30000000000000004"), ("NUMBERS", "7 8")):
        for key in ("made", "kept"):
            if key == "kept":
                server("LATH.MAP.CREATE", f"{key}:{kind}", kind)
            for entry in entries.split():
                server("LATH.MAP.SET", f"{key}:{kind}", entry, entry, kind)
    server("LATH.MAP.POP", "made:FLOATS")
    server("LATH.MAP.SET", "made:FLOATS", "-1.5", "again")
    digest = server("DEBUG", "DIGEST")
    server("DEBUG", "LOADAOF")
    assert server("DEBUG", "DIGEST") == digest, "the file of effects"
    server("BGREWRITEAOF")
    deadline = time.monotonic() + 30
    while server("INFO", "persistence")["aof_rewrite_in_progress"] and time.monotonic() < deadline:
        time.sleep(0.02)
    server("DEBUG", "LOADAOF")
    assert server("DEBUG", "DIGEST") == digest, "the rewritten file"
    for kind in ("STRINGS", "SIGNED", "FLOATS", "NUMBERS"):
        for key, left in (("made", 0), ("kept", 1)):
            server("LATH.MAP.DELRANGE", f"{key}:{kind}", "-", "+")
            assert server("EXISTS", f"{key}:{kind}") == left


@pytest.mark.parametrize("kind", ["NUMBERS", "STRINGS"])
@pytest.mark.parametrize("n", [0, 1, 30, 300])
def test_pages_by_offset_and_by_rank(form, kind, n):
    words = [b"%d" % i for i in range(1000, 1000 + n)]
    form("LATH.MAP.CREATE", "m", kind)
    for word in words:
        form("LATH.MAP.SET", "m", word, word)
    mark = "[" if kind == "STRINGS" else ""
    for low, high in (("-", "+"), (f"{mark}1003", "(1020"), ("(1003", f"{mark}1020"), (f"{mark}1005", f"{mark}1003"), ("-", f"{mark}0"), ("+", "-")):
        there = form("LATH.MAP.RANGE", "m", low, high, "KEYS")
        for offset in (0, 1, 2, 16, 17, n, 2**64 - 1):
            for count in (0, 1, 5, 2**64 - 1):
                assert form("LATH.MAP.RANGE", "m", low, high, "LIMIT", offset, count, "KEYS") == there[offset:][:count]
                assert form("LATH.MAP.REVRANGE", "m", high, low, "KEYS", "LIMIT", offset, count) == there[::-1][offset:][:count]
    keys = form("LATH.MAP.RANGE", "m", "-", "+", "KEYS")
    for first in (0, 1, 5, n - 1, n, -1, -3, -n or 0, -n - 5, TOP, -TOP):
        for last in (0, 1, 9, n - 1, n, -1, -2, -n or 0, -n - 1, TOP, -TOP):
            low, high = max(first + n if first < 0 else first, 0), last + n if last < 0 else last
            want = keys[low:high + 1] if high >= 0 else []
            assert form("LATH.MAP.RANGEBYRANK", "m", first, last, "KEYS") == want, (first, last)
            want = keys[::-1][low:high + 1] if high >= 0 else []
            assert form("LATH.MAP.RANGEBYRANK", "m", first, last, "REV", "KEYS") == want, (first, last)
    assert form("LATH.MAP.RANGEBYRANK", "m", 0, 1) == form("LATH.MAP.RANGE", "m", "-", "+", "LIMIT", 2)
    assert form("LATH.MAP.RANGEBYRANK", "m", 0, 1, "PACKED") == form("LATH.MAP.RANGE", "m", "-", "+", "LIMIT", 2, "PACKED")
    for i in range(0, n, 7):
        assert form("LATH.MAP.RANK", "m", words[i], "REV") == n - 1 - i
    assert form("LATH.MAP.RANGEBYRANK", "none", 0, -1) == [] and form("LATH.MAP.RANGEBYRANK", "none", 0, -1, "PACKED") == b""
    for bad in ("x", "1.5", "-0", "18446744073709551616"):
        with pytest.raises(ResponseError, match="not an integer"):
            form("LATH.MAP.RANGEBYRANK", "m", bad, 1)


def matches(server, key, pattern, count):
    cursor, seen, calls = b"0", [], 0
    while cursor != b"0" or not calls:
        cursor, some = server("LATH.MAP.SCAN", key, cursor, "MATCH", pattern, "COUNT", count)
        seen += some[::2]
        calls += 1
    return seen, calls


def test_scan_with_a_pattern(form):
    """What matches is what KEYS of the server finds by the same pattern."""
    words = [b"user:1", b"user:22", b"user:", b"usex:1", b"User:1", b"a", b"", b"a*b", b"a?b", b"a[b", b"a\\b", b"ab", b"aab", b"ba", b"\xff\xff",
             b"\xff\xffz", b"\0", b"]", b"-", b"^", b"user:1user:1"]
    for word in words:
        form("LATH.MAP.SET", "m", word, 1, "STRINGS")
        form("SET", b"k:" + word, 1)
    for pattern in [b"*", b"user:*", b"user:?", b"*:1", b"u*:*1", b"[a-b]*", b"[^a]*", b"[b-a]", b"a\\*b", b"a\\?b", b"a\\[b", b"a?b", b"**a**b", b"", b"\xff*",
                    b"\xff\xff*", b"a[*]b", b"[]]", b"[a", b"[", b"a\\", b"user:1", b"*user:1", b"[u][s]er:*", b"\0*", b"[^]*", b"[\\]]", b"[a-"]:
        want = sorted(word[2:] for word in form("KEYS", b"k:" + pattern))
        for count in (1, 3, 100):
            assert matches(form, "m", pattern, count)[0] == want, pattern
    for i in range(2000):
        form("LATH.MAP.SET", "s", b"%05d" % i, 1, "STRINGS")
        form("LATH.MAP.SET", "n", i, 1)
    assert matches(form, "s", "0123*", 10) == ([b"%05d" % i for i in range(1230, 1240)], 1), "what cannot match is not looked at"
    assert matches(form, "n", "1?3*", 100)[0] == [i for i in range(2000) if str(i)[0:1] == "1" and str(i)[2:3] == "3"]
    form("LATH.MAP.SET", "long", "a" * 2000, 1, "STRINGS")
    began = time.monotonic()
    assert matches(form, "long", "a*" * 200 + "b", 10)[0] == []
    assert time.monotonic() - began < 5, "no pattern takes exponential time"


def test_scripts_read_exact_numbers(server):
    """Lua's numbers are doubles: above 2^53 a reply is a string there."""
    keys = [1, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, TOP]
    for key in keys:
        server("LATH.MAP.SET", "m", key, key)
        server("LATH.MAP.SET", "s", key // 2, 1, "SIGNED")
        server("LATH.MAP.SET", "s", -key // 2, 1, "SIGNED")
    server("LATH.INTERVAL.ADD", "i", 2**53 + 1, TOP, "x")
    server("LATH.POOL.CREATE", "p", 2**60 + 1, 100)
    text = """local out = {}
        local r = redis.call('LATH.MAP.RANGE', 'm', '-', '+', 'KEYS')
        for _, v in ipairs(r) do
            table.insert(out, type(v) == 'number' and string.format('%.0f', v) or v)
            redis.call('LATH.MAP.SET', 'again', type(v) == 'number' and string.format('%.0f', v) or v, 1)
        end
        return out"""
    for script in (text, "redis.setresp(3)\n" + text):
        assert [int(key) for key in server("EVAL", script, 0)] == keys
        assert [int(key) for key in server("LATH.MAP.RANGE", "again", "-", "+", "KEYS")] == keys
    assert server("EVAL", "return redis.call('LATH.INTERVAL.STAB', 'i', '+')", 0) == [[b"9007199254740993", str(TOP).encode(), b"x"]]
    assert server("EVAL", "return redis.call('LATH.POOL.ALLOC', 'p', 1)", 0) == str(2**60 + 1).encode()
    want = server("LATH.MAP.RANGE", "s", "-", "+", "KEYS")
    assert [int(key) for key in server("EVAL", "return redis.call('LATH.MAP.RANGE', 's', '-', '+', 'KEYS')", 0)] == want
    server("LATH.MAP.SET", "c", 1, 2**60)
    assert server("EVAL", "return redis.call('LATH.MAP.INCR', 'c', 1)", 0) == str(2**60 + 1).encode()
    server("FUNCTION", "LOAD", "REPLACE", "#!lua name=lath\nredis.register_function('top', function(k) return redis.call('LATH.MAP.SELECT', k[1], -1)[1] end)")
    assert server("FCALL", "top", 1, "m") == str(TOP).encode()


def test_help(server):
    for group, some in (("MAP", "LATH.MAP.SET key entry value [(NX|XX)] [(NUMBERS|SIGNED|FLOATS|STRINGS)]"),
                        ("POOL", "LATH.POOL.HOLES key [WITHIN min max] [LIMIT [offset] count]"), ("INTERVAL", "LATH.INTERVAL.LEN key")):
        lines = [line.decode() for line in server(f"LATH.{group}.HELP")]
        assert some in lines[::2] and all(line.startswith("    ") for line in lines[1::2])
        names = server("COMMAND", "LIST", "FILTERBY", "PATTERN", f"lath.{group}.*")
        assert sorted(line.split()[0].lower() for line in lines[::2]) == sorted(name.decode().lower() for name in names)
