# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""SortedDict, SortedSet, SortedList and SortedKeyList: the calls of sortedcontainers.

Keys. What a container holds first decides how it keeps its keys:

- int and float: any size, compared exactly with each other. Those of 64 bits and the floats are kept
  as 64-bit codes, not as objects. NaN is refused (ValueError).
- str and bytes: by their bytes. A str with lone surrogates is refused (UnicodeEncodeError).
- all other types, such as tuples: in bounded pieces, by comparing.

The first two kinds are for the types themselves, for classes that derive from them and inherit their
comparisons, and for the scalars of NumPy. A class with its own comparisons is of the last kind.

Keys that do not compare with those that are there are refused (TypeError). Looking for one is not an error,
as in a dict: `in`, get(), pop() with a default, discard() and count() do not find it. A position or a
range of one (bisect(), irange()) is a TypeError. Costs are those of a container of n items; O(log n) is a
few hundred nanoseconds for the first two kinds, and as many comparisons for the last one.

A call that adds or removes many is all or nothing: if it raises, the container is as it was.

Changes during an iteration: adding or removing items makes the next step raise RuntimeError; setting
the value of a key that is there is allowed. A change from within a comparison, by a key's __lt__ or
__eq__, raises RuntimeError too.

Threads: each call is atomic if its keys are int, float, str or bytes, with a GIL and without; the calls
for arrays are not. Without a GIL lookups by key run concurrently with all calls.
"""
import collections.abc
import itertools
import operator
import reprlib
import types
import warnings

from . import _core
from ._method import described

_KEYS, _VALUES, _ITEMS = _core.What.keys, _core.What.values, _core.What.items
_absent, _nothing = object(), ()


class _Ordered:
    """What the containers share: positions and ranges. The rest is in lathwork._core."""

    __slots__ = ()
    __class_getitem__ = classmethod(types.GenericAlias)  # SortedList[int] in annotations

    def _begin(self, *kind_and_key):
        """__init__ of the C++ class; a second one begins anew, empty."""
        if _core._ready(self):
            self._restart(kind_and_key[-1])
        else:
            super().__init__(*kind_and_key)

    @property
    def key(self):
        """The function that orders the items, or None."""
        return self._key_function()

    def bisect_left(self, value):
        """The position of value, before equal ones. O(log n)"""
        return self._rank(self._sort_of(value), False)

    def bisect_right(self, value):
        """The position of value, behind equal ones. O(log n)"""
        return self._rank(self._sort_of(value), True)

    bisect = bisect_right

    def index(self, value, start=None, stop=None):
        """The first position of value in [start, stop). Raises ValueError. O(log n)"""
        size = len(self)
        start, stop, _ = slice(start, stop).indices(size)
        at = self._index_of(value)
        if 0 <= at < start < stop:  # others may be equal
            end = min(stop, self.bisect_right(value))
            at = next((i for i, there in zip(range(start, end), self.islice(start, end)) if there == value), -1)
        if not start <= at < stop:
            raise ValueError(f"{value!r} is not in list")
        return at

    def islice(self, start=None, stop=None, reverse=False):
        """Iterate over the items at positions [start, stop). O(log n) and O(1) per item"""
        return self._walk_slice(slice(start, stop), bool(reverse))

    def irange(self, minimum=None, maximum=None, inclusive=(True, True), reverse=False):
        """Iterate over the items from minimum to maximum (None: no limit). O(log n) and O(1) per item"""
        low = None if minimum is None else self._sort_of(minimum)
        high = None if maximum is None else self._sort_of(maximum)
        return self._between(low, high, inclusive, reverse)

    def _between(self, low, high, inclusive, reverse):
        return self._walk_between(low, bool(inclusive[0]), high, bool(inclusive[1]), bool(reverse))

    def __reversed__(self):
        """Iterate in descending order."""
        return self._walk(True, _KEYS)

    def __copy__(self):
        return self.copy()


class _Values:
    """Changes of SortedList and SortedSet as a whole."""

    __slots__ = ()

    def _become(self, values):
        """Takes these values instead of those that are there."""
        made = _core.Sequence(self._twins, self.key)
        made._update(values)
        self._exchange(made)
        return self


class _ByKey:
    """Calls of containers with a key function, for what it returns."""

    __slots__ = ()

    def bisect_key_left(self, key):
        """The position of a key, before equal ones. O(log n)"""
        return self._rank(key, False)

    def bisect_key_right(self, key):
        """The position of a key, behind equal ones. O(log n)"""
        return self._rank(key, True)

    bisect_key = bisect_key_right

    def irange_key(self, min_key=None, max_key=None, inclusive=(True, True), reverse=False):
        """Iterate over the items with keys from min_key to max_key. O(log n) and O(1) per item"""
        return self._between(min_key, max_key, inclusive, reverse)


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


@described
class SortedList(_Values, _Ordered, _core.Sequence):
    """A list that is always sorted. Equal values may be in it more than once.

    >>> values = SortedList([3, 1, 2])
    >>> values.add(2)
    >>> values, values[1], values.bisect_left(2), list(values.irange(2, 3))
    (SortedList([1, 2, 2, 3]), 2, 1, [2, 2, 3])
    """

    _twins = True

    def __new__(cls, iterable=None, key=None):
        if key is None or issubclass(cls, SortedKeyList):
            return super().__new__(cls)
        if cls is SortedList:
            return SortedKeyList.__new__(SortedKeyList, iterable, key=key)
        raise TypeError("inherit SortedKeyList for key argument")

    def __init__(self, iterable=None, key=None):
        """Of the iterable's values. O(n log n), or linear in n if they have the form of 64-bit numbers"""
        self._begin(True, key)
        if iterable is not None:
            self._update(iterable)

    def update(self, iterable):
        """Add all values of the iterable. O(k log n)"""
        self._update(self.copy() if iterable is self else iterable)

    def discard(self, value):
        """Remove one value if it is there. O(log n)"""
        self._discard(value)

    def remove(self, value):
        """Remove one value. Raises ValueError if it is not there. O(log n)"""
        if not self._discard(value):
            raise ValueError(f"{value!r} not in list")

    def pop(self, index=-1):
        """Remove the value at a position and return it. O(log n)"""
        return self._take_at(index)

    def count(self, value):
        """How many values are equal to value. O(log n)"""
        return self._count(value)

    def copy(self):
        """A copy. O(n)"""
        return self.__class__(self)

    def __setitem__(self, index, value):
        raise NotImplementedError("use ``del sl[index]`` and ``sl.add(value)`` instead")

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
        return self._like(itertools.chain.from_iterable(itertools.repeat(list(self), times)))

    __rmul__ = __mul__

    def __imul__(self, times):
        return self._become(list(self) * times)

    __hash__ = None
    __eq__ = _compare(operator.eq)
    __ne__ = _compare(operator.ne)
    __lt__ = _compare(operator.lt)
    __le__ = _compare(operator.le)
    __gt__ = _compare(operator.gt)
    __ge__ = _compare(operator.ge)

    def __reduce__(self):
        return self.__class__, (list(self),)

    @reprlib.recursive_repr()
    def __repr__(self):
        return f"{self.__class__.__name__}({list(self)!r})"


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
        at = self._index_of(value)
        return 0 if at < 0 else sum(bool(there == value) for there in self.islice(at, at + self._count(value)))

    def copy(self):
        """A copy. O(n)"""
        return self._like(self)

    def _like(self, values):
        return self.__class__(values, key=self.key)

    def __reduce__(self):
        return self.__class__, (list(self), self.key)

    @reprlib.recursive_repr()
    def __repr__(self):
        return f"{self.__class__.__name__}({list(self)!r}, key={self.key!r})"


