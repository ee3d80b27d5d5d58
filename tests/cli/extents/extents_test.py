#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""extents_test.py LATH: `lath extents` against `filefrag -v` on the same files.

Runs in the working directory, and as root also on fresh ext4, btrfs and xfs images. What cannot run
here is named. Exit code 77 if nothing could.
"""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import checks  # noqa: E402
from checks import check, run, skip  # noqa: E402

LATH = sys.argv[1]


def lath(*args, expect=0):
    """filefrag shows addresses as the file system gives them; address_test.py has those of devices."""
    out = run(LATH, "extents", "--logical", *args)
    check(f"exit code of {args}", out.returncode == expect, f"{out.returncode}: {out.stderr}")
    return out


def lath_json(*args, expect=0):
    return json.loads(lath(*args, "--json", "-", expect=expect).stdout)


LINE = re.compile(r"^\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+)\.\.\s*\d+:\s*(\d+):\s*(?:\d+:)?\s*(\S*)$")


def filefrag(path):
    """(physical, logical, length) in bytes of the extents that have a place."""
    out = run("filefrag", "-s", "-b1", "-v", path)
    assert out.returncode == 0, out.stderr
    found = []
    for line in out.stdout.splitlines():
        m = LINE.match(line)
        flags = m.group(4).split(",") if m else []
        if m and not set(flags) & {"inline", "not_aligned", "delalloc", "unknown_loc", "encoded"}:
            found.append(tuple(int(m.group(i)) for i in (2, 1, 3)))
    return sorted(found)


def has_fiemap(directory):
    probe = directory / "probe"
    probe.write_bytes(b"x" * 8192)
    out = run("filefrag", "-s", "-v", probe)
    probe.unlink()
    return out.returncode == 0 and "FIBMAP" not in out.stdout + out.stderr and "not supported" not in out.stderr


def settle(directory):
    """Everything on this file system has its place."""
    run("sync", "-f", directory)


def make_files(top):
    (top / "sub/deep").mkdir(parents=True)
    (top / "whole").write_bytes(os.urandom(1 << 20))
    (top / "empty").touch()
    (top / "one byte").write_bytes(b"x")
    with open(top / "sparse", "wb") as f:
        for i in range(50):
            f.seek(i * 65536)
            f.write(os.urandom(4096))
    with open(top / "sub/left", "wb") as a, open(top / "sub/deep/right", "wb") as b:
        for i in range(300):  # more extents than one FIEMAP call returns; placed in turn, so in pieces
            for f in (a, b):
                os.posix_fallocate(f.fileno(), i * 12288, 4096)
                if i % 3:  # the others stay unwritten
                    f.seek(i * 12288)
                    f.write(os.urandom(4096))
    with open(top / "reserved", "wb") as f:
        f.write(os.urandom(4096))
        os.posix_fallocate(f.fileno(), 0, 1 << 20)
    run("fallocate", "--keep-size", "-l", "256K", top / "reserved-empty")
    (top / 'quote"\n\\name').write_bytes(os.urandom(5000))
    os.link(top / "whole", top / "sub/whole-too")
    os.symlink(top / "whole", top / "link")
    os.mkfifo(top / "fifo")
    settle(top)


def compare(top, name):
    """Every file of the tree, by its own extents."""
    data = lath_json(top, "--sync", "--threads", 3)
    ours = {}
    for e in data["extents"]:
        ours.setdefault(e["file"], []).append((e["physical"], e["logical"], e["length"]))
    total = 0
    for path in sorted(p for p in top.rglob("*") if p.is_file() and not p.is_symlink()):
        theirs = filefrag(path)
        mine = sorted(ours.get(str(path), []))
        if path.name in ("whole", "whole-too") and not mine:
            continue  # the other name of the same inode has them
        check(f"{name}: extents of {path.name!r}", mine == theirs, f"\n  lath     {mine}\n  filefrag {theirs}")
        total += len(mine)
    check(f"{name}: many extents compared", total > 300, str(total))
    check(f"{name}: sorted", data["extents"] == sorted(data["extents"], key=lambda e: e["physical"]))
    check(f"{name}: one hard link", len({"whole", "whole-too"} & {pathlib.Path(f).name for f in ours}) == 1)
    check(f"{name}: skipped files", data["skipped"]["files"] == {"empty": 1, "not a regular file": 1, "symbolic link": 1},
          str(data["skipped"]))
    check(f"{name}: summary", data["summary"]["extents"] == len(data["extents"]))
    return data


def queries(top, data, name):
    e = max(data["extents"], key=lambda e: e["length"])
    middle = e["physical"] + e["length"] // 2
    found = lath_json(top, "--sync", "--at", middle)["at"][0]["found"]
    check(f"{name}: --at the owner", [o["file"] for s in found for o in s["owners"]] == [e["file"]], str(found))
    check(f"{name}: --at the place", found[0]["owners"][0]["logical"] == e["logical"] and found[0]["physical"] == e["physical"])
    block = data["context"]["devices"][0]["block_size"]
    by_block = lath_json(top, "--sync", "--at", f"{middle // block}b")["at"][0]["found"]
    check(f"{name}: --at a block", by_block == found, str(by_block))
    text = lath(top, "--sync", "--at", middle).stdout
    check(f"{name}: --at as text", pathlib.Path(e["file"]).name in text, text)
    lath(top, "--sync", "--at", "0", expect=4)

    ends = sorted({(x["physical"], x["physical"] + x["length"]) for x in data["extents"]})
    a, b = ends[len(ends) // 3][1] - 1, ends[2 * len(ends) // 3][0] + 1
    found = lath_json(top, "--sync", "--overlap", f"{a}-{b}")["overlap"][0]["found"]
    want = [(p, q - p) for p, q in ends if p < b and q > a]
    check(f"{name}: --overlap", [(s["physical"], s["length"]) for s in found] == want)

    gaps = sorted(((q - p, p) for (_, p), (q, _) in zip(ends, ends[1:]) if q > p), key=lambda g: (-g[0], g[1]))[:5]
    found = lath_json(top, "--sync", "--gaps", 5)["gaps"]
    check(f"{name}: --gaps", [(g["length"], g["physical"]) for g in found] == gaps, f"{found} {gaps}")

    worst = data["fragmented"][0]
    check(f"{name}: most fragmented", pathlib.Path(worst["file"]).name in ("left", "right", "sparse"), str(worst))


def sharing(top, name):
    """Reflinks: whole, and a part of a file in the middle of another."""
    (top / "origin").write_bytes(os.urandom(1 << 20))
    settle(top)
    if run("cp", "--reflink=always", top / "origin", top / "copy").returncode:
        skip(f"{name}: reflinks", "the file system cannot share extents")
        return
    shutil.copyfile(top / "origin", top / "mixed")
    with open(top / "copy", "r+b") as f:  # now the copy shares all but its middle
        f.seek(512 * 1024)
        f.write(os.urandom(65536))
    settle(top)
    data = lath_json(top / "origin", top / "copy", top / "mixed", "--sync")
    names = [{pathlib.Path(o["file"]).name for o in s["owners"]} for s in data["shared"]]
    check(f"{name}: shared owners", names and all(n == {"origin", "copy"} for n in names), str(data["shared"]))
    check(f"{name}: shared bytes", data["summary"]["shared_bytes"] == (1 << 20) - 65536, str(data["summary"]))
    check(f"{name}: device bytes", data["summary"]["device_bytes"] == (2 << 20) + 65536, str(data["summary"]))
    for s in data["shared"]:
        check(f"{name}: the same bytes", len({o["logical"] for o in s["owners"]}) == 1)


def on_file_system(top, name):
    top = top / "tree"
    make_files(top)
    data = compare(top, name)
    queries(top, data, name)
    sharing(top, name)


def on_image(kind, make, size):
    if os.geteuid():
        return skip(kind, "mounting an image needs root")
    if not shutil.which(make[0]):
        return skip(kind, f"{make[0]} is not installed")
    with tempfile.TemporaryDirectory(dir=".") as work:
        image, mount = pathlib.Path(work) / "image", pathlib.Path(work) / "mount"
        mount.mkdir()
        with open(image, "wb") as f:
            f.truncate(size)
        made = run(*make, image)
        if made.returncode:
            return check(f"{kind}: {make}", False, made.stderr)
        mounted = run("mount", "-o", "loop", image, mount)
        if mounted.returncode:
            return skip(kind, mounted.stderr.strip())
        try:
            on_file_system(mount.resolve(), kind)
        finally:
            run("umount", "-l", mount)


def bad_input(top):
    def complains(word, *args, expect):
        out = lath(*args, expect=expect)
        check(f"message of {args}", word in out.stderr, out.stderr)

    complains("/nonexistent/path", "/nonexistent/path", expect=1)
    complains("12KB", top, "--at", "12KB", expect=105)
    complains("9-3", top, "--overlap", "9-3", expect=105)
    complains("/nonexistent/out", top, "--json", "/nonexistent/out", expect=1)
    # some paths cannot be read: the others are
    complains("/nonexistent/path", "/nonexistent/path", top / "whole", expect=3)
    complains("/nonexistent/path", top / "whole", "/nonexistent/path", expect=3)
    for name, target, why in (("dangling", "nowhere", "No such file"), ("looping", "looping", "Too many levels")):
        os.symlink(target, top / name)
        complains(why, top / name, expect=1)
        complains(str(top / name), top / name, top / "whole", expect=3)
        os.unlink(top / name)
    complains("neither a regular file", top / "fifo", expect=1)
    odd = os.fsencode(top) + b"/odd\xff\xfename"
    with open(odd, "wb") as f:
        f.write(os.urandom(5000))
    os.link(odd, odd + b"-too")
    os.link(odd, os.fsencode(top) + b"/plain name")
    data = lath_json(top, "--sync", "--gaps", 0)
    e = next(e for e in data["extents"] if e.get("file_hex") or e["file"].endswith("plain name"))
    owner = lath_json(top, "--sync", "--at", e["physical"])["at"][0]["found"][0]["owners"][0]
    names = {bytes.fromhex(owner["file_hex"]) if "file_hex" in owner else os.fsencode(owner["file"])}
    names |= {bytes.fromhex(link) for link in owner["links_hex"]}
    check("names that are no UTF-8", names == {odd, odd + b"-too", os.fsencode(top) + b"/plain name"}, str(owner))
    check("names that are UTF-8", all("file_hex" not in e for e in data["extents"] if "\ufffd" not in e["file"]))
    for name in (odd, odd + b"-too", os.fsencode(top) + b"/plain name"):
        os.unlink(name)
    shm = pathlib.Path("/dev/shm")
    kind = run("stat", "-f", "-c", "%T", shm).stdout.strip()
    if kind == "tmpfs" and os.access(shm, os.W_OK):
        with tempfile.NamedTemporaryFile(dir=shm) as f:
            f.write(b"x" * 5000)
            f.flush()
            complains("tmpfs", f.name, expect=1)
            complains(f.name, f.name, expect=1)
            complains("--all-devices", top, f.name, expect=3)
            both = lath_json(top, f.name, "--all-devices", expect=3)
            check("counted", both["skipped"]["files"].get("no FIEMAP on tmpfs") == 1, str(both["skipped"]))
    else:
        skip("message without FIEMAP", f"/dev/shm is {kind or 'absent'}, not a writable tmpfs")


def catches(pid, number):
    """Whether the process has a handler for the signal."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return any(line.startswith("SigCgt:") and int(line.split()[1], 16) >> number - 1 & 1 for line in file)


