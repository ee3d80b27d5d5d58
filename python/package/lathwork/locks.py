# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""RangeLocks: a thread holds a range of keys, alone or shared, while others hold other ranges.

Keys are int from 0 to 2**64 - 1, ranges are half-open; the end may be 2**64.
"""
import math
import threading

from . import _core

Deadlock = _core.Deadlock
_FOREVER = 2**64 - 1


def _on_main():
    """Whether this is the thread that runs handlers of signals."""
    return threading.current_thread() is threading.main_thread()


class Hold(_core.Held):
    """A range that RangeLocks.lock() has locked. It is unlocked at the end of a with block, by unlock(), or
    when nothing refers to it any more. One thread at a time makes its calls, not always the same one."""

    def __init__(self, locks, start, stop, shared=False):
        """Of [start, stop), not locked yet: RangeLocks.lock() makes it and locks it."""
        super().__init__(locks, start, stop, shared)

    def __enter__(self):
        """The hold itself."""
        return self

    def __exit__(self, *exception):
        """Unlock the range, unless unlock() has."""
        if self.held:
            self.unlock()

    def unlock(self):
        """Let others have the range. RuntimeError if it is not held."""
        self._unlock()

    def downgrade(self):
        """Make the range shared, without an instant between the two."""
        self._downgrade()

    def resize(self, start, stop):
        """Hold [start, stop) instead, which has a key of the range. BlockingIOError if a key that it gains
        is held or waited for; with deadlocks=True it waits, or raises Deadlock."""
        self._resize(start, stop, _on_main())

    def __repr__(self):
        """Hold(start, stop)"""
        state = ("shared" if self.shared else "exclusive") if self.held else "not held"
        return f"<lathwork.Hold [{self.start}, {self.stop}) {state}>"


class RangeLocks(_core.Locks):
    """Locks on ranges of keys.

    usual: most ranges have at most this many keys. deadlocks: a lock() that would wait for a thread which waits
    for this one, directly or through others, raises Deadlock.

    >>> locks = RangeLocks(usual=16)
    >>> with locks.lock(0, 10) as mine:
    ...     locks.ranges()
    [(0, 10, False, False)]
    """

    def __init__(self, usual=1, deadlocks=False):
        """Nothing is held."""
        super().__init__(usual, deadlocks)

    def lock(self, start, stop, shared=False, timeout=None):
        """Hold [start, stop), beside other shared ranges if shared. Returns a Hold, a context manager.

        Waits without the GIL: as long as it takes, or timeout seconds, 0 for not at all; then it raises
        TimeoutError. A range is not overtaken by later ones. On the main thread handlers of signals run in
        the meantime, and what they raise ends the wait."""
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"timeout is {timeout}: it must be at least 0")
        hold = Hold(self, start, stop, shared)
        left = _FOREVER if timeout is None or timeout >= _FOREVER / 1e9 else math.ceil(timeout * 1e9)
        if not hold._lock(left, _on_main()):
            raise TimeoutError(f"[{hold.start}, {hold.stop}) is held by others")
        return hold

    def ranges(self):
        """The list of the ranges that are held or waited for, (start, stop, shared, waits)."""
        return self._ranges()
