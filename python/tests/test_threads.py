# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Eight threads on one container. Where Python has no GIL they run at the same time; tests hold for both.

LATH_THREADS_ROUNDS: how many times as many calls (1).
"""
import gc
import os
import random
import sys
import sysconfig
import threading
import weakref

import pytest

from lathwork import Interval, IntervalTree, Map, NoSpace, RangeAllocator, RangeMap, SortedDict, SortedKeyList, SortedList, SortedSet, Store

THREADS = 8
ROUNDS = int(os.environ.get("LATH_THREADS_ROUNDS", "1"))
FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


class Value:
    """A value that knows its key."""

    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


def race(*works, calls=400):
    """Each work in turn by its own thread, until there are THREADS: work(random, n) `calls` times."""
    errors, start = [], threading.Barrier(THREADS)

    def run(number):
        rand = random.Random(number)
        start.wait()
        try:
            for n in range(calls * ROUNDS):
                works[number % len(works)](rand, n)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]


def allow(error, call, *arguments):
    """The call's result, or None if it raises what others may cause."""
    try:
        return call(*arguments)
    except error:
        return None


@pytest.mark.skipif(not FREE, reason="this Python has a GIL")
def test_import_leaves_the_gil_off():
    assert not sys._is_gil_enabled()


KEYS = {
    "int": lambda n: n * 977 - 5000,
    "float": lambda n: n / 7,
    "short text": lambda n: f"k{n}",
    "long text": lambda n: f"a long beginning that all share: {n % 16:04d}, {n}",
    "bytes": lambda n: b"of bytes: %d" % n,
    "pairs": lambda n: (n % 10, str(n)),
}


@pytest.mark.parametrize("kind", KEYS)
def test_map_of_objects(kind):
    """Readers find the value of their key or none, whatever writers do; at the end no value is left over."""
    made, key_of, alive = SortedDict(), KEYS[kind], weakref.WeakSet()
    lock = threading.Lock()  # of the set

    def write(rand, n):
        key = key_of(rand.randrange(600))
        value = Value(key)
        with lock:
            alive.add(value)
        if rand.random() < .6:
            made[key] = value
        else:
            allow(KeyError, made.__delitem__, key)

    def read(rand, n):
        key = key_of(rand.randrange(600))
        for value in (made.get(key), allow(KeyError, made.__getitem__, key)):
            assert value is None or value.key == key
        key in made
        pair = allow(IndexError, made.peekitem, rand.randrange(50))
        assert pair is None or pair[1].key == pair[0]

    race(write, read, calls=1500)
    made._verify()
    assert all(value.key == key for key, value in made.items())
    made.clear()
    gc.collect()
    assert not len(alive)


def test_contents_that_become_others():
    """Other codes, no codes, other contents: a reader sees one form or the other."""
    made, other = SortedDict(), SortedDict((n, Value(n)) for n in range(100))

    def change(rand, n):
        which = n % 6
        if which == 0:
            made.clear()
        elif which == 1:
            made.update((key, Value(key)) for key in range(0, 200, 2))
        elif which == 2:
            allow(TypeError, made.__setitem__, 7.5, Value(7.5))
        elif which == 3:
            allow((TypeError, RuntimeError), made.__setitem__, 10**30 + n, Value(10**30 + n))
        elif which == 4:
            made.update(other)
        else:
            SortedDict.__init__(made, [(key, Value(key)) for key in range(50)])

    def read(rand, n):
        key = rand.choice([rand.randrange(200), 7.5])
        value = made.get(key)
        assert value is None or value.key == key
        assert 0 <= len(made) < 1000

    race(change, read, read, read)
    made._verify()
    other._verify()


