#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""address_test.py LATH: what `lath extents` says of a place, by the bytes at that place.

Fresh btrfs images of each profile on loop devices, XFS with a realtime device, overlayfs, EROFS. Each piece that is
reported is read from its device and compared with the file. What cannot run here is named; exit code 77 if nothing could.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import checks  # noqa: E402
from checks import check, run, skip  # noqa: E402

LATH = sys.argv[1]
MI = 1 << 20
images = {}  # of each loop device: its pages in memory may be those of before, the device's own cache is another


def lath(*args, expect=0, **more):
    out = run(LATH, "extents", *args, **more)
    check(f"exit code of {args}", out.returncode == expect, f"{out.returncode}: {out.stderr}")
    return out


def lath_json(*args, expect=0):
    return json.loads(lath(*args, "--json", "-", expect=expect).stdout)


@contextlib.contextmanager
def loops(work, sizes):
    """Loop devices of these sizes."""
    devices = []
    try:
        for i, size in enumerate(sizes):
            image = work / f"image{i}"
            with open(image, "wb") as f:
                f.truncate(size)
            devices.append(run("losetup", "--find", "--show", image).stdout.strip())
            images[devices[-1]] = image
        yield devices
    finally:
        for device in devices:
            run("losetup", "--detach", device)


@contextlib.contextmanager
def mounted(work, *args):
    at = work / "mount"
    at.mkdir(exist_ok=True)
    done = run("mount", *args, at)
    try:
        yield at if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            run("umount", at)


def read_at(device, offset, length):
    with open(images[device], "rb", buffering=0) as f:
        return os.pread(f.fileno(), length, offset)


