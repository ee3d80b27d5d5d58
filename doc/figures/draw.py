#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""draw.py [--check]: the figures of the book, doc/images/NAME.svg for each function below.

--check writes nothing and fails if a file differs from what is drawn.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
from svg import Canvas  # noqa: E402

IMAGES = pathlib.Path(__file__).resolve().parents[1] / "images"
CODE, SMALL = "code small", "small"


def node_layout():
    c = Canvas(760, 330, "A node: header, key heads, pairs, side column; and its lockword")
    c.text(20, 26, "A node of 64 entries. Each row is a cache line or several.", "title")
    rows = [
        ("0", [("lockword", "amber"), ("low", "blue"), ("last", "blue"), ("right", "blue"), ("live", "box"),
               ("level\nshift ..", "box"), ("base", "box"), ("", "box")], "header: one line"),
        ("64", [("head[0]", "green"), ("head[1]", "green"), ("...", "green"), ("head[63]", "green")],
         "leaves; otherwise 8 pivots"),
        ("128", [("key[0]", "box"), ("value[0]", "box"), ("...", "box"), ("key[63]", "box"), ("value[63]", "box")],
         "pairs: 16 lines"),
        ("1152", [("size[0]", "box"), ("...", "box"), ("size[63]", "box")], "side column: sizes of ranges, 8 lines"),
    ]
    for i, (offset, cells, note) in enumerate(rows):
        y = 46 + 46 * i
        c.text(52, y + 22, offset, "small muted code", "end")
        width = 480 / len(cells)
        c.cells(60, y, 36, [(width, words, kind, CODE) for words, kind in cells])
        c.text(552, y + 22, note, SMALL)
    c.text(20, 256, "Its lockword", "title")
    c.text(52, 286, "bit", "small muted code", "end")
    c.cells(60, 266, 32, [(270, "version: grows with every change", "amber", SMALL), (80, "HALF_DEAD", "amber", CODE),
                          (65, "DEAD", "amber", CODE), (65, "LOCKED", "amber", CODE)])
    for x, bit in ((66, "63"), (322, "3"), (370, "2"), (442, "1"), (507, "0")):
        c.text(x, 314, bit, "small muted code")
    c.text(552, 286, "one 64-bit word", SMALL)
    return c


def tree():
    c = Canvas(760, 318, "A tree of three levels with fence keys, downlinks and right links")
    levels = [("level 2: the root", 46, [(290, 180, "[0, max]", "0   4000")]),
              ("level 1", 140, [(110, 190, "[0, 3999]", "0   700  2000"), (470, 190, "[4000, max]", "4000   9000")]),
              ("level 0: leaves", 244, [(20, 124, "[0, 699]", "items"), (170, 124, "[700, 1999]", "items"),
                                        (320, 124, "[2000, 3999]", "items"), (470, 124, "[4000, 8999]", "items"),
                                        (620, 124, "[9000, max]", "items")])]
    for name, y, nodes in levels:
        c.text(20, y - 40 if y > 200 else y + 20, name, "small muted")
        for i, (x, w, fences, words) in enumerate(nodes):
            if y == 140:  # downlinks leave below
                c.node(x, y, w, "", words, "blue")
                c.text(x, y - 6, fences, "small muted code")
            else:
                c.node(x, y, w, fences, words, "green" if y > 200 else "blue")
            if i:
                left = nodes[i - 1]
                c.arrow([(left[0] + left[1], y + 15), (x, y + 15)])
    for x1, x2 in ((340, 205), (410, 620)):
        c.arrow([(x1, 76), (x2, 140)], "accent")
    for x1, x2 in ((160, 82), (205, 232), (250, 382), (530, 532), (600, 682)):
        c.arrow([(x1, 170), (x2, 244)], "accent")
    c.text(20, 306, "Blue arrows: downlinks, one per separator.  Black arrows: right links.  "
           "Grey, in brackets: fence keys [low, last].", SMALL)
    return c


