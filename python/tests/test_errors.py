# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Each error of the library becomes the exception that it means: want of memory and nothing else is MemoryError."""
import errno
import os
import pathlib
import re

import numpy
import pytest

from lathwork import Deadlock, Interval, IntervalTree, Map, NoSpace, RangeAllocator, RangeLocks, RangeMap, SortedDict, SortedList, SortedSet, Store, _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = "\n".join(path.read_text() for path in sorted((ROOT / "python/src").glob("*.cpp")))
# All calls of the library that the package makes and that may return an error ...
CALLS = sorted(set(re.findall(r"(?:LATH_CORE|CALL)\(\s*(lath_\w+)", SOURCES)) | set(re.findall(r'plan\.hits\("(lath_\w+)"', SOURCES)))
# ... and all errors that a header of the library names.
ERRORS = sorted({name for path in (ROOT / "include/lathwork").glob("*.h") for name in re.findall(r"-(E[A-Z0-9]{3,})\b", path.read_text())
                 if hasattr(errno, name)} | {"EOVERFLOW", "EIO", "EPROTO"})
MEANING = {
    "ENOMEM": MemoryError, "EINVAL": ValueError, "E2BIG": ValueError, "EBADMSG": ValueError, "EEXIST": ValueError, "ENOENT": LookupError,
    "ERANGE": OverflowError, "EOVERFLOW": OverflowError, "EBUSY": RuntimeError, "EAGAIN": RuntimeError, "ECANCELED": RuntimeError,
    "EDEADLK": RuntimeError, "ESTALE": RuntimeError, "ENOTEMPTY": ValueError, "EOPNOTSUPP": RuntimeError,
}


class planted:
    """Calls of this name return the error, after some that are made."""

    def __init__(self, call, error, after=0):
        self.plan = call, -getattr(errno, error), after

    def __enter__(self):
        _core._plant(*self.plan)

    def __exit__(self, *_):
        _core._plant("", 0, 0)


def with_space(call):
    def run():
        pool = RangeAllocator(0, 1 << 20)
        pool.reserve(64, 128)
        return lambda: call(pool)
    return run


def with_store(call):
    def run():
        store = Store()
        store["a"] = "1"
        return lambda: call(store)
    return run


