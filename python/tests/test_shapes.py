# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Tuples, dates and UUIDs have codes: their order is that of the keys, and keys of other classes make a container compare."""
import bisect
import collections
import datetime
import gc
import random
import sys
import uuid

import pytest

from lathwork import SortedDict, SortedKeyList, SortedList, SortedSet

DAY = datetime.datetime(2020, 1, 1)
NUMBERS = [0, -0.0, 1, True, False, 1.5, -1, 2**53, 2**53 + 1, float(2**53), -(2**53), -(2**53) - 1, 2**62 + 1, 2**63 - 1, -(2**63), 2**63, 2**70, -(2**70),
           10**400, 1e300, -1e300, float("inf"), -float("inf"), 5e-324]
LETTERS = ["", "\0", "\1", "a", "b", "\x7f", "\x80", "\u07ff", "\u0800", "\uffff", "\U00010000"]
Point = collections.namedtuple("Point", "x y")


def number(rand):
    return rand.choice([rand.choice(NUMBERS), rand.randrange(-3, 3), rand.random(), rand.randrange(2**53 - 2, 2**53 + 3), rand.getrandbits(64) - 2**63])


def text(rand):
    return "".join(rand.choice(LETTERS) for _ in range(rand.randrange(6)))


def moment(rand):
    return rand.choice([datetime.datetime.min, datetime.datetime.max, DAY]) if rand.random() < .1 else (
        DAY + datetime.timedelta(days=rand.randrange(-3, 3), seconds=rand.randrange(3), microseconds=rand.choice([0, 1, 255, 256, 999999])))