def lookup():
    c = Canvas(760, 372, "One lookup: from the key to its leaf, and the validated search of the leaf")
    c.text(20, 26, "locate(): the first source that answers", "title")
    c.box(20, 44, 90, 40, "key 4711", "amber", CODE)
    sources = [("finger", "the two leaves this thread\nused last", "2 loads"),
               ("hint table", "step = key >> shift", "1 cache miss"),
               ("descent", "8 pivots, then 8 separators,\nfrom the root down", "4 lines per level")]
    for i, (name, how, cost) in enumerate(sources):
        y = 44 + 62 * i
        c.box(180, y, 90, 40, name, "blue")
        c.text(284, y + 16, how, SMALL)
        c.text(470, y + 22, cost, "small muted")
        c.arrow([(568, y + 20), (620, 110 + 12 * i)])
        if i:
            c.arrow([(225, y - 22), (225, y)], "dash", "no", (234, y - 6), "start")
    c.arrow([(110, 64), (180, 64)])
    c.box(620, 94, 120, 56, "leaf and its\nlockword", "green")
    c.text(20, 240, "Then, without a lock", "title")
    steps = [("1", "heads", "compare 64 bytes\nwith the key's head"), ("2", "pair", "one candidate as a rule:\ncompare its key"),
             ("3", "value", "copy the pair"), ("4", "lockword", "the same as before?")]
    for i, (number, name, how) in enumerate(steps):
        x = 20 + 186 * i
        c.box(x, 256, 140, 34, f"{number}  {name}", "green" if i < 3 else "amber")
        c.text(x, 306, how, SMALL)
        if i:
            c.arrow([(x - 46, 273), (x, 273)])
    c.text(578, 340, "yes: hit or miss was true\nno: again; after 8 tries, lock", SMALL)
    return c


def split_step(c, y, title, notes, up, leaves, right=None):
    c.text(20, y, title, "title")
    c.text(20, y + 18, notes, SMALL)
    c.box(250, y + 30, 280, 28, up, "blue", CODE)
    for i, (x, w, fences, words, kind) in enumerate(leaves):
        c.node(x, y + 96, w, fences, words, kind)
        if i:
            left = leaves[i - 1]
            c.arrow([(left[0] + left[1], y + 111), (x, y + 111)])
    for x1, x2 in right or []:
        c.arrow([(x1, y + 58), (x2, y + 96)], "accent")


def split():
    c = Canvas(760, 560, "Four full leaves become five: before, linked, posted")
    four = [(20, 150, "[0, 99]"), (200, 150, "[100, 199]"), (380, 150, "[200, 299]"), (560, 150, "[300, 399]")]
    split_step(c, 24, "1  Four siblings are full together.",
               "Their locks are taken from left to right. The parent is not locked.", "0   100   200   300",
               [(x, w, f, "64 items", "amber") for x, w, f in four],
               [(290, 95), (345, 275), (425, 455), (495, 635)])
    five = [(20, 118, "[0, 79]", "51"), (168, 118, "[80, 159]", "51"), (316, 118, "[160, 239]", "51"),
            (464, 118, "[240, 319]", "51"), (612, 118, "[320, 399]", "52")]
    split_step(c, 204, "2  Entries move right, into a fifth leaf that is linked behind them; then all are unlocked.",
               "Low fences only fell, so no descent arrives too far right. A lookup of 90 arrives in [0, 79] and moves right.",
               "0   100   200   300",
               [(x, w, f, f"{n} items", "red" if f == "[320, 399]" else "green")
                for x, w, f, n in five],
               [(290, 79), (345, 227), (425, 375), (495, 523)])
    c.text(671, 292, "no downlink", "small", "middle")
    split_step(c, 384, "3  Posting: with no leaf locked, the parent is told.",
               "Each separator is lowered to its leaf's low fence; the new leaf gets a separator and a downlink.",
               "0   80   160   240   320", [(x, w, f, f"{n} items", "green") for x, w, f, n in five],
               [(280, 79), (325, 227), (390, 375), (455, 523), (510, 671)])
    return c


def fence():
    c = Canvas(760, 400, "A range put across two fences: all locked, the fence moves, half-dead leaves are merged")
    width = [(20, 210), (270, 210), (520, 210)]
    steps = [("1  Insert [90, 210). It begins in the first leaf and ends in the third: lock all three, left to right.",
              [("[0, 99]", "10  40  70", "amber"), ("[100, 199]", "no item", "amber"),
               ("[200, 299]", "220  260", "amber")]),
             ("2  The leaf that covers the last key takes all keys from 90 on. The middle leaf covers nothing: half-dead.",
              [("[0, 89]", "10  40  70", "green"), ("covers no key", "HALF_DEAD", "red"),
               ("[90, 299]", "90..209  220  260", "green")]),
             ("3  Unlocked, the half-dead leaf is merged with a sibling under the same parent.",
              [("[0, 89]", "10  40  70", "green"), None, ("[90, 299]", "90..209  220  260", "green")])]
    for s, (title, leaves) in enumerate(steps):
        y = 26 + 130 * s
        c.text(20, y, title)
        last = None
        for (x, w), leaf in zip(width, leaves):
            if not leaf:
                continue
            c.node(x, y + 24, w, *leaf)
            if last:
                c.arrow([(last, y + 39), (x, y + 39)])
            last = x + w
    return c


