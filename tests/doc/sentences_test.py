#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Sentences of the documents that state a number or a list which the code has: each is compared with the code.

A row of SENTENCES is a file, a pattern with what is stated in groups, and a function of the match that returns what the code
says, one text per group. A pattern that is found nowhere is an error: a sentence that changes takes its row along.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORDS = dict(enumerate("zero one two three four five six seven eight nine ten eleven twelve".split()))


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def found(name, pattern):
    match = re.search(pattern, read(name), re.M)
    if not match:
        sys.exit(f"{name}: {pattern} is not there: is it called otherwise now?")
    return match[1]


def with_commas(text):
    return f"{int(text):,}"


def constant(name, macro):
    """#define MACRO NUMBER, or NUMBER << NUMBER."""
    text = found(name, rf"^#define {macro} (.*?)(?: */\*.*)?$").strip("()")
    number, _, shift = text.replace("u", "").partition(" << ")
    return str(int(number) << int(shift or 0))


def version():
    return ".".join(constant("include/lathwork/config.h", f"LATH_VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH"))


def option_default(match):
    default = found("CMakeLists.txt", rf'^option\(LATH_{match[1]} ".*" (\S+)\)')
    return match[1], "off" if default == "OFF" else "on"


def same_list(match, names):
    """What is stated if its words are these names, else the names."""
    stated = re.findall(r"[\w-]+", match[1].replace(" or ", ", ").replace(" and ", ", "))
    return (match[1] if sorted(stated) == sorted(names) else ", ".join(sorted(names)),)


def components():
    return set(re.findall(r"COMPONENT ([a-z]+)\b", read("cmake/LathInstall.cmake")))


def kinds_with_assertions():
    presets = {p["name"]: p for p in json.loads(read("CMakePresets.json"))["configurePresets"]}

    def asserts(preset):
        own = preset.get("cacheVariables", {}).get("LATH_ASSERT")
        parents = preset.get("inherits", [])
        if own is not None:
            return own == "ON"
        return any(asserts(presets[name]) for name in ([parents] if isinstance(parents, str) else parents))

    return {name for name, preset in presets.items() if not preset.get("hidden") and asserts(preset)}


