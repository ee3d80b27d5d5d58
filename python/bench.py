# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bench.py [--n N] [--rounds N] [--quick] [CASE...]: lathwork beside sortedcontainers and intervaltree.

Each case runs in rounds; in a round both do the same work, one after the other. Printed are the medians of both and
of the ratio of each round, with its least and greatest value. A bar is the least ratio aimed at. Times are of the
processor.
"""
import argparse
import datetime
import decimal
import functools
import gc
import operator
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


def case(name, bar=None, peer="sortedcontainers", kind="int"):
    def register(function):
        CASES[name] = (function, bar, peer, kind)
        return function

    return register


def clock(work):
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


@functools.total_ordering
class Thing:
    """An object with its own order."""

    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def __lt__(self, other):
        return self.number < other.number

    def __eq__(self, other):
        return self.number == other.number

    def __hash__(self):
        return hash(self.number)


DAY = datetime.datetime(2024, 1, 1)
KINDS = {  # the key of a number below 2^61
    "int": lambda n: n,
    "float": lambda n: n * .5,
    "str of 6": lambda n: f"{n % 36**6:06x}"[-6:],
    "str of 20": lambda n: f"user:{n % 10**15:015d}",
    "tuple": lambda n: (n >> 51, n % 7, n),
    "datetime": lambda n: DAY + datetime.timedelta(microseconds=n % 10**15),
    "aware": lambda n: (DAY + datetime.timedelta(microseconds=n % 10**15)).replace(tzinfo=datetime.timezone.utc),
    "Decimal": lambda n: decimal.Decimal(n) / 100,
    "object": Thing,
    "int, key function": lambda n: n,
}


class Data:
    """Random keys of a kind, made once per size."""

    def __init__(self, n, kind):
        rand = random.Random(n)
        make, self.n = KINDS[kind], n
        self.key = (lambda value: -value) if "function" in kind else None
        numbers = rand.sample(range(1 << 61), 2 * n)
        self.keys = list(dict.fromkeys(map(make, numbers[:n])))
        self.pairs = [(key, i) for i, key in enumerate(self.keys)]
        order = rand.sample(numbers[:n], min(n, 10**5))
        self.again = [make(number) for number in order]  # separate objects, as keys that were read or computed are
        self.gone = list(dict.fromkeys(self.again))
        self.absent = [make(number) for number in numbers[n:][: 10**5]]
        self.half = self.keys[: n // 2] + self.absent[: n // 2]
        self.places = [rand.randrange(len(self.keys)) for _ in range(20000)]
        self.numbers, self.length = numbers[:n], 5 * (1 << 61) // n  # of intervals: each point is in five


def each(call, values):
    """Seconds per call."""
    def work():
        for value in values:
            call(value)
    return clock(work) / len(values)


def made_dict(module, data, pairs=()):
    return module.SortedDict(data.key, pairs)


# A case returns the seconds of one round per element; `module` is lathwork or its peer.
def build_dict(module, data):
    return clock(lambda: made_dict(module, data, data.pairs)) / data.n


def set_new(module, data):
    made = made_dict(module, data)

    def work():
        for key in data.keys:
            made[key] = 1
    return clock(work) / data.n


def look_up(module, data):
    made = made_dict(module, data, data.pairs)

    def work():
        for key in data.again:
            made[key]
    return clock(work) / len(data.again)


def look_up_absent(module, data):
    made = made_dict(module, data, data.pairs)

    def work():
        for key in data.absent:
            key in made
    return clock(work) / len(data.absent)


def delete(module, data):
    made = made_dict(module, data, data.pairs)

    def work():
        for key in data.gone:
            del made[key]
    return clock(work) / len(data.gone)


def pop_first(module, data):
    return each(made_dict(module, data, data.pairs).popitem, [0] * (len(data.keys) // 2))


def items(module, data):
    made = made_dict(module, data, data.pairs)
    return clock(lambda: [None for _ in made.items()]) / data.n


def irange(module, data):
    made, order = made_dict(module, data, data.pairs), sorted(data.keys, key=data.key)
    return each(lambda at: list(made.irange(order[at], order[min(at + 99, len(order) - 1)])), data.places[:2000])


def made_list(module, data):
    return module.SortedList(data.keys, key=data.key)


def build_list(module, data):
    return clock(lambda: made_list(module, data)) / data.n


def add(module, data):
    return each(module.SortedList(key=data.key).add, data.keys)


def remove(module, data):
    return each(made_list(module, data).remove, data.gone)


def by_position(module, data):
    return each(made_list(module, data).__getitem__, data.places)


def iterate(module, data):
    made = made_list(module, data)
    return clock(lambda: [None for _ in made]) / data.n


def slice_all(module, data):
    made = made_list(module, data)
    return clock(lambda: made[:]) / data.n


def operate(operator):
    def run(module, data):
        one, other = (module.SortedSet(keys, key=data.key) for keys in (data.keys, data.half))
        return clock(lambda: operator(one, other)) / data.n
    return run


ROWS = {  # bar: of Decimal, objects and a key function 1 instead of more
    "SortedDict of pairs": (build_dict, .95), "d[k] = v, new": (set_new, 1.5), "d[k]": (look_up, .95), "k in d, absent": (look_up_absent, .95),
    "del d[k]": (delete, 1.5), "d.popitem(0)": (pop_first, 1.5), "d.items()": (items, .95), "d.irange of 100": (irange, .95),
    "SortedList of values": (build_list, .95), "list.add": (add, 1.5), "list.remove": (remove, 1.5), "list[i]": (by_position, 1.5),
    "for k in list": (iterate, .95), "list[:]": (slice_all, .95), "set | set": (operate(operator.or_), .95), "set & set": (operate(operator.and_), .95),
}
for row, (function, bar) in ROWS.items():
    for kind in KINDS:
        slow = kind in ("Decimal", "object", "int, key function")
        fast = kind in ("int", "float") and function in (set_new, delete, add, remove)
        case(f"{row} ({kind})", (1 if slow else 5 if fast else bar) if bar > 1 else bar, kind=kind)(function)


def of_map(name, bar=None):
    """A case of Map beside one of SortedDict of the peer."""
    def register(function):
        def run(module, data):
            arrays = numpy.array(data.keys, dtype=numpy.int64)
            return function(module.Map if module is lathwork else module.SortedDict, data, arrays)
        return case(name, bar, kind="int")(run)
    return register


@of_map("Map, m[k] = v", 10)
def map_insert(kind, data, _):
    made = kind()

    def work():
        for key in data.keys:
            made[key] = 1
    return clock(work) / data.n


@of_map("Map, m[k]")
def map_get(kind, data, _):
    made = kind(data.pairs)

    def work():
        for key in data.again:
            made[key]
    return clock(work) / len(data.again)


@of_map("Map, insert_many / d[k] = v", 12)
def map_insert_many(kind, data, keys):
    made = kind()
    if kind is not lathwork.Map:
        return set_new(sortedcontainers, data)
    return clock(lambda: made.insert_many(keys, keys)) / data.n


@of_map("Map, get_ints / d[k]")
def map_get_many(kind, data, keys):
    made = kind(data.pairs)
    if kind is lathwork.Map:
        return clock(lambda: made.get_ints(keys)) / data.n
    return each(made.__getitem__, data.keys)


@functools.lru_cache
def data_of(n, kind="int"):
    return Data(n, kind)


@case("IntervalTree of Intervals, bulk", 50, "intervaltree")
def tree_bulk(module, data):
    intervals = [module.Interval(key, key + data.length, i) for i, key in enumerate(data.numbers)]
    return clock(lambda: module.IntervalTree(intervals)) / data.n


@functools.lru_cache(2)
def tree_of(module, n):
    """Built once, as that takes intervaltree half a minute for a million."""
    data = data_of(n)
    return module.IntervalTree([module.Interval(key, key + data.length, i) for i, key in enumerate(data.numbers)])


def ask(module, data, question):
    tree = tree_of(module, data.n)
    points = random.Random(7).sample(data.numbers, min(2000, data.n))

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
    function, bar, peer, kind = CASES[name]
    data = data_of(n, kind)
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
