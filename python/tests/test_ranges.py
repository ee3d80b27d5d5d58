# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""RangeMap and RangeAllocator against dicts and sets of single keys."""
import copy
import datetime
import decimal
import fractions
import gc
import ipaddress
import math
import multiprocessing
import pickle
import random
import sys
import threading
import weakref

import numpy
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from lathwork import NoSpace, RangeAllocator, RangeMap, RangeSet, after

KEYS = st.integers(0, 60)
VALUES = st.sampled_from(["a", "b", 1, None])


class MapMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.map, self.model = RangeMap(), {}  # key -> (number of the range, value)
        self.number = 0

    def put(self, start, stop, value):
        self.number += 1
        self.model.update((key, (self.number, value)) for key in range(start, stop))

    @rule(start=KEYS, size=st.integers(1, 30), value=VALUES)
    def insert(self, start, size, value):
        if any(key in self.model for key in range(start, start + size)):
            with pytest.raises(ValueError, match="overlaps"):
                self.map.insert(start, start + size, value)
        else:
            self.map.insert(start, start + size, value)
            self.put(start, start + size, value)

    @rule(start=KEYS, size=st.integers(1, 30), value=VALUES)
    def store(self, start, size, value):
        self.map[start : start + size] = value
        self.put(start, start + size, value)

    @rule(start=KEYS, size=st.integers(1, 30))
    def cut(self, start, size):
        del self.map[start : start + size]
        for key in range(start, start + size):
            self.model.pop(key, None)

    @rule(start=KEYS, size=st.integers(1, 30))
    def remove(self, start, size):
        # parts of one range that was cut are separate ranges: compare by what is there
        found = self.map.overlapping(start, start + size)
        assert self.map.remove_overlapping(start, start + size) == len(found)
        for begin, end, _ in found:
            for key in range(begin, end):
                del self.model[key]

    @rule(key=KEYS, starting=st.booleans())
    def remove_one(self, key, starting):
        there = next((found for found in self.map if (found[0] == key if starting else found[0] <= key < found[1])), None)
        assert (self.map.remove_starting if starting else self.map.remove_covering)(key) == there
        for gone in range(*there[:2]) if there else ():
            del self.model[gone]

    @rule(start=KEYS, size=st.integers(1, 30))
    def ask(self, start, size):
        stop = start + size
        inside = {key for begin, end, _ in self.map.overlapping(start, stop) for key in range(max(begin, start), min(end, stop))}
        assert inside == {key for key in range(start, stop) if key in self.model}
        free = {key for begin, end in self.map.gaps(start, stop) for key in range(begin, end)}
        assert free == set(range(start, stop)) - inside

    @rule(start=KEYS, size=st.integers(1, 30), value=VALUES)
    def store_all(self, start, size, value):
        same = self.map
        self.map |= RangeMap([(start, start + size, value), (start + size, start + size + 2, None)])
        assert self.map is same
        self.put(start, start + size, value)
        self.put(start + size, start + size + 2, None)

    @rule(start=KEYS, size=st.integers(1, 30), keep=st.booleans())
    def cut_all(self, start, size, keep):
        same, keys = self.map, RangeSet([(start, start + size), (after(start + size + 2), after(start + size + 9))])
        if keep:
            self.map &= keys
        else:
            self.map -= keys
        assert self.map is same
        self.model = {key: there for key, there in self.model.items() if (key in keys) == keep}

    @invariant()
    def same(self):
        self.map._verify()
        assert list(reversed(self.map)) == list(self.map)[::-1]
        assert {key: value for start, stop, value in self.map for key in range(start, stop)} == {
            key: value for key, (_, value) in self.model.items()
        }
        for key in range(0, 100, 9):
            assert (key in self.map) == (key in self.model)
            assert self.map.get(key, "no") == self.model.get(key, (0, "no"))[1]


class AllocatorMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.pool, self.model = RangeAllocator(100, 400), set()

    @rule(size=st.integers(1, 40), align=st.sampled_from([0, 1, 4, 32]), policy=st.sampled_from([None, "first", "last", "best", "near"]))
    def alloc(self, size, align, policy):
        fits = [
            key
            for key in range(100, 401 - size)
            if key % (align or 1) == 0 and not any(there in self.model for there in range(key, key + size))
        ]
        try:
            key = self.pool.alloc(size, align, policy=policy, hint=200)
        except NoSpace:
            assert not fits
            return
        assert key in fits
        assert policy not in ("first", "last") or key == (fits[0] if policy == "first" else fits[-1])
        self.model.update(range(key, key + size))

    @rule(start=st.integers(90, 410), size=st.integers(1, 20))
    def reserve(self, start, size):
        keys = set(range(start, start + size))
        if keys & self.model or start < 100 or start + size > 400:
            with pytest.raises((NoSpace, ValueError)):
                self.pool.reserve(start, start + size)
        else:
            self.pool.reserve(start, start + size)
            self.model |= keys

    @rule(start=st.integers(90, 410), size=st.integers(1, 60))
    def free(self, start, size):
        keys = set(range(start, start + size))
        if keys <= self.model:
            self.pool.free(start, start + size)
            self.model -= keys
        else:
            with pytest.raises(ValueError):
                self.pool.free(start, start + size)

    @invariant()
    def same(self):
        self.pool._verify()
        assert {key for start, stop in self.pool.allocated() for key in range(start, stop)} == self.model
        assert {key for start, stop in self.pool.free_runs() for key in range(start, stop)} == set(range(100, 400)) - self.model
        assert self.pool.stats()["allocated"] == len(self.model)
        assert (150 in self.pool) == (150 in self.model)


for machine in (MapMachine, AllocatorMachine):
    machine.TestCase.settings = settings(max_examples=40, stateful_step_count=30, deadline=None, derandomize=True)
TestMap, TestAllocator = MapMachine.TestCase, AllocatorMachine.TestCase


def test_limits():
    ranges = RangeMap([(0, 10, "low"), ((1 << 64) - 5, 1 << 64, "high")])
    assert list(ranges)[1] == ((1 << 64) - 5, 1 << 64, "high") and ranges[(1 << 64) - 1] == "high"
    ranges._verify()
    ranges.clear()
    assert not len(ranges)
    for start, stop in ((-1, 5), (0, (1 << 64) + 1)):
        with pytest.raises(OverflowError):
            ranges.insert(start, stop)
    for start, stop in ((5, 5), (6, 5)):
        with pytest.raises(ValueError):
            ranges.insert(start, stop)
    with pytest.raises(TypeError):
        ranges.insert(1.5, 2)
    with pytest.raises(KeyError):
        ranges[3]
    with pytest.raises(TypeError):
        ranges[3] = 1


def test_values_of_cut_ranges():
    value = object()
    before = sys.getrefcount(value)
    ranges = RangeMap([(0, 100, value)])
    ranges[40:60] = None  # the outer range becomes two
    assert ranges[10] is ranges[90] is value and len(ranges) == 3
    del ranges[0:40]
    del ranges[95]
    assert len(ranges) == 1 and sys.getrefcount(value) == before
    ranges[0:200] = value
    with pytest.raises(ValueError):
        ranges.insert(190, 210, value)
    assert sys.getrefcount(value) == before + 1
    del ranges
    assert sys.getrefcount(value) == before


def test_iteration_and_changes():
    ranges = RangeMap((start, start + 1, start) for start in range(0, 1000, 2))
    iterator = iter(ranges)
    assert next(iterator) == (0, 1, 0)
    del ranges[500]
    with pytest.raises(RuntimeError):
        next(iterator)
    assert ranges.get_many(numpy.array([0, 1, 998]), "no") == [0, "no", 998]


def test_iteration_in_both_directions():
    for ranges in (RangeMap(), RangeMap([(0, 3, "a"), (5, 6, "z")]), RangeMap([(2**64 - 1, None, 1)]), RangeMap((n, n + 1, n) for n in range(0, 1000, 3))):
        assert list(reversed(ranges)) == list(ranges)[::-1] and len(list(ranges)) == len(ranges)
    backward = reversed(ranges)
    assert next(backward) == (999, 1000, 999)
    ranges[999:1000] = "another value"
    with pytest.raises(RuntimeError, match="changed during the iteration"):
        next(backward)