SortedListWithKey = SortedKeyList  # its earlier name in sortedcontainers


def _compare_sets(operation):
    def compare(self, other):
        if isinstance(other, (SortedSet, collections.abc.Set)):
            return operation(self._as_set(), other._as_set() if isinstance(other, SortedSet) else other)
        return NotImplemented

    compare.__name__ = f"__{operation.__name__}__"
    return compare


@described
class SortedSet(_ByKey, _Values, _Ordered, _core.Sequence):
    """A set that is sorted, with positions.

    >>> values = SortedSet([3, 1, 2, 3])
    >>> values, values[0], values & {2, 3}
    (SortedSet([1, 2, 3]), 1, SortedSet([2, 3]))
    """

    _twins = False

    def __init__(self, iterable=None, key=None):
        """Of the iterable's values. O(n log n), or linear in n if they have the form of 64-bit numbers"""
        self._begin(False, key)
        if iterable is not None:
            self._update(iterable)

    def _as_set(self):
        return set(self)

    def discard(self, value):
        """Remove a value if it is there. O(log n)"""
        self._discard(value)

    def remove(self, value):
        """Remove a value. Raises KeyError if it is not there. O(log n)"""
        if not self._discard(value):
            raise KeyError(value)

    def pop(self, index=-1):
        """Remove the value at a position and return it. O(log n)"""
        return self._take_at(index)

    def count(self, value):
        """1 if value is there, else 0. O(log n)"""
        return int(value in self)

    def copy(self):
        """A copy. O(n)"""
        return self._like(self)

    def _like(self, values):
        return self.__class__(values, key=self.key)

    def isdisjoint(self, other):
        """Whether no value is in both."""
        return not any(value in self for value in other)

    def issubset(self, other):
        """Whether all values are in other."""
        return self._as_set().issubset(other)

    def issuperset(self, other):
        """Whether all values of other are here."""
        return all(value in self for value in other)

    def union(self, *others):
        """A set of all values."""
        return self._like(itertools.chain(iter(self), *others))

    def update(self, *others):
        """Add the values of the others. O(k log n)"""
        self._update(*(self.copy() if other is self else other for other in others))
        return self

    def intersection(self, *others):
        """A set of the values that all have."""
        return self._like(self._as_set().intersection(*others))

    def difference(self, *others):
        """A set of the values that no other has."""
        return self._like(self._as_set().difference(*others))

    def symmetric_difference(self, other):
        """A set of the values that only one has."""
        return self._like(self._as_set().symmetric_difference(other))

    def intersection_update(self, *others):
        """Keep the values that all others have."""
        return self._become(self._as_set().intersection(*others))

    def difference_update(self, *others):
        """Remove the values of the others. O(k log n)"""
        self._discard_all(list(itertools.chain(*others)))
        return self

    def symmetric_difference_update(self, other):
        """Keep the values that only one has."""
        return self._become(self._as_set().symmetric_difference(other))

    __or__ = __ror__ = union
    __ior__ = update
    __and__ = __rand__ = intersection
    __iand__ = intersection_update
    __sub__ = difference
    __isub__ = difference_update
    __xor__ = __rxor__ = symmetric_difference
    __ixor__ = symmetric_difference_update

    __hash__ = None
    __eq__ = _compare_sets(operator.eq)
    __ne__ = _compare_sets(operator.ne)
    __lt__ = _compare_sets(operator.lt)
    __le__ = _compare_sets(operator.le)
    __gt__ = _compare_sets(operator.gt)
    __ge__ = _compare_sets(operator.ge)

    def __reduce__(self):
        return self.__class__, (list(self), self.key)

    @reprlib.recursive_repr()
    def __repr__(self):
        key = "" if self.key is None else f", key={self.key!r}"
        return f"{self.__class__.__name__}({list(self)!r}{key})"


