#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""show_test.py LATH: drawings and dumps of `lath show` against the items they were made of."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

LATH = os.path.abspath(sys.argv.pop(1))
MAX = 2**64 - 1
SVG = "{http://www.w3.org/2000/svg}"


def show(*args, text=""):
    return subprocess.run([LATH, "show", *args], input=text, capture_output=True, text=True, timeout=60, check=False)


def nodes(text):
    return [json.loads(line) for line in text.splitlines()]


class Dump(unittest.TestCase):
    def check_levels(self, dump):
        """Each level covers the key space, and each child is a node of the level below."""
        levels = {}
        for node in dump:
            levels.setdefault(node["level"], []).append(node)
        for level, row in levels.items():
            self.assertEqual(row[0]["low"], 0)
            self.assertEqual(row[-1]["last"], MAX)
            for left, right in zip(row, row[1:]):
                self.assertEqual((left["last"] + 1, left["right"]), (right["low"], right["node"]))
            self.assertEqual(row[-1]["right"], 0)
            if level:
                self.assertEqual([e[2] for n in row for e in n["entries"] if e[3]],
                                 [n["node"] for n in levels[level - 1] if n["state"] == "alive"])

    def test_items_come_back(self):
        items = {key * 100: (random.randrange(1, 100), key) for key in random.sample(range(5000), 1500)}
        text = "".join(f"{key} {size} {value}\n" for key, (size, value) in items.items())
        dump = nodes(show("-", "--format", "json", text="# a comment\n\n" + text).stdout)
        self.check_levels(dump)
        found = {key: (size, value) for n in dump if n["level"] == 0 for key, size, value, live in n["entries"] if live}
        self.assertEqual(found, items)
        for node in dump:
            keys = [entry[0] for entry in node["entries"]]
            self.assertEqual(len(keys), node["used"])
            if "pivots" in node:
                self.assertEqual(node["pivots"], (keys[::8] + [MAX] * 8)[:8])
            else:
                self.assertEqual(node["heads"],
                                 [min(255, (k - node["base"]) >> node["shift"]) if k >= node["base"] else 0 for k in keys])
            runs = [b[0] - a[0] - a[1] for a, b in zip(*[[e for e in node["entries"] if e[3]][i:] for i in (0, 1)])]
            if node["level"] == 0:
                self.assertGreaterEqual(node["room"], max(runs, default=0))

    def test_distributions(self):
        for keys, searched in (("extents", "heads"), ("ascending", "heads"), ("dense", "heads"), ("random", "heads"),
                               ("clustered", "pivots")):
            dump = nodes(show("--demo", "--keys", keys, "--n", "3000", "--format", "json").stdout)
            self.check_levels(dump)
            self.assertEqual(sum(e[3] for n in dump if n["level"] == 0 for e in n["entries"]), 3000, keys)
            self.assertTrue(any(searched in n for n in dump if n["level"] == 0), keys)

    def test_erase(self):
        dump = nodes(show("--demo", "--erase", "25", "--format", "json").stdout)
        self.assertEqual(sum(e[3] for n in dump if n["level"] == 0 for e in n["entries"]), 450)

    def test_a_dump_is_drawn_as_its_index(self):
        for format_ in ("text", "svg"):
            dump = show("--demo", "--erase", "10", "--format", "json").stdout
            again = show("-", "--format", format_, text=dump).stdout
            first = show("--demo", "--erase", "10", "--format", format_).stdout
            title = "600 keys, extents, 10 % of them erased again"
            self.assertEqual(again, first.replace(title, "-", 2))


class Text(unittest.TestCase):
    def test_a_leaf(self):
        lines = show("-", text="5\n7\n9\n").stdout.splitlines()
        self.assertEqual(lines[:2], ["-", "3 items, 1 level, 1 leaf, " + lines[1].split(", ")[3]])
        self.assertEqual(sum(line.count("###") for line in lines), 1)
        self.assertTrue(any("[0, max]" in line and "heads" in line for line in lines))

    def test_no_item(self):
        self.assertIn("0 items, 1 level", show("--demo", "--n", "0").stdout)

    def test_most_nodes(self):
        text = show("--demo", "--n", "10000", "--nodes", "3").stdout
        self.assertIn(" more\n", text)
        self.assertLess(len(text.splitlines()), 25)

    def test_extremes(self):
        text = show("-", text=f"0\n{MAX}\n").stdout
        self.assertIn("keys 0 to max", text)
        self.assertIn(".", text.splitlines()[-3])
        self.assertEqual(show("-", text=f"1 {MAX}\n").returncode, 0)


class Svg(unittest.TestCase):
    def test_cards(self):
        root = ElementTree.fromstring(show("--demo", "--format", "svg").stdout)
        dump = nodes(show("--demo", "--format", "json").stdout)
        cards = root.findall(f"{SVG}g")
        self.assertEqual(len(cards), len(dump))
        self.assertTrue(cards[0].find(f"{SVG}title").text.startswith(f"level {dump[0]['level']}, keys 0 to max"))
        for rect in root.iter(f"{SVG}rect"):
            x, y, w, h = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            self.assertTrue(x >= 0 and y >= 0 and w >= 0 and x + w <= 960.5 and y + h <= float(root.get("height")) + 0.5)

    def test_themes(self):
        drawn = {theme: show("--demo", "--format", "svg", "--theme", theme).stdout for theme in ("auto", "light", "dark")}
        self.assertIn("prefers-color-scheme:dark", drawn["auto"])
        self.assertIn("--page:#fff;", drawn["light"])
        self.assertNotIn("--page:#fff;", drawn["dark"])

    def test_name_of_a_file(self):
        with tempfile.TemporaryDirectory() as scratch:
            path, out = os.path.join(scratch, "<&>"), os.path.join(scratch, "out.svg")
            with open(path, "w", encoding="ascii") as file:
                file.write("1\n")
            self.assertEqual(show(path, "-o", out).returncode, 0)
            self.assertIn("<&>", ElementTree.parse(out).getroot().find(f"{SVG}title").text)


class Refusals(unittest.TestCase):
    def refused(self, code, words, *args, text=""):
        done = show(*args, text=text)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(words, done.stderr)

    def test_usage(self):
        self.refused(105, "FILE (- is standard input) or --demo")
        self.refused(105, "needs no FILE", "--demo", "x")
        self.refused(107, "--demo", "x", "--n", "5")
        self.refused(105, "--erase", "--demo", "--erase", "101")

    def test_lines(self):
        self.refused(1, "-:2: keys 12 to 12 overlap the earlier item with keys 10 to 14", "-", text="10 5\n12\n")
        self.refused(1, "-:1: 'x' is not an item: KEY", "-", text="x\n")
        self.refused(1, "-:1: '1 2 3 4' is not an item: KEY", "-", text="1 2 3 4\n")
        self.refused(1, "-:1: size 0", "-", text="1 0\n")
        self.refused(1, "beyond the last key", "-", text=f"2 {MAX}\n")
        self.refused(1, "cannot read /nope", "/nope")

    def test_dumps(self):
        dump = show("--demo", "--format", "json").stdout
        self.refused(1, "ends before the leaves", "-", text=dump.splitlines()[0] + "\n")
        self.refused(1, "levels out of order", "-", text="".join(reversed(dump.splitlines(True))))
        self.refused(1, "no node of an index", "-", text="{}\n")
        self.refused(1, "no node of an index", "-", text=dump[:100] + "\n")
        self.refused(1, "in one file", "-", text="1\n" + dump)
        self.refused(1, "this is a dump", "-", "--erase", "5", text=dump)


if __name__ == "__main__":
    random.seed(20)
    unittest.main()