def fill(top):
    """Files in many pieces, of random bytes, with holes and shared parts."""
    (top / "large").write_bytes(os.urandom(3 * MI))
    with open(top / "left", "wb") as a, open(top / "right", "wb") as b:
        for _ in range(20):
            for f in (a, b):
                f.write(os.urandom(40960))
                f.flush()
                os.fsync(f.fileno())
    with open(top / "sparse", "wb") as f:
        for i in range(10):
            f.seek(i * 200000 // 4096 * 4096)
            f.write(os.urandom(8192))
    shutil.copyfile(top / "large", top / "again")
    run("cp", "--reflink=always", top / "large", top / "shared")
    run("sync", "-f", top)


def compare(name, top, data, copies, whole=True):
    """Every piece has the bytes of its file; every byte of a file is there this many times."""
    devices = [d["source"] for d in data["context"]["devices"]]
    check(f"{name}: addresses of devices", all(d.get("addresses") == "device" for d in data["context"]["devices"]), data["context"])
    found = {}
    for e in data["extents"]:
        file = pathlib.Path(e["file"])
        with open(file, "rb") as f:
            wanted = os.pread(f.fileno(), e["length"], e["logical"])
        there = read_at(devices[e.get("device", 0)], e["physical"], len(wanted))
        check(f"{name}: bytes of {file.name} at {e['physical']} of {devices[e.get('device', 0)]}", there == wanted)
        found.setdefault(file.name, []).append((e["logical"], e["length"]))
    if not whole:
        return
    for file in top.iterdir():
        told = sum(length for _, length in found.get(file.name, []))
        check(f"{name}: all of {file.name}, {copies} times", told == copies * file.stat().st_blocks * 512,
              f"{told} of {file.stat().st_blocks * 512}")


def questions(name, data, top):
    """--at and --overlap name the owner of a byte of a device."""
    e = data["extents"][len(data["extents"]) // 2]
    several = len(data["context"]["devices"]) > 1
    device = data["context"]["devices"][e.get("device", 0)]["source"]
    at = e["physical"] + e["length"] // 2
    found = lath_json(top, "--at", at)["at"][0]["found"]
    mine = [s for s in found if s.get("device", 0) == e.get("device", 0)]
    check(f"{name}: --at", e["file"] in [o["file"] for s in mine for o in s["owners"]], found)
    owner = next((o for s in mine for o in s["owners"] if o["file"] == e["file"]), {"logical": -1})
    check(f"{name}: --at the place", mine and owner["logical"] - mine[0]["physical"] == e["logical"] - e["physical"], mine)
    chosen = lath_json(top, "--device", device, "--at", at)
    check(f"{name}: --device", chosen["at"][0]["found"] == mine, chosen["at"])
    check(f"{name}: --device leaves the others out", not several or
          {x["device"] for x in chosen["extents"]} == {e["device"]}, chosen["context"])
    text = lath(top, "--at", at).stdout
    check(f"{name}: the header names the devices", all(d["source"] + ": btrfs" in text for d in data["context"]["devices"]), text)
    return chosen


def allocates(name, chosen, work):
    """What is taken on a device is not free for `lath alloc`."""
    used, trace = work / "used.json", work / "trace"
    used.write_text(json.dumps(chosen))
    trace.write_text("a x 4096\n")
    e = chosen["extents"][0]
    pool = f"{e['physical']}-{e['physical'] + e['length']}"
    out = run(LATH, "alloc", "--extents", used, "--pool", pool, trace)
    check(f"{name}: alloc --extents", out.returncode == 105 and "the pool is empty" in out.stderr, f"{out.returncode} {out.stderr}")


def refused_logical(name, top):
    """Without the privilege the addresses are btrfs's own, and that is said."""
    libc = ctypes.CDLL(None, use_errno=True)
    plain = {"preexec_fn": lambda: libc.prctl(24, 21, 0, 0, 0)}  # PR_CAPBSET_DROP, CAP_SYS_ADMIN
    refusal = run(LATH, "extents", top, "--at", "1M", **plain)
    check(f"{name}: --at without the privilege", refusal.returncode == 1 and "btrfs" in refusal.stderr and
          "--logical" in refusal.stderr and "CAP_SYS_ADMIN" in refusal.stderr, f"{refusal.returncode} {refusal.stderr}")
    text = run(LATH, "extents", top, **plain)
    check(f"{name}: the header without the privilege", text.returncode == 0 and "own logical" in text.stdout, text.stderr)
    data = json.loads(run(LATH, "extents", top, "--json", "-", **plain).stdout)
    check(f"{name}: the JSON without the privilege", [d.get("addresses") for d in data["context"]["devices"]] == ["logical"], data["context"])
    mine = lath_json(top, "--logical", "--at", data["extents"][0]["physical"])
    check(f"{name}: --logical is the same", mine["extents"] == data["extents"])
    check(f"{name}: --logical answers", mine["at"][0]["found"] != [], mine["at"])
    trace = pathlib.Path(tempfile.mkdtemp()) / "trace"
    trace.write_text("a x 4096\n")
    used = trace.with_name("used.json")
    used.write_text(json.dumps(data))
    out = run(LATH, "alloc", "--extents", used, trace)
    check(f"{name}: alloc says that the addresses are logical", "logical addresses" in out.stderr, out.stderr)
    shutil.rmtree(trace.parent)


def on_btrfs(name, make, sizes, copies, rebalance=()):
    with tempfile.TemporaryDirectory(dir=".") as scratch, contextlib.ExitStack() as stack:
        work = pathlib.Path(scratch).resolve()
        devices = stack.enter_context(loops(work, sizes))
        if not all(devices):
            return skip(name, "no loop device")
        made = run("mkfs.btrfs", "-q", "-f", *make, *devices)
        if made.returncode:
            return skip(name, made.stderr.strip())
        top = stack.enter_context(mounted(work, *[f"-odevice={d}" for d in devices], devices[0]))
        if not top:
            return skip(name, "btrfs cannot be mounted")
        fill(top)
        if rebalance:
            done = run("btrfs", "balance", "start", *rebalance, top)
            check(f"{name}: balance", done.returncode == 0, done.stderr)
            run("sync", "-f", top)
        data = lath_json(top)
        compare(name, top, data, copies)
        chosen = questions(name, data, top)
        allocates(name, chosen, work)
        if name == "raid0":
            refused_logical(name, top)
        if name == "single":
            subvolumes(name, top)


def subvolumes(name, top):
    """A subvolume has its own number and lies on the same devices; its snapshot shares them."""
    run("btrfs", "subvolume", "create", top / "sub")
    (top / "sub/file").write_bytes(os.urandom(MI))
    run("sync", "-f", top)
    run("btrfs", "subvolume", "snapshot", top / "sub", top / "snap")
    run("sync", "-f", top)
    data = lath_json(top)
    compare(f"{name}, subvolumes", top, data, 1, whole=False)
    owners = [{o["file"] for o in s["owners"]} for s in data["shared"]]
    check(f"{name}: a snapshot shares", {str(top / "sub/file"), str(top / "snap/file")} in owners, owners)
    check(f"{name}: one row of devices", len(data["context"]["devices"]) == 1, data["context"])


def on_realtime():
    with tempfile.TemporaryDirectory(dir=".") as scratch, contextlib.ExitStack() as stack:
        work = pathlib.Path(scratch).resolve()
        devices = stack.enter_context(loops(work, [320 * MI, 64 * MI]))
        made = run("mkfs.xfs", "-q", "-f", "-m", "reflink=0,rmapbt=0", "-r", f"rtdev={devices[1]}", devices[0])
        if made.returncode:
            return skip("XFS, realtime", made.stderr.strip())
        top = stack.enter_context(mounted(work, f"-ortdev={devices[1]}", devices[0]))
        if not top:
            return skip("XFS, realtime", "this kernel cannot mount it")
        (top / "plain").write_bytes(os.urandom(MI))
        (top / "real").touch()
        run("xfs_io", "-c", "chattr +r", top / "real")
        (top / "real").write_bytes(os.urandom(MI))
        run("sync", "-f", top)
        data = lath_json(top)
        compare("XFS, realtime", top, data, 1)
        check("XFS, realtime: two devices", len({e["device"] for e in data["extents"]}) == 2, data["extents"])


def on_overlay():
    with tempfile.TemporaryDirectory(dir=".") as scratch, contextlib.ExitStack() as stack:
        work = pathlib.Path(scratch).resolve()
        for each in ("lower", "upper", "work"):
            (work / each).mkdir()
        (work / "lower/file").write_bytes(os.urandom(MI))
        run("sync", "-f", work)
        layers = f"-olowerdir={work}/lower,upperdir={work}/upper,workdir={work}/work"
        top = stack.enter_context(mounted(work, "-t", "overlay", layers, "overlay"))
        if not top:
            return skip("overlayfs", "it cannot be mounted here")
        out = run(LATH, "extents", top, "--at", "1M")
        check("overlayfs: --at is refused", out.returncode == 1 and "layers" in out.stderr and "--logical" in out.stderr,
              f"{out.returncode} {out.stderr}")
        check("overlayfs: the header", "not offsets of a device" in lath(top).stdout)
        check("overlayfs: --logical", lath_json(top, "--logical", "--overlap", "0-1024P")["overlap"][0]["found"] != [])


def on_erofs():
    with tempfile.TemporaryDirectory(dir=".") as scratch, contextlib.ExitStack() as stack:
        work = pathlib.Path(scratch).resolve()
        (work / "tree").mkdir()
        (work / "tree/file").write_bytes(b"compressible " * 100000)
        if run("mkfs.erofs", "-zlz4", work / "erofs", work / "tree").returncode:
            return skip("EROFS", "no image made (mkfs.erofs)")
        top = stack.enter_context(mounted(work, "-oloop", "-t", "erofs", work / "erofs"))
        if not top:
            return skip("EROFS", "it cannot be mounted here")
        out = run(LATH, "extents", top, "--at", "0")
        check("EROFS: --at is refused", out.returncode == 1 and "compressed" in out.stderr, f"{out.returncode} {out.stderr}")


def main():
    if os.geteuid() or not shutil.which("mkfs.btrfs"):
        print("skipped: mounting images needs root, and btrfs-progs")
        return 77
    one, two, four = [256 * MI], [256 * MI] * 2, [256 * MI] * 4
    on_btrfs("single", ["-d", "single"], one, 1)
    on_btrfs("dup", ["-d", "dup"], one, 2)
    on_btrfs("mixed", ["--mixed", "-m", "dup", "-d", "dup"], one, 2)
    on_btrfs("single on two devices", ["-d", "single", "-m", "single"], two, 1)
    on_btrfs("raid0", ["-d", "raid0", "-m", "raid1"], two, 1)
    on_btrfs("raid1", ["-d", "raid1", "-m", "raid1"], two, 2)
    on_btrfs("raid1c3", ["-d", "raid1c3", "-m", "raid1c3"], four, 3)
    on_btrfs("raid10", ["-d", "raid10", "-m", "raid10"], four, 2)
    on_btrfs("raid5", ["-d", "raid5", "-m", "raid1"], four, 1)
    on_btrfs("raid6", ["-d", "raid6", "-m", "raid1"], four, 1)
    on_btrfs("after a balance to raid1", ["-d", "single", "-m", "single"], two, 2, ["-f", "-dconvert=raid1", "-mconvert=raid1"])
    on_realtime()
    on_overlay()
    on_erofs()
    return checks.result()


sys.exit(main())