def test_algebra():
    ranges = RangeMap([(0, 3, "a"), (5, 8, "z")])
    assert list(ranges | RangeMap([(2, 6, "b")])) == [(0, 2, "a"), (2, 6, "b"), (6, 8, "z")]
    assert list(ranges - RangeSet.closed(1, 5)) == [(0, 1, "a"), (6, 8, "z")] == list(ranges & ~RangeSet.closed(1, 5))
    assert list(ranges & RangeSet.closed(1, 5)) == [(1, 3, "a"), (5, 6, "z")]
    assert ranges - RangeSet.open(1, 2) == ranges == ranges & RangeSet.closed(0, 2**64 - 1)  # there is no int between
    assert not len(ranges & RangeSet()) and ranges - RangeSet() == ranges | RangeMap() == RangeMap() | ranges and not len(RangeMap() - RangeSet.closed(1, 5))

    class Own(RangeMap):
        pass

    assert type(Own(ranges) - RangeSet.closed(1, 5)) is type(Own() | ranges) is Own
    day = datetime.date
    year = RangeMap([(day(2024, 1, 1), day(2025, 1, 1), 1)])
    year |= RangeMap([(None, after(day(2024, 1, 31)), 2)])
    year &= RangeSet.closed(day(2024, 1, 31), day(2024, 2, 1))
    assert list(year) == [(day(2024, 1, 31), day(2024, 2, 1), 2), (day(2024, 2, 1), day(2024, 2, 2), 1)]
    year._verify()
    for wrong in (lambda: ranges | {1: 2}, lambda: ranges - {1}, lambda: ranges & ranges, lambda: ranges - ranges, lambda: ranges | RangeSet.closed(1, 2)):
        with pytest.raises(TypeError, match="unsupported operand"):
            wrong()


def test_algebra_is_all_or_nothing():
    value = object()
    before = sys.getrefcount(value)
    ranges = RangeMap([(0, 3, value), (5, 8, value)])
    for other, what in ((RangeMap([(1, 2, 1), (2**64 - 2, 2**64 - 1, 1)]), None), (RangeMap([(1.5, 2.5, 1)]), "1.5"), (RangeMap([(DAY, after(DAY), 1)]), "2024")):
        there = list(ranges)
        iterator = iter(ranges)
        if what is None:
            ranges |= other
            with pytest.raises(RuntimeError):
                next(iterator)
            assert [found[2] for found in ranges] == [value, 1, value, value, 1]
            continue
        with pytest.raises(TypeError, match=what):
            ranges |= other
        with pytest.raises(TypeError, match=what):
            ranges -= RangeSet((start, stop) for start, stop, _ in other)
        assert list(ranges) == there and next(iterator)
        ranges._verify()
    there = iterator = None
    assert sys.getrefcount(value) == before + 3
    ranges &= RangeSet()
    assert not len(ranges) and sys.getrefcount(value) == before
    with pytest.raises(TypeError, match="1.5"):  # its keys remain int
        ranges |= RangeMap([(1.5, 2.5, 1)])
    for first in (3, 0.5):  # a change in the meantime, which may be the first one
        ranges = RangeMap() if first == 0.5 else RangeMap([(1, 2, "a")])
        with pytest.raises(RuntimeError, match="changed during the call"):
            ranges._become((ranges.insert(first, first + 1), (0, 9, 1))[1] for _ in range(1))
        ranges._verify()
        assert list(ranges)[-1] == (first, first + 1, None)


def test_a_look_up_needs_an_order():
    for other in (1.5, "key", None, DAY):
        for call in (lambda: RangeMap([(1, 9, "x")])[other], lambda: other in RangeMap([(1, 9, "x")]), lambda: RangeMap([(1, 9, "x")]).get_many([other])):
            with pytest.raises(TypeError, match=repr(other) if other != DAY else "2024"):
                call()


def test_cycles_are_collected():
    class Thing:
        pass

    thing = Thing()
    thing.ranges = RangeMap([(1, 2, thing)])
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


def test_copies():
    ranges = RangeMap([(1, 5, "a"), (7, 9, [1])])
    pool = RangeAllocator(0, 1 << 20, unit=16)
    pool.alloc(64)
    pool.reserve(1024, 2048)
    for make in (copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))):
        assert make(ranges) == ranges and repr(make(ranges)) == repr(ranges)
        assert list(make(pool).allocated()) == list(pool.allocated()) and repr(make(pool)) == repr(pool)
    with pytest.raises(ValueError):
        RangeAllocator(0, 1 << 20, unit=16).load(b"nothing of ours")
    with pytest.raises(ValueError):
        pool.load(pool.save())


