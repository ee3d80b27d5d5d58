# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""LATH.INTERVAL.*"""
import random

import pytest
from redis.exceptions import ResponseError
from test_costs import milliseconds

TOP = 2**64 - 1


def found(reply):
    return [(int(first), int(last), value.decode()) for first, last, value in reply]


def test_searches(form):
    assert form("LATH.INTERVAL.ADD", "i", 10, 20, "a", 15, 30, "b", 40, 40, "c", 0, TOP, "all") == 4
    assert form("LATH.INTERVAL.ADD", "i", 10, 20, "a", 10, 20, "a2") == 1
    assert found(form("LATH.INTERVAL.STAB", "i", 20)) == [(0, TOP, "all"), (10, 20, "a"), (10, 20, "a2"), (15, 30, "b")]
    assert found(form("LATH.INTERVAL.STAB", "i", 20, "LIMIT", 2)) == [(0, TOP, "all"), (10, 20, "a")]
    assert found(form("LATH.INTERVAL.OVERLAPS", "i", 31, 40)) == [(0, TOP, "all"), (40, 40, "c")]
    assert found(form("LATH.INTERVAL.WITHIN", "i", 10, 30)) == [(10, 20, "a"), (10, 20, "a2"), (15, 30, "b")]
    assert found(form("LATH.INTERVAL.CONTAINS", "i", 15, 20)) == [(0, TOP, "all"), (10, 20, "a"), (10, 20, "a2"), (15, 30, "b")]
    assert form("LATH.INTERVAL.COUNT", "i", "-", "+") == 5 and form("LATH.INTERVAL.LEN", "i") == 5
    assert form("LATH.INTERVAL.REM", "i", 0, TOP, "all", 1, 2, "none", 10, 20, "a3") == 1
    assert found([form("LATH.INTERVAL.NEAREST", "i", 36)]) == [(40, 40, "c")]
    assert found([form("LATH.INTERVAL.NEAREST", "i", 0)])[0][:2] == (10, 20)
    assert form("LATH.INTERVAL.ADDNX", "i", 30, 35, "x") == 0
    assert form("LATH.INTERVAL.ADDNX", "i", 31, 39, "x") == 1
    assert form("LATH.INTERVAL.REM", "i", 10, 20, "a", 10, 20, "a2", 15, 30, "b", 40, 40, "c", 31, 39, "x") == 5
    assert form("EXISTS", "i") == 0
    assert form("LATH.INTERVAL.STAB", "i", 5) == [] and form("LATH.INTERVAL.NEAREST", "i", 5) is None


@pytest.mark.parametrize("places", [(100, 130, 5000), range(2000)], ids=["few", "many"])
def test_against_a_list(form, places):
    """At few first and last numbers many values are groups."""
    rng = random.Random(6)
    model, most = set(), 0
    for step in range(40):
        more = {(first := rng.choice(places), first + rng.choice((0, 1000, rng.randrange(900, 1060), 10**6)),
                 b"%s%d" % (b"a longer value " * (rng.random() < .3), rng.randrange(40))) for _ in range(5 if step < 4 else 500)}
        fewer = set(rng.sample(sorted(model), len(model) * rng.choice((1, 2, 4, 4)) // 4)) if step % 3 == 2 else set()
        assert form("LATH.INTERVAL.ADD", "i", *(word for one in sorted(more) for word in one)) == len(more - model)
        model |= more
        if fewer:
            assert form("LATH.INTERVAL.REM", "i", *(word for one in sorted(fewer) for word in one)) == len(fewer)
        most = max(most, len(model))
        model -= fewer
        assert form("LATH.INTERVAL.LEN", "i") == len(model) and form("LATH.INTERVAL.COUNT", "i", "-", "+") == len(model)
        every = [list(one) for one in sorted(model)]
        for a, b in ((0, 110), (0, 1110), (1100, 1120), (1190, 1190), (120, 1130), (100, TOP), (0, TOP), (0, 6010), (0, 6000)):
            assert form("LATH.INTERVAL.OVERLAPS", "i", a, b) == [x for x in every if x[0] <= b and x[1] >= a]
            assert form("LATH.INTERVAL.WITHIN", "i", a, b) == [x for x in every if x[0] >= a and x[1] <= b]
            assert form("LATH.INTERVAL.CONTAINS", "i", a, b) == [x for x in every if x[0] <= a and x[1] >= b]
        for _ in range(12):
            a, b, skip, want = rng.choice((0, 110, 1100)), rng.choice((1120, 6010, TOP)), rng.randrange(len(every) + 9), rng.choice((1, 7, 500))
            assert form("LATH.INTERVAL.WITHIN", "i", a, b, "LIMIT", skip, want) == [x for x in every if a <= x[0] and x[1] <= b][skip:skip + want]
            assert form("LATH.INTERVAL.OVERLAPS", "i", a, b, "LIMIT", skip, want) == [x for x in every if x[0] <= b and x[1] >= a][skip:skip + want]
            assert form("LATH.INTERVAL.COUNT", "i", a, b) == sum(x[0] <= b and x[1] >= a for x in every)
        for point in (0, 125, 1120, 1195, 4990, 6050, 10**7):
            near = form("LATH.INTERVAL.NEAREST", "i", point)
            if near:
                assert tuple(near) in model
                assert max(near[0] - point, point - near[1], 0) == min(max(x[0] - point, point - x[1], 0) for x in model)
        if model:
            form("COPY", "i", "copy", "REPLACE")
            form("RESTORE", "restored", 0, form("DUMP", "i"), "REPLACE")
            assert len(set(form("DEBUG", "DIGEST-VALUE", "i", "copy", "restored"))) == 1
            assert form("MEMORY", "USAGE", "i", "SAMPLES", 0) < 220 * most + 20000
    form("LATH.INTERVAL.REM", "i", *(word for one in model for word in one))
    assert form("EXISTS", "i") == 0


@pytest.mark.parametrize("place", [lambda k: (0, 1, f"v{k}"), lambda k: (0, 20000 + k, "v"), lambda k: (0, 60000 - k, "v")],
                         ids=["equal", "longer", "shorter"])
def test_the_cost_of_many_at_one_place(form, place):
    """The time of N is in proportion to N, not to its square."""
    def least(n):
        words = [word for k in range(n) for word in place(k)]
        times = []
        for _ in range(3):
            form("FLUSHALL")
            times.append([milliseconds(form, "LATH.INTERVAL.ADD", "i", *words), milliseconds(form, "LATH.INTERVAL.OVERLAPS", "i", 0, TOP),
                          milliseconds(form, "RESTORE", "j", 0, form("DUMP", "i")), milliseconds(form, "LATH.INTERVAL.REM", "i", *words)])
            if sum(times[-1]) > 20e3:
                break
        return [min(column) for column in zip(*times)]

    few, many = least(2500), least(20000)
    assert all(b < 32 * a for a, b in zip(few, many)), (few, many)


def test_wrong_use(server):
    server("SET", "text", "x")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        server("LATH.INTERVAL.STAB", "text", 1)
    for words in ((2, 1, "v"), ("x", 1, "v"), (-1, 1, "v"), (1, TOP + 1, "v")):
        with pytest.raises(ResponseError):
            server("LATH.INTERVAL.ADD", "i", *words)
    for words in (("ADD", "i", 1, 2), ("ADD", "i", 1, 2, "a", 3), ("STAB", "i"), ("OVERLAPS", "i", 1), ("LEN",)):
        with pytest.raises(ResponseError, match="wrong number of arguments"):
            server(f"LATH.INTERVAL.{words[0]}", *words[1:])
    assert server("EXISTS", "i") == 0
