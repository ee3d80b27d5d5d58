# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bench.py [--n N] [--rounds N] [--quick] [CASE...]: lathwork beside sortedcontainers and intervaltree.

Each case runs in rounds; in a round both do the same work, one after the other. Printed are the medians of both and
of the ratio of each round, with its least and greatest value. A bar is the least ratio aimed at.
"""
import argparse
import functools
import gc
import random
import statistics
import sys
import time

import intervaltree
import numpy
import sortedcontainers

import lathwork

PEERS = {"sortedcontainers": sortedcontainers, "intervaltree": intervaltree}
CASES = {}


def case(name, bar=None, peer="sortedcontainers"):
    def register(function):
        CASES[name] = (function, bar, peer)
        return function

    return register


def clock(work):
    gc.collect()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


class Data:
    """Random keys, made once per size."""

    def __init__(self, n):
        random.seed(n)
        self.n = n
        self.keys = random.sample(range(-(1 << 61), 1 << 61), n)
        self.order = random.sample(self.keys, n)
        self.pairs = [(key, i) for i, key in enumerate(self.keys)]
        self.array = numpy.array(self.keys, dtype=numpy.int64)
        self.order_array = numpy.array(self.order, dtype=numpy.int64)
        self.values = numpy.arange(n, dtype=numpy.int64)
        self.some = self.order[: max(1, n // 10)]
        self.fresh = [key ^ 1 for key in self.some]
        self.length = 5 * (1 << 62) // n  # of intervals: each point is in five
        self.text = [f"user:{key & 0xFFFFFFFFFF:010x}" for key in self.keys]


# A case returns the seconds of one round per element; `module` is lathwork or its peer.
@case("SortedDict of pairs, bulk", 5)
def bulk(module, data):
    return clock(lambda: module.SortedDict(data.pairs)) / data.n


@case("SortedList of ints, bulk", None)
def bulk_list(module, data):
    return clock(lambda: module.SortedList(data.keys)) / data.n


@case("SortedDict, d[k] = v", 10)
def insert(module, data):
    made = module.SortedDict()

    def work():
        for key in data.keys:
            made[key] = key

    return clock(work) / data.n


@case("SortedList, add", None)
def add(module, data):
    made = module.SortedList()

    def work():
        for key in data.keys:
            made.add(key)

    return clock(work) / data.n


@case("SortedDict, del d[k]", 6)
def delete(module, data):
    made = module.SortedDict(data.pairs)

    def work():
        for key in data.order:
            del made[key]

    return clock(work) / data.n


@case("SortedDict, d[k]", 1.3)
def get(module, data):
    made = module.SortedDict(data.pairs)
    keys = [key + 0 for key in data.order]  # separate objects, as keys that were read or computed are

    def work():
        for key in keys:
            made[key]

    return clock(work) / data.n


@case("SortedDict, d[k] with the key's own object", None)
def get_same(module, data):
    made = module.SortedDict(data.pairs)

    def work():
        for key in data.order:
            made[key]

    return clock(work) / data.n


@case("insert_many of arrays / d[k] = v", 12)
def batch_insert(module, data):
    made = module.SortedDict()
    if module is lathwork:
        return clock(lambda: made.insert_many(data.array, data.values)) / data.n
    return insert(module, data)


@case("get_ints of arrays / d[k]", None)
def batch_get(module, data):
    made = module.SortedDict(data.pairs)
    if module is lathwork:
        return clock(lambda: made.get_ints(data.order_array)) / data.n

    def work():
        numpy.fromiter((made[key] for key in data.order), dtype=numpy.int64, count=data.n)

    return clock(work) / data.n


@case("erase_many of arrays / del d[k]", None)
def batch_erase(module, data):
    if module is not lathwork:
        return delete(module, data)
    made = module.SortedDict(data.pairs)
    return clock(lambda: made.erase_many(data.order_array)) / data.n


@case("SortedDict, iteration", None)
def iterate(module, data):
    made = module.SortedDict(data.pairs)

    def work():
        for _ in made.items():
            pass

    return clock(work) / data.n


@case("SortedDict, irange of 100", None)
def irange(module, data):
    made = module.SortedDict(data.pairs)
    keys = sorted(data.keys)
    starts = [random.randrange(max(1, data.n - 100)) for _ in range(2000)]

    def work():
        for start in starts:
            list(made.irange(keys[start], keys[min(start + 99, data.n - 1)]))

    return clock(work) / len(starts)


@case("SortedList, by position", None)
def position(module, data):
    made = module.SortedList(data.keys)
    places = [random.randrange(data.n) for _ in range(20000)]

    def work():
        for place in places:
            made[place]

    return clock(work) / len(places)


@case("SortedDict of str, bulk", None)
def bulk_text(module, data):
    return clock(lambda: module.SortedDict(zip(data.text, data.keys))) / data.n


@case("SortedDict of str, d[k] = v", None)
def insert_text(module, data):
    made = module.SortedDict()

    def work():
        for key in data.text:
            made[key] = key

    return clock(work) / data.n


@functools.lru_cache
def data_of(n):
    return Data(n)


@case("IntervalTree of Intervals, bulk", 50, "intervaltree")
def tree_bulk(module, data):
    intervals = [module.Interval(key, key + data.length, i) for i, key in enumerate(data.keys)]
    return clock(lambda: module.IntervalTree(intervals)) / data.n


@functools.lru_cache(2)
def tree_of(module, n):
    """Built once, as that takes intervaltree half a minute for a million."""
    data = data_of(n)
    return module.IntervalTree([module.Interval(key, key + data.length, i) for i, key in enumerate(data.keys)])


def ask(module, data, question):
    tree = tree_of(module, data.n)
    points = random.Random(7).sample(data.keys, min(2000, data.n))

    def work():
        for point in points:
            question(tree, point)

    return clock(work) / len(points)


@case("IntervalTree, at(p), 5 found", 10, "intervaltree")
def tree_at(module, data):
    return ask(module, data, lambda tree, point: tree.at(point + 1))


@case("IntervalTree, overlap, 10 found", 10, "intervaltree")
def tree_overlap(module, data):
    return ask(module, data, lambda tree, point: tree.overlap(point, point + data.length))


@case("IntervalTree, addi and removei", None, "intervaltree")
def tree_change(module, data):
    def change(tree, point):
        tree.addi(point + 1, point + 1 + data.length)
        tree.removei(point + 1, point + 1 + data.length)

    return ask(module, data, change)


def seconds(value):
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def measure(name, n, rounds):
    function, bar, peer = CASES[name]
    data = data_of(n)
    ours, theirs = [], []
    for turn in range(rounds):
        for module in (lathwork, PEERS[peer]) if turn % 2 else (PEERS[peer], lathwork):
            (ours if module is lathwork else theirs).append(function(module, data))
    ratios = [b / a for a, b in zip(ours, theirs)]
    middle = statistics.median(ratios)
    met = "" if bar is None else f"  bar {bar:g} {'met' if middle >= bar else 'MISSED'}"
    print(f"{name:45} {seconds(statistics.median(ours)):>9} {seconds(statistics.median(theirs)):>9}   "
          f"{middle:6.2f}x ({min(ratios):.2f} to {max(ratios):.2f}){met}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--n", type=lambda text: int(float(text)), default=10**6, help="items (1e6)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="1e5 items, three rounds")
    parser.add_argument("case", nargs="*", help="parts of the names of cases; all without; bars: those that have one")
    args = parser.parse_args()
    if args.quick:
        args.n, args.rounds = 10**5, 3
    print(f"n = {args.n}, {args.rounds} rounds, Python {sys.version.split()[0]}; per element: lathwork, peer, ratio")
    for name in CASES:
        if not args.case or any(part in name or (part == "bars" and CASES[name][1]) for part in args.case):
            measure(name, args.n, args.rounds)


if __name__ == "__main__":
    main()
