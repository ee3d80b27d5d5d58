# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""RangeMap: values by ranges of keys that do not overlap. RangeAllocator: free ranges of keys.

Keys are int from 0 to 2**64 - 1 (OverflowError), ranges are half-open; the end may be 2**64. A RangeMap
may have floats, datetime, date and timedelta, or IPv4Address instead: its first range decides. Its bounds
may be after(key), the place behind a key, and None, no limit. n is the number of ranges. Each call is
atomic, with a GIL and without, but alloc_many() and free_many(): their single steps are.
"""
import types
import warnings

from . import _core
from .rangeset import RangeSet, after

NoSpace = _core.NoSpace


class RangeMap(_core.Ranges):
    """Values by ranges of keys.

    Keys are int from 0 to 2**64 - 1, or float, datetime, date, timedelta or IPv4Address, as those of the
    first range. A bound may be after(key), the place behind a key, or None, no limit; what is returned
    ends before the next key: the next float, microsecond, day or address.

    >>> ranges = RangeMap([(10, 20, "a"), (30, 40, "b")])
    >>> ranges[15], 25 in ranges, ranges.overlapping(19, 31)
    ('a', False, [(10, 20, 'a'), (30, 40, 'b')])
    >>> ranges[18:32] = "c"
    >>> list(ranges)
    [(10, 18, 'a'), (18, 32, 'c'), (32, 40, 'b')]
    >>> load = RangeMap([(0.0, after(0.5), "low"), (after(0.5), None, "high")])
    >>> load[0.5], load[0.75]
    ('low', 'high')
    """

    __class_getitem__ = classmethod(types.GenericAlias)  # RangeMap[int, str] in annotations

    def __init__(self, ranges=()):
        """Of tuples (start, stop, value) that do not overlap. O(n log n)"""
        if _core._ready(self):
            self.clear()  # a second __init__
        else:
            super().__init__()
        for start, stop, value in ranges:
            self.insert(start, stop, value)

    def insert(self, start, stop, value=None):
        """Add [start, stop). Raises ValueError if it overlaps another range. O(log n)"""
        if not self._insert(start, stop, value):
            there = self.overlapping(start, stop)
            raise ValueError(f"[{start!r}, {stop!r}) overlaps [{there[0][0]!r}, {there[0][1]!r})" if there else "overlap")

    def clear(self):
        """Remove all ranges. O(n)"""
        self._clear()

    def cut(self, start, stop):
        """Remove the keys [start, stop) from all ranges. O(k + log n), k of them affected"""
        self._cut(start, stop)

    def remove_covering(self, key):
        """Remove the range that contains key. Returns (start, stop, value), or None. O(log n)"""
        return self._take(key, False)

    def remove_starting(self, start):
        """Remove the range that begins at start. Returns (start, stop, value), or None. O(log n)"""
        return self._take(start, True)

    def remove_overlapping(self, start, stop):
        """Remove the ranges that meet [start, stop), as a whole. Returns their number. O(k + log n)"""
        return self._remove_overlapping(start, stop)

    def find(self, key):
        """The range (start, stop, value) that contains key, or None. O(log n)"""
        return self._find(key)

    def overlapping(self, start, stop):
        """The list of the ranges (start, stop, value) that meet [start, stop). O(k + log n)"""
        return self._overlapping(start, stop)

    def get_many(self, keys, default=None):
        """The values at an array of keys, as a list; default where there is no range."""
        return self._get_many(keys, default)

    def gaps(self, start=None, stop=None):
        """The list of the parts (start, stop) of [start, stop) that no range of the map has. O(k + log n)"""
        return self._gaps(start, stop)

    def __setitem__(self, where, value):
        """ranges[start:stop] = value replaces what is there; other ranges are cut. O(k + log n)"""
        if not isinstance(where, slice) or where.step is not None:
            raise TypeError("use ranges[start:stop] = value")
        self._store(where.start, where.stop, value)

    def __delitem__(self, where):
        """del ranges[start:stop] cuts the keys out; del ranges[key] removes the range that contains key."""
        if isinstance(where, slice):
            self.cut(where.start, where.stop)
            return
        if self.remove_covering(where) is None:
            raise KeyError(where)

    def remove(self, start, stop):
        """The earlier name of remove_overlapping()."""
        warnings.warn("remove(start, stop) is remove_overlapping(start, stop)", DeprecationWarning, stacklevel=2)
        return self.remove_overlapping(start, stop)

    def __getitem__(self, key):
        """The value of the range that contains key. Raises KeyError. O(log n)"""
        if isinstance(key, slice):
            raise TypeError("a range has no single value: use overlapping(start, stop)")
        found = self._find(key)
        if found is None:
            raise KeyError(key)
        return found[2]

    def get(self, key, default=None):
        """The value of the range that contains key, or default. O(log n)"""
        found = self._find(key)
        return default if found is None else found[2]

    def __contains__(self, key):
        return self._find(key) is not None

    def __iter__(self):
        """Iterate over (start, stop, value) in order. RuntimeError after ranges were added or removed."""
        return self._walk(self._version, False)

    items = __iter__

    def __reversed__(self):
        """Iterate over (start, stop, value), the last one first. RuntimeError likewise."""
        return self._walk(self._version, True)

    def _walk(self, version, backward):
        page, place = self._page(None, backward)
        while page:
            for found in page:
                if version != self._version:
                    raise RuntimeError("the map changed during the iteration")
                yield found
            page, place = ((), None) if place is None else self._page(place, backward)

    def __or__(self, other):
        """The ranges of both; where they overlap, those of other. O((n + m) log n)"""
        if not isinstance(other, RangeMap):
            return NotImplemented
        made = self.copy()
        for start, stop, value in other:
            made._store(start, stop, value)
        return made

    def __sub__(self, other):
        """The ranges without the keys of a RangeSet. O((n + m) log n)"""
        if not isinstance(other, RangeSet):
            return NotImplemented
        made = self.copy()
        for start, stop in other:
            made._cut_if_any(start, stop)
        return made

    def __and__(self, other):
        """The ranges with the keys of a RangeSet alone. O((n + m) log n)"""
        return self - ~other if isinstance(other, RangeSet) else NotImplemented

    def _in_place(operation):
        def operator(self, other):
            made = operation(self, other)
            if made is NotImplemented:
                return made
            self._become(made)
            return self

        return operator

    __ior__, __iand__, __isub__ = map(_in_place, (__or__, __and__, __sub__))
    del _in_place

    def copy(self):
        """A copy. O(n log n)"""
        return self.__class__(self)

    __copy__ = copy
    __hash__ = None

    def __eq__(self, other):
        if not isinstance(other, RangeMap):
            return NotImplemented
        return len(self) == len(other) and all(mine == its for mine, its in zip(self, other))

    def __repr__(self):
        return f"{self.__class__.__name__}({list(self)!r})"

    def __reduce__(self):
        return self.__class__, (list(self),)


class RangeAllocator(_core.Space):
    """Gives out ranges of the keys [start, stop).

    >>> pool = RangeAllocator(0, 1 << 40, unit=4096)
    >>> first = pool.alloc(8192, align=8192)
    >>> pool.reserve(1 << 20, (1 << 20) + 4096)
    >>> pool.free(first, first + 8192)
    >>> list(pool.allocated())
    [(1048576, 1052672)]
    """

    def __init__(self, start=0, stop=1 << 63, unit=1):
        """All sizes are multiples of unit, a power of two."""
        if _core._ready(self):
            raise RuntimeError("__init__ was called a second time: make another RangeAllocator")
        super().__init__(start, stop, unit)
        self._limits = start, stop, unit

    def alloc(self, size, align=0, low=None, high=None, policy=None, hint=0):
        """Take size keys at a multiple of align, a power of two, and return the first one. Raises NoSpace.

        Within [low, high). policy: "first", "last", "best", "next" (from hint on) or "near" (to hint). Without
        limits and policy the allocator chooses the place; that is fastest. O(log n)
        """
        if low is None and high is None and policy is None:
            return self._alloc(size, align)
        policy = "first" if policy is None else policy
        if policy not in ("first", "last", "best", "next", "near"):
            raise ValueError(f"there is no policy {policy!r}")
        start, stop, _ = self._limits
        low = start if low is None else low
        return self._alloc_request(size, align, low, stop if high is None else high, hint, getattr(_core.Policy, policy))

    def reserve(self, start, stop):
        """Take exactly [start, stop). Raises NoSpace if a part of it is allocated. O(log n)"""
        self._reserve(start, stop)

    def free(self, start, stop):
        """Free [start, stop): one or several adjacent allocations, or a part of one. Raises ValueError if a part
        of it is not allocated. O(log n)"""
        self._free(start, stop)

    def alloc_many(self, count, size, align=0):
        """Take count ranges of one size, all or none. Returns an array of their starts. Without the GIL."""
        return self._alloc_many(count, size, align)

    def free_many(self, starts, size):
        """Free an array of ranges of one size. Without the GIL."""
        self._free_many(starts, size)

    def stats(self):
        """Numbers of keys that are allocated and free, of parts, and the bytes used. O(1)"""
        return self._stats()

    def save(self):
        """What is allocated, as bytes. O(n)"""
        return self._save()

    def load(self, saved):
        """Take what save() said, in an allocator in which nothing is allocated. O(n)"""
        self._load(saved)

    def _runs(self, allocated):
        run = self._next(0, allocated)
        while run is not None:
            yield run
            run = self._next(run[1], allocated) if run[1] < 2**64 else None

    def allocated(self):
        """Iterate over the allocated runs (start, stop), in order; neighbours are one run."""
        return self._runs(True)

    def free_runs(self):
        """Iterate over the free runs (start, stop), in order."""
        return self._runs(False)

    def __repr__(self):
        start, stop, unit = self._limits
        return f"{self.__class__.__name__}({start}, {stop}, unit={unit})"

    def copy(self):
        """An allocator in which the same is allocated. O(n)"""
        made = self.__class__(*self._limits)
        made.load(self.save())
        return made

    __copy__ = copy

    def __reduce__(self):
        return self.__class__, self._limits, self.save()

    def __setstate__(self, saved):
        self.load(saved)
