#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""store_test.py LATH: the commands of `lath store`, their answers, exit codes and messages."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

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
    has("cas", run(db, "cas", "k", "w!", "y", code=1).stderr, "another value")
    expect("incr", run(db, "incr", "n", "41").stdout, "41\n")
    expect("decr", run(db, "decr", "n").stdout, "40\n")
    expect("min", run(db, "min", "n", "7").stdout, "7\n")
    expect("max", run(db, "max", "n", "9").stdout, "9\n")
    has("incr of text", run(db, "incr", "k", code=1).stderr, "no decimal number")
    has("incr by text", run(db, "incr", "n", "x", code=1).stderr, "'x'")
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
    has("unknown command", run(db, "frobnicate", code=1).stderr, "frobnicate")
    has("usage", run(db, "set", "k", code=1).stderr, "usage: set KEY VALUE")


def files(db, scratch):
    tsv = os.path.join(scratch, "in.tsv")
    with open(tsv, "w", encoding="utf-8") as file:
        file.write("a\t1\nno tab\nb\t\\q\n\nc\t3\t4\nd\\x41\t\\tx\\\\\n")
    bad = run(db, "load", tsv, code=1)
    has("bad lines", bad.stderr, f"{tsv}:2:7: no tab", f"{tsv}:3:3: an unknown escape", f"{tsv}:5:4: a second tab", "3 bad lines")
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
    has("no such file", run(db, "load", "/no/such/file", code=1).stderr, "/no/such/file")
    has("no directory", run("file:/no/such/dir/x", "set", "a", "b", code=1).stderr, "/no/such/dir/x")
    snapshot = os.path.join(scratch, "snapshot")
    run(db, "save", snapshot)
    expect("restore", run("mem:", text=f"restore {snapshot}\ncount\n").stdout, "5\n")
    with open(snapshot, "r+b") as file:
        file.seek(100)
        file.write(b"\xff\xff")
    has("damaged", run("file:" + snapshot, "count", code=1).stderr, snapshot, "damaged at byte")


def shell(scratch):
    done = run("mem:", text='# a comment\nset "a\\tb" \'x y\'\nget "a\\tb"\nfoo\nget "x\nquit\nget never\n', code=1)
    expect("shell", done.stdout, "x y\n")
    has("shell", done.stderr, "line 4: no command 'foo'", "line 5: column 5: a quote")
    expect("help", run("mem:", "help").stdout.split()[0], "get")
    numbers = "file:" + os.path.join(scratch, "numbers")
    run("--keys", "numbers", numbers, "set", "18446744073709551615", "v")
    has("no number", run("--keys", "numbers", numbers, "get", "x", code=1).stderr, "'x'", "numbers")
    has("other kind", run(numbers, "count", code=1).stderr, "snapshot of numbers")
    has("limit", run("--limit", "1K", "mem:", "count", code=1).stderr, "limit 1024")
    has("limit", run("--limit", "lots", "mem:", "count", code=1).stderr, "lots")
    has("shm", run("shm:a/b", "count", code=1).stderr, "a name")
    shared = f"shm:lath-cli-{os.getpid()}"
    run(shared, "set", "k", "v")
    try:
        expect("shm", run(shared, "get", "k").stdout, "v\n")
        has("shm, other kind", run("--keys", "numbers", shared, "count", code=1).stderr, "byte keys")
    finally:
        run("--remove", shared)
    has("removed", run("--remove", shared, code=1).stderr, "No such file")
    has("remove", run("--remove", "mem:", code=1).stderr, "only shm:NAME")
    has("remove", run("--remove", shared, "count", code=1).stderr, "no command")
    has("bench", run("mem:", "bench", "2000", "2").stdout, "mget")
    full = run("--limit", "8M", "mem:", text="".join(f"set k{i} {'v' * 1000}\n" for i in range(10000)), code=1)
    has("a full store", full.stderr, "there is no room")
    run("--limit", "8M", "--evict", "mem:", text="".join(f"set k{i} {'v' * 1000}\n" for i in range(10000)))


def interrupted(scratch):
    """SIGINT during a load: the file stays as it was"""
    path = os.path.join(scratch, "db")
    run("file:" + path, "set", "a", "1")
    before = open(path, "rb").read()
    process = subprocess.Popen([LATH, "store", "file:" + path, "load", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    line = "".join(f"k{i}\tv\n" for i in range(1000)).encode()
    process.stdin.write(line)
    process.stdin.flush()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    try:
        process.stdin.write(line)
        process.stdin.close()
    except BrokenPipeError:
        pass
    message = process.stderr.read().decode()
    expect("interrupted", process.wait(), 130)
    has("interrupted", message, "interrupted")
    expect("the file", open(path, "rb").read(), before)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        db = "file:" + os.path.join(scratch, "first")
        single_commands(db)
        files(db, scratch)
        shell(scratch)
        interrupted(scratch)
    print("lath store: all answers as expected")


main()
