# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Map against dict and sorted lists of Python."""
import bisect
import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from lathwork import Map

TEXTS = st.one_of(st.text(alphabet="ab\0é\U0001f600\ud800", max_size=20), st.integers(0, 600).map(lambda number: f"customer:{number:05}"))
VALUES = st.integers() | st.none() | st.text()
KINDS = {
    "ints": st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30),
    "floats": st.floats(allow_nan=False),
    "texts": TEXTS,
    "bytes": TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
}


def machine(keys):
    """A state machine that compares a Map with a dict."""

    class Machine(RuleBasedStateMachine):
        def __init__(self):
            super().__init__()
            self.map, self.model = Map(), {}

        @rule(key=keys, value=VALUES)
        def put(self, key, value):
            self.map[key] = self.model[key] = value

        @rule(pairs=st.lists(st.tuples(keys, VALUES), max_size=30))
        def put_many(self, pairs):
            self.map.update(pairs)
            self.model.update(pairs)

        @rule(key=keys)
        def take(self, key):
            assert (key in self.map) == (key in self.model) and self.map.get(key, self) == self.model.get(key, self)
            assert self.map.setdefault(key, 5) == self.model.setdefault(key, 5)
            assert self.map.pop(key) == self.model.pop(key)
            with pytest.raises(KeyError):
                self.map[key]

        @rule(at=st.integers(-9, 9))
        def take_at(self, at):
            order = sorted(self.model)
            if -len(order) <= at < len(order):
                assert self.map.peekitem(at) == (order[at], self.model[order[at]]) == self.map.popitem(at)
                del self.model[order[at]]
            else:
                with pytest.raises((IndexError, KeyError)):
                    self.map.popitem(at)

        @rule(low=keys, high=keys, ends=st.tuples(st.booleans(), st.booleans()), back=st.booleans())
        def ranges(self, low, high, ends, back):
            order = sorted(self.model)
            start = (bisect.bisect_left if ends[0] else bisect.bisect_right)(order, low)
            stop = (bisect.bisect_right if ends[1] else bisect.bisect_left)(order, high)
            expected = order[start:max(start, stop)]
            assert list(self.map.irange(low, high, ends, back)) == (expected[::-1] if back else expected)
            assert list(self.map.irange_items(low, high, ends)) == [(key, self.model[key]) for key in expected]
            assert self.map.bisect_left(low) == bisect.bisect_left(order, low) and self.map.bisect_right(low) == bisect.bisect_right(order, low)

        @rule()
        def clear(self):
            self.map.clear()
            self.model = {}

        @invariant()
        def same(self):
            self.map._verify()
            order = sorted(self.model)
            assert list(self.map.items()) == [(key, self.model[key]) for key in order] and list(reversed(self.map)) == order[::-1]
            assert self.map == self.model and len(self.map) == len(order) and all(self.map.index(key) == at for at, key in enumerate(order))

    Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
    return Machine.TestCase


TestInts = machine(KINDS["ints"])
TestFloats = machine(KINDS["floats"])
TestTexts = machine(KINDS["texts"])
TestBytes = machine(KINDS["bytes"])


@pytest.mark.parametrize("keys, wrong, between", [
    ([1, 5], [(1.5, TypeError), ("a", TypeError), (None, TypeError), (2**63, OverflowError), (-(2**70), OverflowError), (math.nan, ValueError)],
     [(1.5, 1), (-1e300, 0), (2**70, 2), (math.inf, 2)]),
    ([1.5, 2.0**60], [("a", TypeError), (2**60 + 1, OverflowError), (math.nan, ValueError)], [(2, 1), (2**60 + 1, 2), (-(10**400), 0), (2**60 - 1, 1)]),
    (["a", "b"], [(b"a", TypeError), (1, TypeError), (["a"], TypeError)], [("aa", 1)]),
    ([b"a", b"b"], [("a", TypeError), (1, TypeError)], [(b"", 0)]),
])
def test_keys_of_other_types(keys, wrong, between):
    made = Map.__new__(Map)
    made.__init__((key, str(key)) for key in keys)
    for key, error in wrong:
        with pytest.raises(error):
            made[key] = 1
        with pytest.raises(error):
            made.update([(keys[0], "new"), (key, 1)])
        assert key not in made and made.get(key, 7) == 7 and made.pop(key, 7) == 7
        with pytest.raises(KeyError):
            made[key]
        if error is TypeError and not isinstance(key, float):
            with pytest.raises(TypeError):
                made.bisect_left(key)
        assert list(made.items()) == [(key, str(key)) for key in keys]
    for key, rank in between:
        assert made.bisect_left(key) == made.bisect_right(key) == rank and list(made.irange(key)) == keys[rank:]
    made.clear()
    made["any"] = 1  # an empty map takes any kind
    assert list(made) == ["any"]


def test_equal_numbers_and_numpy_scalars():
    made = Map({1: "int"})
    made[1.0] = "float"
    made[numpy.int64(2)] = "numpy"
    assert list(made.items()) == [(1, "float"), (2, "numpy")] and made[True] == "float" and made[numpy.float64(2)] == "numpy"
    reals = Map({0.5: 1})
    reals[2] = 3
    assert list(map(repr, reals)) == ["0.5", "2.0"] and reals[2] == 3


