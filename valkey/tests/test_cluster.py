# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Rounds of cluster_faults.py, and its checker on histories that are wrong in one place."""
import math
import os

import pytest
from cluster_faults import Run, from_nowhere
from history import Call, explain
from servers import KINDS, seed

FIRST = ("lag", "cut")  # in every run: those that lose most where something is wrong
ROUNDS = int(os.environ.get("LATH_CLUSTER_ROUNDS", "100" if os.environ.get("LATH_VALKEY_LONG") else "5"))


def history(*rows):
    """rows: words, when called, when returned, reply. None as the time: no reply."""
    calls = []
    for words, called, returned, reply in rows:
        call = Call(1, tuple(words.split()), called)
        call.returned, call.reply = math.inf if returned is None else returned, reply
        calls.append(call)
    return calls


SET_A, GET_A = ("LATH.MAP.SET 1 1.a", 0, 1, "1"), ("LATH.MAP.GET 1", 2, 3, "1.a")
GOOD = {
    "in turn": (SET_A, GET_A),
    "a read beside a write": (("LATH.MAP.GET 1", 0, 3, "1.a"), ("LATH.MAP.SET 1 1.a", 1, 2, "1")),
    "no reply, and it took place": (("LATH.MAP.SET 1 1.a", 0, None, None), GET_A),
    "no reply, and it did not": (("LATH.MAP.SET 1 1.a", 0, None, None), ("LATH.MAP.GET 1", 2, 3, None)),
    "no reply, and it took place late": (("LATH.MAP.SET 1 1.a", 0, None, None), ("LATH.MAP.GET 1", 2, 3, None), ("LATH.MAP.GET 1", 4, 5, "1.a")),
    "an owner asks again": (("LATH.POOL.ALLOC 4 OWNER o", 0, 1, "0"), ("LATH.POOL.ALLOC 4 OWNER o", 2, 3, "0")),
    "an owner asks again beside a call that frees": (
        ("LATH.POOL.ALLOC 4 OWNER o", 0, 1, "0"), ("LATH.POOL.FREE OWNER o", 2, 5, "1"), ("LATH.POOL.ALLOC 4 OWNER o", 3, 4, "0"),
        ("LATH.POOL.OWNER o", 6, 7, ("0", "4", "o", None))),
}
BAD = {
    "a lost write": (SET_A, ("LATH.MAP.GET 1", 2, 3, None)),
    "a read of the past": (SET_A, ("LATH.MAP.SET 1 1.b", 2, 3, "0"), ("LATH.MAP.GET 1", 4, 5, "1.a")),
    "two that set what was not there": (("LATH.MAP.SET 1 1.a NX", 0, 3, "1"), ("LATH.MAP.SET 1 1.b NX", 1, 2, "1")),
    "an increment twice": (("LATH.MAP.INCR 8 1", 0, 1, "1"), ("LATH.MAP.INCR 8 1", 2, 3, "3")),
    "a number with two owners": (("LATH.POOL.ALLOC 4 OWNER o", 0, 2, "0"), ("LATH.POOL.ALLOC 4 OWNER p", 1, 3, "0")),
    "an owner with two ranges": (("LATH.POOL.ALLOC 4 OWNER o", 0, 1, "0"), ("LATH.POOL.ALLOC 4 OWNER o", 2, 3, "4")),
    "a free range that is not given": (("LATH.POOL.ALLOC 4", 0, 1, "0"), ("LATH.POOL.FREE 0", 2, 3, "1"), ("LATH.POOL.ALLOC 4", 4, 5, "4")),
    "a room booked twice": (("LATH.INTERVAL.ADDNX 1 5 x", 0, 2, "1"), ("LATH.INTERVAL.ADDNX 4 9 y", 1, 3, "1")),
    "gone, and there again": (("LATH.MAP.SET 1 1.a", 0, None, None), ("LATH.MAP.GET 1", 2, 3, "1.a"), ("LATH.MAP.GET 1", 4, 5, None)),
}


@pytest.mark.parametrize("name", GOOD)
def test_a_history_that_is_right(name):
    assert explain(history(*GOOD[name]))[0]


@pytest.mark.parametrize("name", BAD)
def test_a_history_that_is_wrong(name):
    assert not explain(history(*BAD[name]))[0]


def test_a_new_primary_goes_on_from_a_state_of_the_old_one():
    old = history(("LATH.MAP.SET 1 1.a", 0, 2, "1"), ("LATH.MAP.SET 2 1.b", 1, 3, "1"), ("LATH.MAP.SET 3 1.c", 4, 5, "1"))
    good, states = explain(old, everything=True)
    assert good and len(states) == 5  # the first two in either order, as a replica may have seen them
    assert explain(history(("LATH.MAP.RANGE - +", 6, 7, ("2", "1.b"))), tuple(states))[0]
    assert not explain(history(("LATH.MAP.RANGE - +", 6, 7, ("1", "1.a", "3", "1.c"))), tuple(states))[0]


def test_a_value_that_nobody_wrote():
    assert from_nowhere("MAP:k", history(SET_A, ("LATH.MAP.GET 1", 2, 3, "1.b"))) == ["MAP:k: nobody wrote 1.b"]
    assert not from_nowhere("MAP:k", history(SET_A, GET_A))


@pytest.mark.parametrize("kind", KINDS)
def test_faults(kind):
    if os.environ.get("LATH_VALKEY_PRELOAD"):
        pytest.skip("servers with a sanitizer are too slow for time limits of a cluster")
    run = Run(kind, seed())
    try:
        for number in range(ROUNDS):
            wrong = run.round(FIRST[number] if number < len(FIRST) else None)
            assert not wrong, "\n".join(wrong)
    finally:
        run.report()
        run.stop()
