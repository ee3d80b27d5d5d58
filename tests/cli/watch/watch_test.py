#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""watch_test.py LATH: the lines of `lath watch` against what the store was given, and how it ends."""
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

LATH = os.path.abspath(sys.argv.pop(1))
SHARED = f"shm:lath-watch-{os.getpid()}"


def lath(*args, text="", check=True):
    return subprocess.run([LATH, *args], input=text, capture_output=True, text=True, timeout=60, check=check)


def fill(spec, first, last, *options):
    lath("store", *options, spec, "load", "-", text="".join(f"{i}\tvalue {i}\n" for i in range(first, last)))


class Watcher:
    """`lath watch` at work, for ten seconds at most; next() is its next line."""

    def __init__(self, *args, interval=0.02):
        args = [LATH, "watch", *args, "--interval", str(interval), "--count", str(int(10 / interval))]
        self.process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def next(self):
        return self.process.stdout.readline()

    def until(self, wanted):
        """The first JSON line for which `wanted` holds; a failure of the test if it ends before."""
        while line := self.next():
            if wanted(json.loads(line)):
                return json.loads(line)
        raise AssertionError(self.process.stderr.read())

    def end(self):
        """What it still prints, its complaint and its exit code."""
        out, said = self.process.communicate(timeout=60)
        return out, said, self.process.returncode


class Shared(unittest.TestCase):
    def setUp(self):
        fill(SHARED, 0, 1000)

    def tearDown(self):
        lath("store", SHARED, "--remove", check=False)

    def test_lines(self):
        done = lath("watch", SHARED, "--interval", "0.01", "--count", "22")
        lines = done.stdout.splitlines()
        self.assertEqual((len(lines), done.stderr), (24, ""), done.stdout)
        self.assertEqual(lines[0], lines[21])
        self.assertEqual(lines[0].split()[:3], ["time", "items", "items/s"])
        self.assertEqual(lines[1].split()[1:3], ["1000", "-"])
        self.assertEqual(lines[2].split()[1:3], ["1000", "0"])

    def test_rates(self):
        watcher = Watcher(SHARED, "--json")
        first = json.loads(watcher.next())
        self.assertEqual((first["items"], first["store"], first["items_per_s"]), (1000, SHARED, None))
        self.assertEqual(first["used_bytes"], first["index_bytes"] + first["record_bytes"])
        fill(SHARED, 1000, 4000)
        more = watcher.until(lambda line: line["items_per_s"] > 0)
        self.assertGreater(more["used_bytes_per_s"], 0)
        self.assertEqual(watcher.until(lambda line: line["items"] == 4000)["evicted_per_s"], 0)
        lath("store", SHARED, "del", "1")
        self.assertEqual(watcher.until(lambda line: line["items_per_s"] < 0)["items"], 3999)
        watcher.process.send_signal(signal.SIGINT)
        out, said, code = watcher.end()
        self.assertEqual((said, code), ("", 130))
        for line in out.splitlines():
            json.loads(line)

    def test_nothing_is_changed(self):
        def dump():
            return lath("store", SHARED, "dump").stdout

        lath("store", SHARED, "set", "gone", "soon", "ttl", "0")
        before = dump()
        line = json.loads(lath("watch", SHARED, "--count", "1", "--json").stdout)
        self.assertEqual((line["items"], line["expired"]), (1001, 0), "an expired entry is not removed")
        self.assertEqual(dump(), before)

    def test_removed(self):
        watcher = Watcher(SHARED)
        watcher.next()
        lath("store", SHARED, "--remove")
        self.assertEqual(watcher.end()[1:], (f"lath: {SHARED}: it has been removed\n", 1))

    def test_made_anew(self):
        watcher = Watcher(SHARED, interval=0.5)
        watcher.next()
        watcher.next()
        lath("store", SHARED, "--remove")
        fill(SHARED, 0, 1)
        self.assertEqual(watcher.end()[1:], (f"lath: {SHARED}: it has been removed, and made anew\n", 1))

    def test_numbers(self):
        numbers = SHARED + "-n"
        fill(numbers, 0, 7, "--keys", "numbers")
        try:
            self.assertEqual(json.loads(lath("watch", numbers, "-n", "1", "--json").stdout)["items"], 7)
        finally:
            lath("store", numbers, "--remove")

    def test_evicted(self):
        small = SHARED + "-e"
        options = ["--limit", "8M", "--evict"]
        fill(small, 0, 10, *options)
        try:
            watcher = Watcher(small, "--json")
            watcher.next()
            text = "".join(f"{i}\t{'x' * 4000}\n" for i in range(4000))
            lath("store", *options, small, "load", "-", text=text, check=False)
            lath("store", small, text="".join(f"set {i} {'y' * 4000}\n" for i in range(10000, 13000)))
            self.assertGreater(watcher.until(lambda line: line["evicted_per_s"] > 0)["evicted"], 0)
            watcher.process.send_signal(signal.SIGTERM)
            self.assertEqual(watcher.end()[2], 130)
        finally:
            lath("store", small, "--remove")


class File(unittest.TestCase):
    def test_written_anew(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "store.db")
            fill(f"file:{path}", 0, 10)
            before = hashlib.sha256(path.read_bytes()).digest()
            watcher = Watcher(f"file:{path}", "--json")
            self.assertEqual(json.loads(watcher.next())["items"], 10)
            self.assertEqual(hashlib.sha256(path.read_bytes()).digest(), before)
            self.assertEqual(os.listdir(scratch), ["store.db"], "no lock: others may write")
            fill(f"file:{path}", 10, 30)
            self.assertEqual(watcher.until(lambda line: line["items"] != 10)["items"], 30)
            path.unlink()
            self.assertEqual(watcher.end()[1:], (f"lath: file:{path}: it has been removed\n", 1))

    def test_damaged(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "store.db")
            fill(f"file:{path}", 0, 10)
            watcher = Watcher(f"file:{path}")
            watcher.next()
            (path.parent / "other").write_bytes(b"x" * 8192)
            os.replace(path.parent / "other", path)
            _, said, code = watcher.end()
            self.assertEqual(code, 1)
            self.assertIn(f"{path}: not a snapshot", said)


class Refusals(unittest.TestCase):
    def refused(self, code, words, *args):
        done = lath("watch", *args, check=False)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(words, done.stderr)

    def test_usage(self):
        self.refused(105, "'mem:' is not a store that other processes", "mem:")
        self.refused(105, "'shm:' is not a store", "shm:")
        self.refused(105, "none of them '/'", "shm:a/b")
        self.refused(105, "--foreign is for shm:", "file:x", "--foreign")
        for interval in ("0", "x", "1x", "nan", "1e9", "-1"):
            self.refused(105, f"'{interval}' is not a number of seconds", "shm:x", f"--interval={interval}")
        self.refused(105, "--count", "shm:x", "--count", "x")

    def test_no_such_store(self):
        self.refused(1, f"{SHARED}-none: there is no such store", SHARED + "-none")
        self.assertFalse(os.path.exists(f"/dev/shm/{SHARED[4:]}-none"), "nothing is made")
        self.refused(1, "file:/nope: there is no such store", "file:/nope")
        self.refused(1, "not a regular file", "file:/tmp")

    def test_other_object(self):
        name = SHARED[4:] + "-other"
        with open(f"/dev/shm/{name}", "wb") as file:
            file.write(b"x" * 8192)
        try:
            self.refused(1, "not a store", f"shm:{name}")
        finally:
            os.unlink(f"/dev/shm/{name}")


if __name__ == "__main__":
    unittest.main()
