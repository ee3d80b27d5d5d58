#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""doc/map.md, doc/parts.md and the tree agree: each part has about as many lines as its row says; each folder of src/ and each door has a row, each row a folder. Each step's function, also those
of the lists in doc/range-index.md, doc/holes.md, is defined in the file that is named. Each way of doc/map.md passes as many files as
it says at most, no step is in a room above that of the step that calls it, and each step but the first is called by one before
it: directly, by an inline function of a header, or by functions in the files of the way."""
import importlib.machinery
import importlib.util
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (".c", ".h", ".cpp", ".hpp", ".rs", ".py")
BESIDE = {"tests", "spec", "debug", "examples", "tools", "cmake", "packaging", "debian", "doc", "notes", "build", "LICENSES", "shared"}
NUMBERS = dict(zip("one two three four five six seven eight nine ten eleven twelve".split(), range(1, 13)))


def load(path):
    """A script as a module."""
    loader = importlib.machinery.SourceFileLoader(path.name.replace("-", "_"), str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


LAYERS = load(ROOT / "tools/check-layers")
ARGUMENT = re.compile(r"[(,]\s*(\w+_\w+)(?=[,)])")


def all_functions():
    """name -> (file, whether it is inline in a header, names of what it calls or hands to a call) of each function in C. A call
    through a table of functions is one of each function that a table has there."""
    layers, found, table = LAYERS, {}, {}
    for file in (ROOT / "src").rglob("*.[ch]"):
        for entry, name in re.findall(r"\.(\w+) = (\w+)", file.read_text()):
            table.setdefault(entry, set()).add(name)
    for folder in ("src", "valkey"):
        for file, _, name, _, body in layers.functions(ROOT, folder):
            called = set(layers.CALL.findall(body) + ARGUMENT.findall(body))
            called.update(*(table.get(entry, ()) for entry in re.findall(r"->(\w+)\(", body)))
            found.setdefault(name, []).append((file, file.endswith(".h"), called))
    return found


FUNCTIONS = all_functions()


def room(file):
    """A source and the header of its name are one file of a way."""
    return file.rsplit(".", 1)[0]


def reached(function, file, files):
    """(function, file) of all that a function calls, through inline functions of headers and through functions in these files."""
    seen, left = set(), [(function, file)]
    while left:
        name, home = left.pop()
        for there, _, called in FUNCTIONS.get(name, ()):
            if there != home:
                continue
            for callee in called:
                for where, inline, _ in FUNCTIONS.get(callee, ()):
                    if (callee, where) in seen:
                        continue
                    seen.add((callee, where))
                    if inline or room(where) in files:
                        left.append((callee, where))
    return seen


def defined(function, file):
    source = LAYERS.plain((ROOT / file).read_text()) if (ROOT / file).is_file() else ""
    return re.search(rf"^[a-z_][^;\n]*\b{function}\([^;]*?\)\n?\{{", source, re.M)


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
    order = [name for row in rows for name in re.findall(r"`([^`]+)/`", row[0])]
    for way in ways:
        yield from wrong_way(way, order)


def height(file, order):
    """The row of the file's room in the house, counted from the top; doors are one row."""
    return max((i for i, name in enumerate(order) if file.startswith(name + "/")), key=lambda i: len(order[i]))


def wrong_way(way, order):
    title = way.splitlines()[0]
    steps = re.findall(r"^\| \d+\. .*?\| `(\w+)\(\)` \| `([^`]+)` \|$", way, re.M)
    if not 5 <= len(steps) <= 9:
        yield f"{title}: {len(steps)} steps"
    most = re.search(r"passes (\w+)\s+files at most", way)
    files = {room(file) for _, file in steps}
    if not most or len(files) > NUMBERS.get(most[1], 0):
        yield f"{title}: passes {len(files)} files, and says {most[1] if most else 'no number'}"
    for i, (function, file) in enumerate(steps):
        if not defined(function, file):
            yield f"{function}() is not defined in {file}"
            continue
        callers = [(name, home) for name, home in steps[:i] if (function, file) in reached(name, home, files)]
        if i and not callers:
            yield f"{title}: {function}() is called by no step before it"
        if callers and all(height(home, order) > height(file, order) for _, home in callers):
            yield f"{title}: {function}() is above {callers[0][0]}(), which calls it"


def wrong_lists(name, text):
    """`function()`, `file`: in the lists of the chapters, whose paths may begin below src/."""
    found = re.findall(r"`(\w+)\(\)`(?:, | \()`([a-z_/]+\.[ch])`", text)
    if len(found) < 8:
        yield f"{name}: {len(found)} functions with a file"
    for function, file in found:
        if not defined(function, file if file.startswith("src/") else "src/" + file):
            yield f"{name}: {function}() is not defined in {file}"


def wrong_parts(text, files):
    """files: name -> lines. A part is off by a seventh and a hundred lines, or a row has no files."""
    rows = {name if name != "." else "": int(lines.replace(",", "")) for name, lines in re.findall(r"^\| `([^`]+)` \| ([\d,]+) \| .+ \| .+ \|$", text, re.M)}
    counted = dict.fromkeys(rows, 0)
    for name, lines in files.items():
        counted[max((row for row in rows if not row or name.startswith(row + "/")), key=len)] += lines
    for name, lines in counted.items():
        if not lines or abs(lines - rows[name]) > max(100, lines // 7):
            yield f"doc/parts.md: {name or '.'} has {lines} lines, not {rows[name]}"


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
    return {name: (ROOT / name).read_bytes().count(b"\n") for name in filter(None, listed) if (ROOT / name).is_file()}


CHAPTERS = ("range-index", "holes")


def main():
    text = (ROOT / "doc/map.md").read_text()
    found = [f"doc/map.md: {line}" for line in wrong(text)]
    for name in CHAPTERS:
        found += wrong_lists(f"doc/{name}.md", (ROOT / f"doc/{name}.md").read_text())
    parts, files = (ROOT / "doc/parts.md").read_text(), tracked()
    found += wrong_parts(parts, files) if files else []  # an archive has no list of its files
    if found:
        sys.exit("\n".join(found))
    # the test can fail
    if files and not (list(wrong_parts(parts.replace("| `src/store` | ", "| `src/store` | 1"), files)) and
                      list(wrong_parts(parts + "| `no/part` | 5 | - | - |\n", files))):
        sys.exit("a wrong part is not noticed")
    for before, after in (
            ("`src/tree/way/` |", "`src/tree/path/` |"), ("`leaf_insert()`", "`leaf_add()`"), ("| `python/` |", "| `rust/` |"),
            ("passes seven files", "passes six files"), ("passes nine files", "passes files"),
            ("`lath_kv_set()`", "`lath_kv_get()`"),
            ("| `finger_find()` | `src/tree/way/finger.h` |", "| `gap_raise()` | `src/tree/watch/gap.c` |"),
            ("| `lath_node_insert()` | `src/tree/node/node.c` |", "| `hint_start()` | `src/tree/way/hint.c` |"),
            ("| `src/sys/` |", "| `src/tree/node/` |")):
        if before not in text or not list(wrong(text.replace(before, after))):
            sys.exit(f"{after} is not noticed")
    for name in CHAPTERS:
        chapter = (ROOT / f"doc/{name}.md").read_text()
        if not list(wrong_lists(name, chapter.replace("_alloc()`", "_take()`").replace("_find()`", "_seek()`"))):
            sys.exit(f"a wrong function in doc/{name}.md is not noticed")


main()
