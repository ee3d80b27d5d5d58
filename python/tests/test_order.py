# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Keys with their own order are ordered by it, in every class; a look-up of what does not compare finds nothing."""
import bisect
import datetime
import decimal
import enum
import fractions
import itertools
import random
import uuid

import numpy
import pytest
import sortedcontainers

import lathwork
from lathwork import Interval, IntervalTree, SortedDict, SortedKeyList, SortedList, SortedSet


def backwards(base, name="Down"):
    """A subclass of base with the opposite order."""
    return type(name, (base,), {
        "__lt__": lambda self, other: base.__gt__(self, other),
        "__gt__": lambda self, other: base.__lt__(self, other),
        "__le__": lambda self, other: base.__ge__(self, other),
        "__ge__": lambda self, other: base.__le__(self, other),
    })


class NoCase(str):
    def __lt__(self, other):
        return self.lower() < other.lower()

    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


class NoCaseBytes(bytes):
    def __lt__(self, other):
        return self.lower() < other.lower()

    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


class Urgency(enum.IntEnum):
    LOW = 1
    HIGH = 2

    def __lt__(self, other):
        return int(self) > int(other)


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 3


class Length:
    """A quantity that converts to a float, but has its own order."""

    def __init__(self, metres):
        self.metres = metres

    def __float__(self):
        return -float(self.metres)

    def __lt__(self, other):
        return self.metres < other.metres if isinstance(other, Length) else NotImplemented

    def __eq__(self, other):
        return isinstance(other, Length) and self.metres == other.metres

    def __hash__(self):
        return hash(self.metres)


class Unit(Length):
    def __float__(self):
        raise TypeError("has a unit")


class Whole(Length):
    __float__ = None

    def __index__(self):
        return -self.metres


class Plain(int):
    """Inherits the order of int."""

    def __hash__(self):
        return 5


DOWN = [
    (backwards(str), ["x", "z", "y", "a longer text", "a longer word", ""]),
    (backwards(bytes), [b"x", b"z", b"y", b"a longer text", b"a longer word", b""]),
    (backwards(int), [3, 1, 2, 2**70, -(2**70), 2**63]),
    (backwards(float), [3.5, 1.0, -0.0, 2.25, 1e300]),
    (Length, [3, 1, 2, 17, 4]),
    (Unit, [3, 1, 2, 17, 4]),
    (Whole, [3, 1, 2, 17, 4]),
    (backwards(numpy.float64), [3.5, 1.0, 2.25]),
    (backwards(decimal.Decimal), ["3.5", "1.0", "2.25"]),
    (backwards(fractions.Fraction), [3, 1, 2]),
    (backwards(tuple), [(1, 2), (0,), (3, 4, 5)]),
    (backwards(datetime.timedelta), [3, 1, 2]),
]


@pytest.mark.parametrize("kind, values", DOWN, ids=lambda part: getattr(part, "__name__", None))
def test_own_order_of_keys(kind, values):
    keys = [kind(value) for value in values]
    model = sorted(keys)
    for made in (SortedList(keys), SortedSet(keys), SortedDict.fromkeys(keys), SortedKeyList(keys, key=lambda key: key)):
        made._verify()
        assert list(map(id, made)) == list(map(id, model))
        assert all(key in made for key in keys)
        assert [made.bisect_left(key) for key in model] == list(range(len(model)))
        assert [made.bisect_right(key) for key in model] == list(range(1, len(model) + 1))
        assert list(made.irange(model[1], model[-1])) == model[1:] and list(made.irange(model[0], model[1], (False, True))) == [model[1]]
        assert [made.index(key) for key in model] == list(range(len(model)))


@pytest.mark.parametrize("kind, values", DOWN, ids=lambda part: getattr(part, "__name__", None))
def test_own_order_of_a_key_function(kind, values):
    model = sorted(values, key=kind)
    for made in (SortedList(values, key=kind), SortedSet(values, key=kind), SortedDict(kind, dict.fromkeys(values))):
        made._verify()
        assert list(made) == model and all(value in made for value in values)
        assert list(made.irange(model[1], model[2])) == model[1:3]
        assert made.bisect_key_left(kind(model[1])) == 1 and list(made.irange_key(kind(model[1]))) == model[1:]


