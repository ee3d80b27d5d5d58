# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Bounds of intervals and keys of ranges as 64-bit codes, which have their order: what is neither an exact int nor an exact float.

Numbers are int, float, what compares as one of them, Decimal and Fraction. A number is never rounded without asking: a
bound that is kept must have the value of its code, and of a point that is asked for the code below or above it is taken.
"""
import datetime
import ipaddress
import math
import operator
import sys

from . import _core
from .rangeset import after

NATURAL, INTEGER, REAL, OTHER = 1, 2, 3, 4  # kinds of python/src/code.hpp
DOWN, EXACT, UP = -1, 0, 1
_SIGN = 2**63
_COMPARISONS = "__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"


def _ordered_as(kind, base):
    """Whether a class inherits its comparisons from another one."""
    return all(getattr(kind, name) is getattr(base, name) for name in _COMPARISONS)


def plain(key):
    """The int, float, str or bytes that a key compares as, or None. A scalar of NumPy compares as its item."""
    kind = type(key)
    for base in (int, float, str, bytes):
        if issubclass(kind, base) and _ordered_as(kind, base):
            return key
    if kind.__module__ == "numpy" and isinstance(key, sys.modules["numpy"].generic):
        item = key.item()
        return item if type(item) in (bool, int, float, str, bytes) else None
    return None


def around(real, number):
    """The greatest float (not real: int of 64 bits) that is not above a number, and the least that is not below it."""
    try:
        near = float(number) if real else math.floor(number)
    except OverflowError:
        near = math.copysign(math.inf if real else 2**70, 1 if number > 0 else -1)
    if real:
        return near if near <= number else math.nextafter(near, -math.inf), near if near >= number else math.nextafter(near, math.inf)
    return max(-_SIGN, min(int(near), _SIGN - 1)), max(-_SIGN, min(int(near) + (near < number), _SIGN - 1))


def place(real, number):
    """The least key of a Map of numbers that is not below one, and whether it is equal; None: there is none."""
    if number != number:
        return 0, None
    key = around(real, number)[1]
    return None if key < number else (key, key == number)


def _refuse(error, bound, what):
    raise error(f"the bound {bound!r} of type {type(bound)!r} {what}")


def _is(bound, module, name):
    kind = type(bound)
    return kind.__module__ == module and kind is getattr(sys.modules[module], name)


def _number(bound):
    """A number as an int or float, Decimal or Fraction. Raises for others."""
    number = plain(bound)
    if not isinstance(number, (int, float)):
        number = bound
        if not _is(bound, "decimal", "Decimal") and not _is(bound, "fractions", "Fraction"):
            _refuse(TypeError, bound, "is neither a number that compares as int or float do, nor a date or an address")
    if number != number:
        raise ValueError("NaN has no place in an order")
    return number


def _comparable(bound):
    """A Decimal does not compare with a Fraction, nor all of them with the scalars of NumPy."""
    number = _number(bound)
    if isinstance(number, (int, float)):
        return number
    if number in (math.inf, -math.inf):
        return float(number)
    import fractions

    return fractions.Fraction(number)


class _Codec:
    """Codes of one kind: from 0 to 2**64 - 1, in the order of what they are of."""

    kind, least, most = OTHER, 0, 2**64 - 1

    def codes(self, keys):
        """Those below the keys of a sequence or an array."""
        return [self.code(key, DOWN) for key in (keys.tolist() if hasattr(keys, "tolist") else keys)]

    def _place(self, bound, end, side):
        """The place of a bound of a range: how many codes are before it."""
        if bound is None:
            return self.most + 1 if end else self.least
        if isinstance(bound, after):
            below = self.code(bound.key, side and DOWN)
            return below + (end or side == EXACT or below == self.code(bound.key, UP))
        return self.code(bound, side and (UP if end else DOWN))

    def range(self, start, stop, side):
        """The first and the last code of [start, stop), or None. side not EXACT: of all keys that a key between has."""
        first, end = self._place(start, False, side), self._place(stop, True, side)
        return (first, end - 1) if first < end else None

    def point(self, point):
        """The code of a point, or None if no interval has it."""
        return self.code(point, DOWN)

    def search(self, begin, end, within):
        """The codes of [begin, end) among bounds of intervals, or None if it is empty."""
        first, stop = self.code(begin, UP if within else DOWN), self.code(end, DOWN if within else UP)
        return (first, stop) if first < stop and (within or self.before(begin, end)) else None

    def before(self, a, b):
        """Whether a bound is before another one."""
        return a < b


class _Naturals(_Codec):
    """Keys of ranges: from 0 to 2**64 - 1."""

    kind = NATURAL

    def code(self, key, side):
        return _core._key(key)

    def _place(self, bound, end, side):
        if not end or bound is None or isinstance(bound, after):
            return super()._place(bound, end, side)
        stop = operator.index(bound) if hasattr(type(bound), "__index__") else _core._key(bound)
        return 0 if stop <= 0 else _core._key(stop - 1) + 1

    def codes(self, keys):
        if not hasattr(keys, "__array__"):
            return super().codes(list(keys))
        import numpy

        array = numpy.ascontiguousarray(keys)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError("keys of an array must be integers, in one dimension")
        if array.dtype.kind == "i" and (array < 0).any():
            raise OverflowError("a key is negative: it must be from 0 to 2**64 - 1")
        return array.astype("uint64", copy=False)


class _Integers(_Codec):
    kind = INTEGER

    def code(self, bound, side):
        number = _number(bound)
        if side == EXACT and number in (math.inf, -math.inf):
            _refuse(TypeError, bound, "is infinite")
        low, high = around(False, number)
        if side == EXACT and not low <= number <= high:
            _refuse(OverflowError, bound, "is beyond 64 bits")
        if side == EXACT and low != high:
            _refuse(TypeError, bound, "is not a whole number, as the others are")
        return (high if side == UP else low) + _SIGN

    def point(self, point):
        code = self.code(point, DOWN)
        return None if code == 0 and _number(point) < -_SIGN else code

    def before(self, a, b):
        return _comparable(a) < _comparable(b)


class _Reals(_Integers):
    kind, least, most = REAL, *map(_core._real_code, (-math.inf, math.inf))

    def code(self, bound, side):
        number = _number(bound)
        low, high = around(True, number)
        if side == EXACT and low != high:
            more = ", as the others are" if isinstance(number, int) else ""
            _refuse(OverflowError if more else TypeError, bound, f"has no exact float{more}")
        return _core._real_code(high if side == UP else low)

    point = _Codec.point


class _Moments(_Codec):
    """datetime, date or timedelta: the number of microseconds, or days, since an epoch."""

    def __init__(self, epoch):
        self.epoch = epoch
        if not isinstance(epoch, datetime.timedelta):
            ends = (epoch.min, epoch.max)
            ends = [end.replace(tzinfo=epoch.tzinfo) for end in ends] if isinstance(epoch, datetime.datetime) else ends
            self.least, self.most = (self.code(end, EXACT) for end in ends)

    def code(self, bound, side):
        if _ordered_as(type(bound), type(self.epoch)):  # a class with its own order is none of these, nor is a number
            try:
                number = (bound - self.epoch) // self.epoch.resolution
            except TypeError:  # one with a time zone among those without
                pass
            else:
                if not -_SIGN <= number < _SIGN:
                    _refuse(OverflowError, bound, "is beyond 64 bits of microseconds")
                return number + _SIGN
        _refuse(TypeError, bound, "does not go with the dates that the others are")

    def key(self, code):
        return self.epoch + self.epoch.resolution * (code - _SIGN)


class _Addresses(_Codec):
    """IPv4Address: its number."""

    most = 2**32 - 1

    def code(self, bound, side):
        if type(bound) is not ipaddress.IPv4Address:
            _of(bound)
            _refuse(TypeError, bound, "is not an address, as the others are")
        return int(bound)

    def key(self, code):
        return ipaddress.IPv4Address(code)


naturals, integers, reals, addresses = _Naturals(), _Integers(), _Reals(), _Addresses()


def _of(bound):
    """The codec of a tree that has only this bound. Raises TypeError for what has no code, ValueError for NaN."""
    if isinstance(bound, (datetime.date, datetime.timedelta)):
        aware = isinstance(bound, datetime.datetime) and bound.utcoffset() is not None
        for kind, epoch in (
            (datetime.datetime, datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc if aware else None)),
            (datetime.date, datetime.date(1970, 1, 1)),
            (datetime.timedelta, datetime.timedelta(0)),
        ):
            if isinstance(bound, kind):
                if not _ordered_as(type(bound), kind):
                    _refuse(TypeError, bound, "has its own order")
                return _Moments(epoch)
    if type(bound) is ipaddress.IPv4Address:
        return addresses
    if type(bound).__module__ == "ipaddress":
        _refuse(TypeError, bound, "has no place among 64-bit keys, as an IPv4Address has")
    number = _number(bound)
    if isinstance(number, (int, float)):
        return integers if isinstance(number, int) else reals
    return integers if number not in (math.inf, -math.inf) and number == math.floor(number) else reals


def joined(codec, bound):
    """The codec of a tree with this one, or None, to which such a bound is added. Raises TypeError if there is none."""
    other = _of(bound)
    if codec is None or type(codec) is type(other):
        return codec or other
    if isinstance(codec, _Integers) and isinstance(other, _Integers):
        return reals
    _refuse(TypeError, bound, "does not go with the others: numbers, dates and addresses do not mix")


def of_ranges(start, stop):
    """The codec of a RangeMap whose first range has these bounds. Raises TypeError for what cannot be one."""
    codec = None
    for bound in (start, stop):
        key = bound.key if isinstance(bound, after) else bound
        if key is None:
            continue
        other = naturals if hasattr(type(key), "__index__") else _of(key)
        other = reals if other is integers or (other is reals and codec is naturals) else other
        if codec is None or (codec is naturals and other is reals):
            codec = other
        elif type(codec) is not type(other) and (codec, other) != (reals, naturals):
            joined(codec, key)
    return codec or naturals
