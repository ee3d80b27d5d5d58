#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""compare_test.py COMPARE LATH: bench/ledger/compare.py calls a row fallen when it should, and reads what lath bench writes."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile


def document(better, **ratios):
    """One row with an interval of 5 % on each side of each peer's ratio."""
    row = {"table": "t", "case": "c", "metric": "m"}
    return {
        "context": {"effort": "quick", "isa": "avx2", "tables": [{"name": "t", "noise": {"verdict": "quiet"}}]},
        "rows": [dict(row, better=better)],
        "ratios": [dict(row, peer=p, ratio=r, low=r * 0.95, high=r * 1.05) for p, r in ratios.items()],
    }


def main():
    compare, lath = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        names = [str(pathlib.Path(directory, name)) for name in ("last", "new")]

        def check(code, last, new, *arguments):
            for name, content in zip(names, (last, new)):
                pathlib.Path(name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
            run = subprocess.run([sys.executable, "-B", compare, *names, *arguments], capture_output=True, text=True, check=False)
            assert run.returncode == code, (code, run.returncode, run.stdout, run.stderr)
            return run.stdout + run.stderr

        base = document("lower", a=0.5, b=0.5, c=0.5)
        check(0, base, base)
        check(0, base, document("lower", a=0.4, b=0.4, c=0.4))  # better
        check(0, base, document("lower", a=0.6, b=0.5, c=0.5))  # one peer became faster
        check(0, base, document("lower", a=0.54, b=0.54, c=0.54))  # within the intervals
        assert "fallen against 2 of 3" in check(1, base, document("lower", a=0.6, b=0.6, c=0.5))
        check(0, base, document("lower", a=0.6, b=0.6, c=0.6), "--margin", "25")
        check(1, base, document("lower", a=0.6, d=9))  # of the peers that both have
        high = document("higher", a=2, b=2)
        check(0, high, document("higher", a=2.5, b=2.5))
        check(1, high, document("higher", a=1.6, b=1.6))
        # several runs are one, as wide as all of them
        third = pathlib.Path(directory, "third")
        third.write_text(json.dumps(base), encoding="utf-8")
        worse = document("lower", a=0.6, b=0.6, c=0.6)
        check(0, base, worse, str(third))
        third.write_text(json.dumps(worse), encoding="utf-8")
        check(1, base, worse, str(third))
        third.write_text(json.dumps(document("lower", d=1)), encoding="utf-8")
        check(2, base, worse, str(third))
        third.write_text(json.dumps({**worse, "context": {**worse["context"], "isa": "scalar"}}), encoding="utf-8")
        assert "scalar" in check(2, base, worse, str(third))
        # what cannot be compared
        other = copy.deepcopy(base)
        other["context"]["isa"] = "scalar"
        assert "scalar" in check(2, base, other)
        check(2, base, document("lower", d=1))
        check(2, "no JSON", base)
        check(2, base, {"rows": []})
        noisy = copy.deepcopy(base)
        noisy["context"]["tables"][0]["noise"]["verdict"] = "noisy"
        assert "noisy during table t" in check(2, noisy, base)
        # a real file, against what is recorded of it
        subprocess.run([lath, "bench", "sort", "--quick", "--reps", "2", "--brief", "--n", "64", "--json", names[0]], check=True, capture_output=True)
        real = json.loads(pathlib.Path(names[0]).read_text(encoding="utf-8"))
        for table in real["context"]["tables"]:
            table["noise"]["verdict"] = "fair"  # the tests' machine is busy
        pathlib.Path(names[0]).write_text(json.dumps(real), encoding="utf-8")
        subprocess.run([sys.executable, "-B", compare, "--record", names[1], names[0], names[0]], check=True)
        kept = pathlib.Path(names[1]).read_text(encoding="utf-8")
        assert "samples" not in kept
        assert " 0 fallen" in check(0, real, kept) and " 0 fallen" in check(0, kept, real)


main()