@pytest.mark.parametrize("kind, values", DOWN, ids=lambda part: getattr(part, "__name__", None))
def test_own_order_when_added_one_by_one(kind, values):
    for order in itertools.islice(itertools.permutations(values), 24):
        made, model = SortedList(), []
        for value in order:
            made.add(kind(value))
            bisect.insort_right(model, kind(value))
        assert list(made) == model
        made._verify()
        for value in order:
            made.remove(kind(value))
        assert not made


def test_own_equality():
    assert NoCase("B") in SortedSet([NoCase("b")]) and len(SortedSet([NoCase("b"), NoCase("B"), NoCase("a")])) == 2
    assert SortedDict({NoCase("Key"): 1}).get(NoCase("KEY")) == 1
    assert NoCaseBytes(b"B") in SortedSet([NoCaseBytes(b"b")])
    pairs = SortedDict({NoCase("Content-Length"): 1})
    pairs[NoCase("content-length")] = 2
    assert len(pairs) == 1 and pairs.pop(NoCase("CONTENT-LENGTH")) == 2 and pairs.setdefault(NoCase("a"), 3) == 3
    names = SortedList(map(NoCase, ["b", "B", "a"]))
    assert names.count(NoCase("B")) == 2 and names.index(NoCase("B")) == 1
    names.remove(NoCase("B"))
    assert [str(name) for name in names] == ["a", "B"]


def test_equal_values_that_a_key_function_tells_apart():
    """A value is found among those of its key alone, as in sortedcontainers, whatever stands next to them."""
    big = 2**53 + 16
    for kind in (sortedcontainers.SortedKeyList, SortedKeyList):
        values = kind([float(big), 0.5], key=str)
        assert big == float(big) and str(big) < str(float(big))
        values.discard(big)
        assert list(values) == [0.5, float(big)] and big not in values and values.count(big) == 0
        with pytest.raises(ValueError):
            values.index(big)
        values.add(big)
        assert list(map(repr, values)) == ["0.5", repr(big), repr(float(big))] and values.count(big) == 1
        values.remove(big)
        assert list(map(repr, values)) == ["0.5", repr(float(big))]
    one = SortedKeyList([(2, 1.0), (3, 0)], key=lambda pair: (pair[0], str(pair[1])))  # keys that are tuples have another code
    assert (2, 1) not in one and (2, 1.0) in one
    both = SortedSet([big], key=str)
    both.add(float(big))  # it is equal, as in a set
    assert list(map(repr, both)) == [repr(big)]
    both._verify()
    mixed = SortedKeyList([10.0, 3.0], key=lambda value: NoCase(value) if type(value) is int else str(value))  # no code among texts
    assert 10 not in mixed and 10.0 in mixed


def test_own_order_of_an_enum():
    assert list(SortedList(Urgency)) == [Urgency.HIGH, Urgency.LOW] and list(SortedList(Colour)) == [Colour.RED, Colour.BLUE]
    assert list(SortedDict({Urgency.LOW: 1, Urgency.HIGH: 2}).values()) == [2, 1]
    assert list(SortedKeyList([Urgency.LOW, Urgency.HIGH], key=lambda urgency: urgency)) == [Urgency.HIGH, Urgency.LOW]


def test_inherited_order_keeps_the_codes():
    """bool, plain subclasses and NumPy's scalars are still ordered among int and float by their values."""
    numbers = [Plain(4), 3, True, numpy.int64(2**40), numpy.float64(2.5), numpy.float32(0.5), numpy.uint64(2**63 + 1), numpy.int8(-3), -7.5,
               Colour.BLUE, numpy.bool_(False), numpy.float16(1.5), numpy.longdouble(9.5)]
    for order in range(20):
        random.Random(order).shuffle(numbers)
        made = SortedList(numbers)
        made._verify()
        assert list(made) == sorted(numbers) and all(type(a) is type(b) for a, b in zip(made, sorted(numbers)))
        assert all(number in made and made.count(number) == sum(number == other for other in numbers) for number in numbers)
    texts = SortedSet([numpy.str_("b"), "a", type("Text", (str,), {})("c")])
    assert list(texts) == ["a", "b", "c"] and "c" in texts and numpy.str_("a") in texts
    assert numpy.bytes_(b"a") in SortedSet([b"a"])


