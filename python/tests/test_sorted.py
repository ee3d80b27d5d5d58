# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""SortedDict, SortedSet and SortedList against dict and sorted lists of Python."""
import bisect
import copy
import ctypes
import decimal
import fractions
import gc
import math
import multiprocessing
import operator
import pickle
import resource
import sqlite3
import sys
import threading
import weakref

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from lathwork import SortedDict, SortedKeyList, SortedList, SortedSet

LIMITS = [0, 1, -1, 2**62, -(2**62), 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30, -(10**30)]
NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.sampled_from(LIMITS),
    st.integers(),
    st.floats(allow_nan=False),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 2.0**63, math.inf, -math.inf, True, fractions.Fraction(1, 3), decimal.Decimal("2.5")]),
)
TEXTS = st.one_of(
    st.text(alphabet="ab\0é\U0001f600", max_size=20), st.integers(0, 600).map(lambda number: f"customer:{number:05}")
)
KINDS = {
    "ints": st.integers(-(2**63), 2**63 - 1) | st.integers(-30, 30),
    "floats": st.floats(allow_nan=False),
    "numbers": NUMBERS,
    "texts": TEXTS,
    "bytes": TEXTS.map(lambda text: text.encode()),
    "tuples": st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
}


def numbers_like(one, prefix, numbers):
    """As many keys of the type of one; none if it is not a text or a number."""
    if isinstance(one, str):
        return [f"{'prefix--' * prefix}{number:08}" for number in numbers]
    return [type(one)(number) / 7 for number in numbers] if isinstance(one, (int, float)) else []


def check_range(values, model, order, low, high, ends, back):
    cut = bisect.bisect_left if ends[0] else bisect.bisect_right
    start = cut(model, order(low), key=order)
    cut = bisect.bisect_right if ends[1] else bisect.bisect_left
    stop = cut(model, order(high), key=order)
    expected = model[start:max(start, stop)]
    assert list(values.irange(low, high, ends, back)) == (expected[::-1] if back else expected)
    assert values.bisect_left(low) == bisect.bisect_left(model, order(low), key=order)
    assert values.bisect_right(low) == bisect.bisect_right(model, order(low), key=order)
    assert values.count(low) == model.count(low)


class Positions(RuleBasedStateMachine):
    """Rules that name positions in self.values, and in self.model."""

    @rule(data=st.data())
    def remove_at(self, data):
        if self.model:
            at = data.draw(st.integers(-len(self.model), len(self.model) - 1))
            assert self.values.pop(at) == self.model.pop(at)

    @rule(start=st.integers(-9, 9) | st.none(), stop=st.integers(-9, 9) | st.none(), step=st.sampled_from([None, 1, 2, -1, -3]))
    def remove_slice(self, start, stop, step):
        assert self.values[start:stop:step] == self.model[start:stop:step]
        del self.values[start:stop:step]
        del self.model[start:stop:step]


def list_machine(keys, key):
    """A state machine that compares a SortedList with a list."""
    order = key or (lambda value: value)

    class Machine(Positions):
        def __init__(self):
            super().__init__()
            self.values, self.model = SortedList(key=key), []

        @rule(value=keys)
        def add(self, value):
            self.values.add(value)
            self.model.insert(bisect.bisect_right(self.model, order(value), key=order), value)

        @rule(values=st.lists(keys, max_size=30))
        def update(self, values):
            self.values.update(values)
            self.model = sorted(self.model + values, key=order)

        @rule(prefix=st.integers(0, 3), low=st.integers(0, 300), count=st.integers(250, 400), one=keys)
        def many(self, prefix, low, count, one):
            """So many that buckets become levels."""
            self.update(numbers_like(one, prefix, range(low, low + count)))

        @rule(value=keys)
        def remove(self, value):
            if value in self.model:
                self.model.remove(value)
                self.values.remove(value)
            else:
                assert value not in self.values
                self.values.discard(value)
                with pytest.raises(ValueError):
                    self.values.remove(value)

        @rule(low=keys, high=keys, ends=st.tuples(st.booleans(), st.booleans()), back=st.booleans())
        def ranges(self, low, high, ends, back):
            check_range(self.values, self.model, order, low, high, ends, back)

        @rule()
        def clear(self):
            self.values.clear()
            self.model = []

        @invariant()
        def same(self):
            self.values._verify()
            assert list(self.values) == self.model and len(self.values) == len(self.model)
            assert list(reversed(self.values)) == self.model[::-1]
            assert [self.values[at] for at in range(0, len(self.model), 7)] == self.model[::7]

    return Machine