def minutes(command):
    """The budget of ./run test or ./run test all, as its help has it."""
    told = subprocess.run([ROOT / "run", "--help"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"^  {command}  .*?\babout\s+(\d+) minutes", told, re.M | re.S)[1]


NODE = ("src/tree/node/node.h", "LATH_NODE_CAP")
LLDS = "include/lathwork/uapi/llds.h"
BUCKET = r"^#define BUCKET_MAX \(NODE_CAP < 64 \? 6u : (\d+)u\)"
SENTENCES = [
    ("README.md", r"a tree of arrays of (\d+) entries", lambda _: (constant(*NODE),)),
    ("README.md", r"narrows the (\d+) keys of a node", lambda _: (constant(*NODE),)),
    ("README.md", r"If\s+writers\s+interrupt\s+a\s+lookup\s+(\w+)\s+times", lambda _: (WORDS[int(constant("src/tree/tree.h", "READ_TRIES"))],)),
    ("README.md", r"This is (\d+\.\d+\.\d+)", lambda _: (version(),)),
    ("doc/install.md", r"This is (\d+\.\d+\.\d+)", lambda _: (version(),)),
    ("README.md", r"C(\d+) and C\+\+(\d+) compilers, CMake ([\d.]+),",
     lambda _: tuple(found("CMakeLists.txt", p) for p in (r"CMAKE_C_STANDARD (\d+)", r"CMAKE_CXX_STANDARD (\d+)", r"cmake_minimum_required\(VERSION ([\d.]+)"))),
    ("README.md", r"\[Python\]\(doc/python\.md\) ([\d.]+) and later", lambda _: (found("python/pyproject.toml", r'^requires-python = ">=([\d.]+)"'),)),
    ("README.md", r"\[Rust\]\(doc/rust\.md\) ([\d.]+) and later", lambda _: (found("rust/lathwork/Cargo.toml", r'^rust-version = "([\d.]+)"'),)),
    ("README.md", r"\[Valkey, Redis\]\(doc/valkey\.md\) ([\d.]+) and later", lambda _: (found("debian/control", r"redis-server \(>= 5:([\d.]+)\)"),)),
    ("doc/install.md", r"^\| `LATH_(\w+)` \| (on|off) \|", option_default),
    ("doc/install.md", r"--component (lib, .*?):", lambda match: same_list(match, components())),
    ("README.md", r"kernel modules in a VM: about (\d+) minutes", lambda _: (minutes("test"),)),
    ("CONTRIBUTING.md", r"before a commit: .*; (\d+) minutes", lambda _: (minutes("test"),)),
    ("CONTRIBUTING.md", r"what CI checks, each stage once; (\d+) minutes", lambda _: (minutes("test all"),)),
    ("CONTRIBUTING.md", r"at most (\d+)\s+columns", lambda _: (found(".clang-format", r"^ColumnLimit: (\d+)"),)),
    ("CONTRIBUTING.md", r"functions at most (\d+) lines \(in `src/` (\d+)\)",
     lambda _: (found("tools/check", r"most = .* : (\d+)$"), found("tools/check", r"most = .* \? (\d+) :"))),
    ("CONTRIBUTING.md", r"files at most (\d+)\.", lambda _: (str(int(found("tools/check", r"FNR == (\d+) \{ print FILENAME \": more than")) - 1),)),
    ("CONTRIBUTING.md", r"guarantees \(P1 to P(\d)\)", lambda _: (max(re.findall(r"^ \*   P(\d)  ", read("include/lathwork/index.h"), re.M)),)),
    ("CONTRIBUTING.md", r"It is on in the kinds ((?:`[\w-]+`[, and\n]+)+)", lambda match: same_list(match, kinds_with_assertions())),
    ("SECURITY.md", r"its own length, which is at most (\d+) bytes", lambda _: (constant("src/store/kv/kv.h", "KEY_BYTES_MAX"),)),
    ("SECURITY.md", r"keys of ([\d,]+) bytes that share", lambda _: (with_commas(constant("src/store/kv/kv.h", "KEY_BYTES_MAX")),)),
    ("SECURITY.md", r"levels of up to\s+(\d+) entries", lambda _: (constant(*NODE),)),
    ("SECURITY.md", r"more than (\d+) records agree", lambda _: (found("src/set/bytes/bytes.h", BUCKET),)),
    ("SECURITY.md", r"array of up to (\d+) records of byte keys .* all (\d+)\.", lambda _: (found("src/set/bytes/bytes.h", BUCKET),) * 2),
    ("SECURITY.md", r"\(values (\d+) MiB, batches ([\d,]+) elements\)",
     lambda _: (str(int(constant(LLDS, "LLDS_VALUE_MAX")) >> 20), with_commas(constant(LLDS, "LLDS_BATCH_MAX")))),
    ("SECURITY.md", r"At most `names_max`\s+of them, ([\d,]+)\.", lambda _: (with_commas(found("kernel/llds/names.c", r"names_max = (\d+);")),)),
    ("doc/kernel.md", r"`MGET MSET MDELETE` \| up to ([\d,]+) elements", lambda _: (with_commas(constant(LLDS, "LLDS_BATCH_MAX")),)),
    ("doc/holes.md", r"blocks of ([\d,]+) units with one bit per unit", lambda _: (with_commas(constant("src/space/source/arena.h", "ARENA_UNITS")),)),
    ("doc/holes.md", r"\.\. 256 units in (\d+) slots", lambda _: (constant("src/space/space.h", "SLOTS"),)),
]


def wrong(name, text, pattern, says):
    """One line per statement of this row that is not so."""
    matches = list(re.finditer(pattern, text, re.M))
    if not matches:
        yield f"{name}: there is no sentence like {pattern}"
    for match in matches:
        if match.groups() != (is_so := says(match)):
            yield f"{name}: \"{' '.join(match[0].split())}\", but the code says {' and '.join(is_so)}"


def other(text):
    """The same sort of statement, and not the same."""
    return {"on": "off", "off": "on"}.get(text) or (re.sub(r"\d", "9", text) + "9" if text[-1].isdigit() else text.split(",")[0] + "x")


def noticed(name, text, pattern, says):
    """Whether the row notices each of its statements when it is another."""
    match = re.search(pattern, text, re.M)
    for group in range(1, len(match.groups()) + 1):
        if match.re.pattern.startswith(r"^\| `LATH_") and group == 1:
            continue # which option it is
        changed = text[:match.start(group)] + other(match[group]) + text[match.end(group):]
        if not list(wrong(name, changed, pattern, says)):
            return False
    return True


def main():
    bad = []
    for name, pattern, says in SENTENCES:
        text = read(name)
        lines = list(wrong(name, text, pattern, says))
        if not lines and not noticed(name, text, pattern, says):
            lines = [f"{name}: another number for {pattern} is not noticed"]
        bad += lines
    if bad:
        sys.exit("\n".join(bad))
    print(f"{len(SENTENCES)} sentences are so")


main()