PAIRS = 20000
MAKERS = {
    "numbers": lambda rand: (number(rand),),
    "two numbers": lambda rand: (number(rand), number(rand)),
    "texts": lambda rand: (text(rand), text(rand)),
    "bytes": lambda rand: (text(rand).encode(), rand.randrange(3)),
    "lengths": lambda rand: tuple(rand.randrange(2) for _ in range(rand.randrange(5))),
    "long": lambda rand: tuple(rand.randrange(2) for _ in range(20)),
    "nested": lambda rand: ((rand.randrange(2), text(rand)), (None, number(rand)), (rand.random(),)),
    "long texts": lambda rand: ("x" * rand.choice([0, 45, 46, 47, 48, 49, 60]) + text(rand), rand.randrange(3)),
    "datetimes": moment,
    "folds": lambda rand: moment(rand).replace(fold=rand.randrange(2)),
    "dates": lambda rand: rand.choice([datetime.date.min, datetime.date.max, datetime.date(2020, rand.randrange(1, 13), rand.randrange(1, 29))]),
    "durations": lambda rand: rand.choice([datetime.timedelta.min, datetime.timedelta.max, moment(rand) - DAY]),
    "uuids": lambda rand: uuid.UUID(int=rand.choice([rand.getrandbits(128), rand.getrandbits(2) << 63, (1 << 128) - 1 - rand.getrandbits(1)])),
    "named": lambda rand: Point(rand.randrange(4), text(rand)),
    "dates in tuples": lambda rand: (moment(rand), rand.choice([uuid.UUID(int=5), uuid.UUID(int=6)]), text(rand)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_order_of_pairs(kind):
    """Of 20000 pairs, the container has the order and the equality of the keys."""
    rand = random.Random(kind)
    for _ in range(PAIRS):
        pair = [MAKERS[kind](rand), MAKERS[kind](rand)]
        made = SortedList()
        made.add(pair[0])
        made.add(pair[1])
        assert list(map(id, made)) == list(map(id, sorted(pair))), pair
        assert made.count(pair[0]) == 1 + (pair[0] == pair[1]) and len(SortedSet(pair)) == 2 - (pair[0] == pair[1]), pair


@pytest.mark.parametrize("kind", MAKERS)
def test_many(kind):
    """Enough of one code for levels; all calls agree with a sorted list."""
    rand = random.Random(kind)
    keys = [MAKERS[kind](rand) for _ in range(3000)]
    made, pairs, by_key = SortedList(), SortedDict(), SortedKeyList(key=lambda pair: pair[0])
    for i, key in enumerate(keys):
        made.add(key)
        pairs[key] = i
        by_key.add((key, i))
    model = sorted(keys)
    for each in (made, pairs, by_key):
        each._verify()
    assert list(map(id, made)) == list(map(id, model)) and dict(pairs) == {key: i for i, key in enumerate(keys)}
    assert list(by_key) == sorted(((key, i) for i, key in enumerate(keys)), key=lambda pair: pair[0])
    assert list(map(id, SortedList(keys))) == list(map(id, model)) and list(SortedDict.fromkeys(keys)) == list(pairs)
    for key in keys[:150] + [MAKERS[kind](rand) for _ in range(150)]:
        left, right = bisect.bisect_left(model, key), bisect.bisect_right(model, key)
        assert (made.bisect_left(key), made.bisect_right(key), made.count(key), key in made) == (left, right, right - left, left < right)
        assert list(made.irange(key))[:50] == model[left : left + 50]
    for i, key in enumerate(keys):
        made.remove(key)
        by_key.remove((key, i))
        assert key not in pairs or pairs.pop(key) >= i
    assert not made and not pairs and not by_key


def test_many_behind_a_common_beginning():
    """A thousand keys of one code, and of the next ones, become levels; so do equal ones."""
    for beginning in ((), (5,), ("a text", 0.5, None), ("x" * 60,), (DAY, DAY.date()), (2**60,)):
        keys = [beginning + (i % 700, "end") for i in range(2000)]
        random.Random(1).shuffle(keys)
        made = SortedList()
        for key in keys:
            made.add(key)
        made._verify()
        model = sorted(keys)
        assert list(map(id, made)) == list(map(id, model)) and list(reversed(made)) == model[::-1]
        assert all(made[at] is model[at] and made.index(model[at]) == bisect.bisect_left(model, model[at]) for at in range(0, 2000, 37))
        assert made.bisect_left(beginning) == 0 and made.bisect_left(beginning + (300,)) == bisect.bisect_left(model, beginning + (300,))
        assert list(made.irange(beginning + (5,), beginning + (7,))) == [key for key in model if key[len(beginning)] in (5, 6)]
        for key in keys:
            made.remove(key)
        assert not made


class Own:
    def __init__(self, rank):
        self.rank = rank

    def __lt__(self, other):
        return self.rank > other.rank


def test_elements_with_an_own_order():
    rand = random.Random(4)
    tasks = [(rand.randrange(3), Own(rand.randrange(1000))) for _ in range(2000)]
    made = SortedList()
    for task in tasks:
        made.add(task)
    assert [(task[0], -task[1].rank) for task in made] == sorted((task[0], -task[1].rank) for task in tasks)
    made._verify()


ZONE = datetime.timezone(datetime.timedelta(hours=1))
NAN = float("nan")


@pytest.mark.parametrize("keys", [
    [(1, "a"), (2, 5)], [(1, 2), (2, "a")], [(1, b"a"), (2, "a")], [(1, None), (2, 0)], [((1,), 2), (2, 2)], [(1, (2,)), (2, (2, 3))],
    [DAY.replace(tzinfo=ZONE), DAY.astimezone(datetime.timezone.utc)], [(1, "\ud800"), (2, "a")], [(1, NAN), (2, 3)], [(1, Own(1)), (2, 1)],
], ids=repr)
def test_shapes_that_differ(keys):
    """Keys that compare are compared, whatever the elements behind are."""
    try:
        model = sorted(keys)
    except TypeError:
        with pytest.raises(TypeError):
            SortedList(keys)
        return
    for order in (keys, keys[::-1]):
        made = SortedList()
        for key in order:
            made.add(key)
            assert key in made
        made._verify()
        assert list(map(id, made)) == list(map(id, model)) and SortedList(order) == made


@pytest.mark.parametrize("first, second", [
    ((1, "a"), (1, 5)), ((1, b"a"), (1, "a")), ((1, None), (1, 0)), (DAY, DAY.date()), (DAY, DAY.replace(tzinfo=ZONE)), ((DAY,), (DAY.date(),)),
    (uuid.UUID(int=1), 1), ((1,), 1), (DAY - DAY, 0), ((1, Own(1)), (1, 2))], ids=repr)
def test_what_does_not_compare_is_refused(first, second):
    for low, high in ((first, second), (second, first)):
        made = SortedList([low])
        with pytest.raises((TypeError, AttributeError)):
            made.add(high)
        assert list(made) == [low]
        made._verify()


@pytest.mark.parametrize("kind", ["two numbers", "datetimes", "uuids", "nested"])
def test_references(kind):
    rand = random.Random(5)
    key = MAKERS[kind](rand)
    before = sys.getrefcount(key)
    for made in (SortedList([key]), SortedList([key, key]), SortedSet([key]), SortedDict({key: key}), SortedKeyList([key], key=lambda value: value)):
        assert next(iter(made)) is key
        made.copy().clear()
        made.pop(*[0] * (not isinstance(made, SortedDict)), *[key] * isinstance(made, SortedDict))
    del made
    gc.collect()
    assert sys.getrefcount(key) == before


def fill_and_empty(keys, values):
    """Sets each key twice, copies the map and takes every other key out of both."""
    filled = SortedDict()
    for turn in (0, 1):
        for i, key in enumerate(keys):
            filled[key] = values[(i + turn) % len(values)]
        filled._verify()
    wanted = [(key, values[(i + 1) % len(values)]) for i, key in enumerate(keys)]
    other = SortedDict(wanted)
    other._verify()
    right = [list(filled.items()) == wanted, list(other.items()) == wanted, [type(v) for v in other.values()] == [type(v) for _, v in wanted],
             all(filled[key] == value for key, value in wanted), all(filled.pop(key) == other.pop(key) for key in keys[::2])]
    filled._verify()
    filled[keys[0]] = [filled]  # the collector finds it
    return right


@pytest.mark.parametrize("make", [lambda n: (n // 400, n), lambda n: f"the same begin {n:04}", lambda n: uuid.UUID(int=n << 64)])
def test_references_of_a_map(make):
    """A key that is alone, then beside others of its code, then in its own level: each reference comes back."""
    values = [object(), int("1" * 30), int("1" * 12), True, "text"]
    keys = [make(n) for n in range(1000)]
    counted = keys + values[:3]
    before = [sys.getrefcount(thing) for thing in counted]
    for most in (1, 2, 3, 300, 1000):
        assert fill_and_empty(keys[:most], values) == [True] * 5
        gc.collect()
        assert [sys.getrefcount(thing) for thing in counted] == before
