# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""SortedDict, SortedSet, SortedList and SortedKeyList: the calls of sortedcontainers.

A SortedList keeps references to objects in their order. A SortedDict is a dict and a SortedSet is a set,
each beside a SortedList of its keys: looking for a key is what it is in a dict, by its hash.

Keys that do not compare are refused (TypeError) where an order is needed: by what adds one, by bisect() and irange(),
and by what looks for a value in a list. NaN and objects with a partial order are taken, and have no certain place.

Costs are those of a container of n items; O(log n) is as many comparisons of keys, fewer if they are int, float, str,
bytes or tuples that begin with such.

A call that adds or removes many is all or nothing: if it raises, the container is as it was.

Changes during an iteration: adding or removing items makes the next step raise RuntimeError; setting
the value of a key that is there is allowed. A change from within a comparison, by a key's __lt__ or
__eq__ in the list, raises RuntimeError too.

Threads: each call is atomic if comparing and hashing its keys runs no code of Python's, with a GIL and without.
"""
import collections.abc
import itertools
import operator
import reprlib
import types
import warnings

from . import _core

_nothing = ()
_HEAP_TYPE = 1 << 9  # in __flags__ of a class that was made in Python: its __hash__ and __eq__ may be slow


class _Ordered:
    """What the containers share: positions and ranges, of a list that is the container itself or beside it."""

    __slots__ = ()
    __class_getitem__ = classmethod(types.GenericAlias)  # SortedList[int] in annotations

    def index(self, value, start=None, stop=None):
        """The first position of value in [start, stop). Raises ValueError. O(log n)"""
        size = len(self)
        start, stop, _ = slice(start, stop).indices(size)
        at = self._list._index_of(value) if start < stop else -1
        if 0 <= at < start:  # others may be equal
            end = min(stop, self.bisect_right(value))
            at = next((i for i, there in zip(range(start, end), self.islice(start, end)) if there == value), -1)
        if not start <= at < stop:
            raise ValueError(f"{value!r} is not in list")
        return at

    def islice(self, start=None, stop=None, reverse=False):
        """Iterate over the items at positions [start, stop). O(log n) and O(1) per item"""
        start, stop, _ = slice(start, stop).indices(len(self))
        return self._list._walk(start, stop, reverse)

    def irange(self, minimum=None, maximum=None, inclusive=(True, True), reverse=False):
        """Iterate over the items from minimum to maximum (None: no limit). O(log n) and O(1) per item"""
        key = self.key
        if key is not None:
            minimum = None if minimum is None else key(minimum)
            maximum = None if maximum is None else key(maximum)
        return self._list._walk_between(minimum, inclusive[0], maximum, inclusive[1], reverse)

    def __copy__(self):
        return self.copy()

    # What subclasses of sortedcontainers' classes, such as those of sortedcollections, call and read.
    def _check(self):
        self._verify()

    @property
    def _key(self):
        return self.key


class _ByKey:
    """Calls of containers with a key function, for what it returns."""

    __slots__ = ()

    def bisect_key_left(self, key):
        """The position of a key, before equal ones. O(log n)"""
        return self._list._bisect_key_left(key)

    def bisect_key_right(self, key):
        """The position of a key, behind equal ones. O(log n)"""
        return self._list._bisect_key_right(key)

    bisect_key = bisect_key_right

    def irange_key(self, min_key=None, max_key=None, inclusive=(True, True), reverse=False):
        """Iterate over the items with keys from min_key to max_key. O(log n) and O(1) per item"""
        return self._list._walk_between(min_key, inclusive[0], max_key, inclusive[1], reverse)


class _Beside(_ByKey, _Ordered):
    """Positions of a container with a list beside it."""

    __slots__ = ()

    @property
    def key(self):
        """The function that orders the items, or None."""
        return self._list.key

    def bisect_left(self, value):
        """The position of value, before equal ones. O(log n)"""
        return self._list.bisect_left(value)

    def bisect_right(self, value):
        """The position of value, behind equal ones. O(log n)"""
        return self._list.bisect_right(value)

    bisect = bisect_right

    def __reversed__(self):
        """Iterate in descending order."""
        return reversed(self._list)

    def __sizeof__(self):
        return super().__sizeof__() + self._list.__sizeof__()

    def _verify(self):
        """Raises RuntimeError with what is wrong."""
        self._list._verify()
        if len(self) != len(self._list) or not all(map(self.__contains__, self._list)):
            raise RuntimeError("the list and the hash table differ")


def _compare(operation):
    def compare(self, other):
        if not isinstance(other, collections.abc.Sequence):
            return NotImplemented
        if operation in (operator.eq, operator.ne) and len(self) != len(other):
            return operation is operator.ne
        for mine, its in zip(self, other):
            if mine != its:
                return operation(mine, its)
        return operation(len(self), len(other))

    compare.__name__ = f"__{operation.__name__}__"
    return compare


class SortedList(_Ordered, _core.List):
    """A list that is always sorted. Equal values may be in it more than once.

    >>> values = SortedList([3, 1, 2])
    >>> values.add(2)
    >>> values, values[1], values.bisect_left(2), list(values.irange(2, 3))
    (SortedList([1, 2, 2, 3]), 2, 1, [2, 2, 3])
    """

    def __new__(cls, iterable=None, key=None):
        if key is None or issubclass(cls, SortedKeyList):
            return super().__new__(cls)
        if cls is SortedList:
            return SortedKeyList.__new__(SortedKeyList, iterable, key=key)
        raise TypeError("inherit SortedKeyList for key argument")

    def __init__(self, iterable=None, key=None):
        """Of the iterable's values. O(n log n)"""
        self._restart(key)
        if iterable is not None:
            self._update(iterable)

    @property
    def _list(self):
        return self

    def update(self, iterable):
        """Add all values of the iterable. O(k log n)"""
        self._update(iterable)

    def count(self, value):
        """How many values are equal to value. O(log n)"""
        return self.bisect_right(value) - self.bisect_left(value)

    def copy(self):
        """A copy. O(n)"""
        return self._like(self)

    def reverse(self):
        """Not possible."""
        raise NotImplementedError("use ``reversed(sl)`` instead")

    def append(self, value):
        """Not possible."""
        raise NotImplementedError("use ``sl.add(value)`` instead")

    def extend(self, values):
        """Not possible."""
        raise NotImplementedError("use ``sl.update(values)`` instead")

    def insert(self, index, value):
        """Not possible."""
        raise NotImplementedError("use ``sl.add(value)`` instead")

    def _like(self, values):
        return self.__class__(values)

    def __add__(self, other):
        return self._like(itertools.chain(self, other))

    __radd__ = __add__

    def __iadd__(self, other):
        self.update(other)
        return self

    def __mul__(self, times):
        return self._like(self[:] * times)

    __rmul__ = __mul__

    def __imul__(self, times):
        if self[:] * times:
            self.update(self[:] * (times - 1))
        else:
            self.clear()
        return self

    __hash__ = None
    __eq__ = _compare(operator.eq)
    __ne__ = _compare(operator.ne)
    __lt__ = _compare(operator.lt)
    __le__ = _compare(operator.le)
    __gt__ = _compare(operator.gt)
    __ge__ = _compare(operator.ge)

    def __reduce__(self):
        return self.__class__, (self[:],)

    @reprlib.recursive_repr()
    def __repr__(self):
        return f"{self.__class__.__name__}({self[:]!r})"