class _View:
    """A view of a SortedDict: its positions."""

    __slots__ = ()
    _what = None

    def __len__(self):
        return len(self._mapping)

    def __getitem__(self, index):
        """The element at a position, or the list of a slice. O(log n)"""
        return self._mapping._at(index, self._what)

    def __delitem__(self, index):
        """Remove the items at a position or in a slice. O(log n) each"""
        self._mapping._erase_at(index)

    def __iter__(self):
        return self._mapping._walk(False, self._what)

    def __reversed__(self):
        return self._mapping._walk(True, self._what)

    def __repr__(self):
        return f"{self.__class__.__name__}({self._mapping!r})"


class SortedKeysView(_View, collections.abc.KeysView, collections.abc.Sequence):
    """The keys of a SortedDict: a set with positions."""

    __slots__ = ()
    _what = _KEYS

    @classmethod
    def _from_iterable(cls, values):
        return SortedSet(values)

    def index(self, value, start=None, stop=None):
        """The position of a key. O(log n)"""
        return self._mapping.index(value, start, stop)

    def count(self, value):
        """1 if the key is there, else 0. O(log n)"""
        return int(value in self._mapping)


class SortedItemsView(_View, collections.abc.ItemsView, collections.abc.Sequence):
    """The items of a SortedDict: a set of pairs with positions."""

    __slots__ = ()
    _what = _ITEMS

    @classmethod
    def _from_iterable(cls, values):
        return SortedSet(values)


