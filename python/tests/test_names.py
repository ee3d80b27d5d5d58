# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Names that programs of the replaced packages use, and what the package says of the Python that it needs."""
import ast
import ctypes
import importlib.metadata
import inspect
import json
import pathlib
import re
import typing

import pytest

import lathwork
from lathwork import Interval, IntervalTree, Map, RangeMap, SortedDict, SortedKeyList, SortedList, SortedListWithKey, SortedSet

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("kind", [SortedList, SortedKeyList, SortedSet, SortedDict, IntervalTree, RangeMap, SortedListWithKey,
                                  lathwork.SortedKeysView, lathwork.SortedItemsView, lathwork.SortedValuesView])
def test_generic_at_run_time(kind):
    """As in `def f(values: SortedList[int])`, which is evaluated when a module is imported."""
    for arguments in (int, (str, int), "Name", typing.Any, typing.TypeVar("T")):
        made = kind[arguments]
        assert made.__origin__ is kind and typing.get_args(made) == (arguments if isinstance(arguments, tuple) else (arguments,))

    def annotated(values: kind[int]) -> kind[str]:
        return values

    assert typing.get_type_hints(annotated)["values"] == kind[int]


def test_the_library_in_the_package_is_its_own():
    """Nothing of it is found by name in the process, so no other copy of it is called either."""
    module = ctypes.CDLL(lathwork._core.__file__)
    assert hasattr(module, "PyInit__core") and not hasattr(module, "lath_index_init") and not hasattr(module, "lath_store_open")


@pytest.mark.parametrize("kind", [SortedList, SortedSet, SortedDict, IntervalTree, RangeMap])
def test_generic_makes_containers(kind):
    class Own(kind[int]):
        pass

    assert type(kind[int]()) is kind and isinstance(Own(), kind) and len(Own()) == 0
    assert type(Own().copy()) is Own


def test_earlier_name():
    assert SortedListWithKey([3, 1], key=lambda value: -value) == [3, 1] and SortedListWithKey is SortedKeyList


def test_interval_is_like_a_named_tuple():
    one = Interval(1, 3, "x")
    assert one._replace(data="y") == Interval(1, 3, "y") and one._replace(begin=0, end=9) == Interval(0, 9, "x")
    assert one._replace() == one and type(one._replace(end=5)) is Interval
    assert one._asdict() == {"begin": 1, "end": 3, "data": "x"} and Interval._make([1, 3, "x"]) == one
    assert one._fields == ("begin", "end", "data")
    with pytest.raises(ValueError, match="other"):
        one._replace(other=1)
    with pytest.raises(TypeError):
        Interval._make([1])


def test_a_range_has_no_single_value():
    values = RangeMap([(10, 20, "a")])
    for where in (slice(10, 12), slice(None), slice(10, 12, 2)):
        with pytest.raises(TypeError, match=r"overlapping\(start, stop\)"):
            values[where]
    with pytest.raises(TypeError, match="int"):
        values["key"]
    assert values[12] == "a"


def minimum():
    return re.search(r'^requires-python = ">=(3\.\d+)"$', (ROOT / "python/pyproject.toml").read_text(), re.MULTILINE)[1]


def test_minimum_version_is_the_same_everywhere():
    text = (ROOT / "python/pyproject.toml").read_text()
    version = minimum()
    said = re.findall(r"Python :: (3\.\d+)", text)
    assert said[0] == version and said == [f"3.{number}" for number in range(int(version[2:]), int(version[2:]) + len(said))]
    assert f"find_package(Python {version} REQUIRED" in (ROOT / "python/CMakeLists.txt").read_text()
    tried = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/wheels.yml").read_text())[1]
    assert tried.split(", ")[0] == f'"{version}"'
    for file in ("doc/python.md", "python/README.md"):
        assert f"Python {version} " in (ROOT / file).read_text(), file
    assert importlib.metadata.metadata("lathwork")["Requires-Python"] == f">={version}"
    # else pip ends at what the build needs, and does not name the version
    assert f"nanobind>=3,<4; python_version >= '{version}'" in text


def test_licences_are_in_the_wheel():
    said = importlib.metadata.metadata("lathwork")
    assert said["License-Expression"] == "MIT OR GPL-2.0-only" and said["Author"]
    texts = {file.name: file.read_text() for file in importlib.metadata.files("lathwork") if "licenses" in file.parts}
    assert texts == {file.name: file.read_text() for file in (ROOT / "LICENSES").iterdir()}