def merge():
    c = Canvas(760, 330, "A merge: parent, left and right node locked; the right one dies")
    for x, title in ((20, "Before: locked in this order"), (400, "After")):
        c.text(x, 26, title, "title")
    c.box(90, 50, 190, 30, "0   100   200", "amber", CODE)
    c.text(290, 70, "1  parent", "small muted")
    c.node(20, 150, 140, "[0, 99]", "10 items", "amber")
    c.node(200, 150, 140, "[100, 199]", "4 items", "amber")
    c.text(90, 212, "2  left", "small muted", "middle")
    c.text(270, 212, "3  right", "small muted", "middle")
    c.arrow([(110, 80), (90, 150)], "accent")
    c.arrow([(185, 80), (270, 150)], "accent")
    c.arrow([(160, 165), (200, 165)])
    c.arrow([(340, 165), (372, 165)])
    c.box(470, 50, 190, 30, "0   200", "green", CODE)
    c.node(400, 150, 140, "[0, 199]", "14 items", "green")
    c.node(580, 150, 140, "", "DEAD", "red")
    c.arrow([(490, 80), (470, 150)], "accent")
    c.arrow([(540, 165), (560, 165), (560, 140), (735, 140)], "", "right link past the dead node", (648, 132))
    c.text(580, 200, "to RCU; back to its pool\nafter a grace period", "small muted")
    c.text(20, 276, "The downlink leaves the parent in the same locked section in which the node dies. So a descent that\n"
           "finds the DEAD node starts again from the root and does not meet it a second time.", SMALL)
    return c


def hint():
    c = Canvas(760, 412, "The hint table: equal steps over the keys, divided again where there are many leaves")
    c.text(20, 26, "Words for equal steps of the keys; a step with many leaves has its own block", "title")
    for i in range(8):
        c.box(40 + 85 * i, 44, 85, 30, f"word {i}", "amber" if i == 5 else "blue", CODE)
    for i in range(6):
        c.box(438 + 38 * i, 112, 38, 30, str(i), "amber" if i == 3 else "blue", CODE)
    c.arrow([(507, 74), (507, 112)], "accent")
    edges = [40, 162, 270, 400, 478, 496, 514, 535, 660, 720]
    for left, right in zip(edges, edges[1:]):
        c.box(left, 196, right - left, 30, "leaf" if right - left > 40 else "", "green", SMALL)
    for x, to in ((82, 100), (168, 215), (252, 220), (338, 320), (422, 440), (678, 670)):
        c.arrow([(x, 74), (to, 196)])
    for i, to in enumerate((460, 487, 505, 525, 580, 620)):
        c.arrow([(457 + 38 * i, 142), (to, 196)], "accent" if i == 3 else "")
    c.text(20, 250, "A word leads to the leaf that covers the end of its step, or to a block. The first and the last word of a block stand\n"
           "for what lies before and behind it.", SMALL)
    c.text(20, 296, "The word of a leaf: 64 bits", "title")
    c.cells(40, 310, 34, [(170, "entries per part: 8 bits", "box", SMALL), (210, "begin: 14 bits", "box", SMALL),
                          (260, "address of the leaf / 64: 41 bits", "amber", SMALL), (40, "0", "box", CODE)])
    c.text(40, 368, "begin: where in the step the leaf begins, in 1/256 of a step.  Entry of a key = (its part - begin) x entries per part.\n"
           "Below 0: the leaf of the word before covers it. The prediction decides what is prefetched; the leaf's lockword and\n"
           "fence keys decide whether it is the right one.", SMALL)
    return c


