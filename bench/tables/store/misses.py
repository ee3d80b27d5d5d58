#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Count what the subjects of `lath bench store` miss, where there are no hardware counters.

Each subject's worker runs under callgrind (valgrind) three times: with lines of 64 bytes, as caches have, and with lines
of 4 KiB and of 2 MiB, so that a miss of the cache model is one of a TLB. Only accesses to data are counted, inside the
timed calls, after the fill. The model neither prefetches nor overlaps accesses: these are counts, not times.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

SUBJECTS = ["lathwork", "rbtree-malloc-4k", "rbtree-arena-thp", "absl-btree-4k", "judy-4k", "flat-hash"]
CALLS = ["set", "get", "mset", "mget"]
# level 1 and last level: bytes, ways, bytes per line. Of an AMD Zen 4: 32 KiB and 32 MiB; 72 and 3,072 translations.
MODELS = {
    "cache": ("32768,8,64", "33554432,16,64"),
    "tlb-4k": ("294912,72,4096", "12582912,12,4096"),
    "tlb-2m": ("150994944,72,2097152", "1073741824,16,2097152"),
}
EVENTS = "Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw".split()


def figures(path, operations):
    """Counts of each call and all it calls, per operation: {call: {instructions, level1, last}}."""
    text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", path], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = {}
    for line in text.splitlines():
        match = re.search(r"::(m?[gs]et)\(unsigned long, unsigned long, lathbench::item_kind const&\)", line)
        if not match:
            continue
        numbers = re.findall(r"(?:^|\s)([\d,]+|\.)(?=\s)(?:\s*\(\s*[\d.]+%\))?", line)[:len(EVENTS)]
        if len(numbers) < len(EVENTS):
            continue
        cost = dict(zip(EVENTS, (int(n.replace(",", "").replace(".", "0")) for n in numbers)))
        if cost["Ir"] > found.get(match[1], {"Ir": 0})["Ir"]:
            found[match[1]] = cost
    return {call: {"instructions": c["Ir"] / operations, "level1": (c["D1mr"] + c["D1mw"]) / operations,
                   "last": (c["DLmr"] + c["DLmw"]) / operations} for call, c in found.items()}


def measure(program, subject, model, items, operations, directory):
    out = os.path.join(directory, f"{subject}.{model}")
    level1, last = MODELS[model]
    command = ["valgrind", "--tool=callgrind", "--cache-sim=yes", f"--callgrind-out-file={out}", f"--D1={level1}",
               f"--LL={last}", "--zero-before=lathbench::huge_page_bytes()"]
    command += [f"--toggle-collect=*::{call}(unsigned long, unsigned long, lathbench::item_kind const&)" for call in CALLS]
    worker = subprocess.run(command + [program, "store"], input="r 1\n", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True,
                            env=os.environ | {"LATH_BENCH_STORE_JOB": f"{subject} {items} {operations} 1 0"})
    answer = worker.stdout.splitlines()
    if not answer or answer[0].startswith("missing"):
        return answer[0] if answer else worker.stderr.strip().splitlines()[-1]
    if any(line.endswith(" 0") for line in answer[1:]):
        raise RuntimeError(f"{subject}: wrong answers")
    return figures(out, operations)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", metavar="LATH_BENCH", help="lath-bench")
    options.add_argument("--items", type=int, default=1000000, help="(default %(default)s)")
    options.add_argument("--operations", type=int, default=50000, help="of each kind (default %(default)s)")
    options.add_argument("--subjects", nargs="+", default=SUBJECTS, metavar="SUBJECT")
    options.add_argument("--jobs", type=int, default=os.cpu_count(), help="at a time (default %(default)s)")
    options.add_argument("--json", metavar="FILE", help="write the counts there")
    asked = options.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("misses: valgrind is not installed")
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(asked.jobs) as pool:
        runs = {(subject, model): pool.submit(measure, asked.program, subject, model, asked.items, asked.operations,
                                             directory)
                for subject in asked.subjects for model in MODELS}
        result = {key: run.result() for key, run in runs.items()}
    print(f"{asked.items} items; per operation: instructions, and data misses of caches (32 KiB, 32 MiB), of "
          "4 KiB pages (72, 3,072 translations), of 2 MiB pages (72)\n")
    print("| subject | call | instructions | L1 | L3 | dTLB 4K | L2 TLB 4K | dTLB 2M |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for subject in asked.subjects:
        by_model = {model: result[subject, model] for model in MODELS}
        if isinstance(by_model["cache"], str):
            print(f"misses: {subject}: {by_model['cache']}", file=sys.stderr)
            continue
        for call in CALLS:
            if call not in by_model["cache"]:
                continue
            cache, small, huge = (by_model[model][call] for model in MODELS)
            row = {"subject": subject, "call": call, "instructions": cache["instructions"], "l1": cache["level1"],
                   "l3": cache["last"], "dtlb_4k": small["level1"], "l2tlb_4k": small["last"],
                   "dtlb_2m": huge["level1"]}
            rows.append(row)
            print(f"| {subject} | {call} | {row['instructions']:.0f} | " +
                  " | ".join(f"{row[k]:.2f}" for k in ("l1", "l3", "dtlb_4k", "l2tlb_4k", "dtlb_2m")) + " |")
    if not rows:
        sys.exit("misses: nothing was counted")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as file:
            json.dump({"items": asked.items, "operations": asked.operations, "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
