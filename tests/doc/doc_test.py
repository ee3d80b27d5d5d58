#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The documents: relative links and their anchors lead somewhere; every path in `code` exists; every
function, struct and constant that a chapter about the index names in `code` is in its sources; prose of
the book, README and CONTRIBUTING is at most 100 columns wide."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *sorted((ROOT / "doc").glob("*.md"))]
# Chapters whose every identifier must be in the sources of the index.
INDEX = ("range-index.md", "locking.md", "glossary.md", "holes.md")
LINK = re.compile(r'!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"')
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.*{},-]*)`")
NAME = re.compile(r"`(?:struct |enum )?([a-zA-Z][a-z0-9]*_\w+|[A-Z]{3,}_\w+)(?:\(.*?\))?`")
WIDTH = 100
REFLOWED = ("README.md", "CONTRIBUTING.md")
OTHERS = ("urcu_",)  # names of other libraries
# Made by a build, or not files at all.
NOT_FILES = re.compile(r"(build|out)/|doc/play\.html|/|\$|linux/|lib/|proc/|sys/kernel|~")


def anchors(path):
    """The anchors of a document's headings, as GitHub and mkdocs make them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def links(path, text):
    for match in LINK.finditer(text):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        if file == "play.html":  # made with the book
            continue
        there = (path.parent / file).resolve() if file else path
        if not there.exists():
            yield f"link to {target}, which is not there"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there):
            yield f"link to {target}, which has no such heading"


def alternatives(path):
    """a/{b,c} -> a/b, a/c"""
    match = re.search(r"\{([^}]*)\}", path)
    return [path[:match.start()] + part + path[match.end():] for part in match[1].split(",")] if match else [path]


def paths(text):
    bases = [ROOT, ROOT / "src", ROOT / "src/tree", ROOT / "include", ROOT / "include/lathwork", ROOT / "src/tree/call", ROOT / "src/tree/step"]
    for match in PATH.finditer(text):
        if NOT_FILES.match(match[1]) or match[1].split("/")[0] not in TOP:
            continue
        for path in alternatives(match[1]):
            pattern = path.rstrip("/").replace("NAME", "*")
            if not any(list(base.glob(pattern)) or list(base.glob(pattern + ".[ch]")) for base in bases):
                yield f"`{path}` is not there"


TOP = {p.name for p in ROOT.iterdir()} | {p.name for p in (ROOT / "src/tree").iterdir()} | {"tree"} | {"lathwork", "cxx"}


def names(text, sources):
    for name in sorted({m[1] for m in NAME.finditer(text)}):
        if name not in sources and not name.startswith(OTHERS):
            yield f"`{name}` is not in the sources"


def wide(text):
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.startswith("```")
        if len(line) > WIDTH and not code and not line.startswith(("|", "    ", "<", "  <", "![")):
            yield f"line {number} has {len(line)} columns"


def main():
    files = [f for top in ("src", "include", "tests", "kernel", "spec", "rust/lathwork/src") for f in (ROOT / top).rglob("*")
             if f.suffix in (".c", ".h", ".hpp", ".cpp", ".txt", ".pml", ".litmus", ".rs")]
    sources = "\n".join(f.read_text(errors="replace") for f in files)
    wrong = []
    for path in DOCUMENTS:
        text = path.read_text()
        found = [*links(path, text), *paths(text)]
        if path.parent.name == "doc" or path.name in REFLOWED:
            found += wide(text)
        if path.name in INDEX and path.parent.name == "doc":
            found += names(text, sources)
        wrong += [f"{path.relative_to(ROOT)}: {what}" for what in found]
    sys.exit("\n".join(wrong) if wrong else 0)


main()
