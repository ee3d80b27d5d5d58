#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""alloc_test.py LATH SAMPLES: `lath alloc` against golden placements, a model, and wrong input."""
import csv
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import checks  # noqa: E402
from checks import check  # noqa: E402

LATH, SAMPLES = sys.argv[1:3]
POLICIES = ["first", "last", "best", "near", "next"]


def lath(*args, expect=0, stdin=None):
    out = subprocess.run([LATH, "alloc", *map(str, args)], capture_output=True, text=True, input=stdin, timeout=300)
    check(f"exit code of {args}", out.returncode == expect, f"{out.returncode}, expected {expect}: {out.stderr}")
    return out


class Model:
    """Holes looked at one by one. near allows one of two keys at the same distance."""

    def __init__(self, ranges, unit, policy, limits, below):
        self.free = [list(r) for r in ranges]  # [first, last]
        self.unit, self.policy, self.limits, self.below = unit, policy, limits, below
        self.hint = 0

    def up(self, n, align):
        return (n + align - 1) // align * align

    def places(self, size, align, limits):
        """(lowest, highest, length) of each hole that serves"""
        for first, last in self.free:
            first, last = max(first, limits[0]), min(last, limits[1])
            low, high = self.up(first, align), (last + 1 - size) // align * align
            if first <= last and low <= high and low + size - 1 <= last:
                yield low, high, last - first

    def choose(self, size, align, hint, limits):
        found = list(self.places(size, align, limits))
        if not found:
            return []
        if self.policy == "first":
            return [found[0][0]]
        if self.policy == "last":
            return [found[-1][1]]
        if self.policy == "best":
            return [min(found, key=lambda f: f[2])[0]]
        up, down = self.up(hint, align), hint // align * align
        if self.policy == "next":
            behind = [max(low, up) for low, high, _ in found if high >= up]
            return [behind[0] if behind else found[0][0]]
        near = [min(max(at, low), high) for low, high, _ in found for at in (up, down)]
        best = min(abs(n - hint) for n in near)
        return [n for n in near if abs(n - hint) == best]

    def allocate(self, size, align, hint, got):
        """Is got (None: no room) right? Takes it."""
        size, align = self.up(size, self.unit), max(align, self.unit)
        hint = self.hint if hint is None else hint
        right = []
        if self.below:
            right = self.choose(size, align, hint, (self.limits[0], min(self.below - 1, self.limits[1])))
        right = right or self.choose(size, align, hint, self.limits)
        if got is None or got not in right:
            return got is None and not right
        self.hint = got if self.policy == "near" else got + size
        for i, (first, last) in enumerate(self.free):
            if first <= got <= last:
                self.free[i : i + 1] = [r for r in ([first, got - 1], [got + size, last]) if r[0] <= r[1]]
        return True

    def release(self, key, size):
        self.free = sorted(self.free + [[key, key + size - 1]])
        merged = []
        for first, last in self.free:
            if merged and merged[-1][1] + 1 == first:
                merged[-1][1] = last
            else:
                merged.append([first, last])
        self.free = merged


def golden():
    for policy in ("first", "last", "near"):
        with open(f"{SAMPLES}/small.{policy}", encoding="utf-8") as file:
            want = file.read()
        got = lath("--pool", "4K-1M", "--unit", "4K", "--policy", policy, "--placement", "-", f"{SAMPLES}/small.txt")
        check(f"golden {policy}", got.stdout == want, f"\n{got.stdout}")


def random_trace(rng, length, unit, pool_bytes):
    lines, live = [], []
    for i in range(length):
        if live and rng.random() < 0.45:
            lines.append(f"f {live.pop(rng.randrange(len(live)))}")
            continue
        align = rng.choice(["", "", str(unit), str(unit * 4), str(unit << rng.randrange(8))])
        hint = f" {rng.randrange(pool_bytes)}" if align and rng.random() < 0.3 else ""
        lines.append(f"a n{i} {rng.randrange(1, unit * rng.choice([2, 8, 40]))} {align}{hint}")
        live.append(f"n{i}")
    return lines