def interruption():
    child = subprocess.Popen([LATH, "extents", "/"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    while child.poll() is None and not catches(child.pid, signal.SIGINT):
        time.sleep(0.01)
    try:
        child.wait(0.1)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    if child.returncode in (0, 3):
        return skip("interruption", "the scan of / ended before the signal")
    check("interruption", child.returncode == 130 and "interrupted" in err and out == "", f"{child.returncode} {err[-500:]}")


def main():
    if not shutil.which("filefrag"):
        print("filefrag (e2fsprogs) is not installed")
        return 77
    with tempfile.TemporaryDirectory(dir=".") as work:
        here = pathlib.Path(work).resolve()
        if has_fiemap(here):
            on_file_system(here, "working directory")
            bad_input(here / "tree")
            interruption()
        else:
            skip("working directory", "its file system has no FIEMAP")
    on_image("ext4", ["mkfs.ext4", "-q", "-b", "1024"], 64 << 20)
    on_image("ext4 with inline data", ["mkfs.ext4", "-q", "-O", "inline_data"], 64 << 20)
    on_image("btrfs", ["mkfs.btrfs", "-q"], 256 << 20)
    on_image("xfs", ["mkfs.xfs", "-q", "-m", "reflink=1"], 320 << 20)
    return checks.result()


sys.exit(main())
