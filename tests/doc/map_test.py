#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""doc/map.md and the tree agree: each folder of src/ and each door has a row, each row a folder, and each step's function is
defined in the file that its row names."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (".c", ".h", ".cpp", ".hpp", ".rs", ".py")
BESIDE = {"tests", "spec", "debug", "examples", "tools", "cmake", "packaging", "debian", "doc", "build", "LICENSES", "shared"}


def has_sources(folder):
    return any(p.suffix in SOURCES for p in folder.iterdir() if p.is_file())


def rooms():
    """Folders that need a row: those of src/ with sources, and the doors."""
    for folder in sorted(p for p in (ROOT / "src").rglob("*") if p.is_dir() and has_sources(p)):
        yield folder.relative_to(ROOT).as_posix()
    for door in sorted(p for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".") and p.name not in BESIDE | {"src"}):
        yield "include/lathwork" if door.name == "include" else door.name


def wrong(text):
    house, *ways = text.split("\n## ")[1:]
    rows = [row.split("|")[1:-1] for row in house.splitlines() if row.startswith("| `")]
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+/[^`]*)`", row[0] + row[1])}
    for room in rooms():
        if room not in named:
            yield f"{room}: no row"
    for name in sorted(named):
        if not (ROOT / name).is_dir() and not name.startswith("/dev"):
            yield f"{name}: not there"
    for way in ways:
        steps = re.findall(r"^\| \d+\. .*?\| `(\w+)\(\)` \| `([^`]+)` \|$", way, re.M)
        if not 5 <= len(steps) <= 9:
            yield f"{way.splitlines()[0]}: {len(steps)} steps"
        for function, file in steps:
            source = (ROOT / file).read_text() if (ROOT / file).is_file() else ""
            if not re.search(rf"^[a-z_][^;\n]*\b{function}\([^;]*?\)\n?\{{", source, re.M):
                yield f"{function}() is not defined in {file}"


def main():
    text = (ROOT / "doc/map.md").read_text()
    found = list(wrong(text))
    if found:
        sys.exit("\n".join(f"doc/map.md: {line}" for line in found))
    # the test can fail
    for before, after in (("`src/tree/way/` |", "`src/tree/path/` |"), ("`leaf_insert()`", "`leaf_add()`"), ("| `python/` |", "| `rust/` |")):
        if not list(wrong(text.replace(before, after))):
            sys.exit(f"{after} is not noticed")


main()