def machine(keys, key=None):
    """A state machine that compares a SortedList and a SortedDict with a list and a dict."""

    class Machine(list_machine(keys, key)):
        def __init__(self):
            super().__init__()
            self.dict, self.pairs = (SortedDict(key) if key else SortedDict()), {}

        @rule(value=keys, number=st.integers() | st.none() | st.text())
        def put(self, value, number):
            self.dict[value] = self.pairs[value] = number
            assert self.dict[value] == number

        @rule(pairs=st.lists(st.tuples(keys, st.integers() | st.text()), max_size=30))
        def put_many(self, pairs):
            self.dict.update(pairs)
            self.pairs.update(pairs)

        @rule(value=keys)
        def take(self, value):
            assert (value in self.dict) == (value in self.pairs)
            assert self.dict.get(value, self) == self.pairs.get(value, self)
            assert self.dict.setdefault(value, 5) == self.pairs.setdefault(value, 5)
            assert self.dict.pop(value) == self.pairs.pop(value)
            with pytest.raises(KeyError):
                self.dict[value]

        @invariant()
        def same_dict(self):
            self.dict._verify()
            if key is None:
                assert list(self.dict.items()) == sorted(self.pairs.items(), key=lambda pair: pair[0])
            else:
                assert dict(self.dict.items()) == self.pairs

    Machine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=True)
    return Machine.TestCase


TestInts = machine(KINDS["ints"])
TestFloats = machine(KINDS["floats"])
TestNumbers = machine(NUMBERS)
TestTexts = machine(TEXTS)
TestBytes = machine(KINDS["bytes"])
TestTuples = machine(KINDS["tuples"])
TestKeyInts = machine(st.integers(-50, 50), lambda value: value % 7)
TestKeyTexts = machine(TEXTS, lambda value: value[:3])


@given(st.lists(NUMBERS), st.lists(NUMBERS))
@settings(deadline=None, derandomize=True)
def test_sets(ours, others):
    mine, model = SortedSet(ours), set(ours)
    for name in ("union", "intersection", "difference", "symmetric_difference"):
        assert getattr(mine, name)(others) == getattr(model, name)(others)
        changed = mine.copy()
        getattr(changed, {"union": "update"}.get(name, f"{name}_update"))(others)
        assert changed == getattr(model, name)(others)
        changed._verify()
    assert list(mine) == sorted(model)


def test_what_has_no_order_is_refused():
    """As in sortedcontainers: what compares with nothing; a NaN and a lone surrogate are keys as others."""
    for container in (SortedList([1]), SortedSet([1]), SortedDict({1: "one"})):
        before = list(container)
        for wrong in ("one", None, 1j):
            with pytest.raises(TypeError):
                container.update({wrong: 2})
            with pytest.raises(TypeError):
                container.__setitem__(wrong, 2) if isinstance(container, dict) else container.add(wrong)
            container._verify()
            assert list(container) == before
    for container in (SortedSet([1]), SortedDict({1: "one"})):
        with pytest.raises(TypeError, match="unhashable"):
            [1] in container
    values = SortedDict({None: 1.0})
    assert None in values and values[None] == 1.0 and list(values) == [None] and values == {None: 1.0}
    texts = SortedList(["\ud800", "a", "\uffff", "\U00010000", "\udfff"])
    assert list(texts) == sorted(texts) and "\ud800" in texts
    numbers = SortedDict.fromkeys(range(3000))
    numbers[math.nan] = 5
    assert numbers[math.nan] == 5 and all(number in numbers for number in range(3000))
    for number in range(3000):
        del numbers[number]
    assert numbers.pop(math.nan) == 5 and not numbers and not numbers._list


def test_objects_among_numbers():
    class Odd:
        def __init__(self, number):
            self.number = number

        def __lt__(self, other):
            return self.number < getattr(other, "number", other)

        def __gt__(self, other):
            return self.number > getattr(other, "number", other)

    values = SortedList([1, 3, 5])
    values.add(Odd(4))
    assert [getattr(value, "number", value) for value in values] == [1, 3, 4, 5]
    values._verify()