SAVED = RangeAllocator(0, 1 << 20).save()
# For each call: what makes a container, and what then makes the call.
OPERATIONS = {
    "lath_index_init": lambda: lambda: (Map({1: 2}), RangeMap()),
    "lath_index_insert_item": lambda: lambda made=Map({1: 1}): made.__setitem__(2, 2),
    "lath_index_select": lambda: lambda made=Map({1: 1, 2: 2}): made.peekitem(0),
    "lath_bytes_select": lambda: lambda made=Map(a=1): made.peekitem(0),
    "lath_bytes_init": lambda: lambda: Map(a=1),
    "lath_index_load_sorted": lambda: lambda made=Map(): made.update({1: 1, 2: 2}),
    "lath_index_insert_batch": lambda: lambda made=Map({1: 1}): made.update({2: 2, 3: 3}),
    "lath_index_store_range": lambda: lambda made=RangeMap([(1, 5, 1)]): made.__setitem__(slice(2, 3), 1),
    "lath_intervals_init": lambda: lambda: IntervalTree(),
    "lath_intervals_insert": lambda: lambda made=IntervalTree(): made.addi(1, 2),
    "lath_space_create": lambda: lambda: RangeAllocator(0, 64),
    "lath_space_alloc": with_space(lambda pool: pool.alloc(8)),
    "lath_space_alloc_request": with_space(lambda pool: pool.alloc(8, policy="best")),
    "lath_space_reserve": with_space(lambda pool: pool.reserve(0, 8)),
    "lath_space_free": with_space(lambda pool: pool.free(64, 72)),
    "lath_space_next": with_space(lambda pool: list(pool.allocated())),
    "lath_space_next_free": with_space(lambda pool: list(pool.free_runs())),
    "lath_space_save": with_space(lambda pool: pool.save()),
    "lath_space_load": lambda: lambda pool=RangeAllocator(0, 1 << 20): pool.load(SAVED),
    "lath_store_open": lambda: lambda: Store(),
    "lath_store_get_ref": with_store(lambda store: store["a"]),
    "lath_store_get": with_store(lambda store: "a" in store),
    "lath_store_set": with_store(lambda store: store.__setitem__("b", "2")),
    "lath_store_add": with_store(lambda store: store.add("b", "2")),
    "lath_store_replace": with_store(lambda store: store.replace("a", "2")),
    "lath_store_delete": with_store(lambda store: store.discard("a")),
    "lath_store_cas": with_store(lambda store: store.cas("a", "1", "2")),
    "lath_store_incr": with_store(lambda store: store.incr("a")),
    "lath_store_append": with_store(lambda store: store.append("a", "2")),
    "lath_store_expire": with_store(lambda store: store.expire("a", 5)),
    "lath_store_mset": with_store(lambda store: store.update({"b": "2"})),
    "lath_store_iter_begin": with_store(lambda store: list(store)),
    "lath_store_iter_next": with_store(lambda store: list(store)),
    "lath_store_count": with_store(lambda store: store.count()),
    "lath_store_items": with_store(len),
    "lath_store_get_stats": with_store(lambda store: store.stats()),
    "lath_store_get_pages": with_store(lambda store: store.stats()),
    "lath_store_save": with_store(lambda store: store.save(os.devnull)),
    "lath_store_load": with_store(lambda store: store.load(os.devnull)),
    "lath_store_sync": with_store(lambda store: store.sync()),
    "lath_store_close": lambda: lambda: Store().close(),
    "lath_store_remove": lambda: lambda: Store.remove("shm:no-such-name"),
    "lath_store_sweep": with_store(lambda store: store.sweep()),
    "lath_store_compact": with_store(lambda store: store.compact()),
    "lath_range_locks_init": lambda: RangeLocks,
    "lath_range_lock_for": lambda: lambda locks=RangeLocks(): locks.lock(0, 5, timeout=0),
    "lath_range_resize": lambda: lambda hold=RangeLocks().lock(0, 5): hold.resize(0, 9),
}
# The answers of these calls that are no errors.
ANSWERS = {
    ("lath_index_insert_item", "EEXIST"), ("lath_space_next", "ENOENT"), ("lath_space_next_free", "ENOENT"), ("lath_store_add", "EEXIST"),
    *((f"lath_store_{name}", "ENOENT") for name in ("get", "replace", "delete", "cas", "expire")), ("lath_store_cas", "EAGAIN"),
    ("lath_index_insert_batch", "EEXIST"), ("lath_range_lock_for", "EBUSY"), ("lath_range_lock_for", "ETIMEDOUT"),
}
# Those that a call means in its own way.
OWN = {
    ("lath_space_alloc", "ENOSPC"): NoSpace, ("lath_space_alloc_request", "ENOSPC"): NoSpace, ("lath_space_reserve", "EBUSY"): NoSpace,
    ("lath_space_load", "EBUSY"): ValueError, ("lath_store_get_ref", "ENOENT"): KeyError, ("lath_store_set", "ENOSPC"): OSError,
    ("lath_range_lock_for", "EDEADLK"): Deadlock, ("lath_range_resize", "EDEADLK"): Deadlock, ("lath_range_resize", "EBUSY"): BlockingIOError,
    ("lath_space_alloc", "EBUSY"): NoSpace, ("lath_space_alloc_request", "EBUSY"): NoSpace, ("lath_space_reserve", "ENOSPC"): NoSpace,
}


def test_every_call_has_an_operation():
    assert set(CALLS) <= set(OPERATIONS) and len(CALLS) >= 30 and set(MEANING) <= set(ERRORS)
    # and each call that can return a negative number is one of these
    unchecked = re.findall(r"(?:ret|result|error) = (lath_\w+)\(", SOURCES)
    assert not unchecked


