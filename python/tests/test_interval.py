# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""IntervalTree against a set of intervals that is searched from end to end."""
import copy
import datetime
import gc
import pickle
import re
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lathwork import Interval, IntervalTree, after

INTS = st.integers(-30, 30) | st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])
FLOATS = st.integers(-60, 60).map(lambda number: number / 4) | st.sampled_from([-1e300, 1e300, float("-inf"), float("inf"), 0.1])
DAYS = st.integers(0, 60).map(lambda day: datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=day))


def trees(bounds):
    intervals = st.tuples(bounds, bounds, st.sampled_from([None, "x", ("y",)])).filter(lambda i: i[0] < i[1])
    return st.lists(intervals.map(lambda i: Interval(*i)), max_size=40)


def compare(tree, model, points):
    tree.verify()
    assert tree.items() == model and len(tree) == len(model)
    for low in points:
        assert tree.at(low) == {i for i in model if i.begin <= low < i.end}
        assert tree.overlaps(low) == bool(tree.at(low))
        for high in points:
            empty = not low < high
            assert tree.overlap(low, high) == {i for i in model if not empty and i.begin < high and i.end > low}
            assert tree.envelop(low, high) == {i for i in model if not empty and low <= i.begin and i.end <= high}
            assert tree.overlaps(low, high) == bool(tree.overlap(low, high))
    if model:
        assert (tree.begin(), tree.end()) == (min(i.begin for i in model), max(i.end for i in model))


@pytest.mark.parametrize("bounds, points", [(INTS, INTS | FLOATS), (FLOATS, FLOATS | st.integers(-30, 30)), (DAYS, DAYS)])
def test_searches(bounds, points):
    @given(trees(bounds), trees(bounds), st.lists(points, max_size=6), st.randoms())
    @settings(max_examples=50, deadline=None, derandomize=True)
    def run(first, second, asked, random):
        tree, model = IntervalTree(first), set(first)
        compare(tree, model, asked)
        for interval in second:
            if random.random() < 0.5:
                tree.add(interval)
                model.add(interval)
            else:
                tree.discard(interval)
                model.discard(interval)
                assert interval not in tree
        compare(tree, model, asked)
        for interval in random.sample(sorted(model), len(model) // 2):
            tree.remove(interval)
            model.remove(interval)
            with pytest.raises(ValueError):
                tree.remove(interval)
        compare(tree, model, asked)
        assert tree == IntervalTree(model) and tree == pickle.loads(pickle.dumps(tree)) == copy.copy(tree)

    run()


def test_kinds_of_bounds():
    tree = IntervalTree([Interval(1, 5), Interval(2**53, 2**53 + 2)])
    tree.add(Interval(1.5, 2.5))  # all become floats
    assert tree[2] == {Interval(1, 5), Interval(1.5, 2.5)} and Interval(1, 5) in tree
    tree.verify()
    with pytest.raises(OverflowError):
        tree.add(Interval(1, 2**53 + 1))
    odd = IntervalTree([Interval(1, 2**53 + 1)])
    with pytest.raises(OverflowError):
        odd.add(Interval(0.5, 1))
    odd.verify()
    assert odd[2**53] and not odd[2**53 + 1]
    for wrong, error in ((Interval(1, 2**63), OverflowError), (Interval("a", "b"), TypeError), (Interval(float("nan"), 1), ValueError), (Interval(3, 3), ValueError)):
        with pytest.raises(error):
            IntervalTree([wrong])
    with pytest.raises(TypeError):
        tree.add(Interval(datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)))
    empty = IntervalTree()
    with pytest.raises(ValueError):
        empty.addi(3, 3)
    empty.addi(datetime.date(2020, 1, 1), datetime.date(2020, 1, 2))  # what was refused decides nothing
    days = IntervalTree([Interval(datetime.date(2020, 1, 1), datetime.date(2020, 3, 1), "winter")])
    assert days[datetime.date(2020, 2, 29)] and not days[datetime.date(2020, 3, 1)]
    assert tree.at(2**200) == set() and IntervalTree([(0, 1)]).at(-(2**200)) == set()


def test_data_need_not_be_hashable():
    tree = IntervalTree([Interval(1, 3, [1]), Interval(1, 3, [2]), Interval(1, 3, [1])])
    assert len(tree) == 2 and Interval(1, 3, [2]) in tree
    tree.removei(1, 3, [2])
    assert tree.items() == {Interval(1, 3, [1])}


def test_changes_within_a_comparison():
    class Bad:
        def __eq__(self, other):
            tree.clear()
            return False

        __hash__ = None

    tree = IntervalTree([Interval(1, 3, Bad())])
    for change in (lambda: tree.addi(1, 3, Bad()), lambda: tree.discardi(1, 3, Bad())):
        with pytest.raises(RuntimeError, match="within a comparison"):
            change()
    with pytest.raises(RuntimeError, match="within a comparison"):
        tree.update([Interval(7, 9), Interval(1, 3, Bad()), Interval(5, 6)])  # all or none
    tree.verify()
    assert len(tree) == 1


def test_there_is_no_order_and_no_closed_end():
    tree = IntervalTree([Interval(1, 5, "a")])
    with pytest.raises(TypeError, match="no order"):
        reversed(tree)
    for bound in (after(5), None):
        for call in (lambda: tree.addi(1, bound), lambda: tree.addi(bound, 7), lambda: IntervalTree([(bound, 7)]), lambda: tree.at(bound),
                     lambda: tree.overlap(bound, 7), lambda: tree.envelop(bound, 7), lambda: tree.overlaps(bound, 7), lambda: tree.chop(bound, 7)):
            with pytest.raises(TypeError, match=re.escape(f"the bound {bound!r} of type")):
                call()
    with pytest.raises(TypeError, match=r"after\(5\)"):
        tree[4 : after(5)]
    assert tree[4:None] == tree[None:2] == tree.items() and Interval(1, after(5), "a") not in tree and len(tree) == 1


def test_cycles_are_collected():
    class Thing:
        pass

    thing = Thing()
    thing.tree = IntervalTree([Interval(1, 2, thing)])
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None
