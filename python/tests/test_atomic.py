# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A call that changes many items and is refused changes nothing."""
import datetime
import decimal
import itertools

import numpy
import pytest

from lathwork import Interval, IntervalTree, Map, RangeMap, SortedDict, SortedKeyList, SortedList, SortedSet, Store

GOOD = {  # what is there, what is added, and what no container of these takes
    "ints": ([1, 2, 9], [3, 2, 4], ["x", None, (1,)]),
    "floats": ([1.5, 2.0, 9.0], [3.5, 2.0, 4.5], ["x", None]),
    "huge ints": ([2**70, 2**71, 1], [2**72, 2**70, 3], ["x", None]),
    "texts": (["a", "b", "a longer text"], ["c", "a", "a longer word", "another long word"], [1, b"x", None]),
    "bytes": ([b"a", b"b", b"a longer text"], [b"c", b"a", b"a longer word"], [1, "x"]),
    "tuples": ([(1,), (2,), (9, 9)], [(3,), (2,), (4,)], [1, "x", ("x",), (None, 3), None]),
    "days": ([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], [datetime.date(2020, 5, 1), datetime.date(2020, 1, 1)], [1, datetime.datetime(2020, 1, 1)]),
    "decimals": ([decimal.Decimal(1), decimal.Decimal("2.5")], [decimal.Decimal(3), 2, 2.5], [decimal.Decimal("snan"), "x"]),
    "ints and floats": ([1, 2.5, True], [3, 4.5, 2.5], ["x", None]),
}
CASES = [(name, bad, place) for name, (_, _, bads) in GOOD.items() for bad in bads for place in (0, 1, "middle", "end")]


def fail_after(values, error=ZeroDivisionError):
    yield from values
    raise error


