#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bench/tables/store/misses.py: the counts are there and in the order the structures must have."""
import json
import os
import subprocess
import sys
import tempfile

script, program = sys.argv[1:]

with tempfile.TemporaryDirectory() as directory:
    file = os.path.join(directory, "counts.json")
    run = subprocess.run([sys.executable, script, program, "--items", "3000", "--operations", "300", "--subjects", "lathwork",
                          "rbtree-malloc-4k", "no-such-subject", "--json", file], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=True)
    assert "no-such-subject" in run.stderr, run.stderr
    with open(file, encoding="utf-8") as text:
        rows = {(r["subject"], r["call"]): r for r in json.load(text)["rows"]}
assert set(rows) == {("lathwork", c) for c in ("set", "get", "mset", "mget")} | {
    ("rbtree-malloc-4k", c) for c in ("set", "get")}, rows
for key, row in rows.items():
    assert 50 < row["instructions"] < 20000, (key, row)  # the fill is not in it
    assert 0 < row["l1"] < 100 and row["l3"] <= row["l1"], (key, row)
# a tree of 3,000 nodes is walked node by node
assert rows["rbtree-malloc-4k", "get"]["l1"] > 2 * rows["lathwork", "get"]["l1"], rows
assert rows["rbtree-malloc-4k", "get"]["dtlb_4k"] > rows["lathwork", "get"]["dtlb_4k"], rows