class SortedValuesView(_View, collections.abc.ValuesView, collections.abc.Sequence):
    """The values of a SortedDict in the order of their keys."""

    __slots__ = ()
    _what = _VALUES


@described
class SortedDict(_ByKey, _Ordered, _core.Map):
    """A dict that is sorted by its keys, with positions. It is not a subclass of dict.

    >>> d = SortedDict({"b": 2, "a": 1})
    >>> d, d.peekitem(0), d.bisect("a")
    (SortedDict({'a': 1, 'b': 2}), ('a', 1), 1)
    """

    def __init__(self, key=None, items=_nothing, /, **more):
        """SortedDict([key function or None,] [mapping or pairs,] **more). O(n log n), or linear in n if the
        keys have the form of 64-bit numbers"""
        if key is not None and not callable(key):
            if items is not _nothing:
                raise TypeError(f"{key!r} is neither a key function nor None")
            key, items = None, key
        self._begin(key)
        self.update(items, **more)

    def update(self, items=_nothing, /, **more):
        """Set the items of a mapping or of pairs. O(k log n)"""
        if isinstance(items, SortedDict):
            items = list(items.items())
        elif not isinstance(items, dict) and hasattr(items, "keys"):
            items = [(key, items[key]) for key in items.keys()]
        elif isinstance(items, dict) and type(items) is not dict:
            items = items.items()
        self._update(items, more)

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

    def pop(self, key, default=_absent):
        """Remove key and return its value, or default. Raises KeyError without one. O(log n)"""
        return self._pop(key, default, default is _absent)

    def popitem(self, index=-1):
        """Remove the item at a position and return it. O(log n)"""
        try:
            return self._take_at(index)
        except IndexError:
            if len(self):
                raise
            raise KeyError("popitem(): dictionary is empty") from None

    def peekitem(self, index=-1):
        """The item at a position. O(log n)"""
        return self._at(index, _ITEMS)

    def __or__(self, other):
        if not isinstance(other, (SortedDict, collections.abc.Mapping)):
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

    __hash__ = None

    def __eq__(self, other):
        if not isinstance(other, (SortedDict, collections.abc.Mapping)):
            return NotImplemented
        if len(self) != len(other):
            return False
        return all(key in other and other[key] == value for key, value in self.items())

    def __reduce__(self):
        return self.__class__, (self.key, dict(self.items()))

    @reprlib.recursive_repr()
    def __repr__(self):
        key = "" if self.key is None else f"{self.key!r}, "
        items = ", ".join(f"{key!r}: {value!r}" for key, value in self.items())
        return f"{self.__class__.__name__}({key}{{{items}}})"


collections.abc.MutableSequence.register(SortedList)
collections.abc.MutableSet.register(SortedSet)
collections.abc.Sequence.register(SortedSet)
collections.abc.MutableMapping.register(SortedDict)
