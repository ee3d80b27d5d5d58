#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""store_test.py LATH: the commands of `lath store`, their answers, exit codes and messages."""
import json
import os
import re
import subprocess
import sys
import tempfile

LATH = sys.argv[1]


def run(*args, code=0, text=None):
    done = subprocess.run([LATH, "store", *args], input=text if text is not None else "", capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"lath store {' '.join(args)}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done


def expect(what, have, want):
    if have != want:
        sys.exit(f"{what}: {have!r}, expected {want!r}")


def has(what, text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{what}: {text!r} does not contain {part!r}")


def single_commands(db):
    run(db, "set", "k", "v")
    expect("get", run(db, "get", "k").stdout, "v\n")
    has("get of no key", run(db, "get", "none", code=1).stderr, "none", "no such key")
    has("add", run(db, "add", "k", "w", code=1).stderr, "is there already")
    run(db, "replace", "k", "w")
    expect("append", run(db, "append", "k", "!").stdout, "2\n")
    run(db, "cas", "k", "w!", "x")
    has("cas", run(db, "cas", "k", "w!", "y", code=1).stderr, "not the expected one")
    expect("incr", run(db, "incr", "n", "41").stdout, "41\n")
    expect("decr", run(db, "decr", "n").stdout, "40\n")
    expect("min", run(db, "min", "n", "7").stdout, "7\n")
    expect("max", run(db, "max", "n", "9").stdout, "9\n")
    has("incr of text", run(db, "incr", "k", code=1).stderr, "not a decimal number")
    has("incr by text", run(db, "incr", "n", "x", code=105).stderr, "'x'")
    run(db, "set", "gone", "v", "ttl", "0")
    run(db, "get", "gone", code=1)
    expect("sweep", run(db, "sweep").stdout, "0\n")  # expired entries are not written
    run(db, "set", "b\tb", "\x01\\")
    expect("scan", run(db, "scan").stdout, "b\\tb\t\\x01\\\\\nk\tx\nn\t9\n")
    expect("scan back", run(db, "scan", "from", "c", "reverse", "limit", "1").stdout, "n\t9\n")
    expect("count", run(db, "count", "prefix", "k").stdout, "1\n")
    expect("rank", run(db, "rank", "n").stdout, "2\n")
    has("stats", run(db, "stats").stdout, "items", "huge pages")
    run(db, "del", "k", "n", "b\tb")
    expect("count", run(db, "count").stdout, "0\n")
    has("unknown command", run(db, "frobnicate", code=105).stderr, "frobnicate")
    has("usage", run(db, "set", "k", code=105).stderr, "usage: set KEY VALUE")


def files(db, scratch):
    tsv = os.path.join(scratch, "in.tsv")
    with open(tsv, "w", encoding="utf-8") as file:
        file.write("a\t1\nno tab\nb\t\\q\n\nc\t3\t4\nc\t3\texpires=4x\nd\\x41\t\\tx\\\\\n")
    bad = run(db, "load", tsv, code=1)
    has("bad lines", bad.stderr, f"{tsv}:2:7: no tab", f"{tsv}:3:3: an unknown escape", f"{tsv}:5:4: a second tab",
        f"{tsv}:6:4: a second tab", "4 bad lines")
    expect("good lines", run(db, "scan").stdout, "a\t1\ndA\t\\tx\\\\\n")
    jsonl = os.path.join(scratch, "in.jsonl")
    with open(jsonl, "w", encoding="utf-8") as file:
        file.write('{"key":"\u00fc","value":"x"}\n{"key":1,"value":2.5}\n{"key_hex":"ff00","value_hex":""}\n{"key":1\n[]\n{"key":"k"}\n')
    bad = run(db, "load", jsonl, code=1)
    has("bad lines", bad.stderr, f"{jsonl}:4:", "no JSON", f"{jsonl}:5:1: no JSON object", f"{jsonl}:6:1: no \"value\"")
    out = os.path.join(scratch, "out.jsonl")
    run(db, "dump", out)
    with open(out, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    expect("dump", rows[0], {"key": "1", "value": "2.5"})
    expect("dump of bytes", rows[-1], {"key_hex": "ff00", "value": ""})
    again = "file:" + os.path.join(scratch, "again")
    run(again, "load", out)
    expect("load of a dump", run(again, "dump", "jsonl").stdout, run(db, "dump", "jsonl").stdout)
    expires(scratch)
    has("no such file", run(db, "load", "/no/such/file", code=1).stderr, "/no/such/file")
    has("no directory", run("file:/no/such/dir/x", "set", "a", "b", code=1).stderr, "/no/such/dir/x")
    snapshot = os.path.join(scratch, "snapshot")
    run(db, "save", snapshot)
    expect("restore", run("mem:", text=f"restore {snapshot}\ncount\n").stdout, "5\n")
    with open(snapshot, "r+b") as file:
        file.seek(100)
        file.write(b"\xff\xff")
    has("damaged", run("file:" + snapshot, "count", code=1).stderr, snapshot, "damaged at byte")


def expires(scratch):
    """Times of expiry and bytes that are no UTF-8 survive a dump, in both formats; what get shows is what dump has"""
    first = "file:" + os.path.join(scratch, "expires")
    run(first, text='set lasting v\nset ending v ttl 100000\nset "bytes\\xfe" "\\xff\\x00\\tz"\n')
    for name in ("expires.tsv", "expires.jsonl"):
        path, second = os.path.join(scratch, name), "file:" + os.path.join(scratch, name + ".db")
        run(first, "dump", path)
        run(second, "load", path)
        expect(f"dump to {name} and back", run(second, "dump", "jsonl").stdout, run(first, "dump", "jsonl").stdout)
        has(f"dump to {name}", open(path, encoding="utf-8").read(), "expires")
    expect("get", run(first, text='get "bytes\\xfe"\n').stdout, "\\xff\\x00\\tz\n")
    has("dump", run(first, "dump").stdout, "bytes\\xfe\t\\xff\\x00\\tz\n")
    done = subprocess.run([LATH, "store", "--raw", first], input=b'get "bytes\\xfe" lasting\n', capture_output=True, check=True)
    expect("get --raw", done.stdout, b"\xff\x00\tzv")
    done = subprocess.run([LATH, "store", first, "--raw", "get", "lasting"], capture_output=True, check=True)
    expect("get --raw", done.stdout, b"v")
    with open(os.path.join(scratch, "old.tsv"), "w", encoding="utf-8") as file:
        file.write("a\tb\n")
    expect("two columns", run("mem:", text=f"load {scratch}/old.tsv\nget a\n").stdout, "b\n")
    with open(os.path.join(scratch, "marked.tsv"), "w", encoding="utf-8-sig") as file:
        file.write("a\tb\n\ufeffc\td\n")
    expect("a byte order mark, and one that is no such", run("mem:", text=f"load {scratch}/marked.tsv\nget a\nget \ufeffc\n").stdout, "b\nd\n")


def shell(scratch):
    done = run("mem:", text='# a comment\nset "a\\tb" \'x y\'\nget "a\\tb"\nfoo\nget "x\nquit\nget never\n', code=1)
    expect("shell", done.stdout, "x y\n")
    has("shell", done.stderr, "line 4: no command 'foo'", "line 5: column 5: a quote")
    expect("help", run("mem:", "help").stdout.split()[0], "get")
    numbers = "file:" + os.path.join(scratch, "numbers")
    run("--keys", "numbers", numbers, "set", "18446744073709551615", "v")
    has("no number", run("--keys", "numbers", numbers, "get", "x", code=105).stderr, "'x'", "numbers")
    has("other kind", run(numbers, "count", code=1).stderr, "snapshot of numbers")
    has("limit", run("--limit", "1K", "mem:", "count", code=105).stderr, "--limit: '1K'", "at least 8Mi")
    has("limit", run("--limit", "lots", "mem:", "count", code=105).stderr, "lots")
    has("shm", run("shm:a/b", "count", code=105).stderr, "a name")
    shared = f"shm:lath-cli-{os.getpid()}"
    run(shared, "set", "k", "v")
    try:
        expect("shm", run(shared, "get", "k").stdout, "v\n")
        has("shm, other kind", run("--keys", "numbers", shared, "count", code=1).stderr, "byte keys")
    finally:
        run("--remove", shared)
    has("removed", run("--remove", shared, code=1).stderr, "No such file")
    has("remove", run("--remove", "mem:", code=105).stderr, "only shm:NAME")
    has("remove", run("--remove", shared, "count", code=105).stderr, "no command")
    has("not made", run(shared, "get", "k", code=1).stderr, f"lath: {shared}: No such file or directory\n")
    has("not made", run("--remove", shared, code=1).stderr, "No such file")
    has("prefault", run("--prefault", "100T", "mem:", "set", "a", "b", code=1).stderr, "109951162777600 bytes", "available")
    for options, keys in (((), "byte keys"), (("--keys", "bytes"), "byte keys"), (("--keys", "numbers"), "numbers")):
        lines = run(*options, "mem:", "bench", "2000", "2").stdout.splitlines()
        expect(f"bench {keys}", [re.sub(" +[0-9.]+ ", " ", line) for line in lines],
               [f"{phase} million {keys} a second" for phase in ("set", "get", "mget", "scan")])
    full = run("--limit", "8M", "mem:", text="".join(f"set k{i} {'v' * 1000}\n" for i in range(10000)), code=1)
    has("a full store", full.stderr, "there is no room")
    run("--limit", "8M", "--evict", "mem:", text="".join(f"set k{i} {'v' * 1000}\n" for i in range(10000)))


def two_writers(scratch):
    path = os.path.join(scratch, "busy")
    db = "file:" + path
    has("missing", run(db, "get", "a", code=1).stderr, f"{path}: No such file")
    first = subprocess.Popen([LATH, "store", db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    first.stdin.write("set a 1\nincr a\n")
    first.stdin.flush()
    expect("the first", first.stdout.readline(), "2\n")
    has("the second", run(db, "set", "b", "2", code=1).stderr, f"{path}: in use by process {first.pid} (busy.lock)")
    first.stdin.close()
    expect("the first", first.wait(), 0)
    first.stdout.close()
    run(db, "set", "b", "2")
    expect("both", run(db, "scan").stdout, "a\t2\nb\t2\n")
    has("read only", run("--read-only", db, "set", "b", "3", code=1).stderr, "Read-only")
    has("a pipe", run("mem:", "save", "/dev/stdout", code=1).stderr, "not a regular file")
    for name in os.listdir(scratch):
        if name.startswith("busy") and name != "busy":
            sys.exit(f"left behind: {name}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        db = "file:" + os.path.join(scratch, "first")
        single_commands(db)
        files(db, scratch)
        shell(scratch)
        two_writers(scratch)
    print("lath store: all answers as expected")


main()