def _order(values, key):
    """Sorted keys, and their values."""
    if key is None:
        values = sorted(values)
        return values, values
    keys = list(map(key, values))
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [keys[i] for i in order], [values[i] for i in order]


_core._lists_are(SortedList, _order)


def _identity(value):
    return value


class SortedKeyList(_ByKey, SortedList):
    """A list that is sorted by what a function returns for its values; equal ones as they were added.

    >>> SortedKeyList([1, 2, 3], key=lambda value: -value)[0]
    3
    """

    def __new__(cls, iterable=None, key=_identity):
        return super().__new__(cls, iterable, key=key)

    def __init__(self, iterable=None, key=_identity):
        super().__init__(iterable, key)

    def count(self, value):
        """How many values are equal to value. O(log n) and the number of equal keys"""
        first, last = self.bisect_left(value), self.bisect_right(value)
        return sum(bool(there == value) for there in self.islice(first, last))

    def _like(self, values):
        return self.__class__(values, key=self.key)

    def __reduce__(self):
        return self.__class__, (self[:], self.key)

    @reprlib.recursive_repr()
    def __repr__(self):
        return f"{self.__class__.__name__}({self[:]!r}, key={self.key!r})"


SortedListWithKey = SortedKeyList  # its earlier name in sortedcontainers


