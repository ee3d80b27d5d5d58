# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Ordered collections over the C library lathwork.

SortedDict, SortedSet, SortedList and SortedKeyList have the calls of the package sortedcontainers,
Interval and IntervalTree those of the package intervaltree. Map keeps values by numbers, texts or bytes, RangeMap
keeps values by ranges of keys, RangeSet is a set of keys as ranges, RangeAllocator gives out ranges,
RangeLocks locks ranges of keys, Store keeps bytes by keys.
"""
try:
    import _interpreters
except ImportError:  # before Python 3.13
    import _xxsubinterpreters as _interpreters
# The types of lathwork._core are registered once per process, by nanobind, for one interpreter.
if _interpreters.get_current() != _interpreters.get_main():
    raise ImportError("lathwork can be imported in the main interpreter only, not in a sub-interpreter of the process")

from .interval import Interval, IntervalTree
from .locks import Deadlock, Hold, RangeLocks
from .map import Map
from .ranges import NoSpace, RangeAllocator, RangeMap
from .rangeset import RangeSet, after
from .sorted import SortedDict, SortedItemsView, SortedKeyList, SortedKeysView, SortedList, SortedListWithKey, SortedSet, SortedValuesView
from .store import Store

__version__ = "0.3.0"
__all__ = [
    "Deadlock",
    "Hold",
    "Interval",
    "IntervalTree",
    "Map",
    "NoSpace",
    "RangeAllocator",
    "RangeLocks",
    "RangeMap",
    "RangeSet",
    "SortedDict",
    "SortedItemsView",
    "SortedKeyList",
    "SortedKeysView",
    "SortedList",
    "SortedListWithKey",
    "SortedSet",
    "SortedValuesView",
    "Store",
    "after",
]