@pytest.mark.parametrize("call", CALLS)
def test_errors_of(call):
    for error in ERRORS:
        run = OPERATIONS[call]()
        with planted(call, error):
            try:
                run()
            except Exception as raised:
                got = raised
            else:
                got = None
        if (call, error) in ANSWERS:
            continue
        assert got is not None, (call, error)
        assert (type(got) is MemoryError) == (error == "ENOMEM"), (call, error, got)
        expected = OWN.get((call, error), MEANING.get(error, OSError))
        assert isinstance(got, expected) or (call.startswith("lath_store") and isinstance(got, (OSError, KeyError))), (call, error, repr(got))
        if isinstance(got, OSError) and expected is not BlockingIOError:  # which has its own text
            assert got.errno == getattr(errno, error)


def test_the_table():
    for error in ERRORS:
        with pytest.raises(MEANING.get(error, OSError)) as raised:
            _core._raise(-getattr(errno, error))
        assert (type(raised.value) is MemoryError) == (error == "ENOMEM")
    with pytest.raises(OSError, match="12345"):
        _core._raise(-12345)


@pytest.mark.parametrize("key", [(3, 4), (), ((1, 2),), "a", 5])
def test_the_key_is_the_one_argument_of_key_error(key):
    calls = [lambda: SortedDict()[key], lambda: SortedDict().pop(key), lambda: SortedDict().__delitem__(key), lambda: SortedSet().remove(key)]
    calls += [lambda: SortedDict({(0,): 1})[key], lambda: SortedDict({(0,): 1}).pop(key)] if isinstance(key, tuple) else []
    calls += [lambda: Store()[key], lambda: Store().__delitem__(key)] if isinstance(key, str) else []
    calls += [lambda: RangeMap()[key]] if isinstance(key, int) else []
    for number, call in enumerate(calls):
        with pytest.raises(KeyError) as raised:
            call()
        assert raised.value.args == (key,), number


FILL = {
    "ints": (list(range(0, 300, 3)), list(range(200))),
    "floats": ([n / 7 for n in range(100)], [n / 3 for n in range(99)]),
    "texts": ([f"key {n}" for n in range(60)], [f"key {n}" for n in range(30, 90)]),
    "no texts": ([], ["a longer text", "b", "c"]),
    "no ints": ([], [5, 3, 3]),
}


@pytest.mark.parametrize("fill", FILL)
def test_want_of_memory_at_any_moment(fill):
    """Whichever call of the library gets no memory, all or nothing is done."""
    there, added = FILL[fill]
    failures = 0
    for call in ("lath_index_insert_item", "lath_index_load_sorted", "lath_index_insert_batch", "lath_index_init", "lath_bytes_init"):
        for after in range(3):
            made = Map(dict.fromkeys(there, "old"))
            for change in (lambda: made.update([(key, "new") for key in added]), lambda: made.__setitem__(added[0], "new")):
                before = list(made.items())
                try:
                    with planted(call, "ENOMEM", after):
                        change()
                except MemoryError:
                    failures += 1
                    made._verify()
                    assert list(made.items()) == before, (call, after)
            made._verify()
    assert failures


def test_want_of_memory_of_intervals_and_ranges():
    for after in range(12):
        tree = IntervalTree([Interval(1, 5), Interval(2, 9, "x")])
        before = tree.items()
        for change in (lambda: tree.update([Interval(0.5, 2)] + [Interval(n, n + 1) for n in range(9)]), lambda: tree.chop(3, 4), lambda: tree.slice(3),
                       lambda: tree.addi(7.5, 9), tree.split_overlaps, tree.merge_overlaps):
            try:
                with planted("lath_intervals_insert", "ENOMEM", after):
                    change()
            except MemoryError:
                assert tree.items() == before
            before = tree.items()
            tree.verify()
    made = RangeMap([(10, 20, "a"), (30, 40, "b")])
    for change in (lambda: made.__setitem__(slice(15, 35), 1), lambda: made.cut(12, 13), lambda: made.insert(50, 60)):
        for call in ("lath_index_store_range", "lath_index_insert_item"):
            before = list(made)
            try:
                with planted(call, "ENOMEM"):
                    change()
            except (MemoryError, ValueError):
                assert list(made) == before
            made._verify()