def with_bad(added, bad, place):
    many = added * 3
    at = {"middle": len(many) // 2, "end": len(many)}.get(place, place)
    return many[:at] + [bad] + many[at:]


def snapshot(made):
    made._verify()
    return list(made.items()) if hasattr(made, "items") else list(made), getattr(made, "key", None), repr(made)


def refused(made, calls, errors=(TypeError, ValueError, ZeroDivisionError, KeyError, decimal.InvalidOperation)):
    """Each call raises and leaves the container as it was, and usable."""
    before = snapshot(made)
    for number, call in enumerate(calls):
        with pytest.raises(errors):
            call()
            pytest.fail(f"call {number} was not refused")
        assert snapshot(made) == before, number


@pytest.mark.parametrize("name, bad, place", CASES, ids=repr)
def test_update(name, bad, place):
    there, added, _ = GOOD[name]
    values = with_bad(added, bad, place)
    for key in (None, lambda value: value):
        for made in (SortedList(there, key=key), SortedSet(there, key=key), SortedList(there * 100, key=key)):
            refused(made, [
                lambda: made.update(values), lambda: made.update(iter(values)), lambda: made.__ior__(values) if isinstance(made, SortedSet) else made.__iadd__(values),
                lambda: made.update(fail_after(added)), lambda: made + values if isinstance(made, SortedList) else made | values,
            ])
        made = SortedSet(there, key=key)
        refused(made, [lambda: made.update(added, values), lambda: made.update(values, added), lambda: made.update(added, fail_after(added))])
        for kind in (SortedList, SortedSet):
            with pytest.raises((TypeError, ValueError, decimal.InvalidOperation)):
                kind(values, key=key)
        pairs = SortedDict(key, dict.fromkeys(there, "old"))
        items = [(value, "new") for value in values]
        refused(pairs, [
            lambda: pairs.update(items), lambda: pairs.update(dict(items)), lambda: pairs.update(iter(items)), lambda: pairs.__ior__(dict(items)),
            lambda: pairs.update(fail_after((value, "new") for value in added)), lambda: pairs | dict(items), lambda: SortedDict(key, items),
        ])


BAD_PAIRS = [5, (1,), (1, 2, 3), None, "x", "xyz", [], [1], ([], 1, 2)]


@pytest.mark.parametrize("bad", BAD_PAIRS, ids=repr)
def test_pairs_that_are_none(bad):
    for there, added in ((pair[0], pair[1]) for pair in GOOD.values()):
        made = SortedDict.fromkeys(there, "old")
        pairs = [(value, "new") for value in added]
        refused(made, [lambda: made.update(pairs + [bad] + pairs), lambda: made.update(pairs + [bad]), lambda: made.update(iter([bad] + pairs)),
                       lambda: SortedDict(pairs + [bad])])


def test_keywords_and_mappings():
    made = SortedDict({"a": 1})
    refused(made, [lambda: made.update([("b", 2), (3, 3)], c=3), lambda: made.update([("b", 2), 3], c=3), lambda: made.update({"b": 1}, {"c": 1})])
    numbers = SortedDict({1: 1})
    refused(numbers, [lambda: numbers.update({2: 2}, c=3), lambda: numbers.update([(2, 2)], c=3)])

    class Failing:
        def keys(self):
            return ["b", "c"]

        def __getitem__(self, key):
            return 2 if key == "b" else 1 / 0

    refused(made, [lambda: made.update(Failing())])
    made.update({"b": 2}, c=3)
    assert dict(made.items()) == {"a": 1, "b": 2, "c": 3}


class Fussy:
    """Compares `budget` times, then raises."""

    budget = 10**9

    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        Fussy.budget -= 1
        if Fussy.budget < 0:
            raise ZeroDivisionError
        return self.number < other.number

    def __eq__(self, other):
        Fussy.budget -= 1
        if Fussy.budget < 0:
            raise ZeroDivisionError
        return self.number == other.number

    def __hash__(self):
        return hash(self.number)


@pytest.mark.parametrize("kind", ["list", "set", "dict", "key list"])
def test_comparisons_that_fail_at_any_moment(kind):
    """Whichever comparison fails, all or nothing is done."""
    there, added = [Fussy(number) for number in range(0, 40, 4)], [Fussy(number * 7 % 41) for number in range(25)]
    for budget in itertools.count():
        made = {
            "list": lambda: SortedList(there), "set": lambda: SortedSet(there), "dict": lambda: SortedDict((key, "old") for key in there),
            "key list": lambda: SortedKeyList([key.number for key in there], key=Fussy),
        }[kind]()
        before = [id(key) if kind != "key list" else key for key in made], list(made.values()) if kind == "dict" else None
        Fussy.budget = budget
        try:
            made.update([(key, "new") for key in added] if kind == "dict" else [key.number for key in added] if kind == "key list" else added)
        except ZeroDivisionError:
            Fussy.budget = 10**9
            assert ([id(key) if kind != "key list" else key for key in made], list(made.values()) if kind == "dict" else None) == before
            made._verify()
        else:
            break
        finally:
            Fussy.budget = 10**9
    assert budget > 50
    made._verify()


@pytest.mark.parametrize("keys", [range(0, 60, 2), [(n,) for n in range(30)], [f"a longer text {n}" for n in range(30)]], ids=["ints", "tuples", "texts"])
def test_sets(keys):
    keys = list(keys)
    for key in (None, lambda value: value):
        made = SortedSet(keys, key=key)
        for others in (fail_after(keys[:3]), 5, None):
            for name in ("update", "intersection_update", "difference_update", "symmetric_difference_update", "union", "intersection", "difference"):
                others = fail_after(keys[:3]) if others not in (5, None) else others
                refused(made, [lambda: getattr(made, name)(others)])
        refused(made, [lambda: made.difference_update(keys[:3], fail_after(keys[3:5])), lambda: made.difference_update(keys[:3], 5),
                       lambda: made.intersection_update(keys[:3], 5), lambda: made.symmetric_difference_update([[1]]),
                       lambda: made.symmetric_difference_update([object()]), lambda: made.intersection_update([[]])])
        made -= keys[:3]
        made &= set(keys[:9])
        made ^= {keys[5], keys[20]}
        assert list(made) == sorted(set(keys[3:9]) ^ {keys[5], keys[20]})
        made -= made
        assert not made
        made._verify()


def test_replaced_values_come_back():
    gone = [object() for _ in range(50)]
    made = SortedDict(((number,), value) for number, value in enumerate(gone))
    refused(made, [lambda: made.update([((number,), "new") for number in range(40)] + [((5,), "newer"), (5, "bad")]),
                   lambda: made.update([((number % 3,), number) for number in range(40)] + [(("x",), "bad")])])
    assert all(a is b for a, b in zip(made.values(), gone))


def test_arrays():
    made = Map({1: "a", 2: "b"})
    bad = [numpy.array([1.5]), numpy.array([[1]]), numpy.array(["a"]), numpy.array([2**63], dtype=numpy.uint64), [5, "x"], [5, None], None, [5, 2.5]]
    for keys in bad:
        refused(made, [lambda: made.insert_many(keys, [5, 6]), lambda: made.erase_many(keys), lambda: made.get_many(keys)], Exception)
    refused(made, [lambda: made.insert_many([5, 6], [1]), lambda: made.insert_many([5, 6], 5), lambda: made.insert_many([5, 6], fail_after([1]))])
    reals = Map({0.5: 1})
    refused(reals, [lambda: reals.insert_many([1.5, float("nan")], [1, 2]), lambda: reals.erase_many([0.5, float("nan")])])


def test_lists():
    made = SortedList([(1,), (2,)])
    refused(made, [lambda: made.__imul__(1.5), lambda: made.__imul__("x"), lambda: made.__iadd__([(3,), 5]), lambda: made.__iadd__(5)])
    made *= 2
    assert list(made) == [(1,), (1,), (2,), (2,)]
    by_key = SortedKeyList(["b", "A"], key=str.lower)
    by_key *= 2
    assert list(by_key) == ["A", "A", "b", "b"] and by_key.key is str.lower
    by_key *= 0
    assert list(by_key) == []


BAD_INTERVALS = [Interval(3, 3), Interval(5, 1), Interval("a", "b"), (1,), 5, None, Interval(float("nan"), 1), Interval(decimal.Decimal("0.1"), 1),
                 Interval(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), Interval(0, 2**64 + 1), (1, 2, 3, 4), Interval(None, 5)]


@pytest.mark.parametrize("bad", BAD_INTERVALS, ids=repr)
def test_intervals(bad):
    first = [Interval(1, 5, "a"), Interval(2, 2**53 + 1, "b")]
    made = IntervalTree(first)
    for others in ([Interval(7, 9), bad, Interval(8, 9)], [bad, Interval(7, 9)], [Interval(0.5, 9), bad], [Interval(7, 9), bad]):
        for call in (lambda: made.update(others), lambda: made.__ior__(others), lambda: made.update(iter(others)), lambda: made.union(others),
                     lambda: made.symmetric_difference_update(others), lambda: IntervalTree(others), lambda: made.update(fail_after(others[:1]))):
            with pytest.raises((TypeError, ValueError, OverflowError, ZeroDivisionError)):
                call()
            made.verify()
            assert made.items() == set(first)
    made.add(Interval(3, 2**53 + 3))  # still a tree of integers
    made.verify()


def test_interval_changes_of_many():
    made = IntervalTree([Interval(1, 5, "a"), Interval(2, 9, "b"), Interval(2, 9, "c")])
    before = made.items()

    def bad_data(interval, islower):
        return 1 / 0 if interval.data == "b" else interval.data

    for call in (lambda: made.chop(3, 4, bad_data), lambda: made.slice(3, bad_data), lambda: made.chop(3, "x"), lambda: made.chop("x", 4),
                 lambda: made.slice("x"), lambda: made.slice(decimal.Decimal("3.1")), lambda: made.chop(2.5, decimal.Decimal("3.1")),
                 lambda: made.merge_overlaps(lambda a, b: 1 / 0), lambda: made.merge_equals(lambda a, b: 1 / 0),
                 lambda: made.difference_update(fail_after(list(made)[:1])), lambda: made.intersection_update(5), lambda: made.difference_update(5),
                 lambda: made.remove_overlap("x"), lambda: made.remove_envelop(0, "x"), lambda: made.remove_envelop(0, None)):
        with pytest.raises((TypeError, ValueError, ZeroDivisionError)):
            call()
        made.verify()
        assert made.items() == before
    made.chop(3, 4)
    made.slice(6)
    made.verify()
    assert made == IntervalTree([Interval(1, 3, "a"), Interval(4, 5, "a")] + [
        Interval(begin, end, data) for data in "bc" for begin, end in ((2, 3), (4, 6), (6, 9))])


def test_ranges():
    made = RangeMap([(10, 20, "a"), (30, 40, "b")])
    before = list(made)
    for call in (lambda: made.__setitem__(slice(15, "x"), 1), lambda: made.__setitem__(slice(15, 12), 1), lambda: made.__setitem__(slice("", 5), 1),
                 lambda: made.__delitem__(slice(15, 35.5)), lambda: made.cut(15, -1), lambda: made.insert(15, 35), lambda: made.insert(35, 2**65),
                 lambda: made.remove_overlapping(5, 5), lambda: RangeMap([(1, 5, 1), (3, 6, 2)])):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            call()
        made._verify()
        assert list(made) == before
    made[15:35] = "c"
    made[18:20] = "d"
    assert list(made) == [(10, 15, "a"), (15, 18, "c"), (18, 20, "d"), (20, 35, "c"), (35, 40, "b")]
    made._verify()


def test_ranges_hold_their_values():
    import sys

    value = object()
    before = sys.getrefcount(value)
    made = RangeMap()
    for start, stop in ((0, 100), (10, 20), (15, 30), (90, 2**64), (0, 2**64 - 1), (5, 6), (7, 8), (5, 8)):
        made[start:stop] = value
        made._verify()
        assert sys.getrefcount(value) == before + len(made)
    made.cut(1, 2**63)
    assert sys.getrefcount(value) == before + len(made)
    made.cut(2**63 + 5, 2**64)
    del made[0:1]
    assert sys.getrefcount(value) == before + len(made)
    made.clear()
    assert sys.getrefcount(value) == before


@pytest.mark.parametrize("bad", [5, (b"k",), (b"k", 5), (5, b"v"), (b"k", None), None, (b"x" * 70000, b"v"), ("\ud800", b"v")], ids=lambda bad: repr(bad)[:20])
def test_stores(bad):
    with Store() as store:
        store["a"] = "1"
        for pairs in ([("b", "2"), bad, ("c", "3")], [("a", "2"), bad]):
            with pytest.raises((TypeError, ValueError)):
                store.update(pairs)
            assert list(store.items()) == [(b"a", b"1")]
        with pytest.raises(ZeroDivisionError):
            store.update(fail_after([("b", "2")]))
        assert list(store.items()) == [(b"a", b"1")]
    with Store(keys="int") as store:
        for pairs in ([(1, b""), (2**64, b"")], [(1, b""), ("x", b"")], [(1, b""), (2.5, b"")]):
            with pytest.raises((TypeError, OverflowError)):
                store.update(pairs)
            assert list(store) == []


def drained(kind, n):
    made = kind((i, i) for i in range(n)) if kind in (SortedDict, Map) else kind(range(n))
    while made:
        made.popitem() if kind in (SortedDict, Map) else made.pop()
    return made


@pytest.mark.parametrize("kind", [SortedList, SortedSet, SortedDict, Map])
@pytest.mark.parametrize("n", [1, 64, 65, 100, 256, 257, 1000])
def test_filling_what_was_emptied(kind, n):
    for fill in (
        lambda made: made.update({1: 1, 2: 2} if kind in (SortedDict, Map) else [1, 2]),
        lambda made: made.insert_many([1, 2], [1, 2]) if kind is Map else made.update([(1, 1), (2, 2)]),
        lambda made: made.update({"1": 1, "2": 2} if kind in (SortedDict, Map) else ["1", "2"]),
        lambda made: made.update({1.5: 1, (2.5): 2} if kind in (SortedDict, Map) else [1.5, 2.5]),
        lambda made: made.update({b"1": 1, b"2": 2} if kind in (SortedDict, Map) else [b"1", b"2"]),
    ):
        made = drained(kind, n)
        fill(made)
        assert len(made) == 2
        made._verify()
    some = SortedSet(range(n))
    some -= set(range(n))
    some.update([1])
    assert list(some) == [1]