def test_sources_are_for_the_minimum_version():
    """Each file of the package has the grammar of the minimum. The workflow `wheels` builds and runs it there."""
    version = tuple(map(int, minimum().split(".")))
    files = sorted((ROOT / "python/package/lathwork").glob("*.py*"))
    assert len(files) >= 9
    for file in files:
        ast.parse(file.read_text(), str(file), feature_version=version)
    with pytest.raises(SyntaxError):
        ast.parse("try: pass\nexcept* ValueError: pass", feature_version=version)


CLASSES = [kind for name in lathwork.__all__ if inspect.isclass(kind := getattr(lathwork, name)) and not issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_method_has_a_signature_and_a_description(kind):
    for name, member in inspect.getmembers(kind, callable):
        if not name.startswith("_"):
            assert "self" in inspect.signature(member).parameters or inspect.ismethod(member) or isinstance(vars(kind).get(name), staticmethod), name
            assert inspect.getdoc(member), name


def test_signatures_of_compiled_methods():
    """They are those of the stubs, and those of objects have no self."""
    d = Map({1: 2})
    assert str(inspect.signature(Map.get)) == "(self, /, key, default=None)" and str(inspect.signature(d.get)) == "(key, default=None)"
    assert d.get.__doc__.startswith("The value of key") and d.get.__name__ == "get" and d.get(key=3, default=5) == 5 and Map.get(d, 1) == 2
    assert str(inspect.signature(lathwork.Store().incr)) == "(key, by=1)" and str(inspect.signature(SortedList().add)) == "(value)"
    with pytest.raises(TypeError):
        Map.get(SortedList(), 1)
    stubs = {path.stem: path.read_text() for path in pathlib.Path(lathwork.__file__).parent.glob("*.pyi")}
    seen = 0
    for kind in CLASSES:
        for name, member in inspect.getmembers(kind, lambda member: isinstance(member, type(Map.get))):
            if member.__objclass__.__module__ == "lathwork._core" and not name.startswith("_"):
                forms = re.findall(rf"def {name}\(\s*self,?\s*(.*?)\)\s*->", stubs[kind.__module__.rpartition(".")[2]], re.DOTALL)
                assert list(inspect.signature(member).parameters)[1:] in [re.findall(r"(\w+):", form) for form in forms], (kind, name)
                seen += 1
    assert seen > 30


def test_classes_have_signatures():
    """Their arguments by name."""
    for kind in CLASSES:
        if not issubclass(kind, (lathwork.sorted._View, lathwork.map._MapView)):
            assert "args" not in str(inspect.signature(kind)), kind
    assert str(inspect.signature(SortedDict)) == "(key=None, items=(), /, **more)" and str(inspect.signature(SortedDict.update)) == "(self, items=(), /, **more)"
    assert inspect.signature(lathwork.Store.keys) == inspect.signature(lathwork.Store.values) == inspect.signature(lathwork.Store.items)
    assert str(inspect.signature(lathwork.Hold)) == "(locks, start, stop, shared=False)"
    assert SortedDict(key=1, items=2, self=3) == {"key": 1, "items": 2, "self": 3} and SortedDict({"a": 1}, a=2, b=3) == {"a": 2, "b": 3}
    for wrong in (lambda: SortedDict({1: 2}, {3: 4}), lambda: SortedDict(None, {}, {}), lambda: SortedDict().update({}, {}),
                  lambda: SortedDict(None, None)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize("kind", CLASSES)
def test_nothing_is_iterated_by_position_that_has_none(kind):
    """Without __reversed__ or __iter__ Python takes the numbers from 0 on for keys."""
    if hasattr(kind, "__getitem__") and not issubclass(kind, tuple):
        for name in ("__iter__", "__reversed__", "__contains__"):
            assert name in dir(kind), name


def test_json_in_one_line():
    assert json.dumps({"x": SortedDict(b=2, a=1)}) == json.dumps({"x": Map(b=2, a=1)}, default=dict) == '{"x": {"a": 1, "b": 2}}'
    assert json.dumps(SortedSet([2, 1]), default=list) == "[1, 2]"


def test_stubs_have_the_names_of_the_package():
    for name in [name for name in lathwork.__all__ if name.startswith("Sorted")]:
        assert re.search(rf"^(class )?{name}\b", (pathlib.Path(lathwork.__file__).parent / "sorted.pyi").read_text(), re.MULTILINE)