class SortedSet(_Beside, _core.Set):
    """A set that is sorted, with positions. It is a set.

    >>> values = SortedSet([3, 1, 2, 3])
    >>> values, values[0], values & {2, 3}
    (SortedSet([1, 2, 3]), 1, SortedSet([2, 3]))
    """

    def __init__(self, iterable=None, key=None):
        """Of the iterable's values. O(n log n)"""
        self._restart(key)
        if iterable is not None:
            self._add_all(iterable)

    def __getitem__(self, index):
        """The value at a position, or the list of a slice. O(log n)"""
        return self._list[index]

    def __delitem__(self, index):
        """Remove the values at a position or in a slice. O(log n) each"""
        gone = self._list[index]
        self._remove_all(gone if isinstance(index, slice) else [gone])

    def _part(self, part):
        """A SortedSet of some of the values, which is a set. Numbers are often nearly in order in a set."""
        made = self._like(())
        kind, values = type(next(iter(part), None)), ()
        if len(part) * 8 > len(self) and kind not in (int, float) and not kind.__flags__ & _HEAP_TYPE:
            values = list(filter(part.__contains__, self._list))
        if len(values) == len(part):
            keys = values if self.key is None else map(self.key, values)
        else:  # not tried, or the set has changed since
            keys, values = _order(list(part), self.key)
        made._list._assign(keys, values)
        set.update(made, part)  # both have the same objects; those of a set are not hashed again
        return made

    def count(self, value):
        """1 if value is there, else 0. O(1)"""
        return int(value in self)

    def _like(self, values):
        return self.__class__(values, key=self.key)

    def copy(self):
        """A copy. O(n)"""
        made, version = self._like(()), self._list._version()
        set.update(made, self)  # those of a set are not hashed again
        return made if made._list._copy(self._list) == version else self.copy()  # another thread has changed it

    def isdisjoint(self, other):
        """Whether no value is in both."""
        return set.isdisjoint(self, other)

    def issubset(self, other):
        """Whether all values are in other."""
        return set.issubset(self, other)

    def issuperset(self, other):
        """Whether all values of other are here."""
        return set.issuperset(self, other)

    def union(self, *others):
        """A set of all values."""
        return self.copy().update(*others)

    def update(self, *others):
        """Add the values of the others. O(k log n)"""
        self._add_all(others[0] if len(others) == 1 else itertools.chain(*others))
        return self

    def intersection(self, *others):
        """A set of the values that all have."""
        return self._part(set.intersection(self, *others))

    def difference(self, *others):
        """A set of the values that no other has."""
        return self._part(set.difference(self, *others))

    def symmetric_difference(self, other):
        """A set of the values that only one has."""
        other = other if isinstance(other, set) else set(other)
        made = self.difference(other)
        made._add_all(itertools.filterfalse(self.__contains__, other))
        return made

    def intersection_update(self, *others):
        """Keep the values that all others have."""
        self._become(self.intersection(*others))
        return self

    def difference_update(self, *others):
        """Remove the values of the others. O(k log n)"""
        self._remove_all(set.intersection(self, itertools.chain(*others)))
        return self

    def symmetric_difference_update(self, other):
        """Keep the values that only one has."""
        self._become(self.symmetric_difference(other))
        return self

    def __rsub__(self, other):
        return self._like(itertools.filterfalse(self.__contains__, other))

    __or__ = __ror__ = union
    __ior__ = update
    __and__ = __rand__ = intersection
    __iand__ = intersection_update
    __sub__ = difference
    __isub__ = difference_update
    __xor__ = __rxor__ = symmetric_difference
    __ixor__ = symmetric_difference_update

    def __reduce__(self):
        return self.__class__, (self._list[:], self.key)

    @reprlib.recursive_repr()
    def __repr__(self):
        key = "" if self.key is None else f", key={self.key!r}"
        return f"{self.__class__.__name__}({self._list[:]!r}{key})"


class _View:
    """A view of a SortedDict: its positions."""

    __slots__ = ()

    def __len__(self):
        return len(self._mapping)

    def _getter(self):
        """The look-up of the mapping, which is that of a dict unless a subclass has its own."""
        plain = type(self._mapping).__getitem__ is _core.Dict.__getitem__
        return dict.__getitem__.__get__(self._mapping) if plain else self._mapping.__getitem__

    def __delitem__(self, index):
        """Remove the items at a position or in a slice. O(log n) each"""
        keys = self._mapping._list[index]
        self._mapping._remove_all(keys if isinstance(index, slice) else [keys])

    def __repr__(self):
        return f"{self.__class__.__name__}({self._mapping!r})"


