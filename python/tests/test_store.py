# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Store against a dict."""
import multiprocessing
import os
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lathwork import Store

KEYS = {"bytes": st.binary(max_size=20) | st.sampled_from([b"key", b"key\0", b"longer key 1", b"longer key 2"]), "int": st.integers(0, 50) | st.sampled_from([2**64 - 1, 2**63])}


@pytest.mark.parametrize("kind", ["bytes", "int"])
def test_model(kind):
    @given(st.lists(st.tuples(KEYS[kind], st.binary(max_size=40), st.integers(0, 6))), KEYS[kind], KEYS[kind])
    @settings(deadline=None, derandomize=True)
    def run(steps, low, high):
        model = {}
        with Store(keys=kind) as store:
            for key, value, call in steps:
                if call == 0:
                    assert store.discard(key) == (model.pop(key, None) is not None)
                elif call == 1:
                    assert store.add(key, value) == (key not in model)
                    model.setdefault(key, value)
                elif call == 2:
                    assert store.replace(key, value) == (key in model)
                    model.update({key: value} if key in model else {})
                elif call == 3:
                    expected = model.get(key, b"")
                    assert store.cas(key, expected, value) == (key in model)
                    assert not store.cas(key, value + b"other", b"")
                    model.update({key: value} if key in model else {})
                elif call == 4:
                    store.append(key, value)
                    model[key] = model.get(key, b"") + value
                elif call == 5:
                    store.update([(key, b"lost"), (key, value)])
                    model[key] = value
                else:
                    store[key] = value
                    model[key] = value
                assert store.get(key, "no") == model.get(key, "no") and (key in store) == (key in model)
            assert list(store.items()) == sorted(model.items()) and len(store) == len(model)
            inside = sorted(key for key in model if low <= key < high)
            assert list(store.keys(low, high)) == inside and store.count(low, high) == len(inside)
            assert list(store.values(low, high, reverse=True)) == [model[key] for key in inside[::-1]]

    run()


def test_iteration_over_the_longest_keys():
    """There is none behind them that a page could begin with."""
    with Store() as store:
        keys = [bytes([number // 256, number % 256]) * 32767 + b"x" for number in range(600)]
        store.update((key, "value") for key in keys)
        assert list(store) == keys and list(reversed(store)) == keys[::-1] and list(store.keys(keys[0])) == keys


def test_iteration_goes_on_where_it_was():
    for kind, key in (("int", lambda number: number), ("bytes", lambda number: f"p/{number:05}".encode())):
        with Store(keys=kind) as store:
            store.update((key(number), b"x") for number in range(1000))
            assert list(store) == [key(number) for number in range(1000)]
            assert list(store.keys(reverse=True)) == list(reversed(store)) == [key(number) for number in reversed(range(1000))]
            seen = []
            for found in store:
                seen.append(found)
                store.discard(found)
            assert len(seen) == 1000 and not len(store)
    with Store() as store:
        store.update((f"{first}/{number}", "") for first in "ab" for number in range(300))
        assert store.count(prefix="a/") == 300 == len(list(store.items(prefix="a/")))


def test_errors():
    store = Store(keys="int")
    for key, error in (("a", TypeError), (-1, OverflowError), (2**64, OverflowError)):
        with pytest.raises(error):
            store[key] = b""
    with pytest.raises(KeyError):
        store[1]
    with pytest.raises(KeyError):
        del store[1]
    with pytest.raises(TypeError):
        store[1] = 1
    store[1] = "no number"
    with pytest.raises(ValueError):
        store.incr(1)
    store[2] = str(2**63 - 1)
    with pytest.raises(OverflowError):
        store.incr(2)
    store.close()
    assert store.closed
    store.close()
    with pytest.raises(ValueError, match="closed"):
        store[1]
    with pytest.raises(ValueError):
        Store(keys="float")
    with pytest.raises(OSError):
        Store("no such kind:")
    with pytest.raises(ValueError):
        Store()[b"x" * 65536] = b""
    with pytest.raises(OSError) as caught:
        small = Store(limit=8 << 20)
        for number in range(10**6):
            small[str(number)] = b"x" * 1000
    assert caught.value.errno == 28


def test_files(tmp_path):
    path = tmp_path / "data"
    with Store(f"file:{path}") as store:
        store["a"] = "1"
        store.sync()
        with pytest.raises(OSError) as caught:
            Store(f"file:{path}")
        assert str(path) in str(caught.value)
        store["b"] = "2"
    with Store(f"file:{path}", read_only=True) as store:
        assert dict(store.items()) == {b"a": b"1", b"b": b"2"}
        with pytest.raises(OSError):
            store["c"] = "3"
        store.save(tmp_path / "copy")
    with Store() as store:
        store.load(tmp_path / "copy")
        assert len(store) == 2
        (tmp_path / "bad").write_bytes(b"nothing of ours")
        store.discard("a"), store.discard("b")
        with pytest.raises(OSError):
            store.load(tmp_path / "bad")
    with pytest.raises(OSError):
        Store(f"file:{tmp_path}/none", existing=True)


def test_expiry():
    with Store() as store:
        store["a"] = "1"
        assert store.expire("a", 0.05) and not store.expire("b", 1)
        time.sleep(0.1)
        assert "a" not in store and store.sweep() == 1
        store["a"] = "1"
        assert store.expire("a", 100) and store.expire("a", None) and store["a"] == b"1"


def test_threads():
    with Store(keys="int") as store:

        def work():
            for _ in range(300):
                store.incr(7)
                store.update((number, str(number)) for number in range(10, 60))
                assert all(store[number] == str(number).encode() for number in range(10, 60))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store[7] == b"1200"


def count(spec):
    with Store(spec, keys="bytes") as store:
        for _ in range(1000):
            store.incr("count")


def test_shared_by_processes():
    spec = f"shm:lathwork-python-test-{os.getpid()}"
    store = Store(spec, limit=16 << 20)
    try:
        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=count, args=[spec]) for _ in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert store["count"] == b"2000"
    finally:
        store.close()
        Store.remove(spec)


def child(store):
    store["a"] = "child"
    os._exit(0 if store["a"] == b"child" and len(store) == 1 else 1)


def test_fork():
    with Store() as store:
        store["a"] = "parent"
        process = multiprocessing.get_context("fork").Process(target=child, args=[store])
        process.start()
        process.join()
        assert process.exitcode == 0 and store["a"] == b"parent"