def gap():
    c = Canvas(760, 372, "The summary of a leaf's free runs, and its copy in the parent")
    c.text(20, 26, "A leaf with three items and the free runs between them", "title")
    scale, start = 24, 40

    def span(first, last, words, kind):
        c.box(start + scale * (first - 8), 44, scale * (last - first + 1), 30, words, kind, CODE)

    span(10, 13, "item", "green")
    span(14, 15, "", "none")
    span(16, 19, "item", "green")
    span(20, 27, "8 keys", "none")
    span(28, 31, "item", "green")
    for key in (10, 14, 16, 20, 24, 28, 31):
        c.text(start + scale * (key - 8) + 12, 90, str(key), "small muted code", "middle")
    c.text(20, 126, "Its summary: upper bounds", "title")
    c.cells(40, 140, 44, [(90, "before\n9", "blue", CODE), (90, "behind\n32", "blue", CODE),
                          (72, "room[0]\n8", "amber", CODE), (72, "room[1]\n8", "amber", CODE),
                          (72, "room[2]\n8", "amber", CODE), (72, "room[3]\n4", "amber", CODE),
                          (72, "room[4]\n0", "amber", CODE), (40, "...", "amber", CODE)])
    c.text(40, 206, "room[k]: how far a free run extends past a multiple of 2^k. Multiples of 8: only 24 lies in a free run, 4 keys before\n"
           "its end. Multiples of 16: none. So a request for 8 keys aligned to 8 skips this leaf: room[3] < 8.", SMALL)
    c.text(20, 256, "The parent's columns: one code per child, for each alignment", "title")
    for row, (name, codes) in enumerate((("room[0]", (5, 8, 8, 0)), ("room[3]", (0, 4, 8, 0)))):
        c.text(40, 290 + 34 * row, name, "small code")
        c.cells(120, 270 + 34 * row, 30, [(60, str(code), "amber", CODE) for code in codes] + [(60, "...", "none", CODE)])
    c.text(440, 290, "The third child begins with an item at 40: the run\n[32, 39] in front of it is part of its codes.\n"
           "8 keys aligned to 8: only the third child may serve.", SMALL)
    return c


def intervals():
    c = Canvas(760, 450, "Three classes of lengths and what a stab looks at in each")
    c.text(20, 26, "stab(p): in each class, the intervals that begin in the dashed box", "title")
    p, y = 470, 44
    rows = (
        ("class 1: spans 1 to 31", 24, ((60, 14), (110, 20), (190, 10), (300, 22), (452, 22), (462, 6), (560, 16))),
        ("class 2: spans 32 to 1023", 130, ((70, 60), (170, 120), (260, 40), (352, 130), (400, 44), (430, 90), (590, 80))),
        ("class 3: spans 1024 to 32767", 400, ((30, 240), (90, 390), (250, 130), (300, 260), (500, 200))),
    )
    for name, longest, items in rows:
        c.text(20, y + 14, name, "small")
        c.box(p - longest, y + 20, longest, 14 * len(items) + 6, "", "none")
        for i, (first, length) in enumerate(items):
            kind = "box"
            if p - longest <= first <= p:
                kind = "green" if first + length >= p else "amber"
            c.box(first, y + 25 + 14 * i, length, 9, "", kind)
        y += 14 * len(items) + 36
    c.arrow([(p, 36), (p, y)])
    c.text(p, y + 14, "p", CODE, "middle")
    c.text(20, y + 14, "Green: found. Amber: looked at, nothing found.\nThe box is as wide as the longest span of the class.", SMALL)
    return c


def ranks():
    c = Canvas(760, 330, "Counts of the entries of two inner nodes, some of them outdated")
    c.text(20, 26, "Each entry has a separator and a count", "title")
    rows = [(280, 44, 100, "", [("0", "150", "blue"), ("4000", "?", "amber")]),
            (60, 138, 80, "[0, 3999]", [("0", "50", "blue"), ("700", "40", "blue"), ("2000", "60", "blue")]),
            (420, 138, 80, "[4000, max]", [("4000", "56", "blue"), ("5200", "?", "amber"), ("9000", "31", "blue")])]
    for x, y, width, fences, entries in rows:
        for i, (separator, count, kind) in enumerate(entries):
            c.box(x + i * width, y, width, 22, separator, "box", CODE)
            c.box(x + i * width, y + 22, width, 22, count, kind, CODE)
        c.text(x + width * len(entries) + 6, y + 14, fences, "small muted code")
    for i, (words, kind) in enumerate((("50 items\nmarked", "green"), ("40 items\nmarked", "green"),
                                       ("60 items\nmarked", "green"), ("56 items\nmarked", "green"),
                                       ("44 items", "none"), ("31 items\nmarked", "green"))):
        x = 60 + 80 * i + (120 if i > 2 else 0)
        c.box(x + 4, 232, 72, 38, words, kind, SMALL)
        c.arrow([(x + 40, 182), (x + 40, 232)], "accent")
    c.arrow([(330, 88), (180, 138)], "accent")
    c.arrow([(430, 88), (540, 138)], "accent")
    c.text(20, 296, "An insert into the leaf [5200, 8999] has outdated the two counts above it (?) and cleared the mark; the next inserts there do\n"
           "nothing more. rank(4000) reads the root alone. rank(9000) counts that leaf again, and then the entry 4000 of the root.", SMALL)
    return c


