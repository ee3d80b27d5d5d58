#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""manners_test.py LATH SAMPLES [PART...]: what every command of `lath` has in common.

Outputs that cannot be written, outputs that are inputs, numbers, exit codes, signals, messages, completions.
"""
import json
import os
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

import checks
from checks import check
from terminal import at_terminal

LATH, SAMPLES = map(os.path.abspath, sys.argv[1:3])
TRACE = os.path.join(SAMPLES, "fio3.log")
USAGE = 105
SORT = ["bench", "sort", "--quick", "--reps", "1", "--cases", "random", "--subjects", "lathwork"]
BENCH = subprocess.run([LATH, "bench", "--list"], capture_output=True).returncode == 0


def run(*args, text="", env=None, **more):
    """Bytes that are no UTF-8 come back as surrogates."""
    if "stdin" not in more:
        more["input"] = text.encode()
    for stream in ("stdout", "stderr"):
        more.setdefault(stream, subprocess.PIPE)
    try:
        done = subprocess.run([LATH, *args], timeout=60, env={**os.environ, **(env or {})}, **more)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess(args, "none, it hangs")
    done.stdout, done.stderr = ((s or b"").decode(errors="surrogateescape") for s in (done.stdout, done.stderr))
    return done


def answers(what, done, code, *words):
    check(what, done.returncode == code and all(w in done.stderr for w in words),
          f"exit {done.returncode}, expected {code}; {done.stderr!r}, expected {words}")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def full_output(scratch):
    """Standard output that takes nothing: every command says so."""
    db = "file:" + os.path.join(scratch, "full.db")
    run("store", db, "set", "n", "1")
    commands = [["--help"], ["--version"], ["completion", "bash"], ["replay", TRACE], ["replay", TRACE, "--json", "-"],
                ["store", db, "get", "n"], ["store", db, "scan"], ["store", db, "count"], ["store", db, "incr", "n"],
                ["store", db, "dump"], ["store", db, "stats"], ["store", db, "help"],
                ["alloc", "--pool", "0-1M", "/dev/null"]]
    if BENCH:
        commands += [["bench", "--list"], SORT, [*SORT, "--json", "-"]]
    for command in commands:
        with open("/dev/full", "wb") as full:
            answers(f"{command} >/dev/full", run(*command, stdout=full), 1, "cannot write standard output: No space left")
        closed = run(*command, preexec_fn=lambda: os.close(1), stdout=None)
        answers(f"{command} >&-", closed, 1, "cannot write standard output: Bad file descriptor")
    with open("/dev/full", "wb") as full:
        answers("a shell >/dev/full", run("store", db, text="get n\n", stdout=full), 1, "cannot write standard output")
    check("incr is saved all the same", run("store", db, "get", "n").stdout == "3\n")
    # a closed descriptor is not given to a file of ours
    closed = run("store", db, "set", "x", "y", preexec_fn=lambda: os.close(1), stdout=None)
    check("nothing to print, closed output", closed.returncode == 0, closed.stderr)
    check("the database is whole", run("store", db, "get", "x").stdout == "y\n")


def closed_pipe(scratch):
    """Who reads has gone: no complaint, and what was acknowledged is saved."""
    path = os.path.join(scratch, "pipe.db")
    with subprocess.Popen([LATH, "store", "file:" + path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        child.stdout.close()
        for i in range(3000):
            try:
                child.stdin.write(f"set k{i} v\nget k{i}\nscan\n".encode())
            except BrokenPipeError:
                break
        try:
            child.stdin.close()
        except BrokenPipeError:
            pass
        said = child.stderr.read().decode()
        code = child.wait(60)
    check("a closed pipe", code == -signal.SIGPIPE and said == "", f"{code} {said}")
    check("a closed pipe: saved", run("store", "file:" + path, "get", "k0").stdout == "v\n")


def same_file(scratch):
    """An output that is an input is refused, and the input stays."""
    db, trace = os.path.join(scratch, "same.db"), os.path.join(scratch, "same.txt")
    run("store", "file:" + db, "set", "a", "b")
    write(trace, "a x 4096\n")
    fio = shutil.copy(TRACE, os.path.join(scratch, "same.fio"))
    for kind, target in (("itself", lambda p: p), ("a symbolic link", lambda p: p + ".link"), ("a hard link", lambda p: p + ".hard")):
        for path in (db, trace, fio):
            if kind == "a symbolic link":
                os.symlink(path, target(path))
            if kind == "a hard link":
                os.link(path, target(path))
        for what, path, command in (
                ("dump", db, ["store", "file:" + db, "dump", target(db)]),
                ("alloc --json", trace, ["alloc", "--pool", "0-1M", trace, "--json", target(trace)]),
                ("alloc --csv", trace, ["alloc", "--pool", "0-1M", trace, "--csv", target(trace)]),
                ("alloc --svg", trace, ["alloc", "--pool", "0-1M", trace, "--svg", target(trace)]),
                ("alloc --placement", trace, ["alloc", "--pool", "0-1M", trace, "--placement", target(trace)]),
                ("replay --json", fio, ["replay", fio, "--json", target(fio)]),
                ("extents --json", fio, ["extents", fio, "--json", target(fio)])):
            before = read(path)
            answers(f"{what} onto its input, {kind}", run(*command), 1, "cannot write", "same file")
            check(f"{what} onto its input, {kind}: kept", read(path) == before)
    with open(trace, "rb") as file:
        answers("standard input", run("alloc", "--pool", "0-1M", "-", "--json", trace, stdin=file), 1, "same file")
    new = os.path.join(scratch, "new.db")
    answers("dump onto a database to be", run("store", "file:" + new, text=f"set a b\ndump {new}\n"), 1, "same file")
    answers("two outputs in one", run("alloc", "--pool", "0-1M", trace, "--json", new, "--csv", new), USAGE, "--json and --csv")
    answers("two outputs to -", run("alloc", "--pool", "0-1M", trace, "--json", "-", "--csv", "-"), USAGE, "--json and --csv")
    used = write(os.path.join(scratch, "used.json"), '{"extents":[{"physical":4096,"length":4096}]}')
    answers("alloc --extents", run("alloc", "--extents", used, "--pool", "0-1M", trace, "--json", used), 1, "same file")


def outputs(scratch):
    """Files are replaced as a whole, links are followed, devices and pipes written through."""
    trace, out = write(os.path.join(scratch, "t.txt"), "a x 4096\n"), os.path.join(scratch, "o.json")
    bad = write(os.path.join(scratch, "bad.txt"), "a x 4096\nnonsense\n")
    pool = ["alloc", "--pool", "0-1M", "--quiet"]
    write(out, "old")
    os.chmod(out, 0o640)
    answers("a bad trace", run(*pool, bad, "--json", out), 1, "bad.txt:2")
    check("a failure keeps the old content", read(out) == b"old")
    os.symlink(out, out + ".link")
    run(*pool, trace, "--json", out + ".link")
    check("a link stays, its target is new", os.path.islink(out + ".link") and json.loads(read(out))["allocations"] == 1)
    check("the mode stays", stat.S_IMODE(os.stat(out).st_mode) == 0o640)
    left = [name for name in os.listdir(scratch) if name.startswith(".lath") or name.endswith((".part", ".tmp"))]
    check("nothing is left behind", left == [], str(left))
    for path in ("/nope/x.json", scratch, "/dev/full"):
        answers(f"alloc --json {path}", run(*pool, trace, "--json", path), 1, f"cannot write {path}: ")
        answers(f"replay --json {path}", run("replay", TRACE, "--json", path), 1, f"cannot write {path}: ")
        answers(f"extents --json {path}", run("extents", trace, "--json", path), 1, f"cannot write {path}: ")
        answers(f"dump {path}", run("store", "mem:", text=f"set a b\ndump {path}\n"), 1, f"cannot write {path}: ")
        if BENCH:
            answers(f"bench --json {path}", run(*SORT, "--json", path), 1, f"cannot write {path}: ")
    # before the work: the trace is not even read
    fifo = os.path.join(scratch, "fifo")
    os.mkfifo(fifo)
    for command in (["alloc", "--pool", "0-1M", fifo], ["replay", fifo]):
        done = subprocess.Popen([LATH, *command, "--json", "/nope/x"], stderr=subprocess.PIPE)
        try:
            code = done.wait(20)
        except subprocess.TimeoutExpired:
            done.kill()
            code = "waits for the trace"
        check(f"{command[0]} --json /nope/x is refused first", code == 1, str(code))
    answers("store in no directory", run("store", "file:/nope/x.db", text="set a b\nget a\n"), 1, "/nope/x.db: No such file")
    check("it acknowledges nothing", run("store", "file:/nope/x.db", text="set a b\nget a\n").stdout == "")
    through = run(*pool, trace, "--json", "/dev/stdout")
    check("/dev/stdout", through.stdout.startswith("{"), through.stdout[:80])
    with open(os.path.join(scratch, "redirected"), "w+b") as file:
        run(*pool, trace, "--json", "/dev/stdout", stdout=file)
        file.seek(0)
        check("/dev/stdout in a file", file.read(1) == b"{")
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    run(*pool, trace, "--json", fifo)
    check("a pipe", reader.communicate(timeout=20)[0].startswith(b"{"))
    dash = run("replay", TRACE, "--json", "-", cwd=scratch)
    check("replay --json -", dash.stdout.startswith("{") and not os.path.exists(os.path.join(scratch, "-")), dash.stdout[:80])
    if BENCH:
        dash = run(*SORT, "--json", "-", cwd=scratch)
        check("bench --json -", dash.stdout.startswith("{") and json.loads(dash.stdout)["rows"], dash.stdout[:80])
        dash = run(*SORT, "--csv", "-", cwd=scratch)
        check("bench --csv -", dash.stdout.startswith("table,case"), dash.stdout[:80])
        check("no file called -", not os.path.exists(os.path.join(scratch, "-")))


def usage(scratch):
    """Wrong values: the documented code, the option and the value."""
    trace = write(os.path.join(scratch, "u.txt"), "a x 4096\n")
    wrong = [
        (["extents", "/", "--at", "abc"], "--at", "abc"), (["extents", "/", "--overlap", "9-3"], "--overlap", "9-3"),
        (["extents", "/", "--gaps", "-1"], "--gaps", "-1"), (["extents", "/", "--threads", "1e9"], "--threads", "1e9"),
        (["alloc", "--pool", "garbage", trace], "--pool", "garbage"), (["alloc", trace], "--pool"),
        (["alloc", "--pool", "0-1M", "--unit", "3000", trace], "--unit", "3000"),
        (["alloc", "--pool", "0-1M", "--below", "-1", trace], "--below", "-1"),
        (["alloc", "--pool", "0-1M", "--policy", "firs", trace], "--policy", "firs", "do you mean first"),
        (["replay", TRACE, "--limit", "-1"], "--limit", "-1"),
        (["replay", TRACE, "--limit", "18446744073709551617"], "--limit", "18446744073709551617"),
        (["replay", TRACE, "--depth", "0"], "--depth", "'0'"), (["replay", TRACE, "--merge-limit", "x"], "--merge-limit", "'x'"),
        (["replay", TRACE, "--engine", "hybird"], "--engine", "hybird", "do you mean hybrid"),
        (["replay", TRACE, "--device", "dsik"], "--device", "do you mean disk"),
        (["store", "--limit", "lots", "mem:", "count"], "--limit", "lots"),
        (["store", "--limit", "-1", "mem:", "count"], "--limit", "-1"), (["store", "--limit", "1K", "mem:", "count"], "--limit", "1K"),
        (["store", "--prefault", "1Q", "mem:", "count"], "--prefault", "1Q"), (["store", "mem:", "set", "x"], "usage: set KEY VALUE"),
        (["store", "mem:", "sacn"], "sacn", "do you mean scan"), (["store", "mem:", "scan", "limit", "-1"], "limit", "-1"),
        (["store", "mem:", "expire", "k", "x"], "expire", "'x'"), (["store", "mem:", "incr", "n", "1x"], "incr", "'1x'"),
        (["store", "mem:", "bench", "0"], "ITEMS", "'0'"), (["store", "foo:bar", "get", "a"], "foo:bar", "file:PATH"),
        (["store", "shm:", "count"], "shm:"), (["store", "--raw", "mem:", "count"], "--raw"),
        (["frobnicate"], "frobnicate", "There are: "), (["extent"], "do you mean extents"), (["help", "nonsense"], "'nonsense'"), ([], "There are: "),
        (["help", "store", "get"], "one command", "'get'"), (["replay", TRACE, "--depth", "1e9"], "too large", "at most "),
        (["store", "--limit", "1M", "mem:", "count"], "'1M' is too small: at least 8Mi"), (["alloc", "--policy", "x", "t"], "(lath alloc --help)"),
        (["store", "mem:", "stats", "all"], "usage: stats"), (["store", "mem:", "quit", "now"], "usage: quit"),
        (["completion", "tcsh"], "tcsh"),
    ]
    if BENCH:
        wrong += [
            (["bench"], "which table"), (["bench", "rages"], "rages", "do you mean ranges"),
            (["bench", "sort", "--cases", "nope"], "--cases", "nope", "There are: ", "random"),
            (["bench", "sort", "--subjects", "lathwrok"], "--subjects", "do you mean lathwork"),
            ([*SORT, "--seed", "-1"], "--seed", "-1"), ([*SORT, "--seed", "99999999999999999999"], "--seed", "99999999999999999999"),
            (["bench", "sort", "--n", "abc"], "--n", "abc"), (["bench", "sort", "--reps", "0"], "--reps", "'0'"),
            (["bench", "sort", "--threads", "1,x"], "--threads", "'x'"), (["bench", "sort", "--resume"], "--resume"),
            (["bench", "sort", "--parameter", "x"], "--parameter"),
        ]
    for command, *words in wrong:
        done = run(*command)
        answers(f"lath {' '.join(command)}", done, USAGE, *words)
        check(f"lath {' '.join(command)}: nothing printed", done.stdout == "", done.stdout[:100])
    for command in (["store", "foo:bar", "get", "a"], ["store", "shm:a/b", "count"]):
        check("the spec is named once", run(*command).stderr.count(command[1]) == 1, run(*command).stderr)
    done = run("store", "dev:/dev/null", "--keys", "numbers", "get", "1")
    check("options behind SPEC", done.returncode == 1 and "numbers for keys" not in done.stderr, done.stderr)
    check("options behind SPEC", run("store", "mem:", "--keys=numbers", "--evict", "--limit", "8M", "count").stdout == "0\n")
    answers("an unknown option behind SPEC", run("store", "mem:", "--frob", "count"), USAGE, "--frob")
    answers("an option without value behind SPEC", run("store", "mem:", "--keys"), USAGE, "--keys")
    check("what follows the command is its own", run("store", "mem:", text='set a --keys\nget a\n').stdout == "--keys\n")
    for number, units in (("1e3", 1000), ("0x10", 16), ("2K", 2048), ("2Ki", 2048), ("1.5e3", 1500)):
        done = run("alloc", "--pool", f"0-{number}", "--json", "-", trace)
        check(f"the number {number}", json.loads(done.stdout)["pool"]["bytes"] == units, done.stdout[:200] + done.stderr)


def words_like_options(scratch):
    """A word that begins with - is not a name of a file or key, unless -- or ./ says so; and nothing of that name is made."""
    work = os.path.join(scratch, "words")
    os.mkdir(work)
    trace = write(os.path.join(work, "t.txt"), "a x 4096\n")
    write(os.path.join(work, "--odd"), "fio version 2 iolog\nf read 0 4096\n")
    write(os.path.join(work, "-t"), "a x 4096\n")
    before = sorted(os.listdir(work))
    pool = ["alloc", "--pool", "0-1M"]
    # in place of a file or key, of every command
    places = [["alloc", "--pool", "0-1M", "--odd"], ["extents", "--odd"], ["replay", "--odd"],
              ["completion", "--odd"], ["store", "--odd"], ["replay", TRACE, "--odd"], ["extents", ".", "--odd"], ["replay", "-z"]]
    for option in ("--json", "--csv", "--svg", "--placement", "--save", "--extents", "--dump"):
        places.append([*pool, trace, option, "--odd"])
        places.append([*pool, trace, option, "-x"])
    places += [["replay", TRACE, "--json", "--untimed"], ["extents", ".", "--json", "--sync"], ["extents", ".", "--device", "--sync"],
               ["alloc", trace, "--pool", "0-1M", "--json", "--odd"]]
    if BENCH:
        places += [[*SORT, "--json", "--csv"], [*SORT, "--csv", "--quick"], [*SORT, "--input", "--json"], ["report", "-o", "--setup"]]
    for command in places:
        word = command[-1] if command[-1].startswith("-") else "--json"
        done = run(*command, cwd=work)
        check(f"lath {' '.join(command)}", done.returncode >= 100 and word in done.stderr and ("./" in done.stderr or "--" in done.stderr),
              f"{done.returncode} {done.stderr}")
        check(f"lath {' '.join(command)}: made nothing", sorted(os.listdir(work)) == before, os.listdir(work))
    for command in places[:8]:
        if command[0] not in ("store", "completion"):
            check(f"lath {' '.join(command)}: how to give it", "goes behind --" in run(*command, cwd=work).stderr, run(*command, cwd=work).stderr)
    # the words of store's commands, and lines of its shell
    names = {"get": "--raw", "set": "--x v", "add": "-x v", "replace": "-x v", "append": "-x v", "cas": "-x a b", "incr": "-x", "decr": "-x 2",
             "min": "-x 2", "max": "-x 2", "del": "a -x", "expire": "-x 5", "scan": "from -x", "count": "prefix --x", "rank": "-x",
             "load": "--format", "dump": "--format jsonl", "save": "--force", "restore": "-x", "stats": "--json", "sweep": "-v",
             "compact": "-v", "help": "--all", "quit": "-f"}
    told = {c["name"] for c in json.loads(run("completion", "json").stdout)["commands"] if c["name"] == "store" for c in c["commands"]}
    check("each command of store is in the table", told - {"bench"} == set(names), told)
    for command, words in names.items():
        answers(f"store {command} {words}", run("store", "mem:", command, *words.split(), cwd=work), USAGE, command, "behind --")
        line = run("store", "mem:", text=f"{command} {words}\n", cwd=work)
        answers(f"a line: {command} {words}", line, 1, "line 1: ", "behind --")
        check(f"store {command} {words}: made nothing", sorted(os.listdir(work)) == before, os.listdir(work))
    # what is meant: behind --, as ./, -, numbers and values
    db = "file:" + os.path.join(scratch, "words.db")
    for command, wanted in ((["set", "--", "-k", "v"], ""), (["get", "--", "-k"], "v\n"), (["scan", "from", "--", "-k"], "-k\tv\n"),
                            (["count", "--", "prefix", "-k", ], "1\n"), (["rank", "--", "-k"], "0\n"), (["set", "n", "-7"], ""),
                            (["get", "n"], "-7\n"), (["incr", "n", "-3"], "-10\n"), (["max", "n", "-5"], "-5\n"), (["min", "n", "-9"], "-9\n"),
                            (["append", "n", "--odd"], "7\n"), (["get", "n"], "-9--odd\n"), (["cas", "n", "-9--odd", "-1"], ""),
                            (["set", "m", "--", "--"], ""), (["get", "m"], "--\n"), (["del", "--", "-k", "m"], ""),
                            (["--", "count"], "1\n"), (["dump", "-", "tsv"], "n\t-1\n"), (["dump", "./--dumped"], ""),
                            (["dump", "--", "-dumped", "jsonl"], "")):
        done = run("store", db, *command, cwd=work)
        check(f"store {' '.join(command)}", done.returncode == 0 and done.stdout == wanted, f"{done.returncode} {done.stdout!r} {done.stderr}")
    made = [os.path.join(work, name) for name in ("--dumped", "-dumped")]
    check("files of such names are made when they are meant", all(map(os.path.exists, made)) and
          read(made[1]).startswith(b"{"), os.listdir(work))
    for command in (["replay", "--", "--odd"], ["replay", "./--odd"], [*pool, "--", "-t"], [*pool, "./-t"],
                    ["replay", "./--odd", "--json", "./--out"]):
        done = run(*command, cwd=work)
        check(f"lath {' '.join(command)}", done.returncode == 0, done.stderr)


def helps(scratch):
    """`lath help` and what a refusal names."""
    check("lath help", run("help").stdout == run("--help").stdout != "")
    for command in ("alloc", "completion", "extents", "replay", "store"):
        check(f"lath help {command}", run("help", command).stdout == run(command, "--help").stdout != "", run("help", command).stderr)
        answers(f"lath {command} --nonsense", run(command, "--nonsense"), 109, f"(lath {command} --help)")
    check("the page names lath help", "lath help COMMAND" in run("--help").stdout)
    answers("no command", run("frobnicate"), USAGE, "(lath --help)")
    if BENCH:
        check("lath help bench", run("help", "bench").stdout == run("bench", "--help").stdout != "")
        answers("lath bench --nonsense", run("bench", "--nonsense"), 109, "(lath bench --help)")


def words_of_libraries(scratch):
    """No text of a library, no bare number or errno."""
    trace = write(os.path.join(scratch, "w.txt"), "a x 4096\n")
    raw = re.compile(r"\[json|json\.exception|libnuma|Traceback|Error\(|basic_|std::|terminate")
    for name, text in (("none.json", "{"), ("key.json", "{}"), ("kind.json", '{"extents":5}'), ("deep.json", '{"extents":[1]}')):
        dump = write(os.path.join(scratch, name), text)
        for command in (["alloc", "--extents", dump, "--pool", "0-1M", trace], ["bench", "ranges", "--input", dump],
                        ["bench", "ranges", "--resume", "--json", dump]):
            if command[0] == "bench" and not BENCH:
                continue
            done = run(*command)
            check(f"{command} names it", done.returncode == 1 and dump in done.stderr and not raw.search(done.stderr), done.stderr)
    two = write(os.path.join(scratch, "two.json"), json.dumps({"extents": [
        {"physical": n << 20, "length": 4096, "device": n % 2} for n in range(100)]}))
    answers("extents of two devices", run("alloc", "--extents", two, "--pool", "0-1M", trace), 1, two, "more than one device")
    if BENCH:
        measured = run("bench", "ranges", "index", "--quick", "--reps", "1", "--subjects", "lathwork", "--cases", "lookup", "--input", two)
        answers("extents of two devices as keys", measured, 1, two, "more than one device")
    for numa in ("bind:99", "interleave:z"):
        done = run("store", "--numa", numa, "mem:", "count")
        check(f"--numa {numa}", numa in done.stderr and not raw.search(done.stderr), done.stderr)
    answers("load of a directory", run("store", "mem:", "load", scratch), 1, f"cannot read {scratch}: Is a directory")
    answers("restore into a store in use", run("store", "mem:", text=f"set a b\nrestore {trace}\n"), 1, trace)
    for command in (["alloc", "--pool", "0-1", scratch], ["replay", scratch], ["alloc", "--pool", "0-1", "--extents", scratch, trace]):
        answers(str(command), run(*command), 1, f"cannot read {scratch}: Is a directory")
    odd = os.path.join(scratch, "odd\udcff.txt")
    shutil.copy(trace, odd)
    report = json.loads(run("alloc", "--pool", "0-1M", odd, "--json", "-").stdout)["context"]
    check("alloc: the trace's name", bytes.fromhex(report.get("trace_hex", "")) == os.fsencode(odd), str(report))
    shutil.copy(TRACE, odd)
    done = run("replay", odd, "--json", "-")
    check("replay: the trace's name", done.returncode == 0 and
          bytes.fromhex(json.loads(done.stdout).get("file_hex", "")) == os.fsencode(odd), done.stderr)


def little_known(scratch):
    """Percentiles of few requests are not made up."""
    log = write(os.path.join(scratch, "few.log"), "fio version 2 iolog\nf read 0 4096\nf read 1048576 4096\n")
    figures = json.loads(run("replay", log, "--json", "-").stdout)["engines"][0]
    latency = figures["latency_ms"]
    check("two requests", latency["p99"] is None and latency["p50"] is not None and latency["p50"] <= latency["mean"], str(latency))
    check("too few to time", figures["insert_ns"] is None and figures["extract_ns"] is None, str(figures))
    text = run("replay", log).stdout
    check("two requests as text", re.search(r"^hybrid +- +- ", text, re.M) and "too few" in text, text)
    log = write(os.path.join(scratch, "many.log"), "fio version 2 iolog\n" + "".join(f"f read {i * 8192} 4096\n" for i in range(400)))
    latency = json.loads(run("replay", log, "--json", "-").stdout)["engines"][0]["latency_ms"]
    check("four hundred requests", latency["p50"] <= latency["p99"] <= latency["max"], str(latency))
    trace = write(os.path.join(scratch, "few.txt"), "a x 4096\n")
    latency = json.loads(run("alloc", "--pool", "0-1M", trace, "--json", "-").stdout)["latency_ns"]
    check("one allocation", latency["allocate"]["p99.9"] is None and latency["free"]["max"] is None, str(latency))
    used = write(os.path.join(scratch, "ext.json"), json.dumps({"extents": [{"physical": 1 << 20, "length": 4096},
                                                                         {"physical": 3 << 20, "length": 4096}]}))
    place = run("alloc", "--extents", used, "--unit", "4K", "--placement", "-", trace).stdout
    check("without --pool nothing before the first extent", place == "a x 0x101000 0x1000\n", place)


def terminal(scratch):
    """The progress line goes before a line that stays."""
    rows = os.path.join(scratch, "rows.tsv")
    with open(rows, "w", encoding="utf-8") as file:
        for i in range(400000):
            file.write(f"key{i}\tvalue\n")
        file.write("bad\n")
    shown, _ = at_terminal(LATH, "store", "mem:", "load", rows)
    check("a line of progress is shown", b" %" in shown, shown[-200:])
    check("it is taken away first", not re.search(rb"\d %[^\r]*rows\.tsv:", shown), shown[-300:])
    for name, mode in (("LATH_HISTORY", "named"), ("HOME", "home/.lath_history")):
        os.makedirs(os.path.join(scratch, "home"), exist_ok=True)
        env = {"HOME": os.path.join(scratch, "home"), "XDG_STATE_HOME": ""}
        path = os.path.join(scratch, mode)
        if name == "LATH_HISTORY":
            env[name] = path
        write(path, "")
        os.chmod(path, 0o644)
        shown, _ = at_terminal(LATH, "store", "mem:", text=b"set secret value\nquit\n", wait=b"store> ", env=env)
        if b"history" not in shown and "store> " not in shown.decode():
            check("a shell", False, shown)
        if os.path.getsize(path) == 0:
            print(f"skipped: no history in this build ({name})")
            continue
        check(f"{name}: the history is its owner's", stat.S_IMODE(os.stat(path).st_mode) == 0o600, oct(os.stat(path).st_mode))
        check(f"{name}: and told", path.encode() in shown, shown)
    shown, _ = at_terminal(LATH, "store", "mem:", text=b"set secret value\nquit\n", wait=b"store> ",
                           env={"HOME": os.path.join(scratch, "none"), "LATH_HISTORY": "", "XDG_STATE_HOME": scratch})
    check("no history", not os.path.exists(os.path.join(scratch, "lath_history")), shown)
    db = os.path.join(scratch, "term.db")
    shown, _ = at_terminal(LATH, "store", "file:" + db, text=b"set a b\nget a\n", wait=b"store> ", env={"LATH_HISTORY": ""},
                           then=lambda child: (time.sleep(0.5), os.kill(child, signal.SIGTERM), time.sleep(0.1)))
    check("SIGTERM at the prompt saves", run("store", "file:" + db, "get", "a").stdout == "b\n", shown)


def interrupted(scratch):
    """A signal ends a command; what was acknowledged is saved."""
    for number, name in ((signal.SIGINT, "INT"), (signal.SIGTERM, "TERM"), (signal.SIGHUP, "HUP")):
        db = os.path.join(scratch, f"{name}.db")
        with subprocess.Popen([LATH, "store", "file:" + db], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            child.stdin.write("".join(f"set k{i} v\n" for i in range(1000)) + "get missing\n")
            child.stdin.flush()
            child.stderr.readline()  # all lines are done
            child.send_signal(number)
            said = child.stderr.read()
            check(f"SIG{name}", child.wait(60) == 130 and "interrupted" in said and "line 1001" in said, f"{child.returncode} {said}")
        check(f"SIG{name}: saved", run("store", "file:" + db, "count").stdout == "1000\n", run("store", "file:" + db, "count"))
        db = os.path.join(scratch, f"{name}.load.db")
        with subprocess.Popen([LATH, "store", "file:" + db, "load", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            child.stdin.write("".join(f"k{i}\tv\n" for i in range(1000)) + "no tab\nhalf a li")
            child.stdin.flush()
            child.stderr.readline()
            child.send_signal(number)
            said = child.stderr.read()
            check(f"load, SIG{name}", child.wait(60) == 130 and "1000 entries of 1001 lines" in said, f"{child.returncode} {said}")
        check(f"load, SIG{name}: saved", run("store", "file:" + db, "count").stdout == "1000\n")
    log = "fio version 2 iolog\n" + "".join(f"f read {i * 8192} 4096\n" for i in range(300))
    allocations = "".join(f"a n{i} 4096\n" for i in range(300)) + "a "
    # of blktrace, held back for a queue record
    issued = "".join(struct.pack("<IIQQIIIIIHH", 0x65617407, i, i, i * 64, 4096, 7 | 1 << 16, 7, 8 << 20, 0, 0, 0).decode("latin-1")
                     for i in range(300))
    for command, text, word, name in ((["replay", "-"], log + "half", "300 requests", "TERM"),
                                      (["replay", "-"], issued + "half", "300 requests", "INT"),
                                      (["alloc", "--pool", "0-1G", "-"], allocations, "300 alloc", "TERM"),
                                      (["alloc", "--pool", "0-1G", "-"], allocations, "300 alloc", "INT")):
        with subprocess.Popen([LATH, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              encoding="latin-1") as child:
            child.stdin.write(text)
            child.stdin.flush()
            end = time.monotonic() + 20  # until it has taken all and waits
            while time.monotonic() < end and waits(child.pid) is False:
                time.sleep(0.02)
            child.send_signal(signal.Signals[f"SIG{name}"])
            out, said = child.communicate(timeout=60)
            check(f"{command[0]}, SIG{name}", child.returncode == 130 and "interrupted there" in out and word in out,
                  f"{child.returncode} {out[:200]} {said}")
    with subprocess.Popen([LATH, "store", "mem:"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as child:
        child.stdin.write("get missing\n")
        child.stdin.flush()
        child.stderr.readline()
        child.send_signal(signal.SIGHUP)
        child.stdin.write("get other\n")
        child.stdin.close()
        check("nohup", "other: no such key" in child.stderr.read() and child.wait(60) == 1)


def waits(pid):
    """Whether the process sleeps in poll or read with an empty pipe."""
    try:
        with open(f"/proc/{pid}/fdinfo/0", encoding="utf-8"), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            if file.read().rsplit(")", 1)[1].split()[0] != "S":
                return False
        with open(f"/proc/{pid}/fd/0", "rb", buffering=0) as pipe:
            return not select.select([pipe], [], [], 0)[0]
    except OSError:
        return None


def complete(script, *words):
    """What bash offers for the last word."""
    line = " ".join(f"'{w}'" for w in words)
    done = subprocess.run(["bash", "-c", f"source {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _lath; "
                           "printf '%s\\n' \"${COMPREPLY[@]}\""], capture_output=True, text=True, check=True)
    return done.stdout.split()


def completions(scratch):
    script = write(os.path.join(scratch, "lath.bash"), run("completion", "bash").stdout)
    wanted = [(["lath", "al"], "alloc"), (["lath", "alloc", "--policy", "b"], "best"), (["lath", "replay", "--device", ""], "flash"),
              (["lath", "replay", "--engine", "hy"], "hybrid"), (["lath", "replay", "--engine", "fifo,hy"], "fifo,hybrid"),
              (["lath", "store", "--keys", ""], "numbers"), (["lath", "store", "--pages", "h"], "hugetlb"),
              (["lath", "store", "--keys", "numbers", "file:x", "sc"], "scan"), (["lath", "store", "file", ":", "x", "sc"], "scan"),
              (["lath", "store", "--ra"], "--raw")]
    if BENCH:
        wanted += [(["lath", "bench", "so"], "sort"), (["lath", "bench", "sort", "--subjects", "lathwork,std"], "lathwork,std-map"),
                   (["lath", "bench", "index", "--keys", "osm,dense-"], "osm,dense-shuffled"),
                   (["lath", "bench", "--isa", "av"], "avx2")]
    for words, word in wanted:
        offered = complete(script, *words)
        check(f"bash: {' '.join(words)}", word in offered, str(offered))
    check("bash: no commands for SPEC", "scan" not in complete(script, "lath", "store", "sc"))
    zsh, fish = run("completion", "zsh").stdout, run("completion", "fish").stdout
    for word in ("first last best near next", "bytes numbers", "disk flash"):
        check(f"zsh: {word}", f":({word})" in zsh, "")
        check(f"fish: {word}", f"-x -a '{word}'" in fish, "")
    check("zsh: store commands", re.search(r"\*: :\(get set ", zsh) is not None)
    told = json.loads(run("completion", "json").stdout)
    alloc = next(c for c in told["commands"] if c["name"] == "alloc")
    check("json", any(o.get("choices") == ["first", "last", "best", "near", "next"] for o in alloc["options"]))


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    for part in (full_output, closed_pipe, same_file, outputs, usage, words_like_options, helps,
                 words_of_libraries, little_known, interrupted, completions,
                 terminal):
        if sys.argv[3:] and part.__name__ not in sys.argv[3:]:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            part(scratch)
    return checks.result()


sys.exit(main())
