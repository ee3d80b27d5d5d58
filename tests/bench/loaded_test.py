#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""loaded_test.py LATH TREAP.so LOADED_DIR: structures of a user in every table; broken ones are caught and named."""
import json
import os
import subprocess
import sys
import tempfile

SMALL = ["--quick", "--reps", "2", "--n", "2000", "--threads", "1,2"]

# number of the defect, tables, exit code, a word of the message
BROKEN = [
    (1, ["scan"], 1, "pop_front() found nothing"),
    (2, ["scan"], 2, "plain gave a wrong result"),
    (3, ["sort"], 1, "create() returned NULL"),
    (4, ["sort"], 2, "plain gave a wrong result"),
    (5, ["sort"], 1, "never pushed"),
    (6, ["iova"], 2, "plain"),
    (7, ["index"], 2, "plain gave a wrong result"),
    (8, ["index"], 1, "map->get is NULL"),
    (9, ["sort"], 1, "version 99"),
    (10, ["sort"], 1, "size member is 8"),
    (11, ["sort"], 1, "is ours"),
    (12, ["sort"], 1, "does not export lath_bench_loaded"),
    (13, ["sort"], 1, "nothing to measure"),
    (14, ["store"], 2, "plain"),
    (15, ["store"], 1, "store->set() failed"),
    (16, ["store"], 1, "store->set() failed"),
]


# what a table takes longest for
SHORT = {"iova": ["--parameter", "window_ms=4", "--parameter", "fill_ms=20", "--parameter", "aging_requests=500"]}


def bench(lath, *args, code=0):
    done = subprocess.run([lath, "bench", *args], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"lath bench {' '.join(args)}: exit {done.returncode}, expected {code}\n{done.stderr}")
    return done


def cases_of(lath, name, library, tables, scratch, *more):
    path = os.path.join(scratch, "out.json")
    bench(lath, *tables, *SMALL, *more, "--vs", library, "--subjects", f"lathwork,{name}", "--json", path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if not any(q["peer"] == name for q in document["ratios"]):
        sys.exit(f"{name}: no ratio to it")
    return {(r["table"], r["case"]) for r in document["rows"] if r["subject"] == name}, document


def main():
    lath, treap, loaded = sys.argv[1:4]
    plain = os.path.join(loaded, "libloaded_0.so")
    with tempfile.TemporaryDirectory() as scratch:
        cases, document = cases_of(lath, "treap", treap, ["ranges", "index"], scratch)
        for wanted in (("ranges", "fill"), ("ranges", "thread/2"), ("index", "lookup/2000"), ("index", "erase/2000/2"),
                       ("index", "bytes/2000")):
            if wanted not in cases:
                sys.exit(f"treap has no row for {wanted}: {sorted(cases)}")
        why = [a["why"] for a in document["context"]["not_available"] if a["subject"] == "treap"]
        if "no scan from a key" not in why or any(case.startswith("scan100") for _, case in cases):
            sys.exit(f"treap cannot scan, and nothing says so: {why}")

        cases, _ = cases_of(lath, "plain", plain, ["scan", "sort"], scratch)
        for wanted in (("scan", "scan/2000/shuffled/0"), ("scan", "queue/2000/steady"), ("sort", "random"), ("sort", "random/min")):
            if wanted not in cases:
                sys.exit(f"plain has no row for {wanted}: {sorted(cases)}")
        path = os.path.join(scratch, "iova.json")
        bench(lath, "iova", *SMALL, *SHORT["iova"], "--vs", plain, "--subjects", "plain,maple", "--json", path)
        with open(path, encoding="utf-8") as file:
            if not any(r["subject"] == "plain" for r in json.load(file)["rows"]):
                sys.exit("plain has no row in table iova")
        cases, _ = cases_of(lath, "plain", plain, ["store"], scratch)
        for wanted in ("set/2000/1", "get/2000/2", "scan/2000/1", "bytes/2000"):
            if ("store", wanted) not in cases:
                sys.exit(f"plain has no row for store {wanted}: {sorted(cases)}")

        for number, tables, code, word in BROKEN:
            library = os.path.join(loaded, f"libloaded_{number}.so")
            said = bench(lath, *tables, *SMALL, *SHORT.get(tables[0], []), "--vs", library, "--subjects",
                         "plain,maple" if tables == ["iova"] else "lathwork,plain", code=code)
            if word not in said.stderr:
                sys.exit(f"defect {number}: the message has no word of '{word}':\n{said.stderr}")
        for library, word in ((os.path.join(scratch, "none.so"), "none.so"), (__file__, "loaded_test.py")):
            if word not in bench(lath, "sort", "--vs", library, code=1).stderr:
                sys.exit(f"--vs {library}: not named")
        if "too" not in bench(lath, "sort", "--vs", plain, "--vs", plain, code=1).stderr:
            sys.exit("two loaded subjects of one name are accepted")
    print(f"{len(BROKEN)} defects caught")


main()
