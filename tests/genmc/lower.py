#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Rewrites LLVM assembly (stdin to stdout) so that GenMC 0.11 can run it:

  - copies and clearings of structures become loads and stores of their fields, each in the size in
    which the program accesses it (GenMC refuses an access of another size);
  - structures among thread-local variables become results of functions (memory.c);
  - `select` of numbers becomes arithmetic (GenMC makes a `freeze` of it, which it cannot run).
"""

import re
import sys

TYPE = re.compile(r"^(%[\w.]+) = type (<?\{.*\}>?|opaque)$")
ALLOCA = re.compile(r"^\s*(%[\w.]+) = alloca ([^,]+)")
GLOBAL = re.compile(r"^(@[\w.]+) = .*?(?:global|constant) (%[\w.]+|\[[^@]*?\]|i\d+|ptr) ")
COPY = re.compile(r"call void @llvm\.mem(cpy|set)\.p0(?:\.p0)?\.i64\(ptr [^%@]*([%@][\w.]+), "
                  r"(?:ptr [^%@]*([%@][\w.]+)|i8 (-?\d+)), i64 (\d+), i1 false\)")
THREAD_LOCAL = re.compile(r"call [^@]*@llvm\.threadlocal\.address\.p0"
                          r"\(ptr [^@]*@lath_(fingers|bound)\)")
SELECT = re.compile(r"^\s*(%[\w.]+) = select i1 ([^,]+), (i\d+) ([^,]+), i\d+ ([^,!]+?)(?:, !.*)?$")
HOLD = "%struct.hold"  # of the range locks
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "ptr": 8}


def split(text):
    """Splits the fields of a structure's text at its outer commas."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "{[<"
        depth -= c in "}]>"
        if c == "," and not depth:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


class Types:
    def __init__(self, lines):
        self.named = {m[1]: m[2] for m in map(TYPE.match, lines) if m}

    def fields(self, text):
        """Returns [(offset, type)] of all scalars, the size and the alignment."""
        if text in SIZES:
            return [(0, text)], SIZES[text], SIZES[text]
        if text in self.named:
            return self.fields(self.named[text])
        array = re.match(r"^\[(\d+) x (.*)\]$", text)
        if array:
            inner, size, align = self.fields(array[2])
            n = int(array[1])
            return [(i * size + o, t) for i in range(n) for o, t in inner], n * size, align
        at, align, out = 0, 1, []
        for part in split(text.strip()[1:-1].strip()):
            inner, size, own = self.fields(part)
            at = (at + own - 1) // own * own
            out += [(at + o, t) for o, t in inner]
            at += size
            align = max(align, own)
        return out, (at + align - 1) // align * align, align

    def copied(self, text, size):
        """Returns [(offset, type)] of what is copied of such a variable; None: by its size."""
        if not text and HOLD in self.named and self.fields(HOLD)[1] == size:
            text = HOLD
        if text in self.named:
            return [field for field in self.fields(text)[0] if field[0] < size]
        return [(i, "i64") for i in range(0, size, 8)]


def select(name, result, condition, kind, yes, no):
    """Returns the lines for a select: no ^ ((yes ^ no) & mask)."""
    mask = condition
    lines = []
    if kind != "i1":
        mask = f"{name}m"
        lines.append(f"  {mask} = sext i1 {condition} to {kind}")
    lines += [f"  {name}x = xor {kind} {yes}, {no}",
              f"  {name}a = and {kind} {name}x, {mask}",
              f"  {result} = xor {kind} {name}a, {no}"]
    return "\n".join(lines)


def main():
    text = sys.stdin.read()
    lines = text.split("\n")
    types = Types(lines)
    globals_ = {m[1]: m[2] for m in map(GLOBAL.match, lines) if m}
    count = again = max(map(int, re.findall(r"%low(\d+)", text)), default=0)
    copied = [set()]
    for line in lines:
        if line.startswith("define "):
            copied.append(set())
        found = COPY.search(line)
        if found and found[3]:
            copied[-1].add(found[3])
    local, function = {}, 0
    for line in lines:
        if line.startswith("define "):
            local = {}
            function += 1
        line = THREAD_LOCAL.sub(r"call ptr @genmc_\1()", line)
        if line.startswith(("@lath_fingers = ", "@lath_bound = ")):
            continue
        found = ALLOCA.match(line)
        if found:
            local[found[1]] = found[2]
            print(line)
            # a hold: a function copies it that is not inlined yet, and one has bit-fields
            hold = HOLD in (found[2], found[2][5:-1])
            if (hold and not again) or (found[1] in copied[function] and found[2] in types.named):
                for offset, kind_of in types.fields(found[2])[0]:
                    count += 1
                    print(f"  %low{count}t = getelementptr i8, ptr {found[1]}, i64 {offset}")
                    print(f"  store {kind_of} {'null' if kind_of == 'ptr' else 0}, "
                          f"ptr %low{count}t")
            continue
        found = SELECT.match(line)
        if found:
            count += 1
            print(select(f"%low{count}", *found.groups()))
            continue
        found = COPY.search(line)
        if not found:
            print(line)
            continue
        kind, to, source, byte, size = found.groups()
        size = int(size)
        known = local.get(to) or globals_.get(to) or local.get(source) or globals_.get(source)
        for offset, kind_of in types.copied(known, size):
            count += 1
            print(f"  %low{count}t = getelementptr i8, ptr {to}, i64 {offset}")
            if kind == "set":
                assert byte == "0", line
                print(f"  store {kind_of} {'null' if kind_of == 'ptr' else 0}, "
                      f"ptr %low{count}t")
                continue
            print(f"  %low{count}s = getelementptr i8, ptr {source}, i64 {offset}")
            print(f"  %low{count}v = load {kind_of}, ptr %low{count}s")
            print(f"  store {kind_of} %low{count}v, ptr %low{count}t")


main()
