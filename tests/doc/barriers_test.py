#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The tables of memory order in doc/locking.md and the barriers of src/tree, src/set and src/space agree: every acquire, release
and barrier is in a row, its comment names a partner of that row, and the tables name nothing else."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = (("src", ("tree", "set")), ("src/space", ("",)))  # one table each: where its paths begin, folders
PRIMITIVE = re.compile(r"\b(smp_load_acquire|smp_store_release|smp_rmb|smp_wmb|smp_mb|cmpxchg_acquire|lath_fetch_add_release)\(")
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


def table(number):
    text = (ROOT / "doc/locking.md").read_text()
    rows = text.split("| published by |")[number].split("\n\n")[0].splitlines()[2:]
    for row in rows:
        left, right, *_ = row.strip("| ").split(" | ")
        # `x`: the field that a row is about
        yield [cell_sites(re.sub(r"(of|to) `\w+`", "", cell)) for cell in (left, right)]


ERRORS = []


def complain(text):
    ERRORS.append(text)


def compare(part, folders, number):
    sites, rows = code_sites(part, folders), list(table(number))
    named = set().union(*(left | right for left, right in rows))
    for file, function in sorted(set(sites) - named):
        complain(f"doc/locking.md: no row names `{function}` (`{file}`)")
    for file, function in sorted(named - set(sites)):
        complain(f"doc/locking.md: `{function}` (`{file}`) has no barrier")
    for site, partners in sorted(sites.items()):
        opposite = {f for left, right in rows for a, b in ((left, right), (right, left)) if site in a for _, f in b}
        for partner in sorted(partners - opposite):
            complain(f"{part}/{site[0]}: {site[1]} \"pairs with {partner}\", which no row of doc/locking.md says")


for n, (part, folders) in enumerate(PARTS, 1):
    compare(part, folders, n)
sys.exit("\n".join(ERRORS) if ERRORS else 0)
