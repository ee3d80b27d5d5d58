# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""RangeLocks: who holds what, waits, timeouts, deadlocks, signals, forks; beside threads."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from lathwork import Deadlock, Hold, RangeLocks


def refused(locks, *args, **named):
    with pytest.raises(TimeoutError):
        locks.lock(*args, timeout=0, **named)
    return True


def until(so):
    end = time.monotonic() + 60
    while not so():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_range_excludes_those_that_overlap_it():
    locks = RangeLocks(usual=16)
    with locks.lock(10, 20) as hold:
        assert isinstance(hold, Hold) and hold.held and not hold.shared and (hold.start, hold.stop) == (10, 20)
        assert repr(hold) == "<lathwork.Hold [10, 20) exclusive>"
        assert refused(locks, 19, 30) and refused(locks, 0, 2**64) and refused(locks, 10, 11, shared=True)
        with locks.lock(20, 30, timeout=0), locks.lock(0, 10, timeout=0):
            assert sorted(locks.ranges()) == [(0, 10, False, False), (10, 20, False, False), (20, 30, False, False)]
    assert not hold.held and repr(hold).endswith("not held>") and locks.ranges() == []
    with locks.lock(0, 2**64) as whole:
        assert (whole.start, whole.stop) == (0, 2**64) and refused(locks, 5, 6)


def test_shared_ranges():
    locks = RangeLocks()
    one, two = locks.lock(0, 10, shared=True), locks.lock(5, 15, shared=True, timeout=0)
    assert one.shared and refused(locks, 7, 8) and locks.lock(15, 16, timeout=0).held
    one.unlock()
    two.unlock()
    hold = locks.lock(7, 8, timeout=0)
    hold.downgrade()
    assert hold.shared and locks.lock(7, 8, shared=True, timeout=0).held


def test_resize():
    locks = RangeLocks()
    hold, other = locks.lock(10, 20), locks.lock(30, 40)
    hold.resize(5, 15)
    assert (hold.start, hold.stop) == (5, 15) and locks.lock(15, 20, timeout=0).held
    with pytest.raises(BlockingIOError, match="held or waited for"):
        hold.resize(5, 35)
    for start, stop in ((100, 110), (0, 2**64)):
        with pytest.raises(ValueError, match="no key of the old one"):
            hold.resize(start, stop)
    assert (hold.start, hold.stop) == (5, 15) and other.held


def test_a_hold_is_unlocked_once():
    locks = RangeLocks()
    hold = locks.lock(0, 1)
    hold.unlock()
    for call in (hold.unlock, hold.downgrade, lambda: hold.resize(0, 2)):
        with pytest.raises(RuntimeError, match="not held"):
            call()
    with locks.lock(0, 1) as hold:
        hold.unlock()
        with pytest.raises(RuntimeError, match="not held"):
            hold.unlock()
        again = locks.lock(0, 1, timeout=0)
    assert again.held
    del again
    gc.collect()
    assert locks.ranges() == [] and locks.lock(0, 1, timeout=0).held


def test_what_is_no_range():
    locks = RangeLocks()
    for args, error in (((5, 5), ValueError), ((5, 4), ValueError), ((-1, 4), OverflowError), ((0, 2**64 + 1), OverflowError),
                        (("a", 4), TypeError), ((0, None), TypeError)):
        with pytest.raises(error):
            locks.lock(*args)
    for timeout in (-1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            locks.lock(0, 1, timeout=timeout)
    with pytest.raises(OverflowError, match="usual"):
        RangeLocks(usual=-1)
    assert locks.ranges() == []


def test_waiting_lets_other_threads_run():
    locks, order = RangeLocks(), []

    def wait():
        with locks.lock(0, 10):
            order.append("second")

    with locks.lock(5, 6):
        thread = threading.Thread(target=wait)
        thread.start()
        until(lambda: (0, 10, False, True) in locks.ranges())
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_timeouts():
    locks = RangeLocks()
    hold = locks.lock(0, 10)
    for run in (lambda: refused_after(locks, 0.05), lambda: refused_after(locks, 0.5)):
        thread = threading.Thread(target=run)
        thread.start()
        run()
        thread.join()
    assert hold.held and len(locks.ranges()) == 1


def refused_after(locks, seconds):
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"\[3, 4\) is held by others"):
        locks.lock(3, 4, timeout=seconds)
    assert seconds * 0.9 < time.monotonic() - start < seconds + 30


