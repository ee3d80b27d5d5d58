# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Every number that a command takes: what is none, and the ends of what is one. `#` is the number."""
import pytest
from redis.exceptions import ResponseError
from servers import commands

TOP = 2**64 - 1
NONE = ["-1", "-0", "+1", "1.0", "1e3", " 1", "1 ", "", "x", "nan", "inf", "-inf", "0x10", "1,5", "1\0", "\0", "١",
        "18446744073709551616", "18446744073709551617", "-9223372036854775809", "-18446744073709551615", "9" * 40, "0" * 1000 + "x"]
ENDS = {f"MAP.{name}" for name in ("RANGE", "REVRANGE", "COUNT", "DELRANGE")} | {
    f"INTERVAL.{name}" for name in ("ADD", "ADDNX", "REM", "STAB", "OVERLAPS", "WITHIN", "CONTAINS", "COUNT", "NEAREST")}
# `#` as it may be signed
NO_SIGNED = [text for text in NONE if text != "-1"]

# by the answers to 0, 2^63 and 2^64 - 1: "." a reply, "E" an error
UNSIGNED = {
    "...": """MAP.GET m # | MAP.SET m # v | MAP.SET new # v | MAP.SET m # v NX | MAP.MSET m 1 v # v | MAP.MGET m 1 # | MAP.DEL m 1 #
        MAP.INCR new # | MAP.CAS m # v w | MAP.RANGE m # + | MAP.RANGE m - (# | MAP.RANGE m - + LIMIT #
        MAP.RANGE m - + LIMIT # PACKED | MAP.RANGE new - + LIMIT # | MAP.RANGE m - + LIMIT # 1 | MAP.REVRANGE m + - LIMIT # 5
        MAP.REVRANGE m + # | MAP.REVRANGE m + - KEYS LIMIT # | MAP.COUNT m # + | MAP.COUNT m (# 7 | MAP.RANK m # | MAP.FLOOR m #
        MAP.CEIL m # | MAP.POP m MIN # | MAP.POP m MAX # | MAP.DELRANGE m # + | MAP.DELRANGE m - + LIMIT # | MAP.SCAN m (#
        POOL.CREATE new # 1 | POOL.ADD p # 1 | POOL.ALLOC p 1 NEAR # | POOL.ALLOC p 1 NEXT # | POOL.ALLOC p 1 EXACT #
        POOL.ALLOC p 1 WITHIN # 18446744073709551615 | POOL.ALLOC p 1 WITHIN 0 # | POOL.RESERVE p # 1 | POOL.FREE p #
        POOL.LEASE p # 1000 | POOL.LEASEAT p # 1000 | POOL.FIND p # | POOL.RANGES p WITHIN # 200 | POOL.RANGES p WITHIN 0 #
        POOL.RANGES p LIMIT # | POOL.HOLES p WITHIN # 200 | POOL.HOLES p WITHIN 0 # | POOL.HOLES p LIMIT #
        POOL.HOLES p LIMIT # 1 | POOL.RANGES p LIMIT # 1 | INTERVAL.STAB i 7 LIMIT # 1 | INTERVAL.ADD i # 18446744073709551615 v
        INTERVAL.ADD i 0 # v | INTERVAL.ADD new 1 2 v # 18446744073709551615 v | INTERVAL.ADDNX i # 18446744073709551615 v
        INTERVAL.ADDNX new 0 # v | INTERVAL.REM i # 18446744073709551615 v | INTERVAL.REM i 0 # v | INTERVAL.STAB i #
        INTERVAL.STAB i 5 LIMIT # | INTERVAL.STAB new 5 LIMIT # | INTERVAL.OVERLAPS i # + | INTERVAL.OVERLAPS i - # LIMIT 5
        INTERVAL.OVERLAPS i - + LIMIT # | INTERVAL.WITHIN i # + | INTERVAL.WITHIN i - + LIMIT # | INTERVAL.CONTAINS i # +
        INTERVAL.CONTAINS i - # | INTERVAL.CONTAINS i 5 5 LIMIT # | INTERVAL.COUNT i # + | INTERVAL.NEAREST i #""",
    "E..": """MAP.SCAN m 0 COUNT # | MAP.SCAN new 0 COUNT # | MAP.SCAN s 0 COUNT # | POOL.CREATE new 0 # | POOL.CREATE new 1 #
        POOL.ALLOC p # | POOL.ALLOC p 1 WITHIN 7 # | INTERVAL.ADD i 7 # v""",
    "E.E": """POOL.CREATE new 2 # | POOL.ADD p 200 # | POOL.ALLOC p 1 ALIGN # | POOL.RESERVE p 103 #""",
    "EEE": """POOL.ALLOC p 1 LEASE # | POOL.RESERVE p 103 1 LEASE # | POOL.RESERVE p 103 1 LEASEAT # | POOL.FREE p 100 #""",
    ".EE": """POOL.ALLOC p 1 BLOCK # | POOL.LEASE p 100 # | POOL.LEASEAT p 100 #""",
}
SIGNED = {
    ".EE": """MAP.INCR m 5 # | MAP.INCR new 5 #""",
    "...": """MAP.SELECT m # | MAP.SELECT new # | MAP.RANGEBYRANK m # 1 | MAP.RANGEBYRANK m 0 # REV""",
}


