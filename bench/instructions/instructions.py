#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the hot calls execute, by callgrind: instructions, conditional branches and mispredicted ones (callgrind's model) per
call, the peers beside. The counts of a build are the same on every machine with AVX2, which valgrind must have to run it.

--check compares the library's instructions with a file and fails if a row has risen by more than 2 %; one that has fallen by
more is shown, to be recorded anew (an erase executes up to 3 % less where other programs run: the library's thread then reclaims
at other moments). --record writes the file."""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CALLS, RISE = 50000, 1.02  # COUNT in counted.cpp


def counts(program):
    """{(subject, call): (instructions, branches, mispredicted)} per call."""
    with tempfile.TemporaryDirectory() as folder:
        out, bare = pathlib.Path(folder) / "out", pathlib.Path(folder) / "counted"
        # valgrind cannot read what clang 19 writes for debuggers, and counts by the names of functions alone
        subprocess.run(["objcopy", "--strip-debug", program, bare], check=True)
        ran = subprocess.run(["env", "LATH_ISA=avx2", "valgrind", "--tool=callgrind", "--branch-sim=yes", "--toggle-collect=count_*",
                              f"--callgrind-out-file={out}", bare], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if ran.returncode:
            sys.exit(f"instructions: {program} ended with {ran.returncode}: {ran.stderr.strip().splitlines()[-1]}")
        text = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = {}
    for line in text.splitlines():
        name = re.search(r":count_([a-z]+)_(\w+) \[", line)
        numbers = [int(n.replace(",", "").replace(".", "0")) for n in re.findall(r"(?<!\S)(\d[\d,]*|\.)(?!\S)", re.sub(r"\([^)]*\)", "", line))]
        if name and len(numbers) >= 3 and numbers[0] / CALLS > found.get(name.groups(), (0,))[0]:
            found[name.groups()] = tuple(n / CALLS for n in numbers[:3])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program", help="build/release/bin/counted")
    parser.add_argument("--check", metavar="FILE")
    parser.add_argument("--record", metavar="FILE")
    asked = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("instructions: valgrind is not installed")
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        print("skipped: instructions: this processor has no AVX2")
        sys.exit(77)
    found = counts(asked.program)
    subjects = sorted({s for s, _ in found}, key=lambda s: (s != "lathwork", s))
    print("instructions / conditional branches / mispredicted ones per call")
    print(f"{'':16}" + "".join(f"{s:>22}" for s in subjects))
    for call in sorted(c for s, c in found if s == "lathwork"):
        print(f"{call:16}" + "".join("%22s" % ("%.0f / %.0f / %.2f" % found[s, call] if (s, call) in found else "-") for s in subjects))
    ours = {call: round(numbers[0]) for (subject, call), numbers in sorted(found.items()) if subject == "lathwork"}
    if asked.record:
        pathlib.Path(asked.record).write_text(json.dumps(ours, indent=1) + "\n")
    if asked.check:
        before = json.loads(pathlib.Path(asked.check).read_text())
        said = {call: f"{call}: {ours.get(call)} instructions, {before.get(call)} in {asked.check}" for call in sorted(ours | before)}
        for call in ours:
            if ours[call] * RISE < before.get(call, 0):
                print(said[call])
        wrong = [said[call] for call in said if not (before.get(call) and 0 < ours.get(call, 0) <= before[call] * RISE)]
        if wrong:
            sys.exit("\n".join(wrong))


main()
