# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""hostile.py CLASS [METHOD]...: calls every method of a class while other code changes the same object.

The other code runs at one of the places where CPython can run it in the middle of a call: between two
instructions of the package's Python code (another thread would run there), at the start of a
collection, which is asked for at each allocation (a finalizer would run), and in a comparison, hash,
conversion, key function or finalizer of what the call gets. Each place is an event. A call is repeated
with the other code at its first event, at its second, and so on. Afterwards the object is checked.

Each method is tried with some forms of keys and at some of its events; with names of methods, or with
LATH_HOSTILE=all, with all forms and at more events.

Methods are found by looking at the class. One that the table below has no arguments for is called with
common ones; if none is accepted the run fails, so a new method is either tried or listed here.
A crash ends the process: the last line names the call.
"""
import copy
import faulthandler
import gc
import io
import itertools
import operator
import os
import pickle
import sys
import warnings
from fractions import Fraction

import numpy

import lathwork
from lathwork import Interval, IntervalTree, Map, NoSpace, RangeAllocator, RangeMap, RangeSet, SortedDict, SortedKeyList, SortedList, SortedSet, Store, after

PACKAGE = os.path.dirname(lathwork.__file__)
ALLOWED = (RuntimeError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, NoSpace, StopIteration, OSError)
ALL = len(sys.argv) > 2 or os.environ.get("LATH_HOSTILE") == "all"
MOST = 400 if ALL else 150  # events of a call that are looked at

# ---- events ----

count = at = -1
act = None


def event():
    global count, act
    count += 1
    if count == at and act is not None:
        do, act = act, None
        try:
            do()
        except ALLOWED:
            pass


def trace(frame, kind, _):
    if not frame.f_code.co_filename.startswith(PACKAGE):
        return None
    frame.f_trace_opcodes = True
    if kind == "opcode":
        event()
    return trace


def collecting(phase, _):
    if phase == "start":
        event()


class Thing:
    """A value whose finalizer is an event."""

    def __del__(self):
        event()

    def __eq__(self, other):
        event()
        return self is other

    __hash__ = object.__hash__

    def __reduce__(self):
        event()
        return object, ()


class Key:
    """A key whose order is its number; it is a number too."""

    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        event()
        return self.number < getattr(other, "number", other)

    def __gt__(self, other):
        event()
        return self.number > getattr(other, "number", other)

    def __le__(self, other):
        event()
        return self.number <= getattr(other, "number", other)

    def __ge__(self, other):
        event()
        return self.number >= getattr(other, "number", other)

    def __eq__(self, other):
        event()
        return self.number == getattr(other, "number", other)

    def __hash__(self):
        event()
        return hash(self.number)

    def __index__(self):
        event()
        return int(self.number)

    def __float__(self):
        event()
        return float(self.number)

    def __sub__(self, other):
        event()
        return self.number - getattr(other, "number", other)

    def __rsub__(self, other):
        event()
        return getattr(other, "number", other) - self.number


class Text(str):
    """A text that is not an exact str."""

    def __lt__(self, other):
        event()
        return str.__lt__(self, other)

    def __eq__(self, other):
        event()
        return str.__eq__(self, other)

    def __hash__(self):
        event()
        return str.__hash__(self)


def by(value):
    event()
    return str(getattr(value, "number", value))[::-1]


def given(values):
    """An iterable that is an event per element."""
    for value in values:
        event()
        yield value
    event()


# ---- what is called ----

FORMS = {
    "ints": lambda n: n,
    "floats": lambda n: n / 4,
    "texts": lambda n: f"the same begin {n:04}",
    "mixed": lambda n: n // 2 if n % 2 else n // 2 + 0.0,
    "keys": Key,
    "subclass": lambda n: Text(f"the same begin {n:04}"),
    "tuples": lambda n: (n // 8, n),
    "key": lambda n: n,
}


def sorted_subjects(kind):
    for form, make in FORMS.items():
        size = 300 if form in ("texts", "subclass") else 70
        keys = [make(n) for n in range(size)]
        key = by if form == "key" else None
        if kind is SortedDict:
            yield form, make, lambda keys=keys, key=key: SortedDict(key, ((k, Thing()) for k in keys))
        elif kind is SortedKeyList:
            yield form, make, lambda keys=keys, make=make: SortedKeyList(keys, key=by if form == "key" else lambda v: v)
        elif kind is SortedList and key:
            continue
        else:
            yield form, make, lambda keys=keys, key=key: kind(keys, key=key)


def other_subjects(kind):
    if kind is Map:
        for form in ("ints", "floats", "texts"):
            yield form, FORMS[form], lambda make=FORMS[form]: Map((make(n), Thing()) for n in range(70))
        yield "keys", Key, lambda: Map((n, Thing()) for n in range(70))
    elif kind is IntervalTree:
        for form, make in (("ints", int), ("floats", float), ("fractions", Fraction)):
            yield form, make, lambda make=make: IntervalTree(Interval(make(i), make(i + 9), Thing()) for i in range(70))
    elif kind is RangeMap:
        for form, make in (("ints", int), ("keys", Key), ("floats", float)):
            yield form, make, lambda of=float if make is float else int: RangeMap((of(i * 4), of(i * 4 + 3), Thing()) for i in range(70))
    elif kind is RangeAllocator:
        yield "ints", int, lambda: some(RangeAllocator(0, 1 << 20))
        yield "keys", Key, lambda: some(RangeAllocator(0, 1 << 20))
    elif kind is Store:
        yield "bytes", lambda n: f"key {n:04}", lambda: fill(Store(), lambda n: f"key {n:04}")
        yield "int", int, lambda: fill(Store(keys="int"), int)
        yield "keys", Key, lambda: fill(Store(keys="int"), int)
    elif kind is Interval:
        yield "ints", int, lambda: Interval(1, 9, Thing())
        yield "keys", Key, lambda: Interval(Key(1), Key(9), Thing())


def some(pool):
    for _ in range(40):
        pool.alloc(3)
    return pool


def fill(store, make):
    for n in range(20):
        store[make(n)] = str(n)
    return store


def part(maker, owner_to_part):
    """A view or an iterator, and the container that the other code changes."""

    def make():
        owner = maker()
        made = owner_to_part(owner)
        made_of[id(made)] = owner
        return made

    return make


made_of = {}


def subjects(name):
    if name in ("SortedDict", "SortedSet", "SortedList", "SortedKeyList"):
        yield from sorted_subjects(getattr(lathwork, name))
    elif name in ("SortedKeysView", "SortedItemsView", "SortedValuesView"):
        call = {"SortedKeysView": "keys", "SortedItemsView": "items", "SortedValuesView": "values"}[name]
        for form, make, maker in sorted_subjects(SortedDict):
            yield form, make, part(maker, lambda owner: getattr(owner, call)())
    elif name == "Iterator":
        for form, make, maker in sorted_subjects(SortedDict):
            yield form, make, part(maker, iter)
        for form, make, maker in sorted_subjects(SortedSet):
            yield form, make, part(maker, reversed)
        for form, make, maker in other_subjects(Map):
            yield form, make, part(maker, lambda owner: iter(owner.items()))
    else:
        yield from other_subjects(getattr(lathwork, name))


# Another name, an exception, and classes in Python whose objects do not change.
NOT_TRIED = ("SortedListWithKey", "NoSpace", "RangeSet", "after", "RangeLocks", "Hold", "Deadlock")  # the last three keep no objects
CLASSES = [*(name for name in lathwork.__all__ if name not in NOT_TRIED), "Iterator"]

# Methods that are not called, and why.
LEFT_OUT = {
    "__init__": "of object: the class has none" if "Iterator" in sys.argv else "",
    "__init_subclass__": "belongs to the class",
    "__subclasshook__": "belongs to the class",
    "__class_getitem__": "belongs to the class",
    "__class__": "is not a call",
    "__new__": "makes an object without the rest; test_crash.py",
    "__getnewargs__": "of tuple",
    "__getattribute__": "of object",
    "__setattr__": "of object",
    "__delattr__": "of object",
    "__getstate__": "of object",
    "__dir__": "of object",
    "__sizeof__": "of object",
    "__format__": "of object",
    "__doc__": "is not a call",
    "__abstractmethods__": "is not a call",
    "_from_iterable": "belongs to the class",
    "_hash": "of collections.abc.Set; views have no hash of it",
    "from_tuples": "belongs to the class",
    "fromkeys": "belongs to the class",
    "_make": "belongs to the class",
    "_assign": "of a list that no other code has",
    "_list_add": "changes the list alone, for subclasses",
    "_list_remove": "likewise",
    "IntervalTree.__reversed__": "is not possible: a tree has no order",
}
LEFT_OUT = {name: reason for name, reason in LEFT_OUT.items() if reason}


def tree_arguments(make, subject):
    one, other = (lambda: make(5)), (lambda: make(30))
    interval = lambda: Interval(make(5), make(14), Thing())  # noqa: E731
    there = lambda: next(iter(subject._all()), None)  # noqa: E731
    fresh = lambda: given([Interval(make(n), make(n + 2), Thing()) for n in range(5)])  # noqa: E731
    table = {
        **{call: [(interval,), (there,)] for call in ("add", "append", "remove", "discard", "__contains__", "_find")},
        **{call: [(one, other, Thing)] for call in ("addi", "appendi", "removei", "discardi", "containsi")},
        **{call: [(one, other)] for call in ("overlap", "_overlap", "envelop", "overlaps", "_overlaps", "overlaps_range",
                                             "remove_envelop", "chop", "remove_overlap")},
        **{call: [(fresh,)] for call in ("update", "__init__", "_become", "__ior__", "__or__", "union")},
        "_add_all": [(fresh, lambda: Interval)], "_take": [(lambda: [there()],), (lambda: given([there()]),)],
        "_exchange": [(lambda: IntervalTree([Interval(make(1), make(2), Thing())]),)],
        "_edge": [(lambda: True,)], "_replace": [(lambda: [interval()],), (lambda: [there()], lambda: [interval()])],
        "_merge": [(lambda: lambda low, high: event() or True, lambda: lambda a, b: event(), Thing)],
        "merge_overlaps": [(), (lambda: lambda a, b: event(),)],
        "slice": [(one,), (one, lambda: lambda interval, lower: event())],
        "__getitem__": [(one,), (lambda: slice(make(3), make(9)),), (lambda: slice(None, None),)],
        "__delitem__": [(one,)],
        "__setitem__": [(lambda: slice(make(3), make(9)), Thing)],
    }
    return table, [(), (one,), (lambda: IntervalTree([Interval(1, 2), *itertools.islice(subject, 5)]),), (lambda: given([interval(), there()]),)]


def range_map_arguments(make, subject):
    one, other = (lambda: make(5)), (lambda: make(30))
    numbers = lambda: numpy.arange(3, 60)  # noqa: E731
    cut = lambda: slice(Key(3), Key(40))  # noqa: E731
    table = {
        **{call: [(one, other)] for call in ("cut", "_cut_if_any", "remove", "remove_overlapping", "overlapping", "gaps")},
        **{call: [(lambda: RangeSet([(3, 9), (20, after(30))]),)] for call in ("__and__", "__sub__", "__iand__", "__isub__")},
        **{call: [(lambda: make(300), lambda: make(310), Thing), (one, other, Thing)] for call in ("insert", "_insert", "_store")},
        "get_many": [(numbers,), (numbers, Thing)], "_get_many": [(numbers, Thing)], "_walk": [(lambda: subject._version, lambda: True)], "_page": [(lambda: None, lambda: True)], "_take": [(one, lambda: True)], "_become": [(lambda: given([(make(1), make(9), Thing()), (make(5), make(6), Thing())]),)],
        "__getitem__": [(one,)], "__delitem__": [(one,), (lambda: slice(make(3), make(90)),)],
        "__setitem__": [(lambda: slice(make(3), make(90)), Thing), (lambda: slice(make(5), make(6)), Thing)],
        "__init__": [(lambda: given([(1, 2, Thing()), (5, 6, Thing())]),)],
    }
    return table, [(), (one,), (lambda: RangeMap(subject),)]


def allocator_arguments(make, subject):
    one, other = (lambda: make(5)), (lambda: make(30))
    saved = some(RangeAllocator(0, 1 << 20)).save()
    table = {
        "alloc": [(lambda: 8,), (lambda: 8, lambda: 8, one, lambda: make(9000), lambda: "best")],
        "_alloc": [(lambda: 8, lambda: 0)], "_alloc_request": [(lambda: 8, lambda: 0, one, lambda: make(9000), lambda: 0, lambda: lathwork._core.Policy.last)],
        **{call: [(lambda: 50, lambda: 4, lambda: 0)] for call in ("alloc_many", "_alloc_many")}, "free_many": [(lambda: numpy.arange(0, 30, 3, dtype="uint64"), lambda: 3)],
        "free": [(lambda: make(3), lambda: make(6))], "reserve": [(lambda: make(3000), lambda: make(3006))],
        "load": [(lambda: saved,)], "__setstate__": [(lambda: saved,)], "__init__": [(one, other)], "__contains__": [(one,)], "_next": [(one, lambda: False)], "_runs": [(lambda: False,)],
    }
    return table, [()]


def store_arguments(make, subject):
    one, other = (lambda: make(5)), (lambda: make(30))
    text = lambda: bytearray(b"value")  # noqa: E731
    path = os.path.join("/tmp", f"lathwork-hostile-{os.getpid()}")
    table = {
        **{call: [(one,)] for call in ("__getitem__", "__delitem__", "__contains__", "_erase", "discard", "incr")},
        **{call: [(one, text)] for call in ("__setitem__", "add", "replace", "append", "get", "_get")},
        **{call: [(), (one, other)] for call in ("items", "keys", "values", "count", "__iter__")},
        "cas": [(one, text, text)], "_incr": [(one, lambda: 5)], "expire": [(one, lambda: 5)], "_expire": [(one, lambda: 10**15)],
        "update": [(lambda: given([(make(3), text()), (make(4), text())]),)], "_set_many": [(lambda: given([(make(3), text())]),)],
        "_walk": [(one, other, lambda: None, lambda: True, lambda: list)], "_page": [(one, other, lambda: None, lambda: True, lambda: 9)], "_own": [(one,)], "_count": [(one, other, lambda: None)],
        "save": [(lambda: path,)], "_save": [(lambda: path,)], "load": [(lambda: path,)], "_load": [(lambda: path,)],
        "__exit__": [(lambda: None, lambda: None, lambda: None)], "remove": [(lambda: "shm:lathwork-none",)], "__init__": [()],
    }
    return table, [()]


def interval_arguments(make, subject):
    one, other = (lambda: make(5)), (lambda: make(30))
    table = {"_replace": [()], "__reduce_ex__": [(lambda: 2,)]}
    return table, [(), (lambda: Interval(make(3), make(12), Thing()),), (one,), (one, other), (lambda: 2,)]


def sorted_arguments(make, subject):
    one, other, new = (lambda: make(5)), (lambda: make(30)), (lambda: make(1000))
    index = lambda: Key(3)  # noqa: E731
    cut = lambda: slice(Key(3), Key(40))  # noqa: E731
    many = lambda: given([make(n) for n in (3, 90, 4, 91, 92)])  # noqa: E731
    table = {
        "__init__": [(), (many,)],
        "update": [(many,), (lambda: given([(make(3), Thing()), (make(90), Thing())]),)],
        "_update": [(many,), (lambda: given([(make(3), Thing()), (make(90), Thing())]),)],
        "__getitem__": [(index,), (cut,), (one,)],
        "__delitem__": [(index,), (cut,), (one,)],
        "__setitem__": [(one, Thing), (cut, Thing), (one, lambda: "text")],
        "_add_all": [(many,)],
        "_become": [(lambda: SortedSet(list(subject)[::2], key=subject.key),)],
        "_remove_all": [(lambda: list(subject)[::3],), (lambda: given(list(subject)[::3]),)],
        "_part": [(lambda: set(list(subject)[::2]),)],
        "_copy": [(lambda: SortedKeyList([make(n) for n in range(9)], key=subject.key) if subject.key else SortedList([make(n) for n in range(9)]),)],
        "_walk": [(index, lambda: Key(30), lambda: True)],
        "_walk_between": [(one, lambda: True, other, lambda: False, lambda: True)],
        "_restart": [(lambda: by,), (lambda: None,)],
        "islice": [(index, lambda: Key(30)), (index, lambda: Key(30), lambda: True)],
        "irange": [(one, other), (one, other, lambda: (False, True), lambda: True), ()],
        "irange_key": [(one, other)],
        "index": [(one,), (one, lambda: Key(1), lambda: Key(60))],
        "__reduce_ex__": [(lambda: 2,)],
        "__deepcopy__": [(dict,)],
        "__mul__": [(lambda: 2,)],
        "__rmul__": [(lambda: 2,)],
        "__imul__": [(lambda: 2,)],
        "pop": [(), (one,), (one, Thing)],
        "popitem": [(), (lambda: 0,)],
        "setdefault": [(one, Thing), (new, Thing)],
    }
    if isinstance(subject, SortedDict):
        table["update"] = table["_update"] = table["update"][1:]
        table["__init__"] = [(), (lambda: given([(make(3), Thing())]),)]
        for call in ("__or__", "__ror__", "__ior__", "__eq__", "__ne__"):
            table[call] = [(lambda: {make(n): Thing() for n in range(3)},), (lambda: SortedDict([(make(1), Thing())]),)]
        return table, [(), (one,), (one, Thing)]
    return table, [(), (one,), (many,), (lambda: [make(n) for n in range(9)],), (lambda: {make(n) for n in range(9)},), (index,), (other, one)]


def map_arguments(make, subject):
    one, other, new = (lambda: make(5)), (lambda: make(30)), (lambda: make(1000))
    index, numbers = (lambda: Key(3)), (lambda: numpy.array([make(n) for n in range(3, 60)]))
    pairs = lambda: given([(make(3), Thing()), (make(90), Thing())])  # noqa: E731
    what = lambda: lathwork._core.What.items  # noqa: E731
    table = {
        "__init__": [(), (pairs,)], "update": [(pairs,), (lambda: {make(3): Thing()},)], "_update": [(pairs,)],
        **{call: [(numbers, lambda: [Thing() for _ in range(57)]), (numbers, lambda: numpy.arange(57))] for call in ("insert_many", "_insert_many")},
        **{call: [(numbers, Thing)] for call in ("get_many", "_get_many")}, **{call: [(numbers,)] for call in ("erase_many", "_erase_many", "contains_many", "_contains_many")},
        **{call: [(lambda: numpy.array([make(n) for n in range(5000, 5060)]), lambda: 5)] for call in ("get_ints", "_get_ints")}, "_at": [(index, what), (index, lambda: lathwork._core.What.keys)],
        "__setitem__": [(one, Thing), (new, lambda: 7)], "_popitem": [(index,)], "popitem": [(), (index,)], "peekitem": [(), (index,)],
        "_pop": [(one, Thing), (new, Thing)], "pop": [(one,), (new, Thing)], "setdefault": [(one, Thing), (new, Thing)],
        "_walk": [(lambda: True, what)], "_walk_between": [(one, lambda: True, other, lambda: False, lambda: True, what)],
        "irange": [(one, other), ()], "irange_items": [(one, other, lambda: (False, True), lambda: True), ()],
        "__eq__": [(lambda: {make(n): Thing() for n in range(3)},)], "__ne__": [(lambda: {make(n): Thing() for n in range(3)},)],
        "__reduce_ex__": [(lambda: 2,)], "__deepcopy__": [(dict,)],
    }
    return table, [(), (one,), (one, Thing)]


ARGUMENTS = {Map: map_arguments, IntervalTree: tree_arguments, RangeMap: range_map_arguments, RangeAllocator: allocator_arguments, Store: store_arguments, Interval: interval_arguments}


def arguments(name, method, make, subject):
    """Lists of arguments to try. Values are made anew for each call."""
    found = (of for kind, of in ARGUMENTS.items() if isinstance(subject, kind))
    table, common = next(found, sorted_arguments)(make, subject)
    yield from table.get(name, table.get(name.removeprefix("_"), common))  # _add has the arguments of add


def actions(subject, make):
    """What the other code does to the object."""
    owner = made_of.get(id(subject), subject)
    again = iter(()) if isinstance(owner, (Interval, Store, RangeAllocator)) else None

    def use():
        for _ in zip(range(30), iter(owner)):
            pass

    if isinstance(owner, (SortedDict, Map)):
        yield from (owner.clear, lambda: [owner.pop(make(n), None) for n in range(40)], lambda: owner.update((make(n), Thing()) for n in range(60, 90)),
                    use, lambda: owner.__init__([(make(1), 2)]), lambda: owner.__setitem__(make(5), Thing()),
                    lambda: owner.erase_many(numpy.arange(60)) if isinstance(owner, Map) else owner.keys().__delitem__(slice(3, 60)))
    elif isinstance(owner, (SortedList, SortedSet)):
        yield from (owner.clear, lambda: [owner.pop() for _ in range(40)], lambda: owner.update(make(n) for n in range(60, 90)), use,
                    lambda: owner.__init__([make(3)]), lambda: owner.__delitem__(slice(1, 60)))
    elif isinstance(owner, IntervalTree):
        yield from (owner.clear, lambda: [owner.pop() for _ in range(40)], lambda: owner.addi(0.5, 2.5, Thing()), use,
                    lambda: owner.__init__([(1.5, 2)]), lambda: owner.update(Interval(n, n + 1, Thing()) for n in range(40)))
    elif isinstance(owner, RangeMap):
        yield from (owner.clear, lambda: owner.cut(3, 200), lambda: owner.__setitem__(slice(2, 90), Thing()), use, lambda: owner.__init__([(1, 9, Thing())]))
    elif isinstance(owner, RangeAllocator):
        yield from (lambda: owner.alloc_many(100, 4), lambda: owner.free_many(numpy.arange(0, 60, 3, dtype="uint64"), 3), lambda: owner.reserve(5000, 5100),
                    lambda: [owner.free(*run) for run in list(owner.allocated())], lambda: owner.load(RangeAllocator(0, 1 << 20).save()))
    elif isinstance(owner, Store):
        yield from (owner.close, lambda: [owner.discard(key) for key in list(owner)], lambda: owner.update((key, "v" * 500) for key in list(owner)), owner.compact)
    else:
        yield gc.collect


def check(subject):
    owner = made_of.pop(id(subject), subject)
    if isinstance(owner, Store):
        owner.close()
    elif hasattr(owner, "_verify"):
        owner._verify()
        repr(owner)


def use_up(result):
    """Looks at what a call gave: a dead reference is seen by looking."""
    if hasattr(result, "__next__"):
        result = list(itertools.islice(result, 500))
    if isinstance(result, (list, set, tuple)):
        for one in result:
            str(type(one)), getattr(one, "number", None)
            if isinstance(one, tuple):
                [type(inner) for inner in one]


def once(subject, method, values, do, where):
    """One call with the other code at event number `where`. Returns how many events there were."""
    global act, at, count
    call = getattr(subject, method)
    gc.collect()
    gc.set_threshold(1, 1000, 1000)
    gc.callbacks.append(collecting)
    act, at, count = do, where, -1
    sys.settrace(trace)
    try:
        use_up(call(*values))
        error = None
    except ALLOWED as caught:
        error = caught
    finally:
        sys.settrace(None)
        gc.callbacks.remove(collecting)
        gc.set_threshold(700, 10, 10)
        act = None
    return count + 1, error


def places(n):
    """The first events, and some of the others."""
    at, first, then = 0, 16 if ALL else 6, 6 if ALL else 2
    while at < min(n, MOST):
        yield at
        at += 1 if at < first else at // then


def try_method(name, method, forms):
    """Returns how many calls were made, and whether one was accepted."""
    made, accepted = 0, False
    turn = sum(method.encode())
    some_forms = forms if ALL else [forms[(turn + i * 3) % len(forms)] for i in range(min(2, len(forms)))]
    for form, make, maker in [*some_forms, *([] if ALL else forms)]:
        if accepted and (form, make, maker) not in some_forms:
            break  # the other forms are for methods that these do not have
        variants = len(list(arguments(method, None, make, maker())))
        taken = 0
        for variant in range(variants):
            if taken == 2 and not ALL:
                break
            print(f"{name}.{method} {form} {variant}", flush=True)

            def run(action, where):
                subject = maker()
                values = [value() for value in list(arguments(method, None, make, subject))[variant]]
                do = None if action is None else list(actions(subject, make))[action]
                result = once(subject, method, values, do, where)
                check(subject)
                return result

            events, error = run(None, -1)
            if isinstance(error, (TypeError, AttributeError)) and not isinstance(error, UnicodeError):
                continue
            accepted = True
            taken += 1
            subject = maker()
            kinds = len(list(actions(subject, make)))
            made_of.pop(id(subject), None)
            for number, where in enumerate(places(events)):
                for action in range(kinds) if where < (4 if ALL else 2) else [(number + turn) % kinds]:
                    run(action, where)
                    made += 1
    return made, accepted


def main():
    faulthandler.enable()
    faulthandler.dump_traceback_later(550, exit=True)
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None
    name = sys.argv[1]
    forms = list(subjects(name))
    gc.collect()
    gc.freeze()  # a collection looks at the objects of a call only
    example = forms[0][2]()
    total, missed = 0, []
    for method in sys.argv[2:] or dir(type(example)):
        member = getattr(type(example), method, None)
        if method in LEFT_OUT or f"{name}.{method}" in LEFT_OUT or not callable(member) or member is getattr(object, method, None):
            continue
        made, accepted = try_method(name, method, forms)
        total += made
        if not accepted:
            missed.append(method)
    print(f"{name}: {total} calls")
    if missed:
        print(f"no arguments are accepted by, and LEFT_OUT has no reason for: {', '.join(missed)}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
