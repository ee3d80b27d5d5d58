# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""pytest plugin: suites of sortedcontainers and intervaltree run against lathwork.

`import sortedcontainers` and `import intervaltree` in the tests give lathwork's classes. Tests that
differences.txt names must fail.
"""
import fnmatch
import pathlib
import sys
import types

import intervaltree
import pytest

import lathwork

HERE = pathlib.Path(__file__).parent


def alias(name, **members):
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module


def reset(self, load):
    """sortedcontainers' tests set the length of its inner lists."""
    self._load = load


class Inner:
    """Stands for the inner lists, of which the stress tests delete one when a list has become long."""

    def __init__(self, values, part):
        self.values, self.part = values, part

    def __len__(self):
        return 1

    def __iter__(self):
        return iter([self.values])

    def __delitem__(self, at):
        if self.part == "_lists":
            del self.values[len(self.values) // 3 : len(self.values) * 2 // 3]


for kind in (lathwork.SortedList, lathwork.SortedSet, lathwork.SortedDict):
    kind._reset = reset
    kind._check = kind._verify
    kind._key = kind.key
    kind._load = 1000
    kind._len = property(len, lambda self, length: None)
for part in ("_lists", "_maxes", "_keys"):
    setattr(lathwork.SortedList, part, property(lambda self, part=part: Inner(self, part)))
lathwork.SortedSet._set = property(set)
names = {name: getattr(lathwork, name) for name in lathwork.__all__}
# its own module stays, as the tests import parts of it
intervaltree.Interval, intervaltree.IntervalTree = lathwork.Interval, lathwork.IntervalTree
lathwork.IntervalTree.print_structure = print
alias("sortedcontainers", **names)


def differences():
    for line in (HERE / "differences.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition("  ")
            yield pattern, reason.strip()


def pytest_ignore_collect(collection_path):
    """A line FILE:: without a test is for a whole file that cannot be imported."""
    if any(pattern == f"{collection_path.stem}::" for pattern, _ in differences()):
        return True
    return None


def pytest_collection_modifyitems(items):
    known = list(differences())
    for item in items:
        for pattern, reason in known:
            if fnmatch.fnmatchcase(f"{item.path.stem}::{item.name}", pattern):
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