def against_model(scratch):
    rng = random.Random(1)
    for turn in range(20):
        policy, unit = POLICIES[turn % 5], rng.choice([1, 16, 4096])
        ranges = [(unit * a, unit * b - 1) for a, b in ((1, 60), (64, 200), (333, 600))]
        limits, below = (0, 2**64 - 1), 0
        options = []
        if turn % 3 == 1:
            limits = (unit * 20, unit * 500 - 1)
            options += ["--limits", f"{limits[0]}-{limits[1] + 1}"]
        if turn % 2:
            below = unit * 150
            options += ["--below", below]
        lines = random_trace(rng, 600, unit, unit * 600)
        trace = os.path.join(scratch, "trace")
        with open(trace, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        pool = ",".join(f"{a}-{b + 1}" for a, b in ranges)
        report = os.path.join(scratch, "report.json")
        done = subprocess.run([LATH, "alloc", "--pool", pool, "--unit", str(unit), "--policy", policy, "--placement", "-",
                               "--json", report, *map(str, options), trace], capture_output=True, text=True, timeout=300)
        model = Model(ranges, unit, policy, limits, below)
        placed, without = {}, 0
        for line, answer in zip(lines, done.stdout.splitlines(), strict=True):
            words, got = line.split(), answer.split()
            if words[0] == "f":
                if placed[words[1]]:
                    model.release(*placed[words[1]])
                continue
            key = None if got[2] == "-" else int(got[2], 16)
            placed[words[1]] = key is not None and (key, int(got[3], 16))
            without += key is None
            right = model.allocate(int(words[2]), int(words[3]) if len(words) > 3 else 1,
                                   int(words[4]) if len(words) > 4 else None, key)
            check(f"{policy} {line}", right, f"turn {turn}: {answer}; free {model.free}")
            if not right:
                return
        check("exit code", done.returncode == (4 if without else 0), done.stderr)
        with open(report, encoding="utf-8") as file:
            end = json.load(file)["end"]
        sizes = [last - first + 1 for first, last in model.free]
        check("state", (end["free"], end["holes"], end["largest"], end["without_room"]) ==
              (sum(sizes), len(sizes), max(sizes), without), str(end))


def outputs(scratch):
    files = {kind: os.path.join(scratch, f"out.{kind}") for kind in ("json", "csv", "svg")}
    text = lath("--pool", "4K-1M", "--unit", "4K", f"{SAMPLES}/small.txt",
                *(word for kind, path in files.items() for word in (f"--{kind}", path))).stdout
    for word in ("8 allocations (0 without room), 3 frees", "fragmentation", "largest aligned block 512 Ki", "p99.9"):
        check(f"report has {word}", word in text, text)
    with open(files["json"], encoding="utf-8") as file:
        report = json.load(file)
    with open(files["csv"], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    check("csv and json agree", [int(r["used"]) for r in rows] == [s["used"] for s in report["history"]])
    check("eleven states", len(rows) == 11 and report["latency_ns"]["allocate"]["count"] == 8)
    curves = xml.etree.ElementTree.parse(files["svg"]).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    check("two curves", len(curves) == 2 and all(len(c.get("points").split()) == 11 for c in curves))

    used = os.path.join(scratch, "used.json")
    with open(used, "w", encoding="utf-8") as file:
        json.dump({"extents": [{"physical": 4096 * n, "length": 6000} for n in (9, 1, 5, 5)]}, file)
    places = lath("--extents", used, "--unit", "4K", "--placement", "-", "-", stdin="a x 8K\na y 8K\na z 8K\n", expect=4)
    check("between extents", [line.split()[2] for line in places.stdout.splitlines()] == ["0x3000", "0x7000", "-"])
    two = lath("--pool", "0-8K", "--pool", "12K-16K", "--unit", "4K", "--placement", "-", "-", stdin="a x 4K\na y 8K\na z 4K\n", expect=4)
    check("two pools", [line.split()[2] for line in two.stdout.splitlines()] == ["0x0", "-", "0x1000"], two.stdout)
    places = lath("--extents", used, "--pool", "16K-", "--policy", "last", "--placement", "-", "-", stdin="a x 8K 8K")
    check("up to 2^64", places.stdout == "a x 0xffffffffffffe000 0x2000\n", places.stdout)


def dump_of(extents, capacity=2**20, unit=4096):
    """as `ceph daemon osd.N bluestore allocator dump block` prints it"""
    return {"capacity": capacity, "alloc_unit": unit, "alloc_type": "hybrid", "alloc_name": "block",
            "extents": [{"offset": hex(first), "length": hex(length)} for first, length in extents]}


def pieces_fit(free, lines, answers):
    """Each line WANT UNIT MAX got its bytes in pieces as it asked for, out of the free ranges; or had no room, though
    a piece of one unit would have been missing. Takes them. Returns how many had no room, how many pieces there are and
    their bytes."""
    without = pieces = served = 0
    for line, answer in zip(lines, answers, strict=True):
        want, unit, most = (int(word, 0) for word in line.split())
        got = answer.split()
        check(f"answer to {line}", got[:2] == ["r", str(want)], answer)
        units = sum(max(0, last // unit * unit - -(-first // unit) * unit) for first, last in free)
        if got[2] == "-":
            check(f"no room for {line}", units < want, f"{units} bytes in whole units")
            without += 1
            continue
        placed = [(int(key, 16), int(size, 16)) for key, size in zip(got[2::2], got[3::2], strict=True)]
        check(f"{line} is served", sum(size for _, size in placed) == -(-want // unit) * unit, answer)
        for key, size in placed:
            check(f"piece of {line}", key % unit == 0 and size % unit == 0 and size <= (most or size), answer)
            inside = [r for r in free if r[0] <= key and key + size <= r[1]]
            check(f"{line} lies in free space", len(inside) == 1, answer)
            for first, last in inside:
                free.remove((first, last))
                free += [r for r in ((first, key), (key + size, last)) if r[0] < r[1]]
        pieces += len(placed)
        served += sum(size for _, size in placed)
    return without, pieces, served


def labelled_dumps(scratch):
    """`ceph-bluestore-tool free-dump` puts the name of each allocator before its object, and a blank line behind it."""
    dump = os.path.join(scratch, "free-dump")
    block, db = dump_of([(4096, 65536)]), dump_of([(8192, 8192)], unit=8192)
    block["alloc_name"], db["alloc_name"] = "block", "bluefs-db"

    def text(*named, indent=None):
        return "".join(f"{name}:\n{json.dumps(each, indent=indent)}\n\n" for name, each in named)

    both = text(("block", block), ("bluefs-db", db), indent=4)
    bare = json.dumps(block) + "\n" + json.dumps(db)
    for what, content, options, code, wanted in (
            ("one", text(("block", block)), (), 0, "pool: 64.0 Ki"), ("one, indented", text(("block", block), indent=4), (), 0, "pool: 64.0 Ki"),
            ("one, by name", text(("block", block)), ("--allocator", "block"), 0, "pool: 64.0 Ki"),
            ("ends of DOS", text(("block", block)).replace("\n", "\r\n"), (), 0, "pool: 64.0 Ki"),
            ("a byte order mark", "\ufeff" + text(("block", block)), (), 0, "pool: 64.0 Ki"),
            ("blank lines before", "\n\n" + text(("block", block)), (), 0, "pool: 64.0 Ki"),
            ("no end of line", text(("block", block)).rstrip(), (), 0, "pool: 64.0 Ki"),
            ("the first", both, ("--allocator", "block"), 0, "pool: 64.0 Ki"), ("the second", both, ("--allocator", "bluefs-db"), 0, "pool: 8.0 Ki"),
            ("names within", bare, ("--allocator", "bluefs-db"), 0, "pool: 8.0 Ki"),
            ("the label on the line", text(("block", block)).replace(":\n", ": ", 1), (), 1, "neither an object"),
            ("several", both, (), 105, "--allocator chooses one of block, bluefs-db"),
            ("several, bare", bare, (), 105, "--allocator chooses one of block, bluefs-db"),
            ("none of the name", both, ("--allocator", "slow"), 105, "no allocator 'slow'; it has block, bluefs-db"),
            ("a label alone", "block:\n", (), 1, "no JSON of `bluestore allocator dump` behind 'block:'"),
            ("two labels", "block:\nbluefs-db:\n" + json.dumps(db), (), 1, "'bluefs-db:' is neither"),
            ("nothing", "", (), 1, "there is no JSON"), ("blank", "\n \n", (), 1, "there is no JSON"),
            ("a message", "failure querying 'block'\n", (), 1, "'failure querying 'block'' is neither"),
            ("a message behind", text(("block", block)) + "done\n", (), 1, "'done' is neither"),
            ("cut", text(("block", block))[:-20], (), 1, "not the JSON of `bluestore allocator dump`"),
            ("a score", 'block:\n{"fragmentation_rating": 0.5}\n\n', (), 1, "alloc_unit"),
            ("the second is bad", text(("block", block)) + "bluefs-db:\n{]\n", ("--allocator", "block"), 1, "not the JSON"),
            ("an array", "block:\n[1]\n", (), 1, "'[1]' is neither")):
        with open(dump, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        out = lath("--dump", dump, *options, "-", expect=code, stdin="")
        check(f"a dump with labels, {what}", wanted in out.stdout + out.stderr, out.stdout[:200] + out.stderr)


def logical(scratch):
    """Addresses of a file system's own make a pool of such; extents of one device of several are those of one."""
    used = os.path.join(scratch, "own.json")

    def write(devices, *extents):
        with open(used, "w", encoding="utf-8") as file:
            json.dump({"context": {"devices": devices}, "extents": extents}, file)

    write([{"addresses": "logical"}], {"physical": 4096, "length": 8192})
    out = lath("--extents", used, "--pool", "0-1M", "-", stdin="a x 4096\n")
    check("logical addresses are told", "has logical addresses of a file system" in out.stderr, out.stderr)
    two = [{"addresses": "device"}] * 2
    write(two, {"physical": 4096, "length": 8192, "device": 1}, {"physical": 0, "length": 4096, "device": 1})
    out = lath("--extents", used, "--pool", "0-1M", "--placement", "-", "-", stdin="a x 4096\n")
    check("one of two devices", out.stdout == "a x 0x3000 0x1000\n" and not out.stderr, out.stdout + out.stderr)
    write(two, {"physical": 4096, "length": 8192, "device": 1}, {"physical": 0, "length": 4096, "device": 0})
    out = lath("--extents", used, "--pool", "0-1M", "-", expect=1, stdin="")
    check("two devices", "more than one device (lath extents --device takes one)" in out.stderr, out.stderr)


def dumps(scratch):
    """the free extents of a disk as the pool, and a replay list on it"""
    rng = random.Random(2)
    dump, report = os.path.join(scratch, "osd.json"), os.path.join(scratch, "report.json")
    for policy in POLICIES:
        extents, at = [], 0
        for _ in range(200):
            at += 4096 * rng.randrange(1, 9)
            extents.append((at, 4096 * rng.choice([1, 2, 15, 30, 40])))
            at += extents[-1][1]
        with open(dump, "w", encoding="utf-8") as file:
            json.dump(dump_of(extents, at + 4096), file)
        lines = [f"{rng.choice([4096, 65536, 200000, 0x100000])} {unit} {rng.choice([0, unit, 4 * unit])}"
                 for unit in (rng.choice([4096, 65536]) for _ in range(60))]
        done = subprocess.run([LATH, "alloc", "--dump", dump, "--policy", policy, "--placement", "-", "--json", report, "-"],
                              capture_output=True, text=True, input="\n".join(lines), timeout=300)
        without, pieces, served = pieces_fit([(a, a + n) for a, n in extents], lines, done.stdout.splitlines())
        check("some have room, some have not", 0 < without < 60 < pieces and done.returncode == 4, f"{without} {pieces}")
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        check("report of pieces", told["in_pieces"] == {"allocations": 60 - without, "pieces": pieces} and
              told["end"]["without_room"] == without and told["context"]["unit"] == 4096, str(told["in_pieces"]))
        check("what had no room is free again", told["end"]["used"] == served, str(told["end"]))
    text = lath("--dump", dump, "-", stdin="65536 4096\n").stdout
    check("text of pieces", "1 allocations lie in" in text, text)
    largest = lath("--dump", dump, "--unit", "64K", "--placement", "-", "-", stdin="a x 64K\nf x\n64K 4096\n").stdout
    check("--unit is above that of the dump", all(int(line.split()[2], 16) % 65536 == 0 for line in largest.splitlines()))

    for text, message in ((json.dumps(dump_of([(4096, 0)])), "free extent 1, at 4096, is empty"),
                          (json.dumps(dump_of([(0, 1), (2**20, 1)])), "free extent 2, at 1048576, is empty or ends beyond"),
                          (json.dumps(dump_of([(0, 1), (2**20 - 1, 2)])), "free extent 2, at 1048575"),
                          (json.dumps(dump_of([(0, 8192), (4096, 1)])), "overlap at 4096"), ("{}", "alloc_unit"),
                          (json.dumps(dump_of([], unit=3)), "not a power of two"), ("\n[", "'[' is neither an object"),
                          ("{", "not the JSON of `bluestore allocator dump`: parse error at line 1"),
                          (json.dumps(dump_of([(0, 1), (8, 1)])).replace("0x8", "8 "), 'free extent 2: "offset" is not a number'),
                          (json.dumps(dump_of([])).replace("4096", '"0xq"'), "not a number")):
        with open(dump, "w", encoding="utf-8") as file:
            file.write(text)
        out = lath("--dump", dump, "-", expect=1, stdin="")
        check(f"{text} is refused", message in out.stderr and "osd.json: " in out.stderr, out.stderr)
    with open(dump, "w", encoding="utf-8") as file:
        json.dump(dump_of([]), file)
    out = lath("--dump", dump, "-", expect=105, stdin="")
    check("a full disk is not a pool", "pool is empty" in out.stderr, out.stderr)
    for other in (("--pool", "0-9"), ("--extents", dump)):
        out = subprocess.run([LATH, "alloc", "--dump", dump, *other, "-"], input="", capture_output=True, text=True, timeout=300)
        check(f"--dump with {other[0]}", out.returncode >= 100 and "excludes" in out.stderr, f"{out.returncode} {out.stderr}")
    out = lath("--dump", os.path.join(scratch, "missing.json"), "-", expect=1, stdin="")
    check("a dump that is not there", "missing.json" in out.stderr, out.stderr)


def saved(scratch):
    """a run that is given what another one saved goes on where that ended"""
    rng = random.Random(11)
    pool = ("--pool", "0-1M,2M-2560K", "--unit", "4K")
    size = lambda: rng.randrange(1, 9) * 4096
    first = "".join(f"a m{i} {size()}\n" for i in range(80)) + "".join(f"f m{i}\n" for i in range(0, 80, 3))
    second = "".join(f"a t{i} {size()}\n" for i in range(30))
    state, used = os.path.join(scratch, "state.json"), os.path.join(scratch, "boot.json")
    with open(used, "w", encoding="utf-8") as file:
        json.dump({"extents": [{"physical": 0, "length": 10000}, {"physical": 5000, "length": 5000}]}, file)
    for extents in ((), ("--extents", used)):
        report = json.loads(lath(*pool, *extents, "--save", state, "--json", "-", "-", stdin=first).stdout)
        check("the ranges' use adds up", sum(r["used"] for r in report["pool"]["ranges"]) == report["end"]["used"] > 900000, str(report["pool"]))
        whole = lath(*pool, *extents, "--placement", "-", "-", stdin=first + second).stdout.splitlines()
        rest = lath(*pool, "--extents", state, "--placement", "-", "-", stdin=second).stdout.splitlines()
        check("the second run continues the first", rest == whole[-30:], f"{rest[:3]} {whole[-30:][:3]}")
        with open(state, encoding="utf-8") as file:
            runs = [(e["physical"], e["physical"] + e["length"]) for e in json.load(file)["extents"]]
        check("runs are merged", all(a[1] < b[0] for a, b in zip(runs, runs[1:])), str(runs))
    text = lath(*pool, "-", stdin=first).stdout
    check("each range is reported", "0x200000 + 512 Ki" in text, text)
    lath(*pool, "--save", state, "-", stdin="a all 1M\nf all\n")
    with open(state, encoding="utf-8") as file:
        check("an empty pool", json.load(file)["extents"] == [])
    osd, disk = os.path.join(scratch, "osd.json"), 256 * 4096
    with open(osd, "w", encoding="utf-8") as file:
        json.dump(dump_of([(at, 8192) for at in range(4096, disk, 16384)], disk), file)
    first, second = "a x 4K\n20K 4096\nf x\na y 8K\n", "a z 4K\n40K 4096\n"
    whole = lath("--dump", osd, "--placement", "-", "-", stdin=first + second).stdout.splitlines()
    lath("--dump", osd, "--save", state, "-", stdin=first)
    rest = lath("--pool", f"0-{disk}", "--unit", "4K", "--extents", state, "--placement", "-", "-", stdin=second).stdout.splitlines()
    check("pieces and what the dump had taken are saved", rest == whole[-2:], f"{rest} {whole}")
    lath("--pool", "0-", "--save", state, "-", stdin="a all 8E\na rest 8E\n")
    out = lath("--pool", "0-", "--extents", state, "-", stdin="a x 1", expect=105)
    check("all addresses are taken", "pool is empty" in out.stderr, out.stderr)


def wrong_input(scratch):
    pool = ("--pool", "0-1M")
    for line, message in (("a x", "an allocation is"), ("a x 0", "size 0"), ("a x 12 3", "not a power of two"),
                          ("a x 9Q", "not a number"), ("a x 1 1 1 1", "an allocation is"), ("b x", "unknown operation"),
                          ("4096", "a request in pieces is"), ("0 1", "WANT is 0"), ("1x 1", "WANT '1x' is not a number"),
                          ("8 3", "UNIT '3' is not"), ("8 0", "UNIT '0' is not"), ("8 8 4", "MAX '4' is below"),
                          ("8 8 8 x", "HINT 'x' is not a number"), ("1 1 1 1 1", "a request in pieces is"),
                          ("1T 1 1", "WANT '1T' is more than 1048576 pieces"), ("1048577 1 1", "more than 1048576"),
                          ("f x", "not allocated"), ("f", "a free is"), ("a x 4\na x 4", "in use"),
                          ("a x 16E", "below 2^64"), ("a " + "i" * 300 + " 4", "ID of more")):
        text = "# line one\n" + line + "\na good 4\n"
        bad = f"-:{text.count(chr(10)) - 1}:"
        out = lath(*pool, "-", stdin=text, expect=1)
        check(f"'{line}' is named", message in out.stderr and bad in out.stderr, out.stderr)
        out = lath(*pool, "--skip-bad", "--json", "-", "-", stdin=text)
        report = json.loads(out.stdout)
        check(f"'{line}' is skipped", report["bad_lines"] == 1 and report["allocations"] == text.count("a x 4") + 1 - (
            line == "a x 4\na x 4") , out.stdout[:300])
    trace = f"{SAMPLES}/small.txt"
    for args, message in ((["--pool", "5-5"], "B must be greater"), (["--pool", "x-5"], "A is not a number"),
                          (["--pool", "0-10,5-20"], "overlap"), ([], "no pool"), (["--pool", "7"], "not a span"),
                          (["--pool", "1-9", "--unit", "4K"], "pool is empty"), (["--pool", "0-9", "--unit", "3"], "power of two"),
                          (["--pool", "0-9", "--below", "z"], "--below: 'z'")):
        out = lath(*args, trace, expect=105)
        check(f"{args} is refused", message in out.stderr, out.stderr)
    for args, message in ((["--extents", "/nonexistent"], "/nonexistent: "), (["--extents", trace], "not the JSON")):
        out = lath(*args, trace, expect=1)
        check(f"{args} is refused", message in out.stderr, out.stderr)
    dump = os.path.join(scratch, "wrong.json")
    for number in ("-1", "1.5", "18446744073709551616", "true"):
        with open(dump, "w", encoding="utf-8") as file:
            file.write('{"extents":[{"physical":%s,"length":1}]}' % number)
        out = lath("--extents", dump, trace, expect=1)
        check(f"an extent at {number} is refused", 'wrong.json: "physical"' in out.stderr, out.stderr)
    out = lath(*pool, os.path.join(scratch, "none"), expect=1)
    check("a missing trace is named", "none: No such file" in out.stderr, out.stderr)
    out = lath(*pool, "--json", os.path.join(scratch, "no", "dir"), trace, expect=1)
    check("an output that cannot be is named", os.path.join("no", "dir") in out.stderr, out.stderr)
    lath(*pool, "--policy", "worst", trace, expect=105)


def long_trace(scratch):
    """many live ranges: what is said of them over time costs no walk over all of them"""
    trace = os.path.join(scratch, "long.trace")
    lines = [f"a i{i} 4096" for i in range(200000)]
    with open(trace, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    text = lath("--pool", "0-", "--unit", "4K", trace).stdout
    check("200000 live ranges", "200000 allocations (0 without room)" in text, text)
    lines[100000] = "bogus"
    with open(trace, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    out = lath("--pool", "0-", "--unit", "4K", "--csv", "/dev/null", trace, expect=1)
    check("the bad line in the middle is named", "long.trace:100001: " in out.stderr, out.stderr)


with tempfile.TemporaryDirectory() as where:
    golden()
    against_model(where)
    outputs(where)
    dumps(where)
    labelled_dumps(where)
    logical(where)
    saved(where)
    wrong_input(where)
    long_trace(where)
sys.exit(checks.result())
