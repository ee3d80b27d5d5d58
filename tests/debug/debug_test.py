#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""debug_test.py gdb|core|drgn|probes TARGET LIBRARY USDT: what debug/ has, on the process or a core file of TARGET.

What a debugger reads in memory is compared with what the program wrote of itself.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PART, TARGET, LIBRARY, USDT = sys.argv[1:]
DEBUG = pathlib.Path(__file__).resolve().parents[2] / "debug"
failures = 0


def skip(why):
    print(f"skipped: debug_{PART}: {why}")
    sys.exit(77)


def check(what, ok, detail=""):
    global failures
    if not ok:
        failures += 1
        print(f"FAILED {what}: {detail}"[:3000])


def run(*command, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=250, check=False, **more)


def gdb(*commands, files=(TARGET,)):
    if not shutil.which("gdb"):
        skip("there is no gdb (Debian: gdb)")
    words = [word for command in commands for word in ("-ex", command)]
    return run("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", f"source {DEBUG}/lathwork_gdb.py",
               *words, "--args" if len(files) == 1 else "-q", *files)


def stop(scratch):
    """Commands that bring the program to reached()."""
    return [f"set args {scratch}", "break reached", "run"]


def can_trace(scratch):
    done = gdb(*stop(scratch))
    if "Breakpoint 1, reached" not in done.stdout:
        skip("gdb may not trace a process here: " + (done.stderr.strip().splitlines() or ["?"])[-1])


def looks(done, scratch, core=False):
    """Output of the commands in LOOK."""
    said = done.stdout
    parts = re.split(r"^--(\w+)\n", said, flags=re.M)
    parts = dict(zip(parts[1::2], parts[2::2]))
    for name in ("points", "ranges", "small"):
        own = (pathlib.Path(scratch) / f"{name}.json").read_text()
        check(f"json of {name}", parts.get(f"json_{name}") == own, parts.get(f"json_{name}", "nothing")[:500])
        check(f"verify {name}", "hold" in parts.get(f"verify_{name}", ""), parts.get(f"verify_{name}"))
    check("summary", parts.get("summary", "").startswith("20000 points; 3 levels"), parts.get("summary"))
    check("summary of the pointer", parts["pointer"] == parts["summary"], parts["pointer"])
    check("space", re.match(r"\[0x0, 0x10000000000\) in units of 4096: \d+ ranges in the index, [1-9]\d* arenas in use",
                            parts.get("space", "")) and "\n  index: " in parts["space"], parts.get("space"))
    check("no index", "is not an index" in parts.get("other", ""), parts.get("other"))
    if core:
        check("no store", "core files do not have the memory of stores" in done.stderr, done.stderr)
        return
    check("store", "keys are numbers" in parts.get("store", "") and "index: 1000 points" in parts["store"], parts.get("store"))
    check("byte store", re.search(r"keys are bytes.*byte keys in [2-9] trees", parts.get("bytes", ""), re.S) and "hold" in parts["bytes"],
          parts.get("bytes"))
    check("dump of the store", parts.get("dump", "").count(" -> ") == 1000, parts.get("dump", "")[:300])


LOOK = [line for name in ("points", "ranges", "small") for line in
        (f"echo --json_{name}\\n", f"lath json {name}", f"echo --verify_{name}\\n", f"lath verify {name}")] + [
            "echo --summary\\n", "lath summary points", "echo --pointer\\n", "lath summary &points",
            "echo --space\\n", "lath summary space", "echo --store\\n", "lath summary store",
            "echo --bytes\\n", "lath summary byte_store", "lath verify byte_store", "echo --dump\\n", "lath dump store", "echo --end\\n"]
# gdb ends a batch at an error, so what shall fail is caught
OTHER = ["python print('--other')", "python\ntry:\n    gdb.execute('lath summary tree.node')\nexcept gdb.error as e:\n    print(e)"]