def test_own_order_among_builtins():
    """A key with its own order that is added to keys with codes: the container becomes one of objects."""
    made = SortedList([1, 2, 3])
    assert decimal.Decimal(2) in made and decimal.Decimal("2.5") not in made
    made.add(decimal.Decimal("2.5"))
    made.add(fractions.Fraction(2**60 * 3 + 1, 3))
    made.add(2**60)
    made.add(2**60 + 1)
    made._verify()
    assert list(made) == [1, 2, decimal.Decimal("2.5"), 3, 2**60, fractions.Fraction(2**60 * 3 + 1, 3), 2**60 + 1]
    assert made.bisect_left(fractions.Fraction(5, 2)) == 2 and 2.5 in made and 3.0 in made


NUMBERS = [0, 1, 2, 7, 2**53 + 1, 2**60, 2**60 + 1, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("bound", [
    fractions.Fraction(1, 2), fractions.Fraction(2**60 * 3 + 1, 3), decimal.Decimal("1.5"), decimal.Decimal(2**60 + 1), decimal.Decimal("Infinity"),
    fractions.Fraction(-(2**63) * 3 - 1, 3), decimal.Decimal("-1e30"), numpy.float64(2.5), numpy.float32(1.5), numpy.int8(2), 2**64, -1e300,
    numpy.longdouble(2.5), float("inf"), True,
], ids=repr)
def test_bounds_of_other_types(bound):
    """A position or range of another type is found by comparing."""
    for numbers in (NUMBERS, [float(number) for number in NUMBERS]):
        made, model = SortedList(numbers), sorted(numbers)
        assert made.bisect_left(bound) == bisect.bisect_left(model, bound) and made.bisect_right(bound) == bisect.bisect_right(model, bound)
        assert list(made.irange(bound)) == model[bisect.bisect_left(model, bound):]
        assert (bound in made, made.count(bound)) == (bound in model, model.count(bound))
        assert SortedDict.fromkeys(numbers, 5).get(bound) == dict.fromkeys(numbers, 5).get(bound)
        made._verify()


AWARE = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
DAY = datetime.datetime(2020, 1, 1)
KEYS = {
    "ints": [1, 2],
    "floats": [1.5, 2.5],
    "texts": ["a", "b"],
    "long texts": ["a longer text", "a longer word"],
    "bytes": [b"a", b"b"],
    "tuples": [(1, 2), (2, 3)],
    "mixed tuples": [(1, "x"), (2, 3)],
    "datetimes": [DAY, DAY.replace(year=2021)],
    "aware": [AWARE, AWARE.replace(year=2021)],
    "dates": [DAY.date(), DAY.date().replace(year=2021)],
    "uuids": [uuid.UUID(int=1), uuid.UUID(int=2**100)],
    "huge ints": [2**100, 2**101],
    "decimals": [decimal.Decimal(1), decimal.Decimal("2.5")],
    "fractions": [fractions.Fraction(1, 3), fractions.Fraction(2, 3)],
    "lengths": [Length(1), Length(2)],
}
STRANGE = [
    None, "x", b"x", 7, 7.5, (9,), (1, None), ("x",), AWARE.replace(year=1999), DAY.replace(year=1999), DAY.date().replace(year=1999), uuid.UUID(int=7),
    1 + 2j, object(), frozenset([1]), 2**99, decimal.Decimal(99), decimal.Decimal("NaN"), fractions.Fraction(5, 7), float("nan"), "\ud800",
    numpy.float64("nan"), numpy.datetime64("1999-01-01"), Ellipsis, int, numpy.str_("\ud800"),
]


def outcome(call):
    try:
        result = call()
    except Exception as error:
        return type(error)
    return list(result) if isinstance(result, (SortedSet, sortedcontainers.SortedSet)) else result


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("by_key", [False, True])
def test_looking_up_what_does_not_compare(kind, by_key):
    """What is not there, and what has no order among the keys: answers and errors are those of sortedcontainers."""
    keys = KEYS[kind]
    key = (lambda value: value) if by_key else None
    answers = []
    for package in (lathwork, sortedcontainers):
        pairs, values, items = package.SortedDict(key, dict.fromkeys(keys, "v")), package.SortedSet(keys, key=key), package.SortedList(keys, key=key)
        answers.append([[outcome(call) for call in (
            lambda: strange in pairs, lambda: strange in values, lambda: strange in items, lambda: strange in pairs.keys(), lambda: pairs.get(strange, "none"),
            lambda: pairs.pop(strange, "none"), lambda: pairs[strange], lambda: pairs.pop(strange), lambda: pairs.__delitem__(strange),
            lambda: values.remove(strange), lambda: items.remove(strange), lambda: items.index(strange), lambda: values.discard(strange),
            lambda: items.discard(strange), lambda: values.count(strange), lambda: items.count(strange), lambda: values.isdisjoint([strange]),
            lambda: values.issuperset([strange]), lambda: (strange, "v") in pairs.items(), lambda: values - [strange], lambda: values & [strange],
            lambda: items.bisect_left(strange), lambda: list(items.irange(strange)),
        )] for strange in STRANGE])
        for made in (pairs, values, items):
            assert list(made) == keys
    assert answers[0] == answers[1]


def test_changes_by_what_does_not_compare_are_refused():
    for kind, keys in KEYS.items():
        for strange in (None, 1 + 2j, object()):
            pairs, values, items = SortedDict.fromkeys(keys), SortedSet(keys), SortedList(keys)
            for call in (lambda: pairs.__setitem__(strange, 1), lambda: pairs.setdefault(strange), lambda: values.add(strange),
                         lambda: items.add(strange), lambda: items.bisect_left(strange), lambda: list(items.irange(None, strange)) if strange else items.add(None)):
                with pytest.raises(TypeError):
                    call()
            for made in (pairs, values, items):
                assert list(made) == keys
                made._verify()


def test_other_errors_of_a_comparison_are_passed_on():
    class Broken:
        def __lt__(self, other):
            raise ZeroDivisionError

        __gt__ = __lt__

    for made in (SortedSet([1, 2]), SortedSet([(1, 2)]), SortedSet(["text"]), SortedDict({1: 2})):
        before = list(made)
        assert Broken() not in made
        with pytest.raises(ZeroDivisionError):
            made.add(Broken()) if isinstance(made, set) else made.setdefault(Broken())
        made._verify()
        assert list(made) == before


def test_interval_bounds_with_an_own_order_are_refused():
    for kind, values in DOWN:
        if kind is Unit or issubclass(kind, (int, float, Length, decimal.Decimal, fractions.Fraction)):
            low, high = sorted(map(kind, values[:2]))
            with pytest.raises(TypeError, match=kind.__name__):
                IntervalTree([Interval(low, high)])
    tree = IntervalTree([Interval(1, 3)])
    for call in (tree.at, lambda point: tree.overlap(point, point), lambda point: tree.envelop(0, point), tree.overlaps):
        with pytest.raises(TypeError, match="Urgency"):
            call(Urgency.LOW)
    assert tree.at(Colour.RED) and Interval(Colour.RED, Colour.BLUE) in tree


def test_nan_is_found_as_in_a_dict():
    """It has no place in the order; the other keys are found beside it, and it goes again."""
    for nan in (float("nan"), numpy.float64("nan"), numpy.float32("nan"), decimal.Decimal("nan"), type("Real", (float,), {})("nan"), pandas_nat()):
        for order in range(5):
            keys = [*range(300), nan]
            random.Random(order).shuffle(keys)
            values, pairs = SortedSet(), SortedDict()
            for key in keys if nan == nan or not isinstance(nan, decimal.Decimal) else keys[:0]:
                values.add(key)
                pairs[key] = key
            assert all(key in values and pairs[key] is key for key in (keys if values else ()))
            for key in keys if values else ():
                values.remove(key)
                del pairs[key]
            assert not values and not pairs and not list(values) and not list(pairs)


def pandas_nat():
    """As NaT of pandas: it compares with nothing, and is not equal to itself."""
    class NaT:
        __lt__ = __gt__ = __le__ = __ge__ = __eq__ = lambda self, other: False
        __hash__ = object.__hash__

    return NaT()
