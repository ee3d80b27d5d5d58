# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Numbers that do not survive a conversion are refused, with an error that names them; others are converted exactly."""
import decimal
import enum
import fractions
import math
import random

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lathwork import Interval, IntervalTree, Map, RangeAllocator, RangeMap, SortedDict, SortedList, Store

D, F = decimal.Decimal, fractions.Fraction
EXACT = [  # as an int or as a float
    D("1.5"), D("2"), D("-0"), D(2**62), D("0.125"), F(3, 2), F(7, 1), F(-1, 1024), numpy.float32(0.1), numpy.float16(1.5), numpy.float64(0.3),
    numpy.int8(-5), numpy.uint64(2**62), numpy.int64(-(2**63)), True, numpy.bool_(True), 2**53, -0.0, 1e300, math.inf, D("Infinity"),
]
CUT = [D("0.1"), D("10.10"), F(1, 3), F(2**60 * 3 + 1, 3), D("1e-400"), F(10**400 + 1, 10**400), D("1e400")]


def low_of(bound):
    return Interval(-math.inf, bound)


@pytest.mark.parametrize("bound", EXACT, ids=repr)
def test_interval_bounds_that_survive(bound):
    tree = IntervalTree([Interval(bound, math.inf)]) if bound < math.inf else IntervalTree([low_of(bound)])
    tree.verify()
    inside, outside = (bound, math.nextafter(float(bound), -math.inf)) if bound < math.inf else (1e300, math.inf)
    assert len(tree.at(inside)) == 1 and (not tree.at(outside) or float(bound) != bound)
    assert tree.items() <= tree.overlap(-math.inf, math.inf) | tree.items()
    assert next(iter(tree)) in tree


@pytest.mark.parametrize("bound", CUT, ids=repr)
def test_interval_bounds_that_do_not_survive(bound):
    for begin, end in ((bound, 10**6), (-(10**6), bound), (bound, 1e301), (-1e301, bound)):
        with pytest.raises((TypeError, OverflowError), match=type(bound).__name__) as raised:
            IntervalTree([Interval(begin, end)])
        assert str(bound) in str(raised.value) or repr(bound) in str(raised.value)
    tree = IntervalTree([Interval(1, 3)])
    for call in (lambda: tree.addi(bound, 10**6), lambda: tree.update([Interval(0, 9), Interval(bound, 10**6)])):
        with pytest.raises((TypeError, OverflowError)):
            call()
    assert tree.items() == {Interval(1, 3)} and Interval(bound, 10**6) not in tree
    tree.discard(Interval(bound, 10**6))
    tree.add(Interval(1, 2**53 + 1))  # the tree is still one of integers
    tree.verify()


class Metres:
    def __init__(self, number):
        self.number = number

    def __float__(self):
        return float(self.number)

    def __lt__(self, other):
        return self.number < other.number


@pytest.mark.parametrize("bound", [Metres(1.5), "1", b"1", None, 1 + 0j, numpy.longdouble(1) / 3, numpy.array(2), numpy.array([2]), [1], (1,)], ids=repr)
def test_interval_bounds_of_other_types(bound):
    for make in (lambda: IntervalTree([Interval(bound, bound)]), lambda: IntervalTree([Interval(0, 5)]).at(bound),
                 lambda: IntervalTree([Interval(0.5, 5)]).at(bound), lambda: IntervalTree([Interval(0, 5)]).addi(0, bound),
                 lambda: IntervalTree([Interval(0, 5)]).overlap(bound, 7)):
        with pytest.raises(TypeError) as raised:
            make()
        assert type(bound).__name__ in str(raised.value)


POINTS = st.one_of(
    st.integers(-8, 8), st.integers(-40, 40).map(lambda n: n / 8), st.fractions(-8, 8, max_denominator=9), st.integers(-80, 80).map(lambda n: D(n) / 10),
    st.sampled_from([2**53 + 1, D(2**53 + 1), F(2**55 + 1, 4), -(2**63), 2**63, D("1e30"), F(-(10**30)), math.inf, -math.inf, D("-Infinity"),
                     numpy.float32(0.5), numpy.int16(3), 0.1]),
)
BOUNDS = st.one_of(st.integers(-8, 8), st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1])), st.one_of(
    st.integers(-8, 8), st.integers(-40, 40).map(lambda n: n / 8), st.integers(-40, 40).map(lambda n: F(n, 8)),
    st.integers(-40, 40).map(lambda n: D(n) / 8), st.integers(-8, 8).map(numpy.float32), st.sampled_from([math.inf, -math.inf, 1e300, 0.1]))


def exact(number):
    """Numbers of all types compare exactly as these do."""
    return number if math.isinf(number) else F(number) if isinstance(number, (int, F, D)) else F(float(number))