def house():
    c = Canvas(760, 300, "The house: seven rows, each built on rows below it")
    rows = [
        ("doors", "amber", "C++, Python, Rust, Valkey and Redis, RocksDB, the Linux kernel, the shell", "cli/ rust/ ..."),
        ("store", "green", "values by number or byte string, in order: in memory, a file, shared memory", "store.h"),
        ("queue", "green", "block requests in the order of a sweep, merged", "sortq.h"),
        ("bytes", "green", "records by byte string: memtables, secondary indexes", "bytes.h"),
        ("intervals", "green", "intervals that overlap: which of them cover this key?", "interval.h"),
        ("holes, space", "green", "free ranges by size, alignment and limits; an allocator of addresses", "hole.h space.h"),
        ("index", "blue", "keys and disjoint ranges of keys: lookups without a lock, inserts that lock one leaf", "index.h"),
    ]
    for i, (name, kind, purpose, where) in enumerate(rows):
        y = 16 + 36 * i
        c.box(20, y, 110, 32, name, kind, "title")
        c.box(130, y, 480, 32, "", "box")
        c.text(140, y + 20, purpose, SMALL)
        c.text(622, y + 20, where, "small code")
    c.text(20, 290, "Amber: programs and languages. Green: each is built on the index, but for the queue. Blue: the index, a tree of arrays.", SMALL)
    return c


def crowd():
    cores = (1, 2, 3, 4, 6, 8, 12, 16)
    curves = (("short waits alone", "", (57, 149, 326, 444, 610, 692, 952, 1109)),
              ("as it is", "ours", (57, 104, 99, 106, 108, 112, 138, 140)))
    c = Canvas(760, 300, "ns per call where all threads insert behind the last key, by number of cores")
    left, bottom, wide, high = 70, 250, 560, 210

    def at(n, ns):
        return left + wide * (n - 1) // 15, bottom - high * ns // 1200

    c.text(20, 24, "Inserts behind the last key: ns of wall time per call, simulated", "title")
    for ns in (0, 400, 800, 1200):
        c.line([at(1, ns), at(16, ns)], "grid")
        c.text(left - 10, at(1, ns)[1] + 4, str(ns), "small muted", "end")
    for n in cores:
        c.text(at(n, 0)[0], bottom + 20, str(n), "small muted", "middle")
    c.text(at(16, 0)[0] + 16, bottom + 20, "cores", "small muted")
    for name, kind, values in curves:
        c.line([at(n, ns) for n, ns in zip(cores, values)], kind)
        c.text(at(16, 0)[0] + 10, at(16, values[-1])[1] + 4, name, SMALL)
    return c


def buckets():
    c = Canvas(760, 330, "Ranges of two classes, their granules, and the lists of their buckets")
    left, unit = 150, 36
    c.text(20, 24, "Class and granule select a bucket; its list has the ranges in the order in which they came", "title")
    c.text(20, 70, "ranges", "muted")
    for first, pages, name, kind in ((1, 2, "A", "blue"), (2, 3, "B", "blue"), (9, 1, "C", "blue"), (7, 7, "D", "amber")):
        row = {"A": 46, "B": 70, "C": 46, "D": 70}[name]
        c.box(left + unit * first, row, unit * pages, 20, name, kind)
    c.text(20, 122, "class 0", "muted")
    c.text(20, 152, "class 1", "muted")
    for granule in range(4):
        c.box(left + unit * 4 * granule, 106, unit * 4, 22, f"granule {granule}", "box", SMALL)
    c.box(left, 136, unit * 16, 22, "granule 0 of 16 times the size", "box", SMALL)
    c.text(20, 224, "buckets", "muted")
    places = (("0, 0", ("A", "B")), ("0, 1", ("B",)), ("0, 2", ("C", "probe")), ("0, 3", ()), ("1, 0", ("D",)))
    for i, (name, entries) in enumerate(places):
        x = left + i * 118
        c.box(x, 208, 70, 24, name, "green")
        y = 232
        for entry in entries:
            c.arrow([(x + 35, y), (x + 35, y + 14)])
            c.box(x + 8, y + 14, 54, 20, entry, {"D": "amber", "probe": "red"}.get(entry, "blue"), SMALL)
            y += 34
    c.text(20, 318, "B waits for A, which came first. D is larger: it looks at the smaller granules of its keys, and its probe waits for C.", SMALL)
    return c


FIGURES = {"house": house, "crowd": crowd, "node": node_layout, "tree": tree, "lookup": lookup, "split": split, "fence": fence, "merge": merge,
           "hint": hint, "gap": gap, "intervals": intervals, "ranks": ranks, "buckets": buckets}


def main():
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, figure in FIGURES.items():
        path, text = IMAGES / f"{name}.svg", figure().svg()
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(f"{path}: differs from what doc/figures/draw.py draws")
    print("\n".join(stale), end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
