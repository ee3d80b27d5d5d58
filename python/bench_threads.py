# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bench_threads.py [--n N] [--rounds N]: lookups by one thread and by two in one Map, and in
a SortedDict of sortedcontainers behind a lock.

Printed are the nanoseconds of wall time per lookup, of all threads together, and the processor time of one lookup.
Rounds are short and the best one counts, so that other work on the machine disturbs few. Each thread has its own keys
and calls `get = container.get`: where Python has no GIL, two threads that count references of one object wait for each
other. `container[key]` counts one of the container in Python 3.13.
"""
import argparse
import random
import sys
import threading
import time

import sortedcontainers

import lathwork


class Locked:
    """A container behind a lock."""

    def __init__(self, container):
        self.container, self.lock = container, threading.Lock()

    def get(self, key):
        with self.lock:
            return self.container[key]


def look_up(container, keys, threads, subscript=False):
    """Nanoseconds per lookup: of wall time for all threads, of processor time."""
    start, took = threading.Barrier(threads), []

    def run(number):
        half = len(keys) // 2 * number
        mine = [key[:1] + key[1:] if isinstance(key, str) else key + 0 for key in keys[half:] + keys[:half]]
        get = container.get
        start.wait()
        wall, busy = time.perf_counter(), time.thread_time()
        if subscript:
            for key in mine:
                container[key]
        else:
            for key in mine:
                get(key)
        took.append((wall, time.perf_counter(), time.thread_time() - busy))

    workers = [threading.Thread(target=run, args=[number]) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    wall = max(end for _, end, _ in took) - min(begin for begin, _, _ in took)
    return wall / len(keys) / threads * 1e9, sum(busy for _, _, busy in took) / len(keys) / threads * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=lambda text: int(float(text)), default=20000, help="items, and lookups of a round (2e4)")
    parser.add_argument("--rounds", type=int, default=60)
    args = parser.parse_args()
    random.seed(1)
    keys = random.sample(range(1 << 61), args.n)
    texts = [f"user:{key:016x}" for key in keys]
    numbers = lathwork.Map((key, i) for i, key in enumerate(keys))
    cases = {
        "int keys, int values": (numbers, keys),
        "int keys, m[k]": (numbers, keys),
        "int keys, objects": (lathwork.Map((key, object()) for key in keys), keys),
        "str keys": (lathwork.Map((key, i) for i, key in enumerate(texts)), texts),
        "sortedcontainers, a lock": (Locked(sortedcontainers.SortedDict((key, i) for i, key in enumerate(keys))), keys),
    }
    gil = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, {'with' if gil else 'without'} GIL, n = {args.n}; one thread, two, times as many lookups")
    for name, (container, given) in cases.items():
        rounds = [[look_up(container, given, threads, "m[k]" in name) for threads in (1, 2)] for _ in range(args.rounds)]
        wall, busy = ([min(row[threads][which] for row in rounds) for threads in (0, 1)] for which in (0, 1))
        print(f"{name:26} {wall[0]:6.0f} ns {wall[1]:6.0f} ns {wall[0] / wall[1]:5.2f}x   busy {busy[0]:6.0f} ns {busy[1]:6.0f} ns", flush=True)


if __name__ == "__main__":
    main()