def test_references():
    value, number = object(), int("1" * 30)
    before = [sys.getrefcount(value), sys.getrefcount(number)]
    for make in (lambda n: n, lambda n: n / 3, lambda n: f"a longer key {n}", lambda n: b"%d" % n):
        made = Map((make(n), value) for n in range(300))
        made.update((make(n), number if n % 2 else value) for n in range(400))
        with pytest.raises(TypeError):
            made.update([(make(5), number), ({}, 1)])
        del made[make(3)]
        made.pop(make(4))
        made.popitem(0)
        assert made.setdefault(make(20), 5) is value and made.copy() == made
        made._verify()
        made.clear()
    del made
    gc.collect()
    assert [sys.getrefcount(value), sys.getrefcount(number)] == before


@pytest.mark.parametrize("kind", ["texts", "bytes"])
def test_records_are_freed(kind):
    tracemalloc.start()
    try:
        made = Map((f"key {n}" if kind == "texts" else b"key %d" % n, n) for n in range(1000))
        filled = tracemalloc.get_traced_memory()[0]
        made.clear()
        assert tracemalloc.get_traced_memory()[0] < filled - 20000
    finally:
        tracemalloc.stop()


def test_copies_and_cycles():
    made = Map({"a": [1], "b": 2})
    for other in (copy.copy(made), copy.deepcopy(made), made.copy(), pickle.loads(pickle.dumps(made))):
        assert other == made and type(other) is Map and repr(other) == "Map({'a': [1], 'b': 2})"
    thing = Map()
    thing["me"] = [thing]
    gone = weakref.ref(thing)
    assert repr(thing) == "Map({'me': [...]})"
    del thing
    gc.collect()
    assert gone() is None


MEASURE = """
import random, sys
from lathwork import Map
rand = random.Random(1)
make = eval("lambda: " + sys.argv[1])
keys = [make() for _ in range(200000)]
held = lambda: int(open("/proc/self/statm").read().split()[1]) * 4096
filled, before = Map(), held()
for i, key in enumerate(keys):
    filled[key] = i + 1000
print((held() - before) / len(filled))
"""


@pytest.mark.parametrize("key, most", [("rand.getrandbits(62)", 31), ("rand.random()", 31), ("f'{rand.getrandbits(64):020d}'", 83)])
def test_memory(key, most):
    """Bytes per key and value: in an index, and for a text a record of its bytes."""
    made = subprocess.run([sys.executable, "-B", "-c", MEASURE, key], capture_output=True, text=True, check=True)
    assert 18 < float(made.stdout) < most


def test_arrays():
    keys = numpy.array([5, -3, 2**40, 5, 7], dtype=numpy.int64)
    made = Map()
    made.insert_many(keys, numpy.array([1, 2, 2**63 - 1, 4, 5]))
    assert dict(made.items()) == {5: 4, -3: 2, 2**40: 2**63 - 1, 7: 5}
    made.insert_many([5, 100], ["five", None])
    assert made.get_many([100, 5, 6, 2**40], default="no") == [None, "five", "no", 2**63 - 1]
    assert made.contains_many(keys[::2]).tolist() == [True, True, True]
    assert made.keys_array().tolist() == list(made) and made.keys_array().dtype == numpy.int64
    assert numpy.array(made.keys()).tolist() == list(made) and numpy.asarray(made.keys()).dtype == numpy.int64
    assert numpy.array(made.values()).tolist() == list(made.values())
    assert made.erase_many([5, 5, 6, -3]) == 2 and list(made) == [7, 100, 2**40]
    del made[100]
    assert made.get_ints(numpy.array([7, 8], dtype=numpy.int32), default=-1).tolist() == [5, -1]
    made._verify()
    for wrong, error in (([2**63], OverflowError), ([1.5], TypeError), (["a"], TypeError), ([[1]], TypeError)):
        with pytest.raises(error):
            made.insert_many(numpy.array(wrong), [1])
    with pytest.raises(ValueError):
        made.insert_many([1], [1, 2])
    with pytest.raises(ValueError):
        Map().insert_many([math.nan], [1])
    reals = Map({0.5: 1})
    reals.insert_many(numpy.array([-1.5, 0.0, 0.5]), [1, 2, 3])
    assert reals.keys_array().tolist() == [-1.5, 0.0, 0.5] and list(reals.values()) == [1, 2, 3]


@given(st.lists(st.lists(st.integers(-40, 40))), st.lists(st.integers(-40, 40)))
@settings(deadline=None, derandomize=True)
def test_arrays_as_single_calls(parts, gone):
    pairs = Map()
    for part in parts:
        pairs.insert_many(numpy.array(part, dtype=numpy.int64), [str(value) for value in part])
    pairs.erase_many(numpy.array(gone, dtype=numpy.int64))
    assert list(pairs) == sorted({value for part in parts for value in part} - set(gone))
    assert all(value == str(key) for key, value in pairs.items())
    pairs._verify()


def test_threads():
    """Batches without the GIL beside single calls: every value is the right one, none is lost."""
    made = Map((key, "single") for key in range(0, 60000, 3))
    stop, errors = threading.Event(), []

    def guard(work):
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            errors.append(error)

    def read():
        for key, value in zip(range(2000), made.get_many(numpy.arange(2000))):
            assert value is None or value in ("single", f"{key}"), (key, value)

    def write():
        keys = numpy.arange(1, 60000, 3)
        made.insert_many(keys, [str(key) for key in keys])
        assert made.erase_many(keys) == len(keys)

    def single():
        for key in range(2, 3000, 3):
            made[key] = str(key)
        for key in range(2, 3000, 3):
            assert made.pop(key) == str(key)

    threads = [threading.Thread(target=guard, args=(work,)) for work in (read, read, write, single)]
    for thread in threads:
        thread.start()
    stop.wait(1.5)
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    made._verify()
    assert list(made) == list(range(0, 60000, 3))
