#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""make.py PAGE: makes the page "An index at work" of page.html, core.js, board.js, and the library, compiled to WebAssembly.

The library is that of src/, with nodes of 8 entries, for the host of host.h. Needs clang-19 and wasm-ld-19 (Debian: lld-19).
"""
import base64
import gzip
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "doc/figures"))
from svg import DARK, LIGHT  # noqa: E402

# What a small tree without counts does not call; tests/genmc/without.c stands for some of it.
LEFT_OUT = {"hint.c", "dump.c", "trim.c", "rank.c", "copy.c", "batch.c", "cursor.c", "count.c"}
FLAGS = ["--target=wasm32", "-std=gnu17", "-w", "-Oz", "-flto", "-mbulk-memory", "-ffreestanding", "-nostdlib", "-DLATH_NODE_CAP=8",
         "-DLATH_SPARSE_RING=1", "-DLATH_SIDE_CODES=32", "-DGENMC_HOLES", "-include", HERE / "host.h", "-I", ROOT / "include", "-I", ROOT / "src"]
LINK = ["--no-entry", "--gc-sections", "--lto-O2", "-s", "-z", "stack-size=262144", "--initial-memory=8388608"]


def headers_of_linux():
    """Where <linux/errno.h> is."""
    triple = subprocess.run(["clang-19", "-print-target-triple"], capture_output=True, text=True, check=True).stdout.strip()
    return [word for folder in ("/usr/include", f"/usr/include/{triple.replace('-pc-', '-')}") for word in ("-idirafter", folder)]


def compiled():
    sources = [path for path in sorted((ROOT / "src/tree").glob("*/*.c")) if path.name not in LEFT_OUT]
    sources += [ROOT / "src/set/hole/search.c", ROOT / "tests/genmc/without.c", HERE / "play.c"]
    with tempfile.TemporaryDirectory() as work:
        objects = []
        for number, source in enumerate(sources):
            objects.append(f"{work}/{number}.o")
            subprocess.run(["clang-19", *FLAGS, *headers_of_linux(), "-c", source, "-o", objects[-1]], check=True)
        subprocess.run(["wasm-ld-19", *LINK, *objects, "-o", f"{work}/play.wasm"], check=True)
        return pathlib.Path(work, "play.wasm").read_bytes()


def colours(scheme):
    return " ".join(f"--{name}: {value};" for name, value in scheme.items())


def page():
    text = (HERE / "page.html").read_text()
    script = "".join((HERE / name).read_text() for name in ("core.js", "board.js"))
    code = base64.b64encode(gzip.compress(compiled(), mtime=0)).decode()
    for place, what in (("/*LIGHT*/", colours(LIGHT)), ("/*DARK*/", colours(DARK)), ("/*CODE*/", code), ("/*SCRIPT*/", script)):
        if text.count(place) != 1:
            sys.exit(f"page.html: {place} is not there once")
        text = text.replace(place, what)
    return text


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    pathlib.Path(sys.argv[1]).write_text(page(), encoding="utf-8")
