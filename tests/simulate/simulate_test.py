# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""simulate_test PROGRAM: the simulated machine is deterministic, and does what is known of real ones."""
import json
import pathlib
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
HERE = pathlib.Path(__file__).parent


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)


def rates(subject, workload, cores, *more):
    """Calls per microsecond by number of cores."""
    done = run("--json", "--subject", subject, "--workload", workload, "--cores", cores, *more)
    assert done.returncode == 0, done.stderr
    return {p["cores"]: p for p in json.loads(done.stdout)["points"]}


class Simulate(unittest.TestCase):
    def test_same_seed_same_figures(self):
        few = ("--items", "2000", "--calls", "8000", "--cores", "1,3,16", "--hot", "4", "--subject", "lathwork,rbtree,btree-locks")
        first = run(*few, "--seed", "3")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(first.stdout, run(*few, "--seed", "3").stdout)
        self.assertNotEqual(first.stdout, run(*few, "--seed", "4").stdout)

    def test_one_core(self):
        """A core that is alone takes the time that was measured, on few items."""
        costs = {}
        with open(__file__.replace("simulate_test.py", "zen4.costs"), encoding="utf-8") as lines:
            for words in map(str.split, lines):
                if words[0] == "small":
                    costs[words[1], words[2]] = float(words[3])
        for subject in ("lathwork", "rbtree"):
            point = rates(subject, "lookups", "1", "--items", "2000", "--calls", "4000")[1]
            self.assertAlmostEqual(point["ns"] / costs[subject, "lookups"], 1, delta=0.15, msg=subject)

    def test_shared_word_does_not_scale(self):
        points = rates("counter", "steps", "1,2,16,64")
        self.assertLess(max(p["mops"] for p in points.values()) / points[1]["mops"], 1.1)

    def test_own_words_scale(self):
        points = rates("private", "steps", "1,2,16,64")
        for cores, point in points.items():
            self.assertAlmostEqual(point["mops"] / points[1]["mops"], cores, delta=0.05 * cores)

    def test_locks(self):
        """Beyond a cluster, the rate of a ticket lock falls with the number of cores, that of an MCS lock stays."""
        ticket, mcs = (rates(lock, "steps", "16,64", "--calls", "8000") for lock in ("ticket", "mcs"))
        self.assertLess(ticket[64]["mops"], ticket[16]["mops"] / 2)
        self.assertGreater(mcs[64]["mops"], mcs[16]["mops"] * 0.7)

    def test_readers(self):
        """Readers without a lock scale, those of a reader-writer lock do not."""
        free, locked = (rates(how, "steps", "1,8,64", "--calls", "20000") for how in ("lock-free", "rwlock"))
        self.assertGreater(free[64]["mops"] / free[1]["mops"], 60)
        self.assertLess(locked[64]["mops"] / locked[1]["mops"], 2)

    def test_lookups_scale(self):
        points = rates("lathwork", "lookups", "1,16", "--items", "20000", "--calls", "64000", "--hot", "16")
        self.assertGreater(points[16]["mops"] / points[1]["mops"], 14)
        self.assertEqual([line["calls"] for line in points[16]["lines"] if line["calls"]], [])

    def test_crowd(self):
        """Where all cores insert at one place, waits without looking make the calls of 16 cores take a fifth of the time."""
        how = ["--machine", str(HERE / "sixteen.costs"), "--items", "20000", "--calls", "100000"]
        points, short = (rates("lathwork", "tail", "1,4,16", *how, *more) for more in ([], ["--short-waits"]))
        self.assertGreater(points[16]["mops"], 4 * short[16]["mops"])
        for cores in (4, 16):
            self.assertGreater(points[cores]["mops"], points[1]["mops"] / 3, cores)

    def test_wrong_arguments(self):
        for arguments in (["--subject", "nothing"], ["--workload", "x"], ["--cores", "0"], ["--cores", "129"], ["--items", "many"],
                          ["--machine", "/nowhere"], ["more"]):
            done = run(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn("simulate: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
