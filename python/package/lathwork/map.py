# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Map: values by keys that are all int, all float, all str or all bytes, in their order.

The first key decides. The map keeps no key objects: an int of 64 bits or a float is a number in an index, which takes
26 to 29 bytes with its value; a str or bytes is its bytes. It returns equal keys. An int among floats, or a float
among ints, is a key if one of the other type is equal to it. Other keys are refused: TypeError, an int beyond 64 bits
OverflowError, NaN ValueError. Looking for one is not an error; bisect_left() and irange() raise TypeError.

update() and the calls for arrays are all or nothing. Adding or removing keys makes the next step of an
iteration raise RuntimeError; setting the value of a key that is there is allowed.

Threads: each call is atomic, with a GIL and without. Without a GIL lookups by key run concurrently with all calls.
"""
import array
import collections.abc
import reprlib
import types

from . import _core

_KEYS, _VALUES, _ITEMS = _core.What.keys, _core.What.values, _core.What.items
_absent, _nothing = object(), ()


def _array(keys):
    """Keys as an array of int64 or float64. NumPy would round an int of a list that has floats too."""
    import numpy

    ints = False
    if not hasattr(keys, "__array__") and not isinstance(keys, (array.array, memoryview)):
        keys = list(keys)
        ints = any(hasattr(type(key), "__index__") for key in keys)
        if ints and not all(hasattr(type(key), "__index__") for key in keys):
            raise TypeError("keys of an array must be of one type, integers or floats")
    made = numpy.ascontiguousarray(keys)
    if made.size and ints and made.dtype.kind not in "iu":
        raise OverflowError("keys of an array must be integers of 64 bits, or floats")
    if made.ndim != 1 or (made.size and made.dtype.kind not in "iu" and made.dtype != numpy.float64):
        raise TypeError("keys of an array must be integers or float64, in one dimension")
    if made.dtype.kind == "f" and numpy.isnan(made).any():
        raise ValueError("NaN has no place in an order")
    if made.dtype == numpy.uint64 and (made >= 2**63).any():
        raise OverflowError("keys of an array must be below 2**63")
    return made if made.dtype == numpy.float64 and made.size else made.astype(numpy.int64, copy=False)


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
        value = self._pop(key, default)
        if value is _absent:
            raise KeyError(key)
        return value

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

    def get_many(self, keys, default=None):
        """The values of an array of keys, as a list; default for those that are not there."""
        return self._get_many(_array(keys), default)

    def get_ints(self, keys, default=0):
        """The values of an array of keys, which must be integers, as an array of int64."""
        return self._get_ints(_array(keys), default)

    def insert_many(self, keys, values):
        """Set the values of an array of keys: a sequence, or an array of int64."""
        if getattr(values, "dtype", None) != "int64":
            values = list(values)
        self._insert_many(_array(keys), values)

    def erase_many(self, keys):
        """Erase an array of keys. Returns how many were there."""
        return self._erase_many(_array(keys))

    def contains_many(self, keys):
        """Which keys of an array are there, as an array of bool."""
        return self._contains_many(_array(keys))

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