def test_many():
    pool = RangeAllocator(0, 1 << 20, unit=16)
    keys = pool.alloc_many(1000, 64, align=64)
    assert len(set(keys.tolist())) == 1000 and not (keys % 64).any()
    before = list(pool.allocated())
    with pytest.raises(NoSpace):
        pool.alloc_many(1 << 20, 64)
    assert list(pool.allocated()) == before  # all or none
    pool.free_many(keys, 64)
    assert not list(pool.allocated())
    with pytest.raises(ValueError):
        pool.free_many(keys, 64)
    for wrong in (dict(unit=3), dict(start=5, unit=16), dict(start=9, stop=9)):
        with pytest.raises(ValueError):
            RangeAllocator(**{"stop": 1 << 20, **wrong})
    with pytest.raises(ValueError):
        pool.alloc(16, policy="any")


def test_threads():
    """Batches of several threads at the same time: no key is given out twice."""
    pool, taken = RangeAllocator(0, 1 << 22), []

    def work():
        for _ in range(30):
            keys = pool.alloc_many(200, 8)
            pool.free_many(keys[:100], 8)
            taken.append(keys[100:])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = numpy.concatenate(taken)
    assert len(keys) == len(numpy.unique(keys)) == 4 * 30 * 100
    assert pool.stats()["allocated"] == 8 * len(keys)
    pool._verify()


