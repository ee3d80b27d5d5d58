#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The tables of memory order in doc/locking.md and doc/range-locks.md and the barriers of src/tree, src/set, src/space and
src/lock agree: every acquire, release
and barrier is in a row, its comment names a partner of that row, and the tables name nothing else."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# one table each: where its paths begin, folders, the document, the number of the table in it
PARTS = (("src", ("tree", "set"), "doc/locking.md", 1), ("src/space", ("",), "doc/locking.md", 2),
         ("src/lock", ("",), "doc/range-locks.md", 1))
PRIMITIVE = re.compile(r"\b(smp_load_acquire|lath_load_pointer|smp_store_release|smp_rmb|smp_wmb|smp_mb|cmpxchg_acquire|lath_fetch_add_release)\(")
FUNCTION = re.compile(r"^[a-z].*?\b(\w+)\([^;]*$")
PAIRS = re.compile(r"pairs with (?:(?:the )?\w+ in )?(?:\w+\.[ch] )?(\w+)")


def code_sites(part, folders):
    """(file, function) of every barrier -> the partners that comments there name, and where."""
    sites = {}
    for path in sorted(p for folder in folders for p in (ROOT / part / folder).rglob("*.[ch]")):
        function, lines = "", path.read_text().splitlines()
        for i, line in enumerate(lines):
            if m := FUNCTION.match(line):
                function = m[1]
            if not PRIMITIVE.search(line):
                continue
            near = " ".join(lines[max(i - 1, 0):i + 1])
            name = (path.relative_to(ROOT / part).as_posix(), function)
            partners = PAIRS.findall(near)
            if not partners:
                complain(f"{part}/{name[0]}:{i + 1}: {function}: no \"pairs with\" comment")
            sites.setdefault(name, set()).update(partners)
    return sites


def cell_sites(cell):
    """`a`, `b` (`file`), `c` (`file`) -> {(file, a), ...}"""
    found, waiting = set(), []
    for word in re.findall(r"`([^`]+)`", cell):
        if re.search(r"\.[ch]$", word):
            found.update((word, name) for name in waiting)
            waiting = []
        else:
            waiting.append(word)
    return found


def table(document, number):
    text = (ROOT / document).read_text()
    rows = text.split("| published by |")[number].split("\n\n")[0].splitlines()[2:]
    for row in rows:
        left, right, *_ = row.strip("| ").split(" | ")
        # `x`: the field that a row is about
        yield [cell_sites(re.sub(r"(of|to) `\w+`", "", cell)) for cell in (left, right)]


ERRORS = []


def complain(text):
    ERRORS.append(text)


def compare(part, folders, document, number):
    sites, rows = code_sites(part, folders), list(table(document, number))
    named = set().union(*(left | right for left, right in rows))
    for file, function in sorted(set(sites) - named):
        complain(f"{document}: no row names `{function}` (`{file}`)")
    for file, function in sorted(named - set(sites)):
        complain(f"{document}: `{function}` (`{file}`) has no barrier")
    for site, partners in sorted(sites.items()):
        opposite = {f for left, right in rows for a, b in ((left, right), (right, left)) if site in a for _, f in b}
        for partner in sorted(partners - opposite):
            complain(f"{part}/{site[0]}: {site[1]} \"pairs with {partner}\", which no row of {document} says")


for part_of_tables in PARTS:
    compare(*part_of_tables)
sys.exit("\n".join(ERRORS) if ERRORS else 0)
