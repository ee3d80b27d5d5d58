# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Random calls on lathwork's classes and on those of sortedcontainers and intervaltree, by kind of key: equal answers.

LATH_FUZZ_SECONDS: how long in all (20). LATH_FUZZ_SEED: of the first sequence of calls; a failure names its own.
"""
import datetime
import decimal
import enum
import fractions
import os
import random
import time
import uuid

import intervaltree
import numpy
import pytest
import sortedcontainers

import lathwork

SECONDS = float(os.environ.get("LATH_FUZZ_SECONDS", "20"))
SEED = int(os.environ.get("LATH_FUZZ_SEED", "1"))
DAY = datetime.datetime(2020, 1, 1)
ZONES = [datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=5, minutes=30)), datetime.timezone(-datetime.timedelta(hours=8))]


class Down(int):
    def __lt__(self, other):
        return int(self) > int(other) if isinstance(other, int) else NotImplemented

    def __gt__(self, other):
        return int(self) < int(other) if isinstance(other, int) else NotImplemented

    def __le__(self, other):
        return int(self) >= int(other) if isinstance(other, int) else NotImplemented

    def __ge__(self, other):
        return int(self) <= int(other) if isinstance(other, int) else NotImplemented


class NoCase(str):
    def __lt__(self, other):
        return self.lower() < other.lower() if isinstance(other, str) else NotImplemented

    def __gt__(self, other):
        return self.lower() > other.lower() if isinstance(other, str) else NotImplemented

    def __eq__(self, other):
        return isinstance(other, str) and self.lower() == other.lower()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.lower())


class Level(enum.IntEnum):
    LOW, MIDDLE, HIGH, TOP = range(4)


def number(rand):
    n = rand.randrange(-9, 10)
    return rand.choice([n, n / 2, fractions.Fraction(n, 3), decimal.Decimal(n) / 4, n + 2**53, n + 2**64, -(2**70) + n, float(2**60), bool(n % 2)])


KINDS = {
    "ints": lambda rand: rand.randrange(-30, 30),
    "huge ints": lambda rand: rand.choice([1, -1]) * 2 ** rand.randrange(60, 70) + rand.randrange(3),
    "ints and floats": lambda rand: rand.choice([int, float])(rand.randrange(-30, 30)) + rand.choice([0, 0.5, 2**53]),
    "numbers": number,
    "fractions": lambda rand: fractions.Fraction(rand.randrange(-20, 20), rand.randrange(1, 6)),
    "decimals": lambda rand: decimal.Decimal(rand.randrange(-200, 200)) / 10,
    "texts": lambda rand: rand.choice(["", "customer:", "customer:number:", "\U0001f600", "é"]) + str(rand.randrange(40)),
    "bytes": lambda rand: rand.choice([b"", b"customer:", b"\0\xff"]) + bytes([rand.randrange(8)]) * rand.randrange(12),
    "tuples": lambda rand: (rand.randrange(4), rand.choice([0, 1.5, 2])) + ((rand.randrange(3),) if rand.random() < 0.3 else ()),
    "datetimes": lambda rand: DAY + datetime.timedelta(hours=rand.randrange(60)),
    "aware datetimes": lambda rand: (DAY + datetime.timedelta(hours=rand.randrange(60))).replace(tzinfo=rand.choice(ZONES)),
    "uuids": lambda rand: uuid.UUID(int=rand.randrange(40) << 100),
    "equal": lambda rand: rand.choice([7, 7, 7, 7.0, True]),
    "own order": lambda rand: Down(rand.randrange(-20, 20)),
    "own texts": lambda rand: NoCase("".join(rand.choice("aAbB") for _ in range(rand.randrange(4)))),
    "enums": lambda rand: rand.choice(list(Level)),
    "numpy": lambda rand: rand.choice([numpy.int8, numpy.float32, numpy.int64, numpy.float64])(rand.randrange(-20, 20)),
}
STRANGE = [None, object(), 1 + 2j, "strange", b"strange", (None, "strange"), DAY.replace(tzinfo=ZONES[0]), DAY, float("nan")]
KEYS = [None, None, lambda value: value, lambda value: str(value), lambda value: 0]


def answer(call, *args):
    """What a call returns, or the class of what it raises."""
    try:
        return call(*args)
    except (ValueError, KeyError, IndexError, TypeError, ArithmeticError) as error:
        return type(error)


def shown(result):
    if isinstance(result, (bool, numpy.bool_)):  # the peers pass on what NumPy answers
        return repr(bool(result))
    if isinstance(result, (lathwork.SortedList, sortedcontainers.SortedList, lathwork.SortedSet, sortedcontainers.SortedSet)):
        return list(map(repr, result))
    return repr(result)


def of_values(rand, make, kind):
    """SortedList or SortedSet beside its peer. Keys that are equal have to be equal in order, where a set hashes."""
    key = rand.choice(KEYS[:3] if kind == "SortedSet" or make is KINDS["own texts"] else KEYS)
    mine, peer = getattr(lathwork, kind)(key=key), getattr(sortedcontainers, kind)(key=key)
    is_set = kind == "SortedSet"
    for _ in range(rand.randrange(5, 40)):
        values, value = [make(rand) for _ in range(rand.choice([0, 1, 5, 30]))], make(rand)
        name, args = rand.choice([
            ("add", (value,)), ("update", (values,)), ("discard", (value,)), ("remove", (value,)), ("count", (value,)), ("index", (value,)),
            ("bisect_left", (value,)), ("bisect_right", (value,)), ("__contains__", (value,)), ("pop", (rand.randrange(-9, 9),)), ("__len__", ()),
            ("__getitem__", (rand.randrange(-9, 9),)), ("__delitem__", (slice(rand.randrange(9), rand.randrange(20), rand.choice([1, 2, None])),)),
            ("copy", ()), ("clear", ()) if rand.random() < 0.1 else ("__len__", ()),
        ] + ([("__or__", (values,)), ("difference_update", (values,)), ("intersection", (values + list(peer)[::2],)), ("issuperset", (values,)),
              ("symmetric_difference_update", (values,))] if is_set else [("__add__", (values,)), ("__iadd__", (values,))]))
        if is_set and key is not None and name in ("count", "index"):
            continue
        first, second = answer(getattr(mine, name), *args), answer(getattr(peer, name), *args)
        if name in ("update", "difference_update", "symmetric_difference_update", "discard", "remove", "add", "__iadd__"):
            first, second = type(first) is type, type(second) is type
        if not (is_set and key is not None and name in ("pop", "__getitem__", "__delitem__", "bisect_left", "bisect_right")):
            assert shown(first) == shown(second) or (is_set and set(first) == set(second)), (name, args)
        low, high = make(rand), make(rand)
        for ends in ((True, True), (False, True), (True, False)):
            got, right = list(mine.irange(low, high, ends)), list(peer.irange(low, high, ends))
            assert got == right or (is_set and set(got) == set(right)), ("irange", low, high, ends)
        if is_set:
            assert set(mine) == set(peer) and len(mine) == len(peer)
            if list(map(repr, mine)) != list(map(repr, peer)):  # equal in order: a set of Python has no order
                mine, peer = getattr(lathwork, kind)(peer, key=key), peer
        else:
            assert list(map(repr, mine)) == list(map(repr, peer)), (name, args)
        mine._verify()
        strange = rand.choice(STRANGE)
        if key is None:
            # a NaN has no certain place
            assert strange != strange or answer(mine.__contains__, strange) == answer(peer.__contains__, strange) and answer(mine.count, strange) == answer(peer.count, strange)
            before = list(map(repr, mine))
            try:
                mine.update(values + [strange] + values)
            except (TypeError, ValueError, ArithmeticError):
                assert list(map(repr, mine)) == before
                mine._verify()
            else:
                assert len(mine) >= len(before)
                mine = getattr(lathwork, kind)(peer)


def of_dicts(rand, make):
    key = rand.choice([None, None, lambda value: value])
    mine, peer = lathwork.SortedDict(key), sortedcontainers.SortedDict(key)
    for _ in range(rand.randrange(5, 40)):
        pairs, one, data = [(make(rand), rand.randrange(99)) for _ in range(rand.choice([0, 1, 5, 30]))], make(rand), rand.randrange(99)
        name, args = rand.choice([
            ("__setitem__", (one, data)), ("update", (pairs,)), ("update", (dict(pairs),)), ("get", (one, "none")), ("pop", (one, "none")), ("pop", (one,)),
            ("setdefault", (one, data)), ("__getitem__", (one,)), ("__delitem__", (one,)), ("__contains__", (one,)), ("index", (one,)),
            ("peekitem", (rand.randrange(-5, 5),)), ("popitem", (rand.randrange(-5, 5),)), ("bisect_left", (one,)), ("__len__", ()),
        ])
        assert shown(answer(getattr(mine, name), *args)) == shown(answer(getattr(peer, name), *args)), (name, args)
        assert list(mine.items()) == list(peer.items()) and list(mine.irange(one)) == list(peer.irange(one))
        mine._verify()
        strange = rand.choice(STRANGE)
        if key is None:
            assert (strange in mine) == (strange in dict(peer)) and mine.get(strange, "none") == dict(peer).get(strange, "none")
            before = list(mine.items())
            try:
                mine.update(pairs + [(strange, 1)] + pairs)
            except (TypeError, ValueError, ArithmeticError):
                assert list(mine.items()) == before
            else:
                mine = lathwork.SortedDict(peer)


BOUNDS = {
    "ints": lambda rand: rand.randrange(-20, 20),
    "floats": lambda rand: rand.randrange(-80, 80) / 4,
    "numbers": lambda rand: rand.choice([int, float, fractions.Fraction, lambda n: n / 4, lambda n: fractions.Fraction(n, 8)])(rand.randrange(-20, 20)),
    "decimals": lambda rand: decimal.Decimal(rand.randrange(-80, 80)) / 4,
    "datetimes": KINDS["datetimes"],
    "aware datetimes": KINDS["aware datetimes"],
}


def of_intervals(rand, make):
    mine, peer = lathwork.IntervalTree(), intervaltree.IntervalTree()

    def plain(found):
        return {tuple(interval) for interval in found}

    for _ in range(rand.randrange(5, 30)):
        intervals = []
        for _ in range(rand.choice([1, 1, 8])):
            low, high = sorted([make(rand), make(rand)])
            if low < high:
                intervals.append((low, high, rand.choice([None, "x", "y"])))
        change = rand.choice(["update", "update", "discard", "chop", "slice", "remove_envelop", "split_overlaps", "remove_overlap"])
        low, high = sorted([make(rand), make(rand)])
        for tree, one in ((mine, lathwork.Interval), (peer, intervaltree.Interval)):
            if change in ("update", "discard"):
                for interval in intervals if change == "discard" else [None]:
                    tree.discard(one(*interval)) if interval else tree.update([one(*i) for i in intervals])
            elif change == "slice":
                tree.slice(low)
            elif change == "split_overlaps":
                tree.split_overlaps()
            elif low < high:
                getattr(tree, change)(low, high)
        assert plain(mine) == plain(peer), (change, low, high, intervals)
        mine.verify()
        for _ in range(4):
            low, high = sorted([make(rand), make(rand)])
            assert plain(mine.at(low)) == plain(peer.at(low))
            if low < high:
                assert plain(mine.overlap(low, high)) == plain(peer.overlap(low, high)) and plain(mine.envelop(low, high)) == plain(peer.envelop(low, high))
                assert mine.overlaps(low, high) == peer.overlaps(low, high)


CASES = [(f"{kind} of {keys}", lambda rand, kind=kind, keys=keys: of_values(rand, KINDS[keys], kind)) for kind in ("SortedList", "SortedSet") for keys in KINDS]
CASES += [(f"SortedDict of {keys}", lambda rand, keys=keys: of_dicts(rand, KINDS[keys])) for keys in KINDS]
CASES += [(f"IntervalTree of {bounds}", lambda rand, bounds=bounds: of_intervals(rand, BOUNDS[bounds])) for bounds in BOUNDS]


@pytest.mark.parametrize("name, run", CASES, ids=[name for name, _ in CASES])
def test_random_calls(name, run):
    end, seed = time.monotonic() + SECONDS / len(CASES), SEED
    while seed == SEED or time.monotonic() < end:
        try:
            run(random.Random(f"{name} {seed}"))
        except Exception as error:
            raise AssertionError(f"{name}, LATH_FUZZ_SEED={seed}: {error!r}") from error
        seed += 1
