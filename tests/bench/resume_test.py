#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""resume_test.py LATH: `bench all`, interrupted and resumed, keeps what was measured and measures the rest."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

# the smoke test measures every subject
SMALL = ["--quick", "--brief", "--reps", "2", "--n", "2000", "--threads", "1,2"]
SHORT = ["--parameter", "window_ms=5", "--parameter", "fill_ms=20", "--parameter", "io_pages=500",
         "--parameter", "aging_requests=1000"]


def bench(lath, *args, code=0):
    done = subprocess.run([lath, "bench", *args], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"lath bench {' '.join(args)}: exit {done.returncode}, expected {code}\n{done.stderr}")
    return done


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def samples(document):
    return {(r["table"], r["case"], r["subject"], r["metric"]): r["samples"] for r in document["rows"]}


def interrupted(lath, path):
    """A run of all tables, stopped by SIGINT once the first table is in the file."""
    command = [lath, "bench", "all", *SMALL, *SHORT, "--json", path]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        deadline = time.monotonic() + 60
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        error = run.communicate(timeout=60)[1]
    if run.returncode != 130 or "--resume" not in error:
        sys.exit(f"interrupted: exit {run.returncode}, expected 130 and a word about --resume\n{error}")


def main():
    lath = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "out.json")
        interrupted(lath, path)
        before = read(path)
        parts = {t["name"]: t["complete"] for t in before["context"]["tables"]}
        if all(parts.values()) or not any(parts.values()):
            sys.exit(f"interrupted: expected some tables complete and some not: {parts}")
        bench(lath, "all", *SMALL, *SHORT, "--json", path, "--resume")
        after = read(path)
        if not all(t["complete"] for t in after["context"]["tables"]):
            sys.exit("resumed: a table is still incomplete")
        old, new = samples(before), samples(after)
        for (table, case, subject, metric), values in old.items():
            if parts[table] and new.get((table, case, subject, metric)) != values:
                sys.exit(f"resumed: {table} {case} {subject} {metric} was measured again")
        whole = os.path.join(scratch, "whole.json")
        bench(lath, "all", *SMALL, *SHORT, "--json", whole)
        differ = samples(read(whole)).keys() ^ new.keys()
        # bytes have no row where an allocator used old memory again
        if differ := {key for key in differ if not key[1].startswith("bytes")}:
            sys.exit(f"resumed: not the rows of a run in one piece: {sorted(differ)[:5]}")
        if any(name.endswith(".part") for name in os.listdir(scratch)):
            sys.exit("a half-written file is left behind")

        # a case that lost a sample is measured again, its neighbours are not
        broken = read(path)
        hit = next(r for r in broken["rows"] if r["table"] == "sort" and r["case"] == "random")
        hit["samples"] = hit["samples"][:1]
        with open(path, "w", encoding="utf-8") as file:
            json.dump(broken, file)
        bench(lath, "all", *SMALL, *SHORT, "--json", path, "--resume")
        again = samples(read(path))
        changed = {key[:2] for key in new if new[key] != again[key]}
        if changed != {("sort", "random")}:
            sys.exit(f"resumed: measured again were {changed}, not sort random alone")

        # wrong use is named
        for args, word in ((["--json", path, "--seed", "5"], "seed"), (["--json", path, "--cases", "random"], "only"),
                           (["--json", os.path.join(scratch, "none.json")], "none.json")):
            if word not in bench(lath, "all", *SMALL, *SHORT, *args, "--resume", code=1).stderr:
                sys.exit(f"--resume {' '.join(args)}: the error does not name {word}")
        with open(path, "w", encoding="utf-8") as file:
            file.write("{")
        if path not in bench(lath, "all", *SMALL, *SHORT, "--json", path, "--resume", code=1).stderr:
            sys.exit("--resume: a broken file is not named")
        bench(lath, "sort", "--resume", code=105)
    print("interrupted, resumed, compared")


main()
