# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Map: values by keys that are all int, all float, all str or all bytes, in their order.

The first key decides. The map keeps no key objects: an int of 64 bits or a float is a number in an index, which takes
26 to 29 bytes with its value; a str or bytes is its bytes. It returns equal keys. An int among floats, or a float
among ints, is a key if one of the other type is equal to it. Other keys are refused: TypeError, an int beyond 64 bits
OverflowError, NaN ValueError. Looking for one is not an error; bisect_left() and irange() raise TypeError.

update() and the calls for arrays are all or nothing. Adding or removing keys makes the next step of an
iteration raise RuntimeError; setting the value of a key that is there is allowed.

Threads: each call is atomic, with a GIL and without, but those for arrays. Without a GIL lookups by key
run concurrently with all calls.
"""
import collections.abc
import reprlib
import types

from . import _core

_KEYS, _VALUES, _ITEMS = _core.What.keys, _core.What.values, _core.What.items
_absent, _nothing = object(), ()


class _MapView:
    """A view of a Map, with positions."""

    __slots__ = ()

    def __len__(self):
        return len(self._mapping)

    def __iter__(self):
        return self._mapping._walk(False, self._what)

    def __reversed__(self):
        return self._mapping._walk(True, self._what)

    def __getitem__(self, index):
        """The element at a position. O(log n)"""
        return self._mapping._at(index, self._what)

    def __array__(self, dtype=None, copy=None):
        """For numpy.array(): keys that are numbers are copied at once."""
        import numpy

        if copy is False:
            raise ValueError("an array of what a Map has is a copy")
        keys = self._what is _KEYS and isinstance(next(iter(self), None), (int, float))
        return numpy.asarray(self._mapping.keys_array() if keys else list(self), dtype=dtype)

    def __repr__(self):
        return f"{self.__class__.__name__}({self._mapping!r})"


class MapKeysView(_MapView, collections.abc.KeysView):
    """The keys of a Map: a set with positions."""

    __slots__ = ()
    _what = _KEYS
    _from_iterable = classmethod(lambda cls, values: set(values))


class MapItemsView(_MapView, collections.abc.ItemsView):
    """The items of a Map: a set of pairs with positions."""

    __slots__ = ()
    _what = _ITEMS
    _from_iterable = classmethod(lambda cls, values: set(values))


class MapValuesView(_MapView, collections.abc.ValuesView):
    """The values of a Map in the order of their keys."""

    __slots__ = ()
    _what = _VALUES


class Map(_core.Map):
    """Values by keys that are int, float, str or bytes, in the order of the keys.

    >>> ages = Map({"Bob": 25, "Ada": 30})
    >>> ages["Cyd"] = 41
    >>> list(ages), ages["Ada"], ages.peekitem(0), list(ages.irange("B"))
    (['Ada', 'Bob', 'Cyd'], 30, ('Ada', 30), ['Bob', 'Cyd'])
    """

    __class_getitem__ = classmethod(types.GenericAlias)  # Map[int, str] in annotations

    def __init__(self, items=_nothing, /, **more):
        """Of a mapping or pairs. O(n log n), or linear in n if the keys are numbers"""
        if _core._ready(self):
            self.clear()  # a second __init__
        else:
            super().__init__()
        self.update(items, **more)

    def update(self, items=_nothing, /, **more):
        """Set the items of a mapping or of pairs. O(k log n)"""
        if hasattr(items, "keys"):
            items = list(items.items()) if isinstance(items, (dict, Map)) else [(key, items[key]) for key in items.keys()]
        self._update(items, more.items())

    def pop(self, key, default=_absent):
        """Remove key and return its value, or default. Raises KeyError without one. O(log n)"""
        return self._pop(key, default, default is _absent)

    def popitem(self, index=-1):
        """Remove the item at a position and return it. O(log n)"""
        try:
            return self._popitem(index)
        except IndexError:
            if len(self):
                raise
            raise KeyError("popitem(): the map is empty") from None

    def peekitem(self, index=-1):
        """The item at a position. O(log n)"""
        return self._at(index, _ITEMS)

    def index(self, key):
        """The position of a key. Raises ValueError. O(log n)"""
        at = self._index_of(key)
        if at < 0:
            raise ValueError(f"{key!r} is not in the map")
        return at

    def irange(self, minimum=None, maximum=None, inclusive=(True, True), reverse=False):
        """Iterate over the keys from minimum to maximum (None: no limit). O(log n) and O(1) per key"""
        return self._walk_between(minimum, bool(inclusive[0]), maximum, bool(inclusive[1]), bool(reverse), _KEYS)

    def irange_items(self, minimum=None, maximum=None, inclusive=(True, True), reverse=False):
        """Iterate over the items with keys from minimum to maximum (None: no limit)."""
        return self._walk_between(minimum, bool(inclusive[0]), maximum, bool(inclusive[1]), bool(reverse), _ITEMS)

    def keys(self):
        """A view of the keys."""
        return MapKeysView(self)

    def items(self):
        """A view of the items."""
        return MapItemsView(self)

    def values(self):
        """A view of the values."""
        return MapValuesView(self)

    def copy(self):
        """A copy. O(n)"""
        return self.__class__(self.items())

    __copy__ = copy

    def __reversed__(self):
        """Iterate over the keys in descending order."""
        return self._walk(True, _KEYS)

    def __sizeof__(self):
        return object.__sizeof__(self) + self._memory()

    __hash__ = None

    def __eq__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        return len(self) == len(other) and all(key in other and other[key] == value for key, value in self.items())

    def __reduce__(self):
        return self.__class__, (list(self.items()),)

    @reprlib.recursive_repr()
    def __repr__(self):
        items = ", ".join(f"{key!r}: {value!r}" for key, value in self.items())
        return f"{self.__class__.__name__}({{{items}}})"


collections.abc.MutableMapping.register(Map)
