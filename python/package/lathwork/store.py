# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Store: an ordered key-value store in memory, shared by threads, and with "shm:NAME" by processes."""
import itertools
import os
import time

from . import _core


class Store(_core.Store):
    """Bytes by keys, in order. n is the number of entries.

    spec: "mem:", a new store; "file:PATH", filled from the snapshot PATH, which sync() and close() write;
    "shm:NAME", shared by the processes that open it. keys: "bytes" (a str is taken as UTF-8), or "int": from
    0 to 2**64 - 1. Values are bytes; a str is taken as UTF-8. limit: bytes of memory; with evict old entries
    make room at the limit, else a write raises OSError (ENOSPC). include/lathwork/store.h has the details.

    >>> with Store() as store:
    ...     store["a/1"] = "one"
    ...     store.update({"a/2": "two", "b": b"three"})
    ...     store["a/1"], store.incr("count"), list(store.items(prefix="a/"))
    (b'one', 1, [(b'a/1', b'one'), (b'a/2', b'two')])
    """

    def __init__(self, spec="mem:", *, keys="bytes", limit=0, evict=False, read_only=False, existing=False, huge_pages=True):
        if _core._ready(self):
            raise RuntimeError("__init__ was called a second time: open another Store")
        if keys not in ("bytes", "int"):
            raise ValueError(f'keys must be "bytes" or "int", not {keys!r}')
        flags = (_core._EVICT * evict) | (_core._READ_ONLY * read_only) | (_core._EXISTING * existing)
        super().__init__(os.fspath(spec), keys == "int", limit, flags, not huge_pages)

    @staticmethod
    def remove(spec):
        """Remove shm:NAME. Processes that have it open keep it."""
        _core._remove_store(spec)

    def __getitem__(self, key):
        """The value of key. Raises KeyError. O(log n)"""
        value = self._get(key, None)
        if value is None:
            raise KeyError(key)
        return value

    def get(self, key, default=None):
        """The value of key, or default. O(log n)"""
        return self._get(key, default)

    def __delitem__(self, key):
        if not self._erase(key):
            raise KeyError(key)

    def discard(self, key):
        """Remove key. Returns whether it was there. O(log n)"""
        return self._erase(key)

    def update(self, pairs):
        """Set the values of a mapping or of pairs. The GIL is released. O(k log n)"""
        self._set_many(pairs.items() if hasattr(pairs, "items") else pairs)

    def expire(self, key, seconds):
        """Let key expire after this time; None: never. Returns whether it is there. O(log n)"""
        return self._expire(key, 0 if seconds is None else int((time.time() + seconds) * 1000))

    def __len__(self):
        """The number of entries, expired ones that have not been removed too. O(1)"""
        return self._items()

    def count(self, start=None, stop=None, *, prefix=None):
        """The number of entries with keys in [start, stop) and with this prefix. O(their number)"""
        return self._count(start, stop, prefix)

    def _walk(self, start, stop, prefix, reverse, take):
        """Iterate over what take() makes of each page, a list of entries, as they are when it is read."""
        limits = [self._own(limit) for limit in (start, stop, prefix)]

        def pages(start, stop, prefix, last=None, size=256):
            page = [None] * size
            while len(page) == size:
                page = self._page(start, stop, prefix, bool(reverse), size)
                again = bool(page) and page[0][0] == last  # the limit start belongs to a range
                yield take(page[again:])
                if page:
                    last = page[-1][0]
                start, stop = (start, last) if reverse else (last, stop)

        return itertools.chain.from_iterable(pages(*limits))

    def items(self, start=None, stop=None, *, prefix=None, reverse=False):
        """Iterate over (key, value) of the keys in [start, stop) with this prefix, in order.

        Entries may be added and removed during the iteration. Those that are there all the time are seen, each with a
        value that it had. O(log n) and O(1) per entry
        """
        return self._walk(start, stop, prefix, reverse, list)

    def keys(self, start=None, stop=None, *, prefix=None, reverse=False):
        """Iterate over the keys; arguments as of items()."""
        return self._walk(start, stop, prefix, reverse, lambda page: [key for key, _ in page])

    __iter__ = keys

    def values(self, start=None, stop=None, *, prefix=None, reverse=False):
        """Iterate over the values; arguments as of items()."""
        return self._walk(start, stop, prefix, reverse, lambda page: [value for _, value in page])

    def __reversed__(self):
        """Iterate over the keys, the last one first."""
        return self.keys(reverse=True)

    def close(self):
        """Close the store; file: saves it first if it has changed. OSError of the save."""
        self._close()

    def add(self, key, value):
        """Set the value if there is no such key. Returns whether it did."""
        return self._add(key, value)

    def replace(self, key, value):
        """Set the value if the key is there. Returns whether it did."""
        return self._replace(key, value)

    def cas(self, key, expected, value):
        """Set the value if it is the expected one. Returns whether it did. O(log n)"""
        return self._cas(key, expected, value)

    def incr(self, key, by=1):
        """Add to a value that is a decimal number, of an absent key 0, and return it. O(log n)"""
        return self._incr(key, by)

    def append(self, key, tail):
        """Append bytes to the value. Returns its length."""
        return self._append(key, tail)

    def stats(self):
        """Numbers of items and of bytes by use."""
        return self._stats()

    def sync(self):
        """file: save the store if it has changed."""
        self._sync()

    def sweep(self):
        """Remove expired entries and return their number. O(n)"""
        return self._sweep()

    def compact(self):
        """Return unused memory to the machine, and how many bytes."""
        return self._compact()

    def save(self, path):
        """Write a snapshot, which replaces path as a whole. The GIL is released. OSError. O(n)"""
        self._save(os.fspath(path))

    def load(self, path):
        """Fill an empty store from a snapshot. The GIL is released. OSError; the store is then empty. O(n)"""
        self._load(os.fspath(path))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