def test_changes_during_iterations():
    for container, change in (
        (SortedList(range(100)), lambda c: c.add(3)),
        (SortedSet(map(str, range(100))), lambda c: c.pop()),
        (SortedDict.fromkeys(range(100)), lambda c: c.__setitem__(500, 1)),
        (SortedDict.fromkeys(range(100)), lambda c: c.clear()),
    ):
        iterator = iter(container)
        next(iterator)
        change(container)
        with pytest.raises(RuntimeError, match="during the iteration"):
            next(iterator)
    for index, wanted in ((3, [1, 2, 3]), (-1, [0, 1, 2])):  # behind the last item nothing is missed
        values = SortedList(range(4))
        seen = []
        for value in values.islice(wanted[0], wanted[-1] + 1):
            seen.append(value)
            if value == wanted[-1]:
                values.add(index)
        assert seen == wanted
    pairs = SortedDict.fromkeys(range(100), "old")
    for key, value in pairs.items():  # values may change
        assert value == ("new" if key else "old")
        pairs[key + 1 if key < 99 else 0] = "new"


def test_names_of_subclasses():
    """What subclasses of sortedcontainers' classes, and their tests, use of it."""
    for made in (SortedDict(operator.neg, {1: 2}), SortedSet([1], key=operator.neg), SortedKeyList([1], key=operator.neg)):
        made._check()
        assert made._key is made.key is operator.neg
    made._list.add(3)
    made._list._assign([-1, -3], [1, 3])
    with pytest.raises(RuntimeError, match="out of order"):
        made._check()


def test_changes_within_a_comparison():
    class Bad(str):
        container = None

        def __lt__(self, other):
            self.container.clear()
            return True

    values = SortedList([Bad("something long"), Bad("something long")][:1])
    Bad.container = values
    with pytest.raises(RuntimeError, match="within a comparison"):
        values.add(Bad("something long"))
    values._verify()


def test_copies():
    for container in (SortedList([2, 1.5, 10**30]), SortedKeyList("abc", key=str.upper), SortedSet([3, 1]), SortedDict({"a": [1], "b": 2})):
        for made in (copy.copy(container), copy.deepcopy(container), container.copy(), pickle.loads(pickle.dumps(container))):
            assert made == container and type(made) is type(container) and made is not container
            assert repr(made) == repr(container)
    # of version 0.2
    assert pickle.loads(b"clathwork.sorted\nSortedDict\n(N(dI2\nI3\nsI1\nI2\nstR.") == {1: 2, 2: 3}
    assert pickle.loads(b"clathwork.sorted\nSortedSet\n((lI2\naI1\naNtR.") == {1, 2}
    assert pickle.loads(b"clathwork.sorted\nSortedList\n((lI2\naI1\natR.") == [1, 2]
    nested = SortedDict({"a": [1]})
    assert copy.copy(nested)["a"] is nested["a"] and copy.deepcopy(nested)["a"] is not nested["a"]


def test_subclasses():
    class Default(SortedDict):
        def __missing__(self, key):
            return key * 2

    assert Default({1: 1})[21] == 42

    class Bare(SortedDict):
        def __init__(self):
            pass

    bare = Bare()
    bare[1] = 2
    assert bare == {1: 2} and isinstance(bare, dict)


def test_subclasses_that_set_items_of_dict():
    """As ValueSortedDict of sortedcollections does: its order is that of the values."""
    class ByValue(SortedDict):
        def __init__(self, *args):
            super().__init__(lambda key: self[key], *args)

        def __delitem__(self, key):
            self._list_remove(key)
            dict.__delitem__(self, key)

        def __setitem__(self, key, value):
            if key in self:
                del self[key]
            dict.__setitem__(self, key, value)
            self._list_add(key)

        _setitem = __setitem__

    made = ByValue({"a": 2, "b": 1, "c": 3})
    made["d"] = 0
    made.update({"a": 9, "e": 5})
    del made["c"]
    assert list(made) == ["d", "b", "e", "a"] and made.pop("b") == 1 and made.popitem() == ("a", 9) and made.setdefault("z", -1) == -1
    made._verify()
    assert list(made.items()) == [("z", -1), ("d", 0), ("e", 5)]