def test_gdb(scratch):
    can_trace(scratch)
    done = gdb(*stop(scratch), *LOOK, *OTHER, "echo --print\\n", "set print elements 3", "print small", "print item",
               "print *store", "print *space", "echo --broken\\n", "set var ((unsigned char *)points.opaque[0])[64] = 255",
               "lath verify points")
    rest = done.stdout.partition("--print\n")[2]
    looks(done, scratch)
    printed, _, broken = rest.partition("--broken\n")
    check("print of an index", re.search(r"\$1 = 10 points; 1 level, 0 inner nodes, 1 leaves, 41 % full.*\[0x", printed), printed)
    check("three items", printed.split("\n")[0].count("] = ") == 3, printed.split("\n")[0])
    check("print of an item", "$2 = [0x1000, +0x200) -> 0x9" in printed, printed)
    check("print of a store", "$3 = keys are numbers" in printed and "$4 = [0x0, " in printed, printed)
    check("a broken index", "I6: node" in broken and "1 invariants are broken" in done.stderr, broken + done.stderr)


def make_core(scratch):
    can_trace(scratch)
    core = os.path.join(scratch, "core")
    gdb(*stop(scratch), f"generate-core-file {core}")
    if not os.path.exists(core):
        skip("gdb writes no core file here")
    return core


def test_core(scratch):
    looks(gdb(*LOOK, *OTHER, files=(TARGET, make_core(scratch))), scratch, core=True)


SCRIPT = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
from lathwork_drgn import *
import lathwork_walk as walk
for name in ("points", "ranges", "small"):
    index = lath_index(prog[name])
    own = pathlib.Path(sys.argv[2], name + ".json").read_text()
    assert "".join(line + "\\n" for line in index.json()) == own, name
    assert not list(index.verify()), name
assert lath_index(prog["points"].address_of_()).summary().startswith("20000 points; 3 levels")
assert len(list(lath_index(prog["ranges"]).items())) > 5000
assert "arenas in use" in lath_space(prog.variable("space", "target.c")).summary()
assert not list(lath_space(prog.variable("space", "target.c")).verify())
try:
    lath_store(prog.variable("store", "target.c")).summary()
    raise SystemExit("a store in a core file")
except walk.Broken:
    pass
print("all seen")
"""


def test_drgn(scratch):
    drgn = shutil.which("drgn")
    if not drgn:
        skip("there is no drgn (Debian: python3-drgn)")
    script = os.path.join(scratch, "script.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(SCRIPT)
    done = run(drgn, "-q", "-c", make_core(scratch), script, DEBUG, scratch)
    check("drgn", "all seen" in done.stdout, done.stdout + done.stderr)


PROBES = ("split", "merge", "restart", "lock_fall", "refusal")


def test_probes(scratch):
    if USDT not in ("1", "ON", "TRUE"):
        skip("the library is built without probes (LATH_USDT; Debian: systemtap-sdt-dev)")
    notes = run("readelf", "-n", LIBRARY).stdout
    found = re.findall(r"Provider: lathwork\s+Name: (\w+)\s+Location: .*\s+Arguments: (.*)", notes)
    check("readelf -n", {name for name, _ in found} == set(PROBES), str(found))
    check("two arguments", all(len(args.split()) == 2 for _, args in found), str(found))
    scripts = "".join(path.read_text() for path in sorted(DEBUG.glob("*.bt")))
    check("scripts", set(re.findall(r"usdt:\*:lathwork:(\w+)", scripts)) == set(PROBES), "other probes in the scripts")
    # they are hit: gdb stops there, and sees the arguments
    can_trace(scratch)
    done = gdb("set breakpoint pending on", f"set args {scratch}", "break main", "run",
               "break -probe-stap lathwork:split if $_probe_arg0 == (long)&points", "continue",
               "printf \"split %d %d\\n\", $_probe_argc, $_probe_arg0 == (long)&points", "delete",
               "break -probe-stap lathwork:refusal", "continue",
               "printf \"refusal %d %d\\n\", $_probe_arg0 == (long)&ranges, $_probe_arg1 == (1ull << 63)")
    check("split is hit", "split 2 1\n" in done.stdout, done.stdout + done.stderr)
    check("refusal is hit", "refusal 1 1\n" in done.stdout, done.stdout + done.stderr)


with tempfile.TemporaryDirectory() as directory:
    {"gdb": test_gdb, "core": test_core, "drgn": test_drgn, "probes": test_probes}[PART](directory)
print("failures:", failures)
sys.exit(failures != 0)
