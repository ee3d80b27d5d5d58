# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""hostile.py over every method of every class, in a process per class: a crash is a failure that names the call."""
import pathlib
import subprocess
import sys

import pytest

HOSTILE = pathlib.Path(__file__).with_name("hostile.py")
CLASSES = ["Interval", "IntervalTree", "Iterator", "Map", "RangeAllocator", "RangeMap", "SortedDict", "SortedItemsView", "SortedKeyList",
           "SortedKeysView", "SortedList", "SortedSet", "SortedValuesView", "Store"]


@pytest.mark.parametrize("name", CLASSES)
def test_every_method(name):
    made = subprocess.run([sys.executable, "-B", HOSTILE, name], capture_output=True, text=True, timeout=600)
    calls = made.stdout.splitlines()
    assert made.returncode == 0, (name, made.returncode, calls[-3:], made.stderr[-2000:])
    assert calls[-1].startswith(f"{name}: ")


def test_no_class_is_left_out():
    made = subprocess.run([sys.executable, "-B", "-c", f"import sys; sys.argv = [{str(HOSTILE)!r}, 'list']; sys.path.insert(0, {str(HOSTILE.parent)!r}); "
                           "import hostile; print(*sorted(hostile.CLASSES))"], capture_output=True, text=True, check=True)
    assert made.stdout.split() == sorted(CLASSES)