def lines(table):
    for answers, text in table.items():
        for words in commands(text):
            yield [f"LATH.{words[0]}", *words[1:]], answers


def prepare(server):
    server("FLUSHALL")
    for line in ("LATH.MAP.MSET m 1 v 5 50 9 v", "LATH.MAP.CREATE s STRINGS", "LATH.MAP.SET s alice v", "LATH.POOL.CREATE p 100 10",
                 "LATH.POOL.RESERVE p 100 2", "LATH.INTERVAL.ADD i 5 6 v 7 9 w"):
        server(*line.split())


def ask(server, command, number):
    try:
        server(*[word.replace("#", str(number)) for word in command])
    except ResponseError as error:
        return str(error)
    return None


@pytest.mark.parametrize("table, none", [(UNSIGNED, NONE), (SIGNED, NO_SIGNED)], ids=["unsigned", "signed"])
def test_what_is_no_number(form, table, none):
    prepare(form)
    content = form("DEBUG", "DIGEST")
    for command, _ in lines(table):
        for text in none:
            if command[0].endswith(("SELECT", "BYRANK")) and text in ("-9223372036854775809", f"-{TOP}"):
                continue  # a rank from the end
            if text in ("inf", "-inf") and command[0].split(".", 1)[1] in ENDS and "LIMIT" not in " ".join(command).split("#")[0]:
                continue  # an end of all numbers
            error = ask(form, command, text)
            assert error and any(word in error for word in ("number", "integer", "cursor", "LEASE")), (command, text, error)
    assert form("DEBUG", "DIGEST") == content


@pytest.mark.parametrize("table", [UNSIGNED, SIGNED], ids=["unsigned", "signed"])
def test_the_ends_of_numbers(form, table):
    for command, answers in lines(table):
        for number, answer in zip((0, 2**63, TOP), answers):
            prepare(form)
            error = ask(form, command, number)
            assert bool(error) == (answer == "E"), (command, number, error)
            assert not error or "syntax" not in error, (command, number, error)
    assert form("PING")


def test_zeros_in_front_and_ends(form):
    """As redis-benchmark's __rand_int__ and the bounds of sorted sets are written."""
    zeros = "0" * 30
    assert form("LATH.MAP.SET", "m", "000000000007", "007") == 1 and form("LATH.MAP.SET", "m", "7", "x", "NX") is None
    assert form("LATH.MAP.RANGE", "m", "-inf", "+inf") == form("LATH.MAP.RANGE", "m", f"({zeros}6", "(inf") == [7, b"007"]
    assert form("LATH.MAP.REVRANGE", "m", "+INF", "-Inf", "KEYS") == [7] and form("LATH.MAP.COUNT", "m", "+inf", "-inf") == 0
    assert form("LATH.MAP.SET", "s", "-0" + zeros + "5", "v", "SIGNED") == 1 and form("LATH.MAP.RANGE", "s", "-inf", "inf", "KEYS") == [-5]
    assert form("LATH.MAP.DELRANGE", "s", "-inf", f"-{zeros}5") == 1 and form("LATH.MAP.MSET", "f", "FLOATS", "-inf", "a", "007", "b") == 2
    assert form("LATH.MAP.RANGE", "f", "(-inf", "+inf", "KEYS") == [b"7"] and form("LATH.MAP.COUNT", "f", "-inf", "+inf") == 2
    assert form("LATH.INTERVAL.ADD", "i", "007", "+inf", "v") == 1 and form("LATH.INTERVAL.OVERLAPS", "i", "-inf", "inf", "LIMIT", "01")[0][0] == 7
    assert form("LATH.POOL.CREATE", "p", "00", "010") == b"OK" and form("LATH.POOL.ALLOC", "p", "08") == 0 and form("LATH.POOL.STAT", "p")[1] == 10


def test_scan_count(form):
    """COUNT 0 would end a scan that has seen nothing."""
    prepare(form)
    for key in ("m", "s", "none"):
        with pytest.raises(ResponseError, match="COUNT is 0"):
            form("LATH.MAP.SCAN", key, 0, "COUNT", 0)
    assert form("LATH.MAP.SCAN", "m", 0, "COUNT", TOP) == [b"0", [1, b"v", 5, b"50", 9, b"v"]]


def test_signed_numbers(form):
    prepare(form)
    assert form("LATH.MAP.SELECT", "m", -1) == [9, b"v"] and form("LATH.MAP.SELECT", "m", -3) == [1, b"v"]
    for rank in (-4, -TOP, -2**63, 3, TOP):
        assert form("LATH.MAP.SELECT", "m", rank) is None, rank
    assert form("LATH.MAP.INCR", "m", 5, -50) == 0 and form("LATH.MAP.INCR", "m", 5, 0) == 0
    assert form("LATH.MAP.INCR", "m", 7, -2**63) == -2**63 and form("LATH.MAP.INCR", "m", 8, 2**63 - 1) == 2**63 - 1


def test_a_size_of_0_frees_nothing(form):
    prepare(form)
    with pytest.raises(ResponseError, match="size is 0"):
        form("LATH.POOL.FREE", "p", 100, 0)
    assert form("LATH.POOL.FIND", "p", 100)