class SortedKeysView(_View, collections.abc.KeysView, collections.abc.Sequence):
    """The keys of a SortedDict: a set with positions."""

    __slots__ = ()

    @classmethod
    def _from_iterable(cls, values):
        return SortedSet(values)

    def __iter__(self):
        return iter(self._mapping)

    def __reversed__(self):
        return reversed(self._mapping)

    def __getitem__(self, index):
        """The key at a position, or the list of a slice. O(log n)"""
        return self._mapping._list[index]

    def index(self, value, start=None, stop=None):
        """The position of a key. O(log n)"""
        return self._mapping.index(value, start, stop)

    def count(self, value):
        """1 if the key is there, else 0. O(1)"""
        return int(value in self._mapping)


class SortedItemsView(_View, collections.abc.ItemsView, collections.abc.Sequence):
    """The items of a SortedDict: a set of pairs with positions."""

    __slots__ = ()

    @classmethod
    def _from_iterable(cls, values):
        return SortedSet(values)

    def __iter__(self):
        return zip(self._mapping._list, map(self._getter(), self._mapping._list))

    def __reversed__(self):
        return zip(reversed(self._mapping._list), map(self._getter(), reversed(self._mapping._list)))

    def __getitem__(self, index):
        """The item at a position, or the list of a slice. O(log n)"""
        keys = self._mapping._list[index]
        if isinstance(index, slice):
            return list(zip(keys, map(self._mapping.__getitem__, keys)))
        return keys, self._mapping[keys]


class SortedValuesView(_View, collections.abc.ValuesView, collections.abc.Sequence):
    """The values of a SortedDict in the order of their keys."""

    __slots__ = ()

    def __iter__(self):
        return map(self._getter(), self._mapping._list)

    def __reversed__(self):
        return map(self._getter(), reversed(self._mapping._list))

    def __getitem__(self, index):
        """The value at a position, or the list of a slice. O(log n)"""
        keys = self._mapping._list[index]
        return list(map(self._mapping.__getitem__, keys)) if isinstance(index, slice) else self._mapping[keys]


class SortedDict(_Beside, _core.Dict):
    """A dict that is sorted by its keys, with positions. It is a dict.

    >>> d = SortedDict({"b": 2, "a": 1})
    >>> d, d.peekitem(0), d.bisect("a")
    (SortedDict({'a': 1, 'b': 2}), ('a', 1), 1)
    """

    def __init__(self, key=None, items=_nothing, /, **more):
        """SortedDict([key function or None,] [mapping or pairs,] **more). O(n log n)"""
        if key is not None and not callable(key):
            if items is not _nothing:
                raise TypeError(f"{key!r} is neither a key function nor None")
            key, items = None, key
        self._restart(key)
        self.update(items, **more)

    def update(self, items=_nothing, /, **more):
        """Set the items of a mapping or of pairs. O(k log n)"""
        if self and type(self)._setitem is not SortedDict._setitem:
            for key, value in dict(items, **more).items():
                self._setitem(key, value)
        else:
            self._update(items, **more)

    # What subclasses of sortedcontainers' class call and override, such as those of sortedcollections.
    _setitem = _core.Dict.__setitem__

    def _list_add(self, key):
        self._list.add(key)

    def _list_remove(self, key):
        self._list.remove(key)

    def copy(self):
        """A copy. O(n)"""
        return self.__class__(self.key, self.items())

    @classmethod
    def fromkeys(cls, iterable, value=None):
        """A dict of these keys, all with one value."""
        return cls((key, value) for key in iterable)

    @property
    def iloc(self):
        """Deprecated: keys() has positions."""
        warnings.warn("use keys() instead of iloc", DeprecationWarning, stacklevel=2)
        return self.keys()

    def keys(self):
        """A view of the keys."""
        return SortedKeysView(self)

    def items(self):
        """A view of the items."""
        return SortedItemsView(self)

    def values(self):
        """A view of the values."""
        return SortedValuesView(self)

    def __or__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        made = self.__class__(self.key, other)
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def __reduce__(self):
        return self.__class__, (self.key, dict(self.items()))

    @reprlib.recursive_repr()
    def __repr__(self):
        key = "" if self.key is None else f"{self.key!r}, "
        items = ", ".join(f"{key!r}: {value!r}" for key, value in self.items())
        return f"{self.__class__.__name__}({key}{{{items}}})"


collections.abc.MutableSequence.register(SortedList)
collections.abc.Sequence.register(SortedSet)