@pytest.mark.parametrize("bounds", BOUNDS, ids=["integers", "reals"])
def test_searches_with_any_numbers(bounds):
    @given(st.lists(st.tuples(bounds, bounds).filter(lambda pair: pair[0] < pair[1]), max_size=12), st.lists(POINTS, min_size=1, max_size=6))
    @settings(max_examples=150, deadline=None, derandomize=True)
    def run(pairs, points):
        tree, model = IntervalTree(Interval(*pair) for pair in pairs), {Interval(*pair) for pair in pairs}
        tree.verify()
        for low in points:
            at = exact(low)
            assert tree.at(low) == {i for i in model if exact(i.begin) <= at < exact(i.end)}
            assert tree.overlaps(low) == bool(tree.at(low))
            for high in points:
                to = exact(high)
                if at < to:
                    assert tree.overlap(low, high) == {i for i in model if exact(i.begin) < to and exact(i.end) > at}
                    assert tree.envelop(low, high) == {i for i in model if at <= exact(i.begin) and exact(i.end) <= to}
                    assert tree.overlaps(low, high) == bool(tree.overlap(low, high))

    run()


class Grade(enum.IntEnum):
    ONE = 1


NOT_WHOLE = [1.5, D("1.5"), D(4), F(3, 2), F(4), numpy.float32(1.5), numpy.float64(2), "1", b"1", None, Metres(4), math.nan, math.inf, 1j]
NOT_WHOLE += [] if hasattr(numpy.bool_, "__index__") else [numpy.bool_(True)]  # before numpy 2.3 it is an int
WHOLE = [4, True, Grade.ONE, numpy.int8(4), numpy.uint8(4), numpy.uint64(4), numpy.int64(4)]


@pytest.mark.parametrize("number", NOT_WHOLE, ids=repr)
def test_what_is_no_whole_number_is_refused(number):
    ranges, pool, values = RangeMap([(0, 8, "a")]), RangeAllocator(0, 1 << 20), SortedList(range(10))
    pairs, compact = SortedDict({1: 1}), Map({1: 1})
    numbers = Store(keys="int")
    first = pool.alloc(16)
    calls = [
        lambda: ranges.find(number), lambda: ranges[number], lambda: ranges.remove_covering(number), lambda: ranges.remove_starting(number), lambda: ranges.get_many([number]),
        lambda: RangeAllocator(0, number), lambda: RangeAllocator(number, 1 << 20), lambda: RangeAllocator(0, 1 << 20, number),
        lambda: pool.alloc(number), lambda: pool.alloc(4, number) if number is not None else pool.alloc(None), lambda: pool.alloc(4, policy="near", hint=number),
        lambda: pool.alloc(4, low=number) if number is not None else pool.alloc(None), lambda: pool.reserve(0, number), lambda: pool.free(0, number),
        lambda: pool.alloc_many(number, 4), lambda: pool.alloc_many(1, number), lambda: pool.free_many([number], 4), lambda: pool.free_many([0], number),
        lambda: values.pop(number), lambda: values[number], lambda: values.__delitem__(number), lambda: pairs.popitem(number), lambda: pairs.peekitem(number),
        lambda: compact.popitem(number), lambda: compact.peekitem(number), lambda: compact.get_ints([1], default=number), lambda: numbers.get(number), lambda: numbers.incr(1, number), lambda: numbers.__setitem__(number, b""),
        lambda: Store(limit=number), lambda: Map({1: number}).get_ints([1]),
    ]
    if number is not None:  # which is not a limit
        calls += [lambda: ranges.insert(number, 20), lambda: ranges.insert(9, number), lambda: ranges.cut(0, number),
                  lambda: ranges.remove_overlapping(number, 9), lambda: ranges.overlapping(0, number)]
    for at, call in enumerate(calls):
        with pytest.raises(TypeError):
            call()
            pytest.fail(f"call {at} of {number!r}")
    assert list(ranges) == [(0, 8, "a")] and list(values) == list(range(10)) and pool.stats()["allocated"] == 16 and first == 0
    assert list(pairs.items()) == [(1, 1)] and list(numbers) == []


@pytest.mark.parametrize("number", WHOLE, ids=repr)
def test_whole_numbers_of_any_type_are_taken(number):
    ranges, pool, values = RangeMap(), RangeAllocator(0, 1 << 20), SortedList(range(10))
    ranges[number : number + 1] = "a"
    assert ranges[int(number)] == "a" and ranges.get_many([number]) == ["a"]
    assert list(ranges.overlapping(number, int(number) + 1)) == [(int(number), int(number) + 1, "a")]
    assert pool.alloc(number, number) == 0 and pool.alloc_many(number, 1).tolist() == list(range(int(number), 2 * int(number)))
    assert values.pop(number) == int(number)
    with Store(keys="int") as store:
        store[number] = b"x"
        assert store[int(number)] == b"x" and store.incr(9, number) == int(number)
    assert Map({1: number}).get_ints([1]).tolist() == [int(number)]


