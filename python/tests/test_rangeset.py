# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""RangeSet beside sets of points: a point between two neighbours tells open ends from closed ones."""
import copy
import datetime
import ipaddress
import pickle
import random
from fractions import Fraction

import pytest

from lathwork import RangeMap, RangeSet, after

POINTS = [Fraction(n, 2) for n in range(-2, 23)]  # keys are the whole ones from 0 to 10, with neighbours
KINDS = {
    "int": lambda n: n,
    "float": lambda n: n / 4,
    "date": lambda n: datetime.date(2024, 2, 25) + datetime.timedelta(n),
    "str": lambda n: f"{n:02d}",
    "ip 4": lambda n: ipaddress.IPv4Address(0xA0000000 + n),
    "ip 6": lambda n: ipaddress.IPv6Address((0xFD << 120) + n),
    "pair": lambda n: (n // 3, str(n)),
}


def ranges_of(rand):
    """Some pairs of bounds, and the points that they contain."""
    pairs, points = [], set()
    for _ in range(rand.randrange(5)):
        low, high = sorted(rand.sample(range(11), 2)) if rand.random() < .8 else [rand.randrange(11)] * 2
        start, stop = rand.choice([low, after(low), None]), rand.choice([high, after(high), None])
        if low == high and None not in (start, stop):
            start, stop = low, after(low)
        pairs.append((start, stop))
        above = (lambda point: True) if start is None else (lambda point: point > low) if isinstance(start, after) else (lambda point: point >= low)
        below = (lambda point: True) if stop is None else (lambda point: point <= high) if isinstance(stop, after) else (lambda point: point < high)
        points |= {point for point in POINTS if above(point) and below(point)}
    return RangeSet(pairs), points


def points_of(made):
    return {point for point in POINTS if point in made}


def test_algebra():
    rand = random.Random(1)
    for _ in range(1000):
        (a, in_a), (b, in_b) = ranges_of(rand), ranges_of(rand)
        assert points_of(a) == in_a
        assert points_of(a | b) == in_a | in_b and points_of(a & b) == in_a & in_b
        assert points_of(a - b) == in_a - in_b and points_of(a ^ b) == in_a ^ in_b
        assert points_of(~a) == set(POINTS) - in_a and ~~a == a
        assert (a <= b) == (in_a <= in_b) and (a < b) == (in_a < in_b) and (a >= b) == (in_a >= in_b) and (a > b) == (in_a > in_b)
        assert a.isdisjoint(b) == in_a.isdisjoint(in_b) and (a == b) == (in_a == in_b) and bool(a) == bool(in_a)
        assert a != b or hash(a) == hash(b)
        assert list(reversed(a)) == list(a)[::-1]
        assert RangeSet(a) == a == pickle.loads(pickle.dumps(a)) == copy.copy(a) and len(list(a)) == len(a)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_any_type(kind):
    key = KINDS[kind]
    made = RangeSet([(key(2), key(5)), (key(7), after(key(8)))])
    assert [n for n in range(10) if key(n) in made] == [2, 3, 4, 7, 8]
    assert made - RangeSet.closed(key(3), key(7)) == RangeSet([(key(2), key(3)), (after(key(7)), after(key(8)))])
    assert list(~made) == [(None, key(2)), (key(5), key(7)), (after(key(8)), None)]
    assert made | RangeSet.closedopen(key(5), key(7)) == RangeSet.closed(key(2), key(8)) == made.span()
    assert eval(repr(made), {**vars(datetime), **vars(ipaddress), "datetime": datetime, "RangeSet": RangeSet, "after": after}) == made


def test_ends():
    assert RangeSet.open(1, 2) | RangeSet.closed(2, 2) == RangeSet.openclosed(1, 2)
    assert not RangeSet.open(1, 2) & RangeSet.closed(2, 3) and RangeSet.closed(1, 2) & RangeSet.closed(2, 3) == RangeSet.closed(2, 2)
    assert after(3) == after(3) != after(4) and hash(after(3)) == hash(after(3)) and after(3) != 3
    assert not RangeSet() and 1 not in RangeSet() and ~RangeSet() == RangeSet([(None, None)]) and not RangeSet().span()
    assert RangeSet((start, stop) for start, stop, _ in RangeMap([(1, 3, "a"), (3, 5, "b")])) == RangeSet([(1, 5)])
    assert RangeSet[int]([(1, 2)]) == RangeSet([(1, 2)])


def test_what_is_refused():
    for start, stop in ((2, 2), (3, 2), (after(2), 2), (after(2), after(2))):
        with pytest.raises(ValueError, match="empty"):
            RangeSet([(start, stop)])
    with pytest.raises(ValueError, match="nan"):
        RangeSet([(0., float("nan"))])
    with pytest.raises(TypeError):
        RangeSet([(1, "a")])
    with pytest.raises(TypeError):
        RangeSet([(1, 2)]) | {3}
    with pytest.raises(TypeError):
        "a" in RangeSet([(1, 2)])
