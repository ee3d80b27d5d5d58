#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""smoke_test.py LATH: every table, every subject, tiny sizes; the JSON against its schema.

Fails when a subject of this build has neither a row nor a stated reason in any case of a table,
when a listed case is missing, when a figure is not verified, and when wrong input is accepted.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

FIELDS = {
    "table": str, "case": str, "subject": str, "n": int, "threads": int, "metric": str, "unit": str,
    "better": str, "median": (int, float), "min": (int, float), "mad": (int, float), "samples": list,
    "verified": bool,
}
CONTEXT = ["parameters", "date", "machine", "cpus", "memory", "kernel", "compiler", "flags", "pages", "commit", "seed", "isa"]
SMALL = ["--quick", "--reps", "2", "--n", "2000", "--threads", "1,2"]
EXTENTS = {"extents": [{"physical": i * 12288, "length": 4096 * (1 + i % 3)} for i in range(2000)]}

def run(lath, *args, code=0):
    done = subprocess.run([lath, "bench", *args], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"lath bench {' '.join(args)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def listing(lath, args):
    """table -> (cases, {subject: missing?}) from --list"""
    tables, current, section = {}, None, None
    for line in run(lath, "--list", *args).stdout.splitlines():
        words = line.split()
        if not line.startswith(" "):
            current = tables[words[0]] = ([], {})
        elif words[0] == "cases:":
            current[0].extend(words[1:])
        elif words[0] in ("subjects:", "parameters:"):
            section = words[0]
        elif section == "subjects:":
            current[1][words[0]] = "(skipped:" in line
    return tables


def check_row(row, problems):
    for field, kind in FIELDS.items():
        if not isinstance(row.get(field), kind):
            problems.append(f"{row}: field {field} is missing or of the wrong type")
            return
    samples = row["samples"]
    if row["verified"] is not True or row["better"] not in ("lower", "higher") or not samples:
        problems.append(f"{row}: not verified, no samples, or no direction")
    elif not all(math.isfinite(x) and x >= 0 for x in samples):
        problems.append(f"{row}: not a figure")
    elif not (row["min"] == min(samples) and min(samples) <= row["median"] <= max(samples) and row["mad"] >= 0):
        problems.append(f"{row}: median, min and mad do not fit the samples")


def check_complete(document, tables, problems):
    have = {(r["table"], r["case"], r["subject"]) for r in document["rows"]}
    absent = {(a["table"], a["case"], a["subject"]) for a in document["context"]["not_available"]}
    for table, (cases, subjects) in tables.items():
        if not cases or "lathwork" not in subjects:
            problems.append(f"{table}: no cases, or lathwork is not among the subjects")
        for case in cases:
            if not any(key[:2] == (table, case) for key in have):
                problems.append(f"{table} {case}: listed, but without a row")
            for subject, missing in subjects.items():
                where = (table, "*" if missing else case, subject)
                if (table, case, subject) not in have and where not in absent:
                    problems.append(f"{table} {case}: {subject} has neither a row nor a reason")


def check_parameters(lath, path):
    """--parameter: sets exactly the cases asked for, and wrong ones are refused by name"""
    asked = ["--parameter", "list_sizes=300,4e2", "--parameter", "queue_sizes=20", "--parameter", "work=0,5",
             "--parameter", "order=in-order", "--parameter", "kind=mix", "--parameter", "sample_us=50"]
    wanted = {f"scan/{n}/in-order/{work}" for n in (300, 400) for work in (0, 5)} | {"queue/20/mix"}
    if set(listing(lath, ["scan", *asked])["scan"][0]) != wanted:
        sys.exit("--list --parameter: not the cases asked for")
    run(lath, *asked, "scan", "--reps", "1", "--subjects", "lathwork,circular", "--json", path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    if {row["case"] for row in document["rows"]} != wanted:
        sys.exit("--parameter: not the cases asked for")
    if document["context"]["parameters"].get("list_sizes") != "300,4e2":
        sys.exit("--parameter: not in the context of the JSON")
    for table, wrong in (("scan", "no_such=1"), ("scan", "list_sizes"), ("scan", "list_sizes=1.5"), ("scan", "order="),
                         ("scan", "work=0,none"), ("ranges", "list_sizes=100")):
        if wrong not in run(lath, table, "--parameter", wrong, code=105).stderr:
            sys.exit(f"--parameter {wrong}: the error does not name it")
    run(lath, "scan", "--parameter", "kind=mix", "--parameter", "kind=burst", code=105)


def check_keys(lath, path):
    """--keys: every distribution, with every subject; the table without it stays as it is"""
    small = ["--quick", "--reps", "1", "--n", "3000", "--threads", "1,2"]
    names = ["uniform", "dense", "dense-shuffled", "clustered", "osm", "lognormal", "timestamp", "two-scale", "hop", "fifo"]
    asked = [*small, "--keys", ",".join(names)]
    tables = listing(lath, ["index", *asked])
    works = ["insert", "lookup", "lookup-dep", "miss", "lookup-batch", "miss-batch", "scan100", "erase"]
    wanted = {f"{work}/{name}/3000{threads}" for name in names for threads in ("", "/2")
              for work in works + ["turn"] * (name in ("hop", "fifo"))} | {f"bytes/{name}/3000" for name in names}
    if set(tables["index"][0]) != wanted:
        sys.exit(f"--keys: not the cases asked for: {sorted(set(tables['index'][0]) ^ wanted)[:9]}")
    document, problems = check_run(lath, asked, tables, path), []
    # what 3000 keys take may be memory that the process had
    tables["index"][0][:] = [c for c in tables["index"][0] if not c.startswith("bytes/")]
    check_complete(document, tables, problems)
    if problems:
        sys.exit("\n".join(problems[:30]))
    if any(key["case"].split("/")[1] not in names for key in document["rows"]):
        sys.exit("--keys: rows of the table without it")
    four = {c.split("/")[1] for c in listing(lath, ["index", "--quick", "--keys", "all"])["index"][0]}
    every = {c.split("/")[1] for c in listing(lath, ["index", "--parameter", "keys=all"])["index"][0]}
    if four != {"uniform", "dense", "clustered", "osm"} or every != set(names):
        sys.exit(f"--keys all: {sorted(four)} with --quick, else {sorted(every)}")
    for effort in ([], ["--quick"], ["--full"]):
        if any(not c.split("/")[1].isdigit() for c in listing(lath, ["index", *effort])["index"][0]):
            sys.exit("without --keys: the table has distributions")
    for wrong, word in ((["index", "--keys", "even"], "even"), (["ranges", "--keys", "osm"], "--keys"),
                        (["index", "--keys", "osm", "--parameter", "keys=hop"], "keys"),
                        (["index", "--keys", "osm", "--input", path], "--input")):
        if word not in run(lath, *wrong, code=105).stderr:
            sys.exit(f"{wrong}: the error does not name {word}")


def check_kinds(lath, path):
    """--values and --keys of table store: the cases asked for; the table without them stays as it is"""
    values, keys = ["decimal", "binary8", "binary16", "text64", "mixed"], ["dense", "clustered", "osm", "timestamp"]
    small = ["--quick", "--reps", "1", "--n", "2000", "--threads", "1,2"]
    brief = ["--subjects", "lathwork,lathwork-shm,rbtree-arena-thp,absl-btree-4k,judy-4k,flat-hash"]
    works = [f"{many}{work}" for many in ("", "m") for work in ("set", "get")] + ["set+get", "mset+mget"]

    def cases(kinds):
        return ({f"{work}/{kind}/2000/{t}" for work in works for kind in kinds for t in (1, 2)} |
                {f"{case}/{kind}/2000" for case in ("bytes",) for kind in kinds} | {f"scan/{kind}/2000/1" for kind in kinds})

    for asked, wanted in ((["--values", ",".join(values)],
                           cases(values) | {f"path-{work}/{kind}/2000/1" for work in works for kind in values}),
                          (["--keys", ",".join(keys)], cases(keys)),
                          (["--parameter", "values=binary16,mixed", "--keys", "osm"], cases(["binary16+osm", "mixed+osm"]))):
        tables = listing(lath, ["store", *small, *brief, *asked])
        if set(tables["store"][0]) != wanted:
            sys.exit(f"{asked}: not the cases asked for: {sorted(set(tables['store'][0]) ^ wanted)[:9]}")
        # what 2000 items take may be memory that the process had
        document = check_run(lath, [*small, *brief, *asked], tables, path)
        lacking = wanted - {row["case"] for row in document["rows"]}
        if any(not case.startswith("bytes/") for case in lacking):
            sys.exit(f"{asked}: without a row: {sorted(lacking)[:9]}")
    if any(not c.split("/")[1].isdigit() for c in listing(lath, ["store"])["store"][0]):
        sys.exit("without --values and --keys: table store has kinds of items")
    if len({c.split("/")[1] for c in listing(lath, ["store", "--keys", "all"])["store"][0]}) != 8:
        sys.exit("store --keys all: not every distribution whose keys stay")
    for wrong, word in ((["store", "--values", "random"], "random"), (["index", "--values", "mixed"], "--values"),
                        (["store", "--keys", "hop", "--values", "mixed"], "hop"), (["store", "--parameter", "values=x"], "values=x")):
        if word not in run(lath, *wrong, code=105).stderr:
            sys.exit(f"{wrong}: the error does not name {word}")


def check_isa(lath, path):
    """--isa: each form that this build and processor have, named in the header; others are refused"""
    small = ["index", *SMALL, "--subjects", "lathwork", "--cases", "lookup", "--json", path]
    best, had = None, []
    for isa in ("scalar", "avx2", "neon"):
        done = subprocess.run([lath, "bench", "--isa", isa, *small], capture_output=True, text=True)
        if done.returncode == 1 and f"'{isa}' is not in this processor or build" in done.stderr:
            continue
        with open(path, encoding="utf-8") as file:
            context = json.load(file)["context"]
        if done.returncode or "LATH_ISA" in done.stderr or context["isa"] != isa or f"{context['machine']}, {isa}\n" not in done.stdout:
            sys.exit(f"--isa {isa}: exit {done.returncode}, {context['isa']}\n{done.stdout}{done.stderr}")
        best = isa
        had.append(isa)
    if "scalar" not in had:
        sys.exit("--isa scalar is refused")
    run(lath, *small)
    with open(path, encoding="utf-8") as file:
        if (isa := json.load(file)["context"]["isa"]) != best:
            sys.exit(f"without --isa: {isa}, and not {best}")
    run(lath, "index", "--isa", "mmx", code=105)


def check_run(lath, args, tables, path):
    problems = []
    shown = run(lath, *tables, *args, "--json", path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for field in CONTEXT:
        if field not in document["context"]:
            problems.append(f"context: no {field}")
    for row in document["rows"]:
        check_row(row, problems)
    for table in tables:
        if f"\n{table}: how many times better lathwork is than a peer" not in shown.stdout:
            problems.append(f"{table}: no ratio table on the terminal")
    for info in document["context"]["tables"]:
        if info.get("ours") != "lathwork":
            problems.append(f"{info['name']}: the context has {info.get('ours')} as ours")
    if problems:
        sys.exit("\n".join(problems[:30]))
    return document


def main():
    lath = sys.argv[1]
    tables = listing(lath, SMALL)
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "out.json")
        problems = []
        document = check_run(lath, [*SMALL, "--parameter", "window_ms=4", "--parameter", "fill_ms=40",
                                    "--parameter", "aging_requests=1000"], tables, path)
        check_complete(document, tables, problems)
        if problems:
            sys.exit("\n".join(problems[:30]))

        table = os.path.join(scratch, "out.csv")
        run(lath, "ranges", *SMALL, "--subjects", "std-map", "--csv", table)
        with open(table, encoding="utf-8") as file:
            if len(file.read().splitlines()) != 1 + 5:
                sys.exit("--csv --subjects std-map: not one line a case of table ranges")

        extents = os.path.join(scratch, "extents.json")
        with open(extents, "w", encoding="utf-8") as file:
            json.dump(EXTENTS, file)
        check_run(lath, [*SMALL, "--subjects", "lathwork,std-map", "--input", extents], ["ranges", "index"], path)

        check_parameters(lath, path)
        check_keys(lath, path)
        check_kinds(lath, path)
        check_isa(lath, path)

        with open(extents, "w", encoding="utf-8") as file:
            file.write('{"extents":[{"physical":1}]}')
        if extents not in run(lath, "ranges", "--input", extents, code=1).stderr:
            sys.exit("a broken input file is not named")
        run(lath, "no-such-table", code=105)
        run(lath, "ranges", "--n", "0", code=105)
        run(lath, "ranges", "--subjects", "no-such-subject", code=105)
        run(lath, "ranges", *SMALL, "--json", os.path.join(scratch, "no", "such", "dir"), code=1)
    print(f"{len(document['rows'])} rows of {len(tables)} tables fit the schema")


main()