def worker(pool):
    return pool.alloc(8), pool.stats()["allocated"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers(method):
    pool = RangeAllocator(0, 1000)
    pool.reserve(0, 8)
    with multiprocessing.get_context(method).Pool(1) as workers:
        assert workers.apply(worker, [pool])[1] == 16
    assert pool.stats()["allocated"] == 8


def test_removal_by_start_and_by_cover():
    value = object()
    before = sys.getrefcount(value)
    ranges = RangeMap([(10, 20, value), (20, 30, "b"), (2**64 - 1, 2**64, 7)])
    assert ranges.remove_starting(15) is None and ranges.remove_covering(9) is None and len(ranges) == 3
    assert ranges.remove_covering(15) == (10, 20, value) and ranges.remove_starting(20) == (20, 30, "b")
    assert ranges.remove_covering(2**64 - 1) == (2**64 - 1, 2**64, 7) and len(ranges) == 0 and sys.getrefcount(value) == before
    ranges[0:10] = "x"
    with pytest.warns(DeprecationWarning, match="remove_overlapping"):
        assert ranges.remove(9, 11) == 1
    del ranges[5:6]
    with pytest.raises(KeyError):
        del ranges[5]


DAY = datetime.datetime(2024, 2, 28)
KINDS = {  # between two of these keys, before and behind them there are others
    "int": lambda n: 2 * n + 1,
    "float": lambda n: n / 4 - 2,
    "int and float": lambda n: n - 5.0 if n % 2 else n - 5,
    "datetime": lambda n: DAY + datetime.timedelta(minutes=n),
    "aware": lambda n: (DAY + datetime.timedelta(hours=3 * n)).replace(tzinfo=datetime.timezone(datetime.timedelta(hours=n % 3))),
    "date": lambda n: DAY.date() + datetime.timedelta(2 * n),
    "timedelta": lambda n: datetime.timedelta(seconds=n - 5),
    "ip": lambda n: ipaddress.IPv4Address(0xFFFFFF00 + 2 * n),
}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_and_ends_of_other_kinds(kind):
    """Beside a map of numbers in which 2 n + 1 is key n, 2 n + 2 the place behind it."""
    rand, key = random.Random(kind), KINDS[kind]
    made, model = RangeMap([(key(0), after(key(1)), 0)]), RangeMap([(1, 4, 0)])
    made.clear(), model.clear()

    def bounds():
        low, high = sorted(rand.sample(range(1, 40), 2))
        ends = low if low > 2 or rand.random() < .5 else 0, high if high < 37 or low <= 2 or rand.random() < .5 else 80  # not all keys: 2^64 are too many
        return [None if place in (0, 80) else after(key(place // 2 - 1)) if place % 2 == 0 else key(place // 2) for place in ends], ends

    for step in range(300):
        (start, stop), (first, last) = bounds()
        change = rand.choice(["store", "store", "insert", "cut", "remove", "starting"])
        if change == "starting":
            assert (made.remove_starting(key(first // 2)) is None) == (model.remove_starting(first // 2 * 2 + 1) is None)
        elif change in ("cut", "remove"):
            call = "cut" if change == "cut" else "remove_overlapping"
            assert getattr(made, call)(start, stop) == getattr(model, call)(first, last)
        else:
            free = len(model.gaps(first, last)) == 1 and not model.overlapping(first, last)
            assert bool(made.overlapping(start, stop)) != free
            for ranges, low, high in ((made, start, stop), (model, first, last)):
                if change == "store" or free:
                    ranges[low:high] = step
                else:
                    with pytest.raises(ValueError, match="overlaps"):
                        ranges.insert(low, high, step)
        made._verify()
        assert [value for _, _, value in made] == [value for _, _, value in model]
        points = [key(n) for n in range(20)]
        assert [made.get(point, "no") for point in points] == [model.get(2 * n + 1, "no") for n in range(20)] == made.get_many(points, "no")
        assert len(made.gaps(start, stop)) == len(model.gaps(first, last))
        assert made == RangeMap(made) == pickle.loads(pickle.dumps(made))
    assert all(low < high for low, high, _ in made if high is not None)


def test_limits_of_other_kinds():
    minute, utc = datetime.timedelta(minutes=1), datetime.timezone.utc
    for least, most in ((-math.inf, math.inf), (datetime.date.min, datetime.date.max), (datetime.datetime.min, datetime.datetime.max),
                        (datetime.datetime.min.replace(tzinfo=utc), datetime.datetime.max.replace(tzinfo=utc)),
                        (ipaddress.IPv4Address("0.0.0.0"), ipaddress.IPv4Address("255.255.255.255"))):
        whole = RangeMap([(least, after(most), "all")])
        assert list(whole) == [(least, None, "all")] and whole[least] == whole[most] == "all" and whole.gaps() == []
        whole.cut(after(least), most)
        assert [found[0] for found in whole] == [least, most] and whole.gaps() == [(whole.find(least)[1], most)]
    steps = RangeMap([(None, minute, 1), (after(minute), None, 2)])
    assert steps.get(minute) is None and steps[-datetime.timedelta(10**8)] == 1 and steps[datetime.timedelta(10**8 - 1)] == 2
    with pytest.raises(OverflowError, match="beyond 64 bits"):
        steps[datetime.timedelta.max]
    assert RangeMap().gaps() == [(0, 2**64)] and RangeMap().gaps(1.5) == [(1.5, None)]
    numbers = RangeMap([(5, None, "a")])
    assert list(numbers) == [(5, 2**64, "a")] and numbers[2**64 - 1] == "a"
    with pytest.raises(OverflowError):
        numbers[:] = "all"  # 2^64 keys
    del numbers[:]
    numbers[3 : after(2**64 - 1)] = "b"
    assert numbers.remove_overlapping(None, None) == 1 and not len(numbers)
    for start, stop in ((after(3), 4), (after(3), after(3)), (None, 0), (after(2**64 - 1), None)):
        with pytest.raises(ValueError, match="empty"):
            numbers.insert(start, stop)


def test_keys_of_two_kinds_are_refused():
    keys = [5, 1.5, DAY, DAY.replace(tzinfo=datetime.timezone.utc), DAY.date(), datetime.timedelta(1), ipaddress.IPv4Address(7)]
    for first in keys:
        ranges = RangeMap([(first, after(first), "a")])
        for other in keys + ["text", b"bytes", ipaddress.IPv6Address(7), ipaddress.IPv4Interface("1.2.3.4/8"), 1j, object(), (1,)]:
            if other is first or (first, other) == (1.5, 5):
                continue
            for call in (lambda: ranges.insert(other, None), lambda: ranges.insert(first, other), lambda: ranges.find(other), lambda: ranges.cut(None, other),
                         lambda: ranges.overlapping(after(other), None), lambda: ranges.gaps(other), lambda: ranges.get_many([other]), lambda: other in ranges):
                with pytest.raises(TypeError):
                    call()
        assert list(ranges)[0][0] == first and len(ranges) == 1
        ranges.clear()
        with pytest.raises(TypeError):
            ranges.insert("a", "b")
    for wrong in ("text", ipaddress.IPv6Address(7), (1,)):
        with pytest.raises(TypeError, match=type(wrong).__name__):
            RangeMap([(wrong, None, 1)])
    for start, stop in ((math.nan, 5.0), (1.0, math.nan)):
        with pytest.raises(ValueError, match="NaN"):
            RangeMap([(start, stop, 1)])
    with pytest.raises(TypeError, match="exact"):
        RangeMap([(0.0, decimal.Decimal("0.1"), 1)])
    assert RangeMap([(0.0, 0.5, "a")]).get(fractions.Fraction(1, 3)) == "a"
    assert not len(RangeMap()) and RangeMap().find(1.5) is None and RangeMap().overlapping(DAY, None) == []
