# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""RangeSet: a set of keys that is a union of ranges. Keys are of any one type with an order.

Ranges are half open, [start, stop). A bound x is the place before x, after(x) the place behind it, None no limit:
so [a, after(b)) is the closed range from a to b. n is the number of ranges of a set.
"""
import bisect
import types

# The place of a bound among all: before everything, at a key (0: before it, 1: behind it), behind everything.
_LOWEST, _HIGHEST = (0,), (2,)


class after:
    """The place behind a key, as a bound of a range.

    >>> 5 in RangeSet([(1, after(5))]), 5 in RangeSet([(1, 5)])
    (True, False)
    """

    __slots__ = ("key",)

    def __init__(self, key):
        """Behind this key."""
        self.key = key

    def __eq__(self, other):
        return self.key == other.key if isinstance(other, after) else NotImplemented

    def __hash__(self):
        return hash((after, self.key))

    def __repr__(self):
        return f"after({self.key!r})"


def _place(bound, unlimited):
    """The place of a bound. Raises ValueError for one that is not equal to itself, as NaN."""
    if bound is None:
        return unlimited
    key, side = (bound.key, 1) if isinstance(bound, after) else (bound, 0)
    if key != key:
        raise ValueError(f"{key!r} has no place in an order")
    return 1, key, side


def _bound(place):
    return None if len(place) == 1 else after(place[1]) if place[2] else place[1]


def _sweep(first, second, keep):
    """The places at which keep(in the first, in the second) changes. O(n + m)"""
    places, at, inside, result = [first, second], [0, 0], [False, False], []
    while at[0] < len(first) or at[1] < len(second):
        place = min(places[i][at[i]] for i in (0, 1) if at[i] < len(places[i]))
        for i in (0, 1):
            if at[i] < len(places[i]) and places[i][at[i]] == place:
                at[i] += 1
                inside[i] = not inside[i]
        if keep(*inside) != len(result) % 2:
            result.append(place)
    return result


class RangeSet:
    """A set of keys, as ranges that neither overlap nor touch. It does not change.

    >>> office = RangeSet([("09:00", "12:00"), ("13:00", "17:00")])
    >>> "12:30" in office, office & RangeSet([("11:00", "14:00")])
    (False, RangeSet([('11:00', '12:00'), ('13:00', '14:00')]))
    >>> ~RangeSet.closed(1, 5)
    RangeSet([(None, 1), (after(5), None)])
    """

    __slots__ = ("_places", "__weakref__")
    __class_getitem__ = classmethod(types.GenericAlias)  # RangeSet[int] in annotations

    def __init__(self, ranges=()):
        """Of pairs (start, stop), which may overlap. Raises ValueError for an empty one. O(n log n)"""
        steps = []
        for start, stop in ranges:
            first, last = _place(start, _LOWEST), _place(stop, _HIGHEST)
            if not first < last:
                raise ValueError(f"the range is empty: [{start!r}, {stop!r})")
            steps += [(first, -1), (last, 1)]
        steps.sort()
        self._places, open_ranges = [], 0
        for place, step in steps:  # where ranges touch, the next one begins before the last one ends
            open_ranges -= step
            if open_ranges == (0 if step > 0 else 1):
                self._places.append(place)

    @classmethod
    def _of(cls, places):
        made = cls()
        made._places = places
        return made

    @classmethod
    def closed(cls, first, last):
        """The keys from first to last, both included."""
        return cls([(first, after(last))])

    @classmethod
    def open(cls, low, high):
        """The keys between low and high, neither included."""
        return cls([(after(low), high)])

    @classmethod
    def openclosed(cls, low, last):
        """The keys behind low, up to last."""
        return cls([(after(low), after(last))])

    @classmethod
    def closedopen(cls, first, high):
        """The keys from first on, before high."""
        return cls([(first, high)])

    def union(self, other):
        """The keys that are in one of the two. O(n + m)"""
        return self._of(_sweep(self._places, other._places, lambda mine, its: mine or its))

    def intersection(self, other):
        """The keys that are in both. O(n + m)"""
        return self._of(_sweep(self._places, other._places, lambda mine, its: mine and its))

    def difference(self, other):
        """The keys that are not in other. O(n + m)"""
        return self._of(_sweep(self._places, other._places, lambda mine, its: mine and not its))

    def symmetric_difference(self, other):
        """The keys that are in one alone. O(n + m)"""
        return self._of(_sweep(self._places, other._places, lambda mine, its: mine != its))

    def complement(self):
        """The keys that are not in the set. O(n)"""
        return self._of(_sweep(self._places, [_LOWEST, _HIGHEST], lambda mine, everything: everything and not mine))

    def issubset(self, other):
        """Whether all keys are in other. O(n + m)"""
        return not self.difference(other)

    def issuperset(self, other):
        """Whether all keys of other are here. O(n + m)"""
        return not other.difference(self)

    def isdisjoint(self, other):
        """Whether no key is in both. O(n + m)"""
        return not self.intersection(other)

    def span(self):
        """The set of all keys between the least and the greatest one. O(1)"""
        return self._of([self._places[0], self._places[-1]] if self._places else [])

    def __contains__(self, key):
        """Whether key is in one of the ranges. O(log n)"""
        return bisect.bisect_right(self._places, _place(key, _LOWEST)) % 2 == 1

    def __iter__(self):
        """Iterate over the ranges (start, stop), in order."""
        bounds = map(_bound, self._places)
        return iter(list(zip(bounds, bounds)))

    def __reversed__(self):
        """Iterate over the ranges (start, stop), the last one first."""
        return iter(list(self)[::-1])

    def __len__(self):
        """The number of ranges."""
        return len(self._places) // 2

    def _with(operation):
        def operator(self, other):
            return operation(self, other) if isinstance(other, RangeSet) else NotImplemented

        return operator

    __or__, __and__, __sub__, __xor__ = map(_with, (union, intersection, difference, symmetric_difference))
    __le__, __ge__ = map(_with, (issubset, issuperset))
    __invert__ = complement
    del _with

    def __lt__(self, other):
        return self != other and self <= other if isinstance(other, RangeSet) else NotImplemented

    def __gt__(self, other):
        return self != other and self >= other if isinstance(other, RangeSet) else NotImplemented

    def __eq__(self, other):
        return self._places == other._places if isinstance(other, RangeSet) else NotImplemented

    def __hash__(self):
        return hash(tuple(self._places))

    def __repr__(self):
        return f"{self.__class__.__name__}({list(self)!r})"

    def __reduce__(self):
        return self.__class__, (list(self),)