@pytest.mark.parametrize("kind", KEYS)
def test_lists_and_sets(kind):
    values, once, by_length, key_of = SortedList(), SortedSet(), SortedKeyList(key=lambda key: -hash(key)), KEYS[kind]

    def change(rand, n):
        for made in (values, once, by_length):
            key = key_of(rand.randrange(300))
            rand.choice([made.add, made.discard])(key)
        if n % 50 == 0:
            values.update([key_of(n) for n in range(5)])

    def look(rand, n):
        key = key_of(rand.randrange(300))
        for made in (values, once, by_length):
            key in made
            assert made.bisect_left(key) <= len(made) + 10000
            allow(IndexError, made.__getitem__, rand.randrange(100))
            seen = allow(RuntimeError, list, made.islice(0, 20))
            if made is not by_length:
                assert seen is None or seen == sorted(seen)

    race(change, look)
    for made in (values, once, by_length):
        made._verify()
    assert list(values) == sorted(values) and list(once) == sorted(set(once))


def test_one_iterator_for_all():
    """Each item goes to one thread."""
    made, seen, lock = SortedList(range(4000)), [], threading.Lock()
    items = iter(made)

    def take(rand, n):
        item = next(items, None)
        if item is not None:
            with lock:
                seen.append(item)

    race(take, calls=600)
    assert sorted(seen) == list(range(4000)) and items.__length_hint__() == 0


def test_arrays_beside_single_calls():
    numpy = pytest.importorskip("numpy")
    made = Map((n, n) for n in range(5000))

    def batch(rand, n):
        keys = numpy.array([rand.randrange(5000) for _ in range(200)])
        if n % 3 == 0:
            made.insert_many(keys, keys)
        elif n % 3 == 1:
            made.erase_many(keys)
        else:
            found = made.get_ints(keys, -1)
            assert all(value in (-1, key) for key, value in zip(keys, found))

    def single(rand, n):
        key = rand.randrange(5000)
        made[key] = key
        assert made.get(key, key) == key
        made.pop(key, None)

    race(batch, single, calls=100)
    made._verify()


def test_intervals():
    tree = IntervalTree()

    def change(rand, n):
        begin = rand.randrange(1000)
        interval = Interval(begin, begin + rand.randrange(1, 50), n % 5)
        allow(RuntimeError, tree.add, interval)
        if n % 2:
            allow(RuntimeError, tree.discard, interval)

    def look(rand, n):
        point = rand.randrange(1000)
        assert all(interval.begin <= point < interval.end for interval in tree.at(point))
        assert all(interval.overlaps(point, point + 20) for interval in tree.overlap(point, point + 20))

    race(change, look)
    tree.verify()


def test_ranges():
    """The value of a range has its bounds, or those of the range that it was cut from."""
    made, alive, lock = RangeMap(), weakref.WeakSet(), threading.Lock()

    def change(rand, n):
        start = rand.randrange(1000)
        stop = start + rand.randrange(1, 40)
        value = Value((start, stop))
        with lock:
            alive.add(value)
        made[start:stop] = value
        if n % 3 == 0:
            made.cut(start + 1, start + 20)
        elif n % 100 == 1:
            made.clear()

    def look(rand, n):
        key = rand.randrange(1000)
        for value in (made.get(key), *[value for _, _, value in made.overlapping(key, key + 1)]):
            assert value is None or value.key[0] <= key < value.key[1]

    race(change, look, calls=1500)
    made._verify()
    made.clear()
    gc.collect()
    assert not len(alive)


def test_allocator_and_store():
    pool, store = RangeAllocator(0, 1 << 20), Store()

    def allocate(rand, n):
        start = allow(NoSpace, pool.alloc, rand.randrange(1, 100))
        if start is not None:
            assert start in pool
            if n % 2:
                pool.free(start, start + 1)

    def keep(rand, n):
        store.incr("count")
        key = f"k{rand.randrange(100)}"
        store[key] = key
        assert store.get(key) in (None, key.encode())
        store.discard(key)

    race(allocate, keep)
    pool._verify()
    assert store["count"] == b"%d" % (400 * ROUNDS * THREADS // 2)


def test_close_of_a_store_in_use():
    store = Store()

    def use(rand, n):
        if n == 200 and rand.random() < .5:
            store.close()
        for call in (lambda: store.__setitem__("a", "b"), lambda: store.get("a"), lambda: "a" in store):
            allow(ValueError, call)

    race(use)