def test_cycles_are_collected():
    class Thing:
        pass

    for make in (lambda thing: SortedDict({1: thing}), lambda thing: SortedDict({"a longer key": thing}),
                 lambda thing: SortedKeyList([thing], key=lambda value: 1)):
        thing = Thing()
        thing.container = make(thing)
        gone = weakref.ref(thing)
        del thing
        gc.collect()
        assert gone() is None


def test_references_are_released():
    value = object()
    before = sys.getrefcount(value)
    for keys in (range(100), [number / 3 for number in range(100)], [f"a longer key {number}" for number in range(1000)], [(1, number) for number in range(50)]):
        made = SortedDict((key, value) for key in keys)
        made.update((key, value) for key in keys)
        for key in list(keys)[:10]:
            del made[key]
            made.pop(key, None)
        made.setdefault(keys[20], value)
        assert next(iter(made.values())) is value
        del made[made.keys()[3]]
        made._verify()
        del made
    assert sys.getrefcount(value) == before


def test_memory_is_released():
    def work():
        for _ in range(20):
            values = SortedList(range(20000))
            values.update(f"key number {n}" for n in ()) or values.clear()
            pairs = SortedDict((f"user:{n}", str(n)) for n in range(5000))
            for n in range(5000):
                del pairs[f"user:{n}"]

    work()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(5):
        work()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8000  # KiB


def worker(made, number):
    made[number] = "child"
    made._verify()
    return len(made), made[5]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers(method):
    made = SortedDict({5: "five", 6: "six"})
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.starmap(worker, [(made, 7), (made, 8)]) == [(3, "five")] * 2
    assert list(made) == [5, 6]


def test_fork_while_threads_work():
    made, stop = SortedList(), threading.Event()

    def work():
        while not stop.is_set():
            made.update(range(2000))
            made.clear()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            process = multiprocessing.get_context("fork").Process(target=fork_child)
            process.start()
            process.join(20)
            assert process.exitcode == 0
    finally:
        stop.set()
        thread.join()


def fork_child():
    values = SortedList(range(1000))
    values.update(range(1000))
    values._verify()


def item_of(made, at):
    return ctypes.pythonapi.PySequence_GetItem(ctypes.py_object(made), ctypes.c_ssize_t(at))


AS_SEQUENCES = {
    "numpy.array": lambda made: numpy.array(made).tolist(),
    "numpy.mean": lambda made: float(numpy.mean(made)),
    "numpy.median": lambda made: float(numpy.median(made)),
    "numpy.percentile": lambda made: float(numpy.percentile(made, 30)),
    "numpy.diff": lambda made: numpy.diff(made).tolist(),
    "numpy.isin": lambda made: numpy.isin([1, 7], made).tolist(),
    "numpy.interp": lambda made: float(numpy.interp(1.5, made, [10, 20, 30])),
    "numpy.searchsorted": lambda made: int(numpy.searchsorted(made, 2)),
    "numpy.concatenate": lambda made: numpy.concatenate([made, made]).tolist(),
    "index of an array": lambda made: numpy.arange(9)[made].tolist(),
    "bisect": lambda made: (bisect.bisect(made, 2), bisect.bisect_left(made, 2)),
    "sqlite3": lambda made: sqlite3.connect(":memory:").execute("select ?, ?, ?", made).fetchone(),
    "operator.indexOf": lambda made: operator.indexOf(made, 3),
    "PySequence_GetItem": lambda made: [item_of(made, at) for at in (0, 2, -1, -3)],
}


@pytest.mark.parametrize("kind", [SortedList, SortedSet, SortedKeyList, lambda keys: SortedDict.fromkeys(keys).keys()])
def test_c_code_takes_them_for_sequences(kind):
    """PySequence_Check() decides it; of sortedcontainers it is true."""
    ctypes.pythonapi.PySequence_GetItem.restype = ctypes.py_object
    for what, call in AS_SEQUENCES.items():
        assert call(kind([3, 1, 2])) == call([1, 2, 3]), what
    for at in (3, -7):
        with pytest.raises(IndexError):
            item_of(kind([3, 1, 2]), at)


def test_concatenation_in_c_code():
    assert list(operator.concat(SortedList([1]), SortedList([2]))) == [1, 2]
    assert not ctypes.pythonapi.PySequence_Check(ctypes.py_object(SortedDict()))
