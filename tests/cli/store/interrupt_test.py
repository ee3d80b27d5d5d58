#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""interrupt_test.py LATH: what `lath store` does and says when a signal comes, and when its file cannot be written."""
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.dirname(sys.path[0]))
import checks
from checks import check
from terminal import at_terminal

LATH = sys.argv[1]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def at_work(pid):
    """Returns a tenth of a second after the process has a handler for the signal: its start may take long."""
    for _ in range(600):
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            text = status.read()
        if re.search(r"State:\s*Z", text) or int(re.search(r"SigCgt:\s*(\w+)", text)[1], 16) & 1 << signal.SIGINT - 1:
            break
        time.sleep(0.05)
    time.sleep(0.1)


def busy(pid):
    """Waits until the process has used a tenth of a second of a processor: the fastest of the commands below needs three tenths."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        if int(fields[11]) + int(fields[12]) >= os.sysconf("SC_CLK_TCK") // 10:
            return
        if fields[0] == "Z":
            check("still at work", False, pid)
            return
        time.sleep(0.01)


def interrupt(args, number=signal.SIGINT, text=None, ready=busy):
    """The exit code, both outputs, and how long it took to stop."""
    with subprocess.Popen([LATH, "store", *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        if text is not None:
            child.stdin.write(text)
            child.stdin.flush()
        ready(child.pid)
        child.send_signal(number)
        start = time.monotonic()
        out, said = child.communicate(timeout=120)
        return child.returncode, out, said, time.monotonic() - start


def asleep(pid):
    """Waits until the process waits for input, or for a reader of its output."""
    end, looks = time.monotonic() + 60, 0
    while time.monotonic() < end:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            state = file.read().rsplit(")", 1)[1].split()[0]
        with open(f"/proc/{pid}/fd/0", "rb", buffering=0) as pipe:
            looks = looks + 1 if state == "S" and not select.select([pipe], [], [], 0)[0] else 0
            if looks == 2:
                return
        time.sleep(0.01)


def bench(scratch):
    for number in SIGNALS:
        for spec in ("file:" + os.path.join(scratch, "bench.db"), "mem:", f"shm:lath-bench-{os.getpid()}"):
            for words in (["300000000"], ["300000000", "3"]):
                code, out, said, _ = interrupt([spec, "bench", *words], number)
                what = f"{spec} bench {words}, {number.name}"
                check(what, code == 130, code, said)
                check(what + ": no phase that was not measured", out == "", out)
                check(what + ": says what is so", said == "lath: interrupted\n", said)
        check("no file", os.listdir(scratch) == [], os.listdir(scratch))
        subprocess.run([LATH, "store", "--remove", f"shm:lath-bench-{os.getpid()}"], check=True)
    existing = "file:" + os.path.join(scratch, "existing.db")
    subprocess.run([LATH, "store", existing, "set", "k", "v"], check=True)
    before = os.stat(existing[5:]).st_ino
    code, _, said, _ = interrupt([existing, "bench", "300000000"])
    check("bench beside a file", (code, said) == (130, "lath: interrupted\n"), code, said)
    check("the file is the same", os.stat(existing[5:]).st_ino == before)
    os.unlink(existing[5:])


def loads(scratch):
    for number in SIGNALS:
        for spec, empty, some in (("file:" + os.path.join(scratch, "load.db"), "nothing was done, no file was made", "is in file:"),
                                  ("mem:", "is gone with mem:", "is gone with mem:")):
            code, _, said, _ = interrupt([spec, "load", "-"], number, "", asleep)
            check(f"{spec} load of nothing, {number.name}", code == 130 and empty in said, code, said)
            check("no file", os.listdir(scratch) == [], os.listdir(scratch))
            code, _, said, _ = interrupt([spec, "load", "-"], number, "a\tb\nc\td\n", asleep)
            check(f"{spec} load, {number.name}", code == 130 and some in said, code, said)
            if spec.startswith("file:"):
                check("saved", subprocess.run([LATH, "store", spec, "count"], capture_output=True, text=True, check=True).stdout == "2\n")
                code, _, said, _ = interrupt([spec, "load", "-"], number, "", asleep)
                check(f"{spec}: again, {number.name}", code == 130 and f"{spec} is as it was" in said, code, said)
                os.unlink(spec[5:])


def shells(scratch):
    spec = "file:" + os.path.join(scratch, "shell.db")
    for text, left in (("", "lath: interrupted\n"), ("get a\n", "lath: interrupted\n"), ("del a\n", "nothing was done, no file was made"),
                       ("set a b\n", f"is in {spec}"), ("get a\ncount\n", "lath: interrupted\n"), ("del none\n", f"{spec} is as it was")):
        for number in SIGNALS:
            code, _, said, _ = interrupt([spec], number, text, asleep)
            check(f"shell {text!r}, {number.name}", code == 130 and left in said, code, said)
            check(f"shell {text!r}: only what is so", said.count("what was done until then") == (text == "set a b\n"), said)
            if text == "set a b\n" and number is not SIGNALS[-1]:
                os.unlink(spec[5:])
    os.unlink(spec[5:])


def large(scratch):
    """Commands that take a while stop within it, and leave no half of a file."""
    rows, spec = os.path.join(scratch, "rows"), "file:" + os.path.join(scratch, "large.db")
    with open(rows, "w", encoding="utf-8") as file:
        file.writelines(f"{i * 7919 % 100000007}\tvalue of {i}\n" for i in range(1000000))
    code, _, said, _ = interrupt([spec, "load", rows])
    check("load", code == 130 and f"is in {spec}" in said, code, said)
    have = subprocess.run([LATH, "store", spec, "count"], capture_output=True, text=True, check=True).stdout
    entries = re.search(r"(\d+) entries of (\d+) lines", said)
    check("load: what it says is there", entries and 0 < int(entries[1]) < 1000000 and int(have) == int(entries[1]), have, said)
    os.unlink(spec[5:])
    subprocess.run([LATH, "store", spec, "load", rows], check=True, capture_output=True)
    before = os.stat(spec[5:])
    for words, text, ready in ((["dump"], "dump: it is incomplete", asleep), (["dump", os.path.join(scratch, "out")], "out is as it was", busy),
                               (["save", os.path.join(scratch, "copy")], "copy: interrupted", busy), (["scan"], "", asleep), (["compact"], "", busy)):
        code, _, said, _ = interrupt([spec, *words], ready=ready)
        check(f"{words[0]}", code == 130 and text in said and said.endswith("lath: interrupted\n"), code, said[-300:])
        after = os.stat(spec[5:])
        check(f"{words[0]}: the store is as it was", (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns))
    other = "file:" + os.path.join(scratch, "other.db")
    code, _, said, _ = interrupt([other, "restore", spec[5:]], ready=at_work)
    made = os.path.exists(other[5:])  # the signal may come before or after the copy was put into the store
    check("restore", code in (0, 130) and (code == 0 or ("no file was made" in said) != made), code, made, said)
    left = sorted(set(os.listdir(scratch)) - {"rows", "large.db", "other.db"})
    check("nothing else is there", not left, left)
    for name in os.listdir(scratch):
        os.unlink(os.path.join(scratch, name))


def progress():
    seen, code = at_terminal(LATH, "store", "mem:", "bench", "300000000", wait=rb"bench: set: \d+ entries, \d+ %",
                             text=b"\x03", seconds=60)  # as the key does
    check("progress on a terminal", code == 130 and b"million" not in seen, code, seen[-200:])


def unsynced(scratch):
    """A directory that may be written and not read: the rename succeeds, the sync of the directory does not."""
    if os.geteuid() != 0:
        print("the message of an unsynced directory is not tried: it needs the superuser")
        return
    where = os.path.join(scratch, "dark")
    os.mkdir(where)
    os.chown(where, 65534, 65534)
    os.chmod(where, 0o300)
    os.chmod(scratch, 0o711)

    def nobody():
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)

    path = os.path.join(where, "db")
    with open(LATH, "rb") as file:  # a copy that another user may run
        program = os.path.join(scratch, "lath")
        with open(program, "wb") as copy:
            copy.write(file.read())
    os.chmod(program, 0o755)
    done = subprocess.run([program, "store", "file:" + path, "set", "k", "v"], capture_output=True, text=True, preexec_fn=nobody, check=False)
    check("in place", done.returncode == 1 and "the new file is in place" in done.stderr and "saved" not in done.stderr, done)
    have = subprocess.run([LATH, "store", "file:" + path, "get", "k"], capture_output=True, text=True, check=False).stdout
    check("it is there", have == "v\n", have)
    os.chmod(where, 0o500)
    done = subprocess.run([program, "store", "--read-only", "file:" + path, "get", "k"], capture_output=True, text=True, preexec_fn=nobody, check=False)
    check("read", done.stdout == "v\n", done)
    done = subprocess.run([program, "store", "mem:", "save", path], capture_output=True, text=True, preexec_fn=nobody, check=False)
    check("refused", done.returncode == 1 and "in place" not in done.stderr, done)


def main():
    for part in (bench, loads, shells, large):
        with tempfile.TemporaryDirectory() as scratch:
            part(scratch)
    progress()
    with tempfile.TemporaryDirectory() as scratch:
        unsynced(scratch)


main()
sys.exit(checks.result())
