# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""IntervalTree and Interval: the calls of the package intervaltree.

Bounds are int of 64 bits, float, datetime, date and timedelta, or IPv4Address. All of a tree are of one
of these kinds; an int may be among floats if a float has its value. So may a Decimal, a Fraction or a number of
NumPy, if an int or a float has its value. No bound is rounded: others are refused (TypeError, or
OverflowError for an int that is too large), and so are classes with their own order. A point or a
range that is asked for may be any of these numbers; it is compared exactly. NaN is refused (ValueError).

A change of many is all or nothing: one that raises leaves the tree as it was.

The results of searches are sets of the Interval objects that were added. An iteration shows what was
there when it began. A change from within a comparison of intervals, which compares their data, raises
RuntimeError. k is the number of intervals found.
"""
import collections.abc
import copy as _copy
import operator
import types

from . import _core


class Interval(_core.Bounded):
    """An interval [begin, end) with data. Hashed by its bounds, so data may be anything.

    >>> Interval(1, 3, "x").overlaps(2), Interval(1, 3).length()
    (True, 2)
    """

    __slots__ = ()

    def __new__(cls, begin, end, data=None):
        return super().__new__(cls, (begin, end, data))

    begin = property(operator.itemgetter(0), doc="The first point.")
    end = property(operator.itemgetter(1), doc="The point behind the last one.")
    data = property(operator.itemgetter(2), doc="What belongs to the interval.")
    _fields = ("begin", "end", "data")

    def overlaps(self, begin, end=None):
        """Whether the interval has a point in common with a point, an Interval, or [begin, end)."""
        if end is not None:
            return begin < self.end and end > self.begin
        if isinstance(begin, _core.Bounded):
            return begin[0] < self.end and begin[1] > self.begin
        return self.contains_point(begin)

    def overlap_size(self, begin, end=None):
        """The length of what the interval has in common with an Interval or [begin, end)."""
        if not self.overlaps(begin, end):
            return 0
        if end is None:
            begin, end = begin.begin, begin.end
        return min(self.end, end) - max(self.begin, begin)

    def contains_point(self, p):
        """Whether p is in the interval."""
        return self.begin <= p < self.end

    def range_matches(self, other):
        """Whether the bounds are equal."""
        return self[:2] == other[:2]

    def contains_interval(self, other):
        """Whether the other one lies within this one."""
        return self.begin <= other.begin and self.end >= other.end

    def distance_to(self, other):
        """The length of the gap to an Interval or a point; 0 if there is none."""
        if self.overlaps(other):
            return 0
        begin, end = other[:2] if isinstance(other, _core.Bounded) else (other, other)
        return begin - self.end if self.begin < begin else self.begin - end

    def is_null(self):
        """Whether there is no point in it."""
        return self.begin >= self.end

    def length(self):
        """The distance from begin to end."""
        return 0 if self.is_null() else self.end - self.begin

    def _refuse_null(self, other):
        if self.is_null() or (isinstance(other, Interval) and other.is_null()):
            raise ValueError("Cannot compare null Intervals!")

    def lt(self, other):
        """Whether all of it is before all of the other one, or before a point."""
        self._refuse_null(other)
        return self.end <= getattr(other, "begin", other)

    def le(self, other):
        """Whether it ends no later than the other one, or than a point."""
        self._refuse_null(other)
        return self.end <= getattr(other, "end", other)

    def gt(self, other):
        """Whether all of it is behind all of the other one, or behind a point."""
        self._refuse_null(other)
        return self.begin >= other.end if hasattr(other, "end") else self.begin > other

    def ge(self, other):
        """Whether it begins no earlier than the other one, or than a point."""
        self._refuse_null(other)
        return self.begin >= getattr(other, "begin", other)

    def __cmp__(self, other):
        """-1, 0 or 1: by begin, end and data; data that does not compare, by the names of its types."""
        mine, its = self[:2], other[:2] if isinstance(other, tuple) else (other,)
        if mine == its:
            mine, its = self.data, other.data
            try:
                return 0 if mine == its else -1 if mine < its else 1
            except TypeError:
                mine, its = type(mine).__name__, type(its).__name__
        return 0 if mine == its else -1 if mine < its else 1

    def __lt__(self, other):
        return self.__cmp__(other) < 0

    def __gt__(self, other):
        return self.__cmp__(other) > 0

    def __le__(self, other):
        return self.__cmp__(other) <= 0

    def __ge__(self, other):
        return self.__cmp__(other) >= 0

    __eq__ = tuple.__eq__
    __ne__ = tuple.__ne__
    __hash__ = _core.Bounded.__hash__

    def _replace(self, **fields):
        """An Interval with other fields, by name. Raises ValueError for other names."""
        made = Interval(*(fields.pop(name, mine) for name, mine in zip(self._fields, self)))
        if fields:
            raise ValueError(f"Got unexpected field names: {list(fields)!r}")
        return made

    def _asdict(self):
        """A dict of the fields."""
        return dict(zip(self._fields, self))

    @classmethod
    def _make(cls, fields):
        """An Interval of the three fields."""
        return cls(*fields)

    def _get_fields(self):
        return tuple(self[:2] if self.data is None else self)

    def __repr__(self):
        return f"Interval({', '.join(map(repr, self._get_fields()))})"

    def copy(self):
        """Another Interval with the same bounds and data."""
        return Interval(*self)

    def __reduce__(self):
        return Interval, self._get_fields()


def _bounds(begin, end):
    return (begin.begin, begin.end) if end is None else (begin, end)


class IntervalTree(_core.Tree):
    """A set of intervals that may overlap: which of them contain a point, meet a range, lie within it?

    >>> tree = IntervalTree([Interval(1, 5, "a"), Interval(4, 9, "b")])
    >>> sorted(tree[4]), sorted(tree[6:8]), tree.overlaps(9)
    ([Interval(1, 5, 'a'), Interval(4, 9, 'b')], [Interval(4, 9, 'b')], False)
    """

    __class_getitem__ = classmethod(types.GenericAlias)  # IntervalTree[int] in annotations

    def __init__(self, intervals=None):
        """Of the intervals. O(n log n)"""
        if _core._ready(self):
            self.clear()  # a second __init__
        else:
            super().__init__()
        if intervals is not None:
            self._add_all(intervals, Interval)

    @classmethod
    def from_tuples(cls, tuples):
        """Of tuples (begin, end) and (begin, end, data). O(n log n)"""
        return cls(tuples)

    def copy(self):
        """A copy with the same data. O(n log n)"""
        return self.__class__(self._all())

    def clear(self):
        """Remove all intervals. O(n)"""
        self._clear()

    def at(self, p):
        """The set of the intervals that contain p. O(log n) and those found"""
        return self._at(p)

    def add(self, interval):
        """Add an Interval that is not there yet. Raises ValueError for an empty one. O(log n)"""
        self._add_all((interval,), Interval)

    append = add

    def addi(self, begin, end, data=None):
        """Add Interval(begin, end, data). O(log n)"""
        self._add_all((Interval(begin, end, data),), Interval)

    appendi = addi

    def update(self, intervals):
        """Add all intervals. O(m log n)"""
        self._add_all(list(intervals), Interval)

    def remove(self, interval):
        """Remove an Interval. Raises ValueError if it is not there. O(log n)"""
        there = self._find(interval)
        if there is None or not self._take((there,)):  # another thread may take it
            raise ValueError(f"{interval!r} is not in the tree")

    def removei(self, begin, end, data=None):
        """Remove Interval(begin, end, data). Raises ValueError if it is not there. O(log n)"""
        self.remove(Interval(begin, end, data))

    def discard(self, interval):
        """Remove an Interval if it is there. O(log n)"""
        self.difference_update((interval,))

    def discardi(self, begin, end, data=None):
        """Remove Interval(begin, end, data) if it is there. O(log n)"""
        self.discard(Interval(begin, end, data))

    def pop(self):
        """Remove some Interval and return it. Raises KeyError if there is none. O(log n)"""
        while (interval := self._edge(False)) is not None:
            if self._take((interval,)):  # else another thread took it
                return interval
        raise KeyError("the tree is empty")

    # ---- searches ----

    def overlap(self, begin, end=None):
        """The set of the intervals that meet [begin, end) or an Interval. O(log n + k)"""
        return self._overlap(*_bounds(begin, end))

    def envelop(self, begin, end=None):
        """The set of the intervals that lie within [begin, end) or an Interval. O(log n) and those that
        begin there"""
        return self._overlap(*_bounds(begin, end), True)

    def overlaps(self, begin, end=None):
        """Whether an interval contains the point begin, or meets [begin, end) or an Interval. O(log n)"""
        if end is None and isinstance(begin, _core.Bounded):
            begin, end = begin[:2]
        return self._overlaps(begin, end)

    def overlaps_point(self, p):
        """Whether an interval contains p. O(log n)"""
        return self._overlaps(p, None)

    def overlaps_range(self, begin, end):
        """Whether an interval meets [begin, end). O(log n)"""
        return self._overlaps(begin, end)

    def containsi(self, begin, end, data=None):
        """Whether Interval(begin, end, data) is there. O(1)"""
        return Interval(begin, end, data) in self

    def __getitem__(self, index):
        if isinstance(index, _core.Bounded):
            return self._overlap(*index[:2])
        if not isinstance(index, slice):
            return self.at(index)
        if index.start is None and index.stop is None:
            return self.items()
        return self._overlap(
            self.begin() if index.start is None else index.start, self.end() if index.stop is None else index.stop
        )

    def __setitem__(self, index, value):
        self.addi(index.start, index.stop, value)

    def __delitem__(self, point):
        self.remove_overlap(point)

    def find_nested(self):
        """A dict: of each interval that others lie within, their set. O(n log n) and those found"""
        found = {}
        for parent in self._all():
            children = self._overlap(parent.begin, parent.end, True)
            children.discard(parent)
            # of two with equal bounds the one that comes first in items is the parent
            children = {child for child in children if not child.range_matches(parent) or child not in found}
            if children:
                found[parent] = children
        return found

    # ---- changes of many ----

    def remove_overlap(self, begin, end=None):
        """Remove the intervals that contain the point begin, or meet [begin, end). O(k log n)"""
        self._take(list(self.at(begin) if end is None else self._overlap(begin, end)))

    def remove_envelop(self, begin, end):
        """Remove the intervals that lie within [begin, end). O(k log n)"""
        self._take(list(self._overlap(begin, end, True)))

    def _replace(self, gone, fresh):
        """Intervals of the tree by others. What can fail comes first."""
        kept = set(fresh)
        gone = [interval for interval in gone if interval not in kept]
        self._add_all(fresh, Interval)
        self._take(gone)

    def chop(self, begin, end, datafunc=None):
        """Remove [begin, end) from all intervals; datafunc(interval, islower) gives the data of the rest."""
        lower = [interval for interval in self.at(begin) if interval.begin < begin]
        upper = [interval for interval in self.at(end) if interval.end > end]
        data = datafunc or (lambda interval, islower: interval.data)
        rest = [Interval(interval.begin, begin, data(interval, True)) for interval in lower]
        rest += [Interval(end, interval.end, data(interval, False)) for interval in upper]
        self._replace([*self._overlap(begin, end, True), *lower, *upper], rest)

    def slice(self, point, datafunc=None):
        """Cut the intervals that contain point in two; datafunc(interval, islower) gives their data."""
        data = datafunc or (lambda interval, islower: interval.data)
        hits = [interval for interval in self.at(point) if interval.begin < point]
        parts = [Interval(interval.begin, point, data(interval, True)) for interval in hits]
        parts += [Interval(point, interval.end, data(interval, False)) for interval in hits]
        self._replace(hits, parts)

    def split_overlaps(self):
        """Cut all intervals at all bounds."""
        bounds = sorted({bound for interval in self._all() for bound in interval[:2]})
        parts = [
            Interval(begin, end, interval.data) for begin, end in zip(bounds, bounds[1:]) for interval in self.at(begin)
        ]
        self._become(parts)

    def _merge(self, joins, data_reducer, data_initializer):
        """One interval of each series whose neighbours join; its data is reduced, or None."""
        merged, data = [], None
        for interval in sorted(self._all()):
            if merged and joins(merged[-1], interval):
                data = None if data_reducer is None else data_reducer(data, interval.data)
                merged[-1] = Interval(merged[-1].begin, max(merged[-1].end, interval.end), data)
            elif data_initializer is None:
                data = interval.data
                merged.append(interval)
            else:
                data = data_reducer(_copy.copy(data_initializer), interval.data)
                merged.append(Interval(interval.begin, interval.end, data))
        self._become(merged)

    def merge_overlaps(self, data_reducer=None, data_initializer=None, strict=True):
        """Merge intervals that overlap; without strict also those that touch. O(n log n)"""
        self._merge(
            lambda low, high: high.begin < low.end or (not strict and high.begin == low.end), data_reducer, data_initializer
        )

    def merge_equals(self, data_reducer=None, data_initializer=None):
        """Merge intervals with equal bounds. O(n log n)"""
        self._merge(lambda low, high: low.range_matches(high), data_reducer, data_initializer)

    def merge_neighbors(self, data_reducer=None, data_initializer=None, distance=1, strict=True):
        """Merge intervals whose gap is at most distance; without strict also those that overlap. O(n log n)"""

        def joins(low, high):
            gap = high.begin - low.end
            return gap <= distance and not (strict and gap < gap * 0)

        self._merge(joins, data_reducer, data_initializer)

    # ---- the set ----

    def _become(self, intervals):
        made = _core.Tree()
        made._add_all(intervals, Interval)
        self._exchange(made)

    def difference(self, other):
        """A tree of the intervals that are not in other."""
        return self.__class__([interval for interval in self._all() if interval not in other])

    def difference_update(self, other):
        """Remove the intervals of other."""
        there = [self._find(interval) for interval in other]
        self._take([interval for interval in there if interval is not None])

    def union(self, other):
        """A tree of the intervals of both."""
        made = self.copy()
        made.update(other)
        return made

    def intersection(self, other):
        """A tree of the intervals that are in both."""
        return self.__class__([interval for interval in other if interval in self])

    def intersection_update(self, other):
        """Keep the intervals that are in other."""
        self._become([interval for interval in self._all() if interval in other])

    def symmetric_difference(self, other):
        """A tree of the intervals that are in one alone."""
        return self.__class__(self.items() ^ set(other))

    def symmetric_difference_update(self, other):
        """Keep the intervals that are in one alone."""
        self._become(self.items() ^ set(other))

    def __or__(self, other):
        return self.union(other)

    def __and__(self, other):
        return self.intersection(other)

    def __sub__(self, other):
        return self.difference(other)

    def __xor__(self, other):
        return self.symmetric_difference(other)

    def __ior__(self, other):
        self.update(other)
        return self

    def __iand__(self, other):
        self.intersection_update(other)
        return self

    def __isub__(self, other):
        self.difference_update(other)
        return self

    def __ixor__(self, other):
        self.symmetric_difference_update(other)
        return self

    def isdisjoint(self, other):
        """Whether no interval is in both."""
        return not any(interval in self for interval in other)

    def __le__(self, other):
        return self.items() <= set(other)

    def __lt__(self, other):
        return self.items() < set(other)

    def __ge__(self, other):
        return self.items() >= set(other)

    def __gt__(self, other):
        return self.items() > set(other)

    def items(self):
        """The set of all intervals. O(n)"""
        return set(self._all())

    def is_empty(self):
        """Whether there are no intervals. O(1)"""
        return not len(self)

    def begin(self):
        """The least begin, or 0. O(log n)"""
        first = self._edge(False)
        return 0 if first is None else first.begin

    def end(self):
        """The greatest end, or 0. O(log n)"""
        last = self._edge(True)
        return 0 if last is None else last.end

    def range(self):
        """Interval(begin(), end()). O(log n)"""
        return Interval(self.begin(), self.end())

    def span(self):
        """The length of range(). O(log n)"""
        return self.end() - self.begin() if len(self) else 0

    def iter(self):
        """Iterate over all intervals, in no order."""
        return iter(self._all())

    __iter__ = iter

    def __reversed__(self):
        """Not possible."""
        raise TypeError("an IntervalTree has no order: use reversed(sorted(tree))")

    __hash__ = None

    def __eq__(self, other):
        return isinstance(other, IntervalTree) and len(self) == len(other) and all(i in other for i in self._all())

    def verify(self):
        """Check the structure. Raises AssertionError."""
        self._verify()

    __copy__ = copy

    def __repr__(self):
        return f"IntervalTree({sorted(self._all()) or ''})"

    def __reduce__(self):
        return self.__class__, (sorted(self._all()),)


collections.abc.MutableSet.register(IntervalTree)
