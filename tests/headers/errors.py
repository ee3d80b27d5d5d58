# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The errors that the comments of the public headers name, and those that calls have returned.

A comment documents the calls below it up to a blank line, but for one behind a struct. "add: -EEXIST" in it is of that call alone,
"as lath_space_alloc()" stands for what that one returns, and a table ("   -ENOENT  no such key") is for all calls of the header.
"""
import ctypes as C
import errno
import os
import pathlib
import re
import subprocess

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include/lathwork"
HEADERS = "index cursor hole bytes interval space sortq small store range_lock".split()
# Calls that pass on what the system says, or a function of the caller's.
PASSED_ON = re.compile(r"of the system|fn's result|what (?:read|write) returned")
INLINE = {"lath_sortq_insert_slow": "lath_sortq_insert"}  # a part of an inline call
# Errors that no call of these tests leads to: of a thread that cannot be registered (no_key_test), of a fork (store_writers), and of
# the processor.
ELSEWHERE = {"lath_intervals_init": {"ENOMEM"}, "lath_store_sync": {"ESTALE"}, "lath_sortq_init": {"EOPNOTSUPP"}}


class Mismatch(AssertionError):
    """The library and the model differ, or the library and its headers."""


def read_header(path):
    """Returns {call: (whether it is exported, type of its result, its part of the comment)}, and what tables of errors name."""
    text, found, comment, group, code, last, inside = path.read_text(encoding="utf-8"), {}, "", [], "", "", False
    for line in text.split("\n"):
        if line.startswith("/*") or inside:
            if not inside:
                comment, group = "", []
            comment, inside = comment + line.strip(" /*") + " ", "*/" not in line
        elif not line and last != "};":
            comment, group = "", []
        elif code or line.startswith(("LATH_API ", "static inline ")):
            code += line.strip() + " "
            if re.search("[;{]", line):
                kind, name = re.match(r"(?:LATH_API|static inline) (.*?)(\w+)\(", code).groups()
                group.append(name)
                found[name] = (code[0] == "L", kind.strip(), comment, group)
                code = ""
        last = line
    for name, (exported, kind, comment, group) in found.items():
        labels = {n[n.index("_", i) + 1:]: n for n in group for i in range(len(n)) if "_" in n[i:]}
        parts = re.split(r"\b(" + "|".join(sorted(labels, key=len, reverse=True)) + "): ", comment)
        found[name] = (exported, kind, parts[0] + "".join(p for label, p in zip(parts[1::2], parts[2::2]) if labels[label] == name))
    return found, set(re.findall(r"(?:^ \*|\s) {2,}-(E[A-Z0-9]+) ", text, re.M))


class Documented:
    """must: {call: errors that its comment names}. may: with those that it refers to. passed_on: calls of any errors."""

    def __init__(self):
        self.must, self.may, self.passed_on, self.exported, said = {}, {}, set(), set(), {}
        for header in HEADERS:
            found, table = read_header(INCLUDE / (header + ".h"))
            said.update(found)
            for name, (exported, kind, comment) in found.items():
                errors = set(re.findall(r"-(E[A-Z0-9]+)", comment)) if kind in ("int", "int64_t") else set()
                self.must[name], self.may[name] = errors - ELSEWHERE.get(name, set()), errors | table
                self.exported |= {name} if exported else set()
                if PASSED_ON.search(comment):
                    self.passed_on.add(name)
        for _ in range(3):
            for name, (_exported, _kind, comment) in said.items():
                for other in re.findall(r"\b(?:[Aa]s|those of|rules of|\(\) and) (?:those of )?(\w+)", comment) + [INLINE.get(name)]:
                    for n in (other, "_".join(name.split("_")[:2] + [str(other)])):
                        self.may[name] |= self.may.get(n, set())
                        self.passed_on |= {name} if n in self.passed_on else set()


class Seen:
    """Which errors calls have returned."""

    def __init__(self):
        self.documented, self.bound = Documented(), set()
        self.at = {name: 256 * i for i, name in enumerate(self.documented.must)}
        self.page = bytearray(256 * len(self.at))

    def watch(self, name, fn):
        """Notes what fn returns from now on; a result that its header does not document is a Mismatch."""
        self.bound.add(name)
        may, at = {-getattr(errno, e) for e in self.documented.may[name]}, self.at[INLINE.get(name, name)]

        def note(result, _fn, _args):
            if result < 0:
                if result not in may and name not in self.documented.passed_on:
                    raise Mismatch(f"{name}: {errno.errorcode.get(-result, result)}, which its header does not name")
                self.page[at - result % -256] = 1
            return result
        if fn.restype in (C.c_int, C.c_int64):
            fn.errcheck = note

    def described(self, container, program):
        """Notes the calls and errors of a description (tests/base/calls.hpp), which occur in its own test."""
        env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # its own runtime of a sanitizer
        for line in subprocess.run([program, "--errors"], check=True, capture_output=True, text=True, env=env).stdout.splitlines():
            calls, errors, _ = re.split("[:;]", line)
            names = {n for call in calls.split(", ") for n in (f"lath_{container}_{call}", f"lath_{call}") if n in self.at}
            self.bound |= names
            for error in map(int, errors.split()):
                by = [n for n in names if error in {getattr(errno, e) for e in self.documented.may[n]}]
                if not by and not names & self.documented.passed_on:
                    raise Mismatch(f"{calls}: {errno.errorcode[error]}, which its header does not name")
                for name in by:
                    self.page[self.at[name] + error] = 1

    def missing(self, names):
        """Returns the errors that the headers name for these calls, and that none of them has returned."""
        return [f"{n} -{e}" for n in sorted(INLINE.get(n, n) for n in names) for e in sorted(self.documented.must[n])
                if not self.page[self.at[n] + getattr(errno, e)]]
