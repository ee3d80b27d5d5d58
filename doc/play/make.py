#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""make.py [--check]: doc/play.html, from page.html and from what record.c prints.

--check writes nothing and fails if the page differs from what is made. The recorder is compiled with the library in one
file (tools/amalgamate) and nodes of 8 entries. Addresses of nodes become numbers in the order in which they appear.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "doc/play.html"
MAX = 2**64 - 1
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "doc/figures"))
from svg import DARK, LIGHT  # noqa: E402


def record():
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, "-B", ROOT / "tools/amalgamate", "--output", work], check=True)
        small = ["-DLATH_NODE_CAP=8", "-DLATH_SPARSE_RING=1"]
        subprocess.run([*os.environ.get("CC", "cc").split(), "-std=gnu11", "-w", "-O0", *small, f"-I{work}", "-pthread",
                        HERE / "record.c", f"{work}/lathwork.c", "-o", f"{work}/record"], check=True)
        return subprocess.run([f"{work}/record"], check=True, capture_output=True, text=True).stdout


def number(value):
    """-1 is the last key, which JavaScript has no number for."""
    return -1 if value == MAX else value


class Trace:
    """Frames; each distinct state of a node is kept once."""

    def __init__(self):
        self.names, self.states, self.frames = {}, {}, []

    def name(self, address):
        return self.names.setdefault(address, len(self.names))

    def state(self, node):
        leaf = node["level"] == 0
        entries = [[key, size if leaf else self.name(value), int(live)] for key, size, value, live in node["entries"]]
        state = json.dumps({"id": self.name(node["node"]), "level": node["level"], "low": node["low"],
                            "last": number(node["last"]), "room": number(node["room"]), "entries": entries},
                           separators=(",", ":"))
        return self.states.setdefault(state, len(self.states))

    def read(self, text):
        for line in text.splitlines():
            if line.startswith("step "):
                self.frames.append(json.loads(line[5:]) | {"nodes": []})
                continue
            node = json.loads(line)
            if node["state"] == "alive":
                self.frames[-1]["nodes"].append(self.state(node))

    def script(self):
        frames = ",\n".join(json.dumps(frame, separators=(",", ":")) for frame in self.frames)
        return '{"states":[\n' + ",\n".join(self.states) + '],\n"frames":[\n' + frames + "]}"


def page():
    trace = Trace()
    trace.read(record())
    text = (HERE / "page.html").read_text()
    for place, what in (("/*LIGHT*/", colours(LIGHT)), ("/*DARK*/", colours(DARK)), ("/*TRACE*/", trace.script())):
        if text.count(place) != 1:
            sys.exit(f"page.html: {place} is not there once")
        text = text.replace(place, what)
    return text


def colours(scheme):
    return " ".join(f"--{name}: {value};" for name, value in scheme.items())


def main():
    made = page()
    if "--check" in sys.argv[1:]:
        if not PAGE.exists() or PAGE.read_text() != made:
            sys.exit("doc/play.html is not what doc/play/make.py makes: run it")
    else:
        PAGE.write_text(made)


main()