@pytest.mark.parametrize("kind", [numpy.uint8, numpy.uint16, numpy.uint32, numpy.uint64, numpy.int8, numpy.int16, numpy.int64])
def test_arithmetic_of_numpy_does_not_wrap(kind):
    least, most = int(numpy.iinfo(kind).min), int(numpy.iinfo(kind).max)
    ranges = RangeMap()
    for start, stop in ((kind(0), kind(0)), (kind(5), kind(0)), (kind(5), kind(5))):
        with pytest.raises(ValueError, match="empty"):
            ranges.insert(start, stop)
    if least < 0:
        with pytest.raises(OverflowError):
            ranges.insert(kind(least), kind(3))
        with pytest.raises(ValueError, match="empty"):
            ranges.insert(kind(3), kind(least))
        with pytest.raises(OverflowError):
            ranges.get_many(numpy.array([least], dtype=kind))
    ranges.insert(kind(0), kind(most))
    assert list(ranges) == [(0, most, None)]
    assert list(ranges.gaps(0, most + 5 if most < 2**63 else most)) == ([(most, most + 5)] if most < 2**63 else [])


def test_numbers_at_the_limits():
    for number in (2**64, -1, 10**30, -(2**70)):
        for call in (lambda: RangeMap().insert(number, number + 1), lambda: RangeMap().get_many([number]), lambda: RangeMap().find(number),
                     lambda: RangeAllocator(0, 1 << 20).alloc(number), lambda: RangeAllocator(0, 1 << 20).free_many([number], 1),
                     lambda: RangeAllocator(0, 1 << 20).alloc_many(1, number), lambda: Store(keys="int").get(number), lambda: Store(limit=number)):
            with pytest.raises(OverflowError):
                call()
        for call in (lambda: SortedList([1]).pop(number * 2**10), lambda: SortedDict({1: 1}).popitem(number * 2**10)):
            with pytest.raises(IndexError):
                call()
    for number in (2**63, -(2**63) - 1, 10**30):
        with pytest.raises(OverflowError):
            Map({1: 1}).get_ints([1], default=number)
        with pytest.raises(OverflowError):
            Map({1: number}).get_ints([1])
        with pytest.raises(OverflowError):
            Store().incr("a", number)
        with pytest.raises(OverflowError):
            IntervalTree([Interval(number, number + 1)])


def test_arrays_keep_all_digits():
    """A list of int and float would be rounded by NumPy."""
    made = Map({2**53 + 1: "a", 7: "b"})
    for mixed in ([2**53 + 1, 0.5], [0.5, 2**53 + 1], [-1, 2**63], [1, True, 2.5]):
        for call in (made.get_many, made.contains_many, made.erase_many, lambda keys: made.insert_many(keys, keys)):
            with pytest.raises((TypeError, OverflowError)):
                call(mixed)
    assert list(made) == [7, 2**53 + 1]
    assert made.get_many([7, 2**53 + 1]) == ["b", "a"] and Map({1.5: 0}).contains_many([1.5, 2.0]).tolist() == [True, False]
    for points in ([1.5], numpy.array([1.5]), [-1], numpy.array([-1]), [2**64], ["1"], numpy.array([1], dtype="timedelta64[s]"), [True, 1.0]):
        with pytest.raises((TypeError, OverflowError)):
            RangeMap([(0, 5, "a")]).get_many(points)
        with pytest.raises((TypeError, OverflowError)):
            RangeAllocator(0, 100).free_many(points, 1)
    assert RangeMap([(0, 2**64 - 1, "a")]).get_many([2**64 - 2, 2**64 - 1, 0]) == ["a", None, "a"]
    assert RangeMap([(0, 5, "a")]).get_many([]) == [] and RangeMap([(0, 5, "a")]).get_many(range(4, 6)) == ["a", None]


def test_zero_and_its_sign():
    for zeros in ([0.0, -0.0], [-0.0, 0.0], [0, -0.0], [-0.0, 0, False]):
        made = SortedList(zeros)
        assert [math.copysign(1, value) for value in made] == [math.copysign(1, value) for value in zeros]
        assert made.count(0) == len(zeros) and len(SortedDict.fromkeys(zeros)) == 1
    assert IntervalTree([Interval(-0.0, 1)])[0.0] and not IntervalTree([Interval(-1, 0.0)])[-0.0]


def test_times_are_not_cut():
    import datetime

    class Moment(datetime.datetime):
        """With a nanosecond, as other packages have."""

    day = datetime.datetime(2020, 1, 1)
    tree = IntervalTree([Interval(day, day.replace(year=2021))])
    for wrong in (datetime.date(2020, 5, 1), datetime.timedelta(1), 5, 1.5, "2020", day.replace(tzinfo=datetime.timezone.utc), D(1)):
        for call in (lambda: tree.at(wrong), lambda: tree.addi(day, wrong), lambda: tree.addi(wrong, day), lambda: tree.overlap(day, wrong)):
            with pytest.raises(TypeError) as raised:
                call()
            assert type(wrong).__name__ in str(raised.value)
        assert Interval(day, wrong) not in tree and Interval(wrong, wrong) not in tree
    assert len(tree.at(Moment(2020, 5, 1))) == 1 and len(tree) == 1