def test_deadlock():
    locks, met = RangeLocks(deadlocks=True), threading.Barrier(2)
    outcomes = []

    def work(mine, other):
        with locks.lock(mine, mine + 1):
            met.wait()
            try:
                with locks.lock(other, other + 1):
                    outcomes.append("held")
            except Deadlock:
                outcomes.append("deadlock")

    threads = [threading.Thread(target=work, args=args) for args in ((0, 1), (1, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["deadlock", "held"] and locks.ranges() == []


def test_counters_that_ranges_protect():
    locks, counters = RangeLocks(usual=4), [0] * 64

    def work(seed):
        for i in range(500):
            first = (seed * 7919 + i * 31) % 60
            with locks.lock(first, first + 4):
                for at in range(first, first + 4):
                    counters[at] = counters[at] + 1

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counters) == 8 * 500 * 4 and locks.ranges() == []


def test_one_hold_by_two_threads():
    """A second thread in a call of one hold is refused: it does not break the lists."""
    locks = RangeLocks(deadlocks=True)
    hold, own, others = locks.lock(0, 10), locks.lock(12, 13), []
    with pytest.raises(Deadlock):  # by the thread that holds both
        hold.resize(0, 13)
    own.unlock()
    thread = threading.Thread(target=lambda: others.append(locks.lock(20, 30)))
    thread.start()
    thread.join()
    thread = threading.Thread(target=hold.resize, args=(0, 25))
    thread.start()
    until(lambda: any(waits for *_, waits in locks.ranges()))
    with pytest.raises(RuntimeError, match="another thread"):
        hold.unlock()
    others[0].unlock()
    thread.join()
    assert (hold.start, hold.stop) == (0, 25)
    hold.unlock()


@pytest.mark.parametrize("named", [{}, {"timeout": 60}, {"shared": True}])
def test_the_main_thread_keeps_its_place(named):
    """It looks for signals while it waits, and others that came later do not overtake it."""
    locks, stop, times = RangeLocks(), threading.Event(), []

    def work():
        while not stop.is_set():
            with locks.lock(0, 100):
                times.append(None)
                time.sleep(0.25)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: len(times) > 1 and sum(waits for *_, waits in locks.ranges()) == 2)
    before = len(times)
    try:
        with locks.lock(0, 100, **named):
            after = len(times)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert after - before <= 6  # those that came before it, and while it came


def test_a_handler_of_a_signal_runs_while_the_main_thread_waits():
    """Its own calls work, and the wait goes on; one that raises ends the wait, also that of a range that grows."""
    code = """
import threading, os, signal, time, lathwork
locks = lathwork.RangeLocks(deadlocks=True)
def work(first, last, held):
    with locks.lock(first, last):
        held.set()
        time.sleep(1.5)
def other(first, last):
    held = threading.Event()
    threading.Thread(target=work, args=(first, last, held)).start()
    held.wait()
def later(handler):
    signal.signal(signal.SIGUSR1, handler)
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGUSR1)).start()
def wait(*_):
    seen.append(sum(waits for *_, waits in locks.ranges()))
    locks.lock(50, 60).unlock()
def stop(*_):
    raise ZeroDivisionError
hold, seen = locks.lock(0, 10), []
other(20, 30)
later(wait)
grows = locks.lock(25, 26)
other(30, 40)
later(stop)
try:
    grows.resize(25, 35)
except ZeroDivisionError:
    print(seen, sorted(locks.ranges()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[1] [(0, 10, False, False), (25, 26, False, False), (30, 40, False, False)]\n", done


def test_a_signal_interrupts_the_main_thread():
    code = """
import threading, os, signal, lathwork
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what is in the background with SIGINT ignored
locks = lathwork.RangeLocks()
hold = locks.lock(0, 1)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    locks.lock(0, 1)
except KeyboardInterrupt:
    print("interrupted", locks.ranges())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "interrupted [(0, 1, False, False)]\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_fork():
    locks = RangeLocks()
    hold = locks.lock(0, 10)
    child = os.fork()
    if not child:
        try:
            hold.unlock()
            os._exit(0 if locks.lock(0, 10, timeout=0).held else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and hold.held
    signal.signal(signal.SIGINT, signal.default_int_handler)
