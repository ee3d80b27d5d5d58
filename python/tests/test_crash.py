# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Programs that would end by a signal, or never, if a call believed what it found before other code ran.

Each runs in its own process: a crash is a failure with the program's name.
"""
import operator
import subprocess
import sys
import textwrap
import weakref

import pytest

from lathwork import Map, RangeAllocator, RangeMap, SortedDict, SortedList, SortedSet, Store

BEGIN = """
import copy, faulthandler, gc, pickle, sys, threading, time
import numpy
from lathwork import *
faulthandler.enable()

class Thing:
    pass

def together(*works, seconds=0.7):
    # Runs functions in their own threads, over and over. RuntimeError is what a change may raise.
    sys.setswitchinterval(1e-6)
    end, failed = time.time() + seconds, []
    def run(work):
        try:
            while time.time() < end and not failed:
                try:
                    work()
                except RuntimeError as error:
                    assert "during the" in str(error) or "within a comparison" in str(error), error
        except BaseException as error:
            failed.append(error)
    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    if failed: raise failed[0]
"""

PROGRAMS = {
    # threads: a number or a position of an earlier moment
    "dict: items go while others are walked": """
        d = SortedDict((i, i) for i in range(50))
        def write():
            for i in range(50): d.pop(i, None)
            for i in range(50): d[i] = i
        walks = [lambda: list(d.items()), lambda: list(d), lambda: list(d.values()), lambda: list(reversed(d)),
                 lambda: list(d.irange(3, 40)), lambda: list(d.irange(3, 40, reverse=True)), lambda: list(d.islice(5, 45)),
                 lambda: list(d.islice(-20, reverse=True)), lambda: list(reversed(d.items())), lambda: d.keys()[10:40],
                 lambda: d.items()[::-2], lambda: d.values()[:], lambda: repr(d), lambda: d == dict(d.items())]
        def read():
            for walk in walks:
                try: walk()
                except RuntimeError as error: assert "during the" in str(error), error
                except KeyError: pass
        together(write, read, read)
        d._verify()
        """,
    "lists and sets: items go while others are walked": """
        for kind in (SortedList, SortedSet, lambda v: SortedKeyList(v, key=lambda n: str(n)[::-1])):
            for make in (int, str, lambda n: f"a longer key {n}", lambda n: (n,)):
                c = kind([make(i) for i in range(40)])
                def write():
                    for i in range(40): c.discard(make(i))
                    c.update(make(i) for i in range(40))
                def pop():
                    try: c.pop(); c.pop(0); c.pop(3); del c[1:9]; del c[2]
                    except IndexError: pass
                def read():
                    list(c); list(reversed(c)); c[3:30]; c[::-1]; list(c.irange(make(2), make(30))); list(c.islice(3, 30, True))
                together(write, pop, read, read, seconds=0.1)
                c._verify()
        """,
    "erase_many while items are walked": """
        d = Map()
        keys = numpy.arange(3000)
        def write():
            d.insert_many(keys, [Thing() for _ in keys])
            for k in range(0, 3000, 300): d.erase_many(keys[k:k + 300])
        def read():
            for walk in (lambda: [v for _, v in d.items()], lambda: list(d.values()), lambda: list(reversed(d)), lambda: list(d.irange(100, 2900))):
                try: walk()
                except RuntimeError as error: assert "during the" in str(error), error
        together(write, read, read, seconds=1.5)
        d._verify()
        """,
    "insert_many and clear while items are walked": """
        d = Map()
        keys = numpy.arange(1000)
        together(lambda: d.insert_many(keys, [Thing() for _ in keys]), lambda: (d.clear(), time.sleep(.0002)),
                 lambda: [v for _, v in d.items()], lambda: d.get_many(keys), lambda: list(d.values()), seconds=1.5)
        d._verify()
        """,
    "arrays while the container is cleared": """
        d = Map()
        keys = numpy.arange(2000)
        def fill(): d.insert_many(keys, [Thing() for _ in keys])
        together(fill, d.clear, d.keys_array, lambda: d.get_many(keys), lambda: d.contains_many(keys), lambda: d.erase_many(keys[::2]),
                 lambda: d.update((int(k), Thing()) for k in keys[:50]), seconds=1.5)
        d._verify()
        """,
    "the collector while an array is erased": """
        d = Map()
        keys = numpy.arange(2000)
        def cycle():
            thing = Thing(); thing.me = thing; thing.d = d
            return thing
        together(lambda: d.insert_many(keys, [cycle() for _ in keys]), lambda: d.erase_many(keys), gc.collect,
                 lambda: [value.me.d for value in d.get_many(keys) if value], seconds=1.5)
        d._verify()
        """,
    "two threads step one iterator": """
        d = SortedDict((i, Thing()) for i in range(2000))
        def step():
            global it
            it = iter(d)
            for _ in it: pass
        it = iter(d)
        together(step, lambda: list(it), lambda: (d.pop(5, None), d.setdefault(5, Thing())))
        """,
    # code of the caller's within a call
    "__float__ and __index__ change the container": """
        class Number:
            def __float__(self): c.clear(); return 1.0
            def __index__(self): c.clear(); return 1
            def __lt__(self, other): return False
            __gt__ = __lt__
        for make in (SortedList, SortedSet, SortedDict.fromkeys):
            for call in ("add", "count", "discard", "remove", "bisect", "index", "pop", "get", "setdefault", "irange", "__contains__",
                         "__getitem__", "__delitem__", "update", "peekitem", "popitem", "keys"):
                for keys in ([1, 2, 3], [.5, 1.5], [1, 1.0, 2]):
                    c = make(keys)
                    argument = [Number()] if call == "update" else Number()
                    try: getattr(c, call)(argument)
                    except (RuntimeError, TypeError, ValueError, KeyError, IndexError, AttributeError): pass
                    c._verify()
        """,
    "an index or a slice changes the container": """
        class Number:
            def __index__(self): c.clear(); return 1
        for make in (SortedList, SortedSet, lambda v: SortedDict.fromkeys(v).keys(), lambda v: SortedDict.fromkeys(v).items()):
            for index in (Number(), slice(Number(), None), slice(0, Number()), slice(None, None, Number())):
                for call in ("__getitem__", "__delitem__"):
                    c = view = make(range(40))
                    if hasattr(view, "_mapping"): c = view._mapping
                    try: getattr(view, call)(index)
                    except IndexError: pass
                    c._verify()
            c = view = make(range(40))
            if hasattr(view, "islice"): list(view.islice(Number(), 10))
        """,
    "an array is read while a value's __index__ changes the container": """
        class Number:
            def __index__(self): d.clear(); d[5] = 1; return 7
            def __lt__(self, other): return True
        d = Map({1: Number(), 2: Number()})
        assert d.get_ints([1, 2]).tolist() == [7, 7] and dict(d.items()) == {5: 1}
        d._verify()
        """,
    "what makes an array's values changes the container": """
        class Values(list):
            def __iter__(self):
                d["key"] = 1
                return iter([1, 2, 3])
        d = Map()
        try: d.insert_many([1, 2, 3], Values())
        except TypeError: pass
        d._verify()
        assert list(d) == ["key"]
        def keys():
            yield from range(5)
            s.update(["a", "b"])
            yield 7
        s = SortedList()
        try: s.update(keys())
        except TypeError: pass
        s._verify()
        """,
    "finalizers of removed values": """
        class Bomb:
            def __del__(self):
                try:
                    for k in range(300, 320): d.pop(k, None)
                    d.setdefault(5, 1); list(d.items())
                except TypeError: pass
        for do in (lambda: d.clear(), lambda: d.pop(3), lambda: d.popitem(), lambda: d.update((i, 0) for i in range(400)),
                   lambda: d.erase_many(numpy.arange(0, 400, 2)), lambda: d.keys().__delitem__(slice(3, 390)), lambda: d.__delitem__(7),
                   lambda: d.__setitem__(7, 1), lambda: d.insert_many(numpy.arange(400), numpy.arange(400)), lambda: d.__init__(),
                   lambda: d.keys().__delitem__(slice(None, None, -3)), lambda: d.values().__delitem__(4)):
            for keys in (range(400), [k / 7 for k in range(400)], [f"a longer key {k}" for k in range(400)], [(k,) for k in range(50)]):
                for make in (SortedDict, Map) if type(keys[0]) is not tuple else (SortedDict,):
                    d = make((k, Bomb()) for k in keys)
                    try: do()
                    except (KeyError, TypeError, AttributeError): pass
                    try: d._verify(); d.clear()
                    except TypeError: pass
                    d._verify()
        """,
    "an iterator that was never made": """
        import warnings
        warnings.simplefilter("ignore")
        for thing in (SortedDict(), SortedList(), SortedSet([1]), Map()):
            kind = type(iter(thing))
            list(thing)
            try: it = kind.__new__(kind)
            except TypeError: continue
            for call in (lambda: next(it), lambda: it.__length_hint__(), lambda: list(it)):
                try: call()
                except (RuntimeError, TypeError, AttributeError): pass
                else: raise AssertionError("an iterator without a container")
        """,
    "a second __init__": """
        calls = []
        def key(value):
            if calls: calls.pop()()
            return -value
        for make, again in ((SortedDict, [{5: 1}]), (SortedList, [[5]]), (SortedSet, [[5]]), (SortedKeyList, [[5], key]), (SortedSet, [[5], key]),
                            (IntervalTree, [[(5, 6)]]), (RangeMap, [[(5, 6, 1)]])):
            fresh = [(1, 2, Thing())] if make in (IntervalTree, RangeMap) else range(100)
            c = make.fromkeys(fresh, Thing()) if make is SortedDict else make(fresh)
            iterator = iter(c)
            c.__init__(*again)
            assert len(c) == 1 and c == make(*again)
            try: list(iterator)
            except RuntimeError: pass
            getattr(c, "_verify")()
            c.__init__()
            assert len(c) == 0
        c = SortedSet([3, 1, 2], key)
        calls.append(lambda: c.__init__([7]))
        try: c.add(5)
        except RuntimeError as error: assert "key function" in str(error)
        else: raise AssertionError("begun anew within its key function")
        c._verify()
        assert list(c) == [3, 2, 1]
        for c in (RangeAllocator(), Store()):
            try: c.__init__()
            except RuntimeError as error: assert "second time" in str(error)
            else: raise AssertionError(c)
        """,
    # the collector
    "finalizers that the collector runs": """
        class Bomb:
            def __init__(self): self.me = self
            def __del__(self):
                global keep
                clear()
                keep = ["z" * 40 + str(i) for i in range(300)]
        m, d, t = RangeMap(), SortedDict(), IntervalTree()
        def clear(): m.clear(); d.clear(); t.clear()
        calls = [lambda: [x[2] for x in m.overlapping(0, 700)], lambda: [x[2] for x in m], lambda: m.get_many(numpy.arange(0, 640, 10)),
                 lambda: [m.find(k)[2] for k in range(0, 640, 10) if k in m], lambda: m.copy(), lambda: repr(m), lambda: pickle.dumps(list(m.gaps(0, 700))),
                 lambda: m.__setitem__(slice(5, 600), Thing()), lambda: m.cut(15, 600), lambda: m.remove_overlapping(15, 600), lambda: m.__delitem__(12),
                 lambda: [v for _, v in d.items()], lambda: d.items()[3:50], lambda: d.values()[::-1], lambda: d.popitem(), lambda: d.peekitem(),
                 lambda: list(d.irange(3, 60)), lambda: d.copy(), lambda: d.keys().__delitem__(slice(3, 9)),
                 lambda: d.pop(7, None), lambda: d == dict(d.items()),
                 lambda: t.at(5), lambda: t.overlap(0, 60), lambda: t.envelop(0, 60), lambda: t.copy(), lambda: t.begin(), lambda: t.pop(),
                 lambda: t.items(), lambda: t.chop(3, 9), lambda: t.split_overlaps(), lambda: t.merge_overlaps(), lambda: t.add(Interval(3, 4)),
                 lambda: t.update([Interval(i, i + 1) for i in range(9)])]
        for call in calls:
            for n in range(24):
                gc.set_threshold(0)
                m.clear(); d.clear(); t.clear()
                for i in range(64):
                    m[i * 10:i * 10 + 5] = Thing(); d[i] = Thing(); t.addi(i, i + 9, Thing())
                gc.collect(); Bomb(); gc.set_threshold(1 + n, 1000, 1000)
                try: made = call()
                except (RuntimeError, LookupError, AttributeError, TypeError): made = None
                gc.set_threshold(0)
                m._verify(); d._verify(); t._verify(); repr(made)
        """,
    "finalizers of ranges": """
        class Bomb:
            def __del__(self): m[7:9] = 1; m.cut(15, 17); list(m); m.insert(1000, 1001, 2) if 1000 not in m else m.remove_overlapping(1000, 1001)
        for do in (lambda: m.clear(), lambda: m.cut(5, 300), lambda: m.remove_overlapping(5, 300), lambda: m.__setitem__(slice(5, 300), 1), lambda: m.__delitem__(30),
                   lambda: m.__init__(), lambda: m.__setitem__(slice(0, 1 << 64), 3) if False else m.__setitem__(slice(22, 24), Bomb())):
            m = RangeMap((i * 10, i * 10 + 8, Bomb()) for i in range(50))
            do()
            m._verify(); m.clear(); m._verify()
        """,
    "a range's value cut in two": """
        value = Thing()
        before = sys.getrefcount(value)
        for a, b in ((0, 10), (3, 7), (0, 5), (5, 10), (-1, 3)):
            m = RangeMap([(10, 20, value), (30, 40, value)])
            m[10 + a:10 + b] = value if a % 2 else "x"
            m[12:35] = [value]
            m._verify()
            m[0:1 << 63] = 1
            m[5:6] = value; m[2:3] = value
            del m[5], m[2:3]
            m._verify()
            del m
        assert sys.getrefcount(value) == before
        """,
    "bounds of an interval tree change it": """
        class Number(int):
            def __index__(self): return change() or int.__index__(self)
            __float__ = lambda self: change() or 1.0
            __lt__ = lambda self, other: bool(change()) or int.__lt__(self, other)
            __gt__ = lambda self, other: bool(change()) or int.__gt__(self, other)
            __eq__ = lambda self, other: bool(change()) or int.__eq__(self, other)
            __hash__ = int.__hash__
        def change():
            global depth
            if depth: return
            depth = 1
            try: way()
            except RuntimeError: pass
            depth = 0
        for way in (lambda: t.clear(), lambda: t.addi(.5, 1.5), lambda: t.__init__([(.5, 2)]), lambda: t.pop() if len(t) else None):
            for call in (lambda: t.addi(Number(1), Number(5)), lambda: t.discardi(Number(1), Number(3)), lambda: t.add(Interval(.5, 7)),
                         lambda: Interval(Number(1), Number(3)) in t, lambda: t.at(Number(1)), lambda: t.overlap(Number(0), Number(9)),
                         lambda: t.envelop(Number(0), Number(9)), lambda: t.update([Interval(Number(i), Number(i + 1.5)) for i in range(5)]),
                         lambda: t.chop(Number(1), Number(2)), lambda: t.pop(), lambda: t.removei(4, 6), lambda: t.verify()):
                depth = 1
                t = IntervalTree([(1, 3), (4, 6), (7, 9)])
                depth = 0
                try: call()
                except (ValueError, TypeError, KeyError, RuntimeError, OverflowError): pass
                depth = 1
                t._verify(); t.items(); t.clear()
        """,
    "two threads pop the intervals of one tree": """
        t, got = IntervalTree(), []
        for n in range(20000): t.addi(n, n + 5)
        def pop():
            try:
                while True: got.append(t.pop())
            except KeyError: pass
        threads = [threading.Thread(target=pop) for _ in range(3)]
        sys.setswitchinterval(1e-6)
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(got) == 20000 == len(set(got)) and t.begin() == t.end() == 0
        """,
    # stores and allocators
    "a store is closed by a finalizer": """
        class Bomb:
            def __init__(self): self.me = self
            def __del__(self): store.close()
        for call in (lambda: list(store.items()), lambda: store.get("k5"), lambda: store.update((f"k{i}", "v") for i in range(9)),
                     lambda: store.stats(), lambda: list(store.keys(reverse=True)), lambda: store.count(), lambda: "k1" in store, lambda: store.incr("n")):
            for n in range(20):
                gc.set_threshold(0)
                store = Store()
                for i in range(300): store[f"k{i}"] = "value"
                gc.collect(); Bomb(); gc.set_threshold(1 + n, 1000, 1000)
                try:
                    try: raise KeyError  # an error that follows is chained, which allocates
                    except KeyError: call()
                except (ValueError, RuntimeError): pass
                gc.set_threshold(0)
        """,
    "a store is closed and filled while it is used": """
        import os, tempfile
        path = os.path.join(tempfile.mkdtemp(), "saved")
        with Store() as first:
            first.update((f"k{i}", "v" * 100) for i in range(3000))
            first.save(path)
        store = Store()
        def use(call):
            def run():
                try: call(store)
                except (ValueError, OSError, KeyError): pass
            return run
        def again():
            global store
            old, store = store, Store()
            old.close()
        together(use(lambda s: s.load(path)), again, use(lambda s: list(s.items())), use(lambda s: s.get("k5")), use(lambda s: s.update({"k1": "x"})),
                 use(lambda s: s.stats()), use(lambda s: s.count()), use(lambda s: s.__setitem__("k9", "y")), use(lambda s: s.save(path + "2")), seconds=2)
        """,
    "an allocator is loaded while others allocate": """
        pool = RangeAllocator(0, 1 << 30)
        saved = pool.save()
        def cycle():
            try: pool.free_many(pool.alloc_many(20000, 8), 8)
            except (NoSpace, ValueError): pass
        def load():
            try: pool.load(saved)
            except ValueError: pass
        together(cycle, cycle, load, pool._verify, lambda: list(pool.allocated()), lambda: pool.stats(), pool.save, seconds=2)
        pool._verify()
        """,
    "a fork while other threads work with arrays": """
        import os, signal, warnings
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # from 3.12 on
        d, pool, keys = Map(), RangeAllocator(0, 1 << 30), numpy.arange(100000)
        stop = False
        def arrays():
            while not stop: d.insert_many(keys, [7.5] * len(keys)); d.erase_many(keys)
        def pairs():
            while not stop: pool.free_many(pool.alloc_many(20000, 8), 8)
        threads = [threading.Thread(target=work) for work in (arrays, pairs)]
        for thread in threads: thread.start()
        for _ in range(15):
            time.sleep(.003)
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                for _ in range(2):
                    assert len(d) == len(list(d)); d[5] = 1; assert d[5] == 1
                    d.insert_many(keys[:100], keys[:100]); d._verify(); pool._verify(); gc.collect()
                    d.clear(); d.update({1: 2}); assert list(d.items()) == [(1, 2)]
                    pool.load(RangeAllocator(0, 1 << 30).save()) if not pool.stats()["allocated"] else pool.alloc_many(5, 8)
                os._exit(0)
            _, status = os.waitpid(child, 0)
            assert status == 0, status
        stop = True
        """,
    "an object is made within its __init__": """
        class Number:
            def __init__(self, value): self.value = value
            def __index__(self):
                try: pool.__init__(0, 100)
                except RuntimeError: pass
                return self.value
            def __le__(self, other): return False
            __lt__ = __ge__ = __gt__ = __le__
            def __sub__(self, other): return self.value - other
        pool = RangeAllocator.__new__(RangeAllocator)
        try: pool.__init__(Number(0), Number(1000))
        except RuntimeError as error: assert "within __init__" in str(error), error
        pool.alloc(5); pool._verify()
        """,
    # interpreters
    "another interpreter imports the package": """
        import importlib
        try: import _interpreters as interpreters
        except ImportError: import _xxsubinterpreters as interpreters
        d, l, t, m = SortedDict({1: 2}), SortedList([3]), IntervalTree([(1, 2)]), RangeMap([(1, 2, 3)])
        CODE = '''
        try: import lathwork
        except ImportError as error: text = str(error)
        else: text = "imported"
        assert "main interpreter" in text or "subinterpreters" in text, text
        '''
        for options in ({}, {"isolated": False}, {"isolated": True}, {"config": "legacy"}, {"config": "isolated"}):
            try:
                if "config" in options: other = interpreters.create(options["config"])
                else: other = interpreters.create(**options)
            except (TypeError, ValueError): continue  # of another version of Python
            import textwrap
            failed = interpreters.run_string(other, textwrap.dedent(CODE))
            assert failed is None, failed
            d[5] = 6; l.add(1); t.addi(3, 4); m[5:6] = 7
            assert list(d) == [1, 5] or 5 in d
            assert SortedList([2, 1])[0] == 1 and len(IntervalTree([(1, 2)])) == 1 and RangeMap([(1, 2, 3)])[1] == 3 and SortedSet([1]) and Store() is not None
            interpreters.destroy(other)
            d._verify(); l._verify(); t._verify(); m._verify()
            assert SortedList([2, 1]) == [1, 2]
        """,
    "the package is imported anew": """
        import importlib
        d = SortedDict({1: 2})
        for _ in range(3):
            for name in [name for name in sys.modules if name.startswith("lathwork")]: del sys.modules[name]
            import lathwork as again
            e = again.SortedDict({3: 4})
            assert e[3] == 4 and isinstance(e, again.SortedDict) and again.NoSpace is NoSpace
            importlib.reload(again.sorted)
        d[5] = 6
        assert list(d) == [1, 5] and SortedList([2, 1])[0] == 1
        d._verify()
        """,
    "containers within containers": """
        for make in (lambda d: SortedDict({0: d}), lambda d: SortedList([d]), lambda d: IntervalTree([(0, 1, d)]), lambda d: RangeMap([(0, 1, d)])):
            d = SortedList()
            for _ in range(100000): d = make(d)
            del d
        """,
}


def run(program, timeout=100):
    made = subprocess.run([sys.executable, "-c", BEGIN + textwrap.dedent(program)], capture_output=True, text=True, timeout=timeout)
    assert made.returncode == 0, (made.returncode, made.stdout[-1000:], made.stderr[-3000:])
    assert not made.stderr, made.stderr[-3000:]


def test_an_iterator_lets_go_of_its_container_at_its_end():
    ranges, pool, store = lambda _: RangeMap([(1, 2, 3), (5, 6, 7)]), lambda _: RangeAllocator(0, 9), lambda pairs: Store(keys="int")
    walks = {ranges: (iter, reversed), store: (Store.keys, Store.items), pool: (RangeAllocator.allocated, RangeAllocator.free_runs)}
    for make in (SortedDict, SortedList, SortedSet, Map, *walks):
        for walk in walks.get(make, (iter, reversed, lambda c: c.irange(0, 9))):
            container = make({1: 2, 3: 4})
            if make is store:
                container.update({1: "2", 3: "4"})
            elif make is pool:
                for start in (1, 5):
                    container.reserve(start, start + 2 if walk is RangeAllocator.allocated else 9 if start == 5 else 2)
            iterator, gone = walk(container), weakref.ref(container)
            assert len(list(iterator)) == 2 and list(iterator) == []
            del container
            assert gone() is None
            assert operator.length_hint(iterator) == 0


@pytest.mark.parametrize("name", PROGRAMS)
def test_ends_well(name):
    run(PROGRAMS[name])
