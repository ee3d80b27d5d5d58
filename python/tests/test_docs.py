# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Examples in docstrings, and in the book give what they say, and programs move as doc/migrating.md says."""
import ast
import collections.abc
import doctest
import importlib
import pathlib
import re
import subprocess
import sys

import pytest

import lathwork

CALLS = """
from lathwork import Map, SortedDict, SortedKeyList, SortedList, SortedSet

class Book(SortedDict[int, str]):
    def best(self) -> tuple[int, str]:
        return self.peekitem(0)

plain: dict[str, int] = SortedDict({"a": 1}) | SortedDict(None, {"b": 2})
numbers: SortedSet[int] = SortedSet([3, 1]) & {3}
rest = {1, 2} - numbers
floats: SortedList[float] = SortedList([1.5])
least: float = min(low + 1 for low in floats.irange(1.0, 2.0))
back = SortedKeyList([1, 2], key=lambda value: -value)
text: str = Book({1: "x"}).best()[1] + Map({1: "x"})[1]
"""
ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", ["interval", "map", "ranges", "rangeset", "sorted", "store"])
def test_docstrings(module):
    failed, tried = doctest.testmod(importlib.import_module(f"lathwork.{module}"))
    assert tried and not failed


@pytest.mark.parametrize("file", ["doc/install.md", "doc/python.md", "doc/range-locks.md"])
def test_chapters(file):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / file).read_text(), re.DOTALL)
    assert blocks
    space = {}
    for block in blocks:
        exec(block, space)


def test_types(tmp_path):
    """The programs of the chapter, and calls of the sorted containers, in the eyes of a strict type checker."""
    pytest.importorskip("mypy", reason="mypy is not for this Python")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "doc/python.md").read_text(), re.DOTALL)
    (tmp_path / "chapter.py").write_text("\n".join(blocks))
    (tmp_path / "calls.py").write_text(CALLS)
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "chapter.py",
                           tmp_path / "calls.py"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["sorted", "intervaltree"])
def test_migration(name):
    """The programs of doc/migrating.md print the same before and after."""
    before, after = (subprocess.run([sys.executable, ROOT / f"examples/migrate/{name}_{which}.py"], capture_output=True,
                                    text=True, check=True, timeout=60).stdout for which in ("before", "after"))
    assert before and before == after


def test_every_public_call_says_what_it_does():
    for name in lathwork.__all__:
        thing = getattr(lathwork, name)
        assert thing.__doc__, name
        for call, member in vars(thing).items():
            if callable(member) and not call.startswith("_"):
                assert member.__doc__, f"{name}.{call}"


def test_stubs_have_the_public_calls():
    """Each class of a stub has the public names that the class has, and no others."""
    for module in ("interval", "map", "ranges", "rangeset", "sorted", "store"):
        tree = ast.parse((pathlib.Path(lathwork.__file__).parent / f"{module}.pyi").read_text())
        stubs = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for name, node in stubs.items():
            real = getattr(lathwork, name, None)
            if real is None or name == "NoSpace":
                continue
            said, bases = set(), [node]
            while bases:
                one = bases.pop()
                said |= {part.name for part in one.body if isinstance(part, ast.FunctionDef) and not part.name.startswith("_")}
                bases += [stubs[word.id] for base in one.bases for word in ast.walk(base) if isinstance(word, ast.Name) and word.id in stubs]
            there = {call for call in dir(real) if not call.startswith("_")}
            inherited = set(dir(tuple)) if issubclass(real, tuple) else set(dir(collections.abc.Sequence)) | set(dir(collections.abc.Set))
            inherited |= {call for base in (dict, set) if issubclass(real, base) for call in dir(base)}
            assert said <= there, (name, said - there)
            assert there - said <= inherited, (name, there - said)
