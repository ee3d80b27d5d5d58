#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The table of doc/verification.md on what is described is what the descriptions say: described_test.py [--described NAME=PROGRAM]...
The programs print calls, errors and which calls exclude others; the other columns come of the tests that are named in the head of
the table. With --write it writes the table."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "doc/verification.md"
HEAD = """| calls of | calls | errors | pairs that may meet | `sched_fuzz` | `porcupine` | clients of `genmc` |
|---|---|---|---|---|---|---|
"""
SCHEDULED = {"index": "index ranks regions", "intervals": "interval", "range": "range_lock"}  # if it is not the name itself
OTHERS = {"range": "locks"}


def clients(name):
    """How many small clients explore.py has of a container."""
    listed = subprocess.run([sys.executable, "-B", ROOT / "tests/genmc/explore.py", "--list"], check=True, capture_output=True, text=True)
    lines = listed.stdout.splitlines()
    locks = sum(line.startswith("locks") for line in lines)
    return {"index": len(lines) - locks, "range": locks}.get(name, 0)


def row(name, program):
    calls, errors, beside = set(), set(), 0
    for line in subprocess.run([program, "--errors"], check=True, capture_output=True, text=True).stdout.splitlines():
        names, found, alone = re.split("[:;]", line)
        calls.update(names.split(", "))
        errors.update((names, error) for error in found.split())
        beside += not alone
    scheduled = [p for p in SCHEDULED.get(name, name).split() if (ROOT / f"tests/sched/{p}_program.cpp").exists()]
    judged = re.search("for structure in (.*);", (ROOT / "tests/porcupine/run.sh").read_text())[1].split()
    return (f"| `lath_{name}_` | {len(calls)} | {len(errors)} | {beside * (beside + 1) // 2} | {', '.join(scheduled)} | "
            f"{'yes' if OTHERS.get(name, name) in judged else ''} | {clients(name) or ''} |\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("--described", action="append", default=[])
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    table = HEAD + "".join(row(*described.split("=", 1)) for described in args.described)
    text = PAGE.read_text()
    there = re.search(re.escape(HEAD) + r"(?:\|.*\n)*", text)
    if there and there[0] == table:
        return 0
    if args.write and there:
        PAGE.write_text(text.replace(there[0], table))
        return 0
    print(f"doc/verification.md: the table is not\n{table}described_test.py --write writes it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
