#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Explores every execution of small clients of the index with GenMC (doc/verification.md).

A client is an index on nodes of four entries and two or three threads with one or two calls each.
The code is that of src/tree, compiled by clang for the host of host.h; lower.py brings it into a
form that GenMC runs. Every execution that the memory model allows is checked: results and contents
are those of one order of the calls, the invariants hold, and no plain access races.

GenMC is in no distribution: build 0.11 from https://github.com/MPI-SWS/genmc with clang-19 and
llvm-19-dev (./configure CXX=clang++-19 --with-llvm=/usr/lib/llvm-19; six minutes).

A client marked `once` leaves out executions in which a thread finds that a node changed while it
read it, and reads again: that is a read which begins later, and executions with that read alone are
explored. Those marked `again` leave out nothing but waiting for a lock that is held. `holes` is
`once` with an index that has LATH_HOLES, and summaries for 4 alignments instead of 32.

Without GenMC the core and the clients are only compiled, and the program says so.

Exit status: 0, or 1: an execution is wrong, or with --barriers a removed barrier was not noticed;
2: a usage error, or a tool is missing. A client that is not finished within --seconds is reported
and does not count as explored."""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
HERE = TOP / "tests" / "genmc"
LLVM = "-19"
PARTS_LEFT_OUT = {"hint.c", "dump.c", "trim.c", "rank.c", "copy.c", "batch.c", "cursor.c", "gap.c",
                  "count.c"}
GENMC = ["--disable-estimation", "--disable-loop-jump-threading", "--disable-spin-assume",
         "--disable-assume-propagation", "--disable-load-annotation",
         "--disable-warn-on-unfreed-memory", "--input-from-bitcode-file"]

# contents to begin with: one leaf with room, one full leaf, two full leaves below a root, two that
# are nearly empty
ROOM = "1 3"
FULL = "1 2 3 5"
TWO = "0 1 2 3 4 5 6"
BETWEEN = "0 1 2 4 5 6 7"
RANGES = "1:2 5:2"
RANGES_FULL = "0:1 1:1 3:2 6:1"

# (name, calls of threads 1 to 3, contents, calls of thread 0, mode)
CLIENTS = []


def client(name, threads, contents=ROOM, first="", mode="again"):
    CLIENTS.append((name, threads, contents, first, mode))


READS = ["lookup 4", "get 3", "ceiling 2", "floor 5", "scan 0"]
WRITES = ["insert 4", "insert 2", "erase 3", "replace 3", "replace_if 3:4"]


def simple():
    for write in WRITES:
        for read in READS:
            client(f"{write} | {read}", [[write], [read]])
    for i, one in enumerate(WRITES):
        for other in WRITES[i:]:
            client(f"{one} | {other}", [[one], [other]])
    client("insert 4, erase 4 | lookup 4", [["insert 4", "erase 4"], ["lookup 4"]])
    client("insert 4 | lookup 4, lookup 4", [["insert 4"], ["lookup 4", "lookup 4"]])
    client("erase 3, insert 3 | get 3", [["erase 3", "insert 3"], ["get 3"]], mode="once")
    client("insert 4 | insert 2 | get 4", [["insert 4"], ["insert 2"], ["get 4"]], mode="once")
    client("insert 4 | erase 3 | scan 0", [["insert 4"], ["erase 3"], ["scan 0"]], mode="once")


    client("insert 4 | insert 4 | lookup 4", [["insert 4"], ["insert 4"], ["lookup 4"]],
           mode="once")


def structure():
    for read in ("lookup 3", "lookup 4", "scan 0"):
        client(f"grow: insert 4 | {read}", [["insert 4"], [read]], "", first="insert 3")
    for read in ("lookup 4", "lookup 5", "scan 0"):
        client(f"redistribute: insert 3 | {read}", [["insert 3"], [read]], BETWEEN, mode="once")
    for read in ("lookup 4", "lookup 5", "get 1", "ceiling 4", "floor 4", "scan 0"):
        client(f"split: insert 4 | {read}", [["insert 4"], [read]], FULL, mode="once")
    for write in ("insert 6", "erase 3", "erase 5", "replace 5"):
        client(f"split: insert 4 | {write}", [["insert 4"], [write]], FULL, mode="once")
    for read in ("lookup 5", "get 3", "scan 0"):
        client(f"two leaves: erase 5 | {read}", [["erase 5"], [read]], TWO, mode="once")
        client(f"two leaves: insert 7 | {read}", [["insert 7"], [read]], TWO, mode="once")
        client(f"merge: erase 4 | {read}", [["erase 4"], [read]], TWO,
               first="erase 6, erase 5", mode="once")
    client("merge: erase 4 | insert 5", [["erase 4"], ["insert 5"]], TWO,
           first="erase 6, erase 5", mode="once")
    client("merge: erase 4 | erase 3", [["erase 4"], ["erase 3"]], TWO,
           first="erase 6, erase 5", mode="once")


def ranges():
    for write in ("insert 3:2", "erase_at 2", "resize 1:3", "split 2", "store 2:4"):
        for read in ("lookup 2", "overlap 3:3"):
            client(f"ranges: {write} | {read}", [[write], [read]], RANGES, mode="once")
    for write in ("insert 4:1", "erase_at 2", "resize 5:1"):
        client(f"ranges: insert 3:2 | {write}", [["insert 3:2"], [write]], RANGES, mode="once")
    client("ranges: join 3 | lookup 3", [["join 3"], ["lookup 3"]], "1:2 3:2", mode="once")
    client("ranges: join 3 | erase 3", [["join 3"], ["erase 3"]], "1:2 3:2", mode="once")
    for other in ("part 3:1", "part 0:1", "part 4:2", "part 1:2", "lookup 4", "split 4", "erase 0"):
        client(f"ranges: part 1:2 | {other}", [["part 1:2"], [other]], "0:6 7:1", mode="once")
    client("ranges: part 1:1 | part 3:1 | part 5:1", [["part 1:1"], ["part 3:1"], ["part 5:1"]],
           "0:7", mode="once")
    client("ranges, split: insert 2:1 | lookup 3", [["insert 2:1"], ["lookup 3"]], RANGES_FULL,
           mode="once")


def holes():
    """Numbers 0 to 7 are the whole space. `hole 0:n` takes the first free run of n numbers."""
    one = "0:2 3:2 6:2"  # one leaf: 2 and 5 are free
    for other in ("hole 0:1", "last 0:1", "find 0:1", "erase 3", "insert 2:1", "erase 0",
                  "lookup 2"):
        client(f"holes: hole 0:1 | {other}", [["hole 0:1"], [other]], one, mode="holes")
    for call in ("hole 0:3", "last 0:3", "find 0:3", "best 0:3"):
        client(f"holes: {call} | erase 3", [[call], ["erase 3"]], one, mode="holes")
    client("holes: hole 0:2 | resize 3:1", [["hole 0:2"], ["resize 3:1"]], one, mode="holes")
    # the thread's last erase is undone
    for other in ("lookup 3", "hole 0:1", "erase 0", "erase 6", "insert 3:1", "find 0:4"):
        client(f"holes, undo: erase 3, hole 0:2 | {other}", [["erase 3", "hole 0:2"], [other]],
               one, first="find 0:2", mode="holes")
    # two leaves below a root
    two = "0 1 2 3 4 5 6"
    for call in ("hole 0:1", "last 0:1", "find 0:2", "best 0:1"):
        for other in ("erase 2", "erase 5", "erase 3"):
            client(f"holes, two leaves: {call} | {other}", [[call], [other]], two, mode="holes")
    # there is a hole at every moment: first the last number, then number 2 too, then that alone
    for call in ("find 0:1", "hole 0:1"):
        client(f"holes, two leaves: {call} | erase 2, insert 7", [[call], ["erase 2", "insert 7"]],
               two, mode="holes")
    client("holes, two leaves: hole 0:1 | hole 0:1", [["hole 0:1"], ["hole 0:1"]], two,
           mode="holes")
    client("holes, split: hole 0:1 | lookup 3", [["hole 0:1"], ["lookup 3"]], RANGES_FULL,
           mode="holes")
    client("holes, split: insert 2:1 | hole 0:1", [["insert 2:1"], ["hole 0:1"]], RANGES_FULL,
           mode="holes")
    client("holes, split: insert 2:1 | find 0:1", [["insert 2:1"], ["find 0:1"]], RANGES_FULL,
           mode="holes")
    client("holes, merge: erase 4 | hole 0:2", [["erase 4"], ["hole 0:2"]], two,
           first="erase 6, erase 5", mode="holes")
    client("holes, merge: erase 4 | find 0:4", [["erase 4"], ["find 0:4"]], two,
           first="erase 6, erase 5", mode="holes")


def locks():
    """Ranges are `call key:n`, shared where the call has a small s in front."""
    for one, other in (("lock 5", "lock 5"), ("lock 5", "slock 5"), ("slock 5", "slock 5"),
                       ("lock 5", "lock 0:16"), ("slock 5", "lock 0:16"), ("lock 5", "lock 0:300"),
                       ("lock 0:16", "lock 4:17"), ("lock 0", "lock 20"), ("try 5", "lock 5"),
                       ("try 5", "lock 0:16"), ("lock 5", "try 0:16"), ("downgrade 5", "slock 5"),
                       ("downgrade 5", "lock 0:16"), ("grow 4:2", "lock 5"),
                       ("grow 4:16", "lock 5"), ("grow 4:16", "lock 0:16")):
        client(f"locks: {one} | {other}", [[one], [other]], "")
    client("locks: lock 5, lock 5 | lock 5", [["lock 5", "lock 5"], ["lock 5"]], "")
    client("locks: lock 5 | lock 0:16 | slock 5", [["lock 5"], ["lock 0:16"], ["slock 5"]], "")
    # the second thread has waited for 13, in bucket 1, when the range that 28 grows to comes there in
    # front; 28, 29 and the second thread have the three other buckets
    client("locks, held: unlock 0, resize 1:2 | keep 12:17",
           [["await 2:2", "unlock 0", "await 2:3", "resize 1:2"], ["keep 12:17"]], "",
           first="lock 13, lock 28")


simple()
structure()
ranges()
holes()
locks()

FENCED = "the write barrier of node_trylock() orders it too"
REACHED = "who finds the node has read a lockword or the root that was stored after it"
ABOVE = ("a search that finds none has compared the lockword of each node on its way once more, the "
         "root's included")
ACQUIRED = "a search loads each lockword with acquire"
DEAD = "a node whose contents are not seen yet is dead: the descent begins again, perhaps for ever"

# What is removed: function, file, text, what takes its place, the client that must notice; or the
# client that does not, and why. The last one is the second look of a range that waits, no barrier.
BARRIERS = [
    ("node_valid", "tree/node/node.h",
     "\tsmp_rmb(); /* pairs with smp_wmb in node_trylock */\n", "", "insert 4 | lookup 4", ""),
    ("node_trylock", "tree/node/node.h", "\t\tsmp_wmb(); /* pairs with smp_rmb in node_valid */\n",
     "", "insert 4 | lookup 4", ""),
    ("node_unlock", "tree/node/node.h", "smp_store_release(&node->lockword,\n\t\t\t  (READ_ONCE",
     "WRITE_ONCE(node->lockword,\n\t\t\t  (READ_ONCE", "insert 4 | lookup 4", ""),
    ("node_unlock_clean", "tree/node/node.h",
     "smp_store_release(&node->lockword, READ_ONCE(node->lockword) &",
     "WRITE_ONCE(node->lockword, READ_ONCE(node->lockword) &",
     "insert 4 | insert 4 | lookup 4", FENCED),
    ("node_read", "tree/node/node.h",
     "\tu64 lockword = smp_load_acquire(&node->lockword); /* pairs with node_unlock */",
     "\tu64 lockword = READ_ONCE(node->lockword);", "insert 4 | scan 0", ""),
    ("node_holds", "tree/node/node.h",
     "\tu64 w = smp_load_acquire(&node->lockword); /* pairs with node_unlock */",
     "\tu64 w = READ_ONCE(node->lockword);", "insert 4 | lookup 4, lookup 4", ""),
    ("move_right", "tree/way/descend.h",
     "u64 word = smp_load_acquire(&leaf->lockword); /* pairs with node_unlock */",
     "u64 word = READ_ONCE(leaf->lockword);", "insert 4 | lookup 4", ""),
    ("descend_step", "tree/way/descend.h",
     "u64 lockword = smp_load_acquire(&node->lockword); /* pairs with node_unlock */",
     "u64 lockword = READ_ONCE(node->lockword);", "redistribute: insert 3 | lookup 4", ""),
    ("descend", "tree/way/descend.h",
     "smp_load_acquire(&tree->root); /* pairs with the store in post.c add_root */",
     "READ_ONCE(tree->root);", "split: insert 4 | lookup 5", ""),
    ("add_root", "tree/step/post.c", "smp_store_release(&tree->root, node);",
     "WRITE_ONCE(tree->root, node);", "split: insert 4 | lookup 5", ""),
    ("lath_first_leaf_grow", "tree/step/redistribute.c", "smp_store_release(&tree->root, fresh);",
     "WRITE_ONCE(tree->root, fresh);", "grow: insert 4 | lookup 3", DEAD),
    ("node_open", "tree/memory/pool.h", "smp_store_release(&node->lockword, version",
     "WRITE_ONCE(node->lockword, version", "split: insert 4 | lookup 5", REACHED),
    ("lath_gap_ended", "tree/watch/gap.c", "smp_load_acquire(&tree->stripe[i].ended)",
     "READ_ONCE(tree->stripe[i].ended)", "holes, two leaves: find 0:1 | erase 2, insert 7", ABOVE),
    ("gap_change_end", "tree/watch/gap.h", "lath_fetch_add_release(&own_stripe(tree)->ended, 1)",
     "lath_fetch_add(&own_stripe(tree)->ended, 1)",
     "holes, two leaves: find 0:1 | erase 2, insert 7", ABOVE),
    ("lath_gap_begun", "tree/watch/gap.c", "\tsmp_rmb(); /* after all reads of the search", "\t/*",
     "holes, two leaves: find 0:1 | erase 2, insert 7", ACQUIRED),
    ("lath_gap_begun", "tree/watch/gap.c", "smp_load_acquire(&tree->stripe[i].begun)",
     "READ_ONCE(tree->stripe[i].begun)", "holes, two leaves: find 0:1 | erase 2, insert 7", ACQUIRED),
    ("wait_below", "lock/range_lock.c",
     "\t\tblockers = count_blockers(bucket, &hold->probe);\n\t\tif (ret || !blockers)\n\t\t\tbreak;",
     "\t\tblockers = ret ? count_blockers(bucket, &hold->probe) : 0;\n\t\tbreak;",
     "locks, held: unlock 0, resize 1:2 | keep 12:17", ""),
]


def items(text):
    """Yields (key, n, value) of a list of items `key[:n]`."""
    for item in text.split():
        key, _, n = item.partition(":")
        yield int(key), int(n or 1), int(key) + 1


def calls(thread, texts, locking):
    out = []
    for place, text in enumerate(texts):
        call, _, args = text.partition(" ")
        key, _, n = args.partition(":")
        if locking:
            shared = call.startswith("s")
            out.append(f"CALL({thread}, {place}, {call[shared:].upper()}, {key}, {n or 1}, "
                       f"{'LATH_SHARED_RANGE' if shared else 'LATH_EXCLUSIVE_RANGE'})")
            continue
        # a value that differs from those loaded; `part` expects that of the item at 0
        value = 1 if call == "part" else 9 + thread
        out.append(f"CALL({thread}, {place}, {call.upper()}, {key}, {n or 1}, {value})")
    return out


FLAGS = ["-std=gnu17", "-w", "-DLATH_NODE_CAP=4", "-DLATH_SPARSE_RING=1", "-include",
         str(HERE / "host.h")]
INCLUDE = ["-I", str(HERE), "-I", str(TOP / "include")]


def is_lock(name):
    return name.startswith("locks")


def core_files(source, mode):
    if mode == "locks":
        return [source / "lock" / "range_lock.c", source / "lock" / "cycle.c",
                source / "lock" / "inspect.c", HERE / "memory.c"]
    searched = mode == "holes"
    return [path for path in sorted((source / "tree").glob("*/*.c"))
            if path.name not in PARTS_LEFT_OUT or (searched and path.name == "gap.c")] + \
        [source / "set" / "hole" / "search.c"] * searched + [HERE / "memory.c", HERE / "without.c"]


def write_script(path, one):
    name, threads, contents, first, _ = one
    script = calls(0, [c.strip() for c in first.split(",") if c.strip()], is_lock(name))
    for i, texts in enumerate(threads):
        script += calls(i + 1, texts, is_lock(name))
    path.write_text("#define LOADED " + " ".join("ITEM(%d, %d, %d)" % i for i in items(contents)) +
                    "\n#define SCRIPT " + " ".join(script) + "\n")


def client_defines(one, script):
    name, threads = one[:2]
    ranged = name.startswith(("ranges", "holes"))
    return [f"-DLAYOUT={'LATH_RANGES' if ranged else 'LATH_POINTS'}",
            f"-DTHREADS={len(threads)}", f"-DCALLS={max(map(len, threads))}",
            f"-DBUCKETS={1 if ':' in name[6:] and not one[3] else 4}",
            *(["-DRANGES"] if ranged else []),
            "-include", str(script)]


class Builder:
    """Bitcode of the core, once for each way to read, and of the clients."""

    def __init__(self, source, out, headers):
        self.source, self.out, self.headers = source, Path(out), headers
        self.done = {}

    def compile(self, path, to, defines):
        run(["clang" + LLVM, *FLAGS, "-O1", "-Xclang", "-disable-llvm-passes",
             "-fno-discard-value-names", "-emit-llvm", "-c", *defines, *INCLUDE, "-I",
             str(self.source), str(path), "-o", str(to)])

    def core(self, mode):
        if mode not in self.done:
            folder = self.out / mode
            folder.mkdir(parents=True, exist_ok=True)
            made = []
            for path in core_files(self.source, mode):
                to = folder / f"{path.parent.name}-{path.stem}.bc"
                self.compile(path, to, mode_defines(mode))
                made.append(to)
            whole = folder / "core.bc"
            run(["llvm-link" + LLVM, *map(str, made), "-o", str(whole)])
            self.done[mode] = whole
        return self.done[mode]

    def client(self, number, one):
        mode, source = one[4], HERE / "client.c"
        if is_lock(one[0]):
            mode, source = "locks", HERE / "lock_client.c"
        folder = self.out / f"client{number}"
        folder.mkdir(parents=True, exist_ok=True)
        write_script(folder / "script.h", one)
        self.compile(source, folder / "client.bc",
                     ["-D__CONFIG_GENMC_INODE_DATA_SIZE=64", "-isystem", str(self.headers),
                      *mode_defines(mode), *client_defines(one, folder / "script.h")])
        linked = run(["llvm-link" + LLVM, str(self.core(mode)), str(folder / "client.bc"), "-S",
                      "-o", "-"])
        lowered = run([sys.executable, str(HERE / "lower.py")], linked)
        opened = run(["opt" + LLVM, "-S", "-o", "-", "-inline-threshold=10000",
                      "-internalize-public-api-list=main",
                      "-passes=internalize,globaldce,always-inline,cgscc(inline),"
                      "function(sroa,early-cse),globaldce"], lowered)
        run(["llvm-as" + LLVM, "-o", str(folder / "all.bc")],
            run([sys.executable, str(HERE / "lower.py")], opened))
        return folder / "all.bc"


def mode_defines(mode):
    return {"once": ["-DGENMC_ONCE"],
            "locks": ["-DGENMC_SLEEPS"],
            "holes": ["-DGENMC_ONCE", "-DGENMC_HOLES", "-DLATH_SIDE_CODES=4"]}.get(mode, [])


def run(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"explore.py: {command[0]}: {done.stderr.strip()[:2000]}")
    return done.stdout


def explore(genmc, bitcode, model, seconds):
    """Returns (verdict, complete executions, blocked ones, seconds, output)."""
    start = time.monotonic()
    try:
        done = subprocess.run([genmc, f"--{model}", *GENMC, str(bitcode)], capture_output=True,
                              text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return "unfinished", 0, 0, time.monotonic() - start, ""
    out = done.stdout + done.stderr

    def number(words):
        found = re.search(words + r": (\d+)", out)
        return int(found[1]) if found else 0

    complete = number("complete executions explored")
    blocked = number("blocked executions seen")
    good = done.returncode == 0 and "No errors were detected" in out and complete
    return ("explored" if good else "WRONG"), complete, blocked, time.monotonic() - start, out


def find_genmc(given):
    """Returns the path of genmc, or None."""
    found = given or os.environ.get("GENMC") or shutil.which("genmc")
    if found and not os.access(found, os.X_OK):
        sys.exit(f"explore.py: {found} is not a program")
    return Path(found).resolve() if found else None


def compile_only(compiler):
    """Compiles all that GenMC would read. Returns how many files do not compile."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="lath-genmc-") as out:
        done = 0
        script = Path(out) / "script.h"
        for mode, one, client_ in (("again", CLIENTS[0], "client.c"),
                                   ("once", CLIENTS[0], "client.c"),
                                   ("holes", CLIENTS[0], "client.c"),
                                   ("locks", CLIENTS[-1], "lock_client.c")):
            write_script(script, one)
            for path in core_files(TOP / "src", mode) + [HERE / client_]:
                command = [compiler, *FLAGS, *mode_defines(mode), *INCLUDE, "-I", str(TOP / "src"),
                           "-fsyntax-only", *client_defines(one, script), str(path)]
                result = subprocess.run(command, capture_output=True, text=True, check=False)
                done += result.returncode == 0
                if result.returncode:
                    wrong += 1
                    print(result.stderr[:2000])
    print(f"{done} passed, {wrong} failed")
    return wrong


def headers_of(genmc, given):
    for folder in (given, genmc.parent / "include", genmc.parents[1] / "include" / "genmc",
                   genmc.parents[1] / "include"):
        if folder and (Path(folder) / "genmc.h").exists():
            return Path(folder)
    sys.exit("explore.py: no genmc.h: give --headers FOLDER, the include/ of GenMC's source")


def explore_clients(genmc, options, out):
    builder = Builder(TOP / "src", out, options.headers)
    chosen = [c for c in CLIENTS if re.search(options.clients, c[0])]
    wrong = unfinished = executions = blocked = 0
    spent = 0.0
    print(f"{'client':44} {'mode':6} {'model':5} {'executions':>10} {'blocked':>9} {'seconds':>8}")

    def one(pair):
        number, one_ = pair
        bitcode = builder.client(number, one_)
        return [(one_, m, explore(str(genmc), bitcode, m, options.seconds))
                for m in options.models]

    for mode in ("again", "once", "holes", "locks"):
        builder.core(mode)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for results in pool.map(one, enumerate(chosen)):
            for (name, _, _, _, mode), model, (verdict, complete, ended, took, text) in results:
                print(f"{name:44} {mode:6} {model:5} {complete or verdict:>10} {ended:>9} "
                      f"{took:>8.1f}", flush=True)
                wrong += verdict == "WRONG"
                unfinished += verdict == "unfinished"
                executions += complete
                blocked += ended
                spent += took
                if verdict == "WRONG":
                    print(text[-options.text:])
    print(f"proof: {executions} executions, {blocked} that end early; {spent:.0f} s")
    print(f"{len(chosen) * len(options.models) - wrong - unfinished} passed, {wrong} failed, "
          f"{unfinished} unfinished")
    return wrong


def explore_barriers(genmc, options, out):
    """Removes each barrier alone, and expects that its client goes wrong, unless the list has a
    reason why not. Returns for how many that was otherwise."""
    missed = 0
    for number, (function, name, text, instead, client_, why) in enumerate(BARRIERS):
        source = Path(out) / f"src{number}"
        shutil.copytree(TOP / "src", source)
        path = source / name
        old = path.read_text()
        if old.count(text) != 1:
            sys.exit(f"explore.py: {name} has {old.count(text)} times: {text.strip()}")
        path.write_text(old.replace(text, instead))
        builder = Builder(source, Path(out) / f"barrier{number}", options.headers)
        one = next(c for c in CLIENTS if c[0] == client_)
        verdict, _, _, took, _ = explore(str(genmc), builder.client(0, one), options.models[0],
                                         options.seconds)
        noticed = verdict == "WRONG"
        missed += noticed == bool(why)
        print(f"{function:18} {client_:32} {verdict:10} {took:6.1f} s  "
              f"{why or 'noticed' if noticed or why else 'NOT NOTICED'}", flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genmc", help="the program (default: $GENMC, or from PATH)")
    parser.add_argument("--headers", help="GenMC's include folder")
    parser.add_argument("--compile", nargs="?", const="cc", metavar="COMPILER",
                        help="only compile what GenMC would read")
    parser.add_argument("--models", nargs="+", default=["rc11"],
                        choices=["sc", "tso", "rc11", "imm"])
    parser.add_argument("--clients", default="", help="those whose name this expression matches")
    parser.add_argument("--seconds", type=float, default=600, help="limit per client and model")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--barriers", action="store_true",
                        help="remove each barrier and see its client go wrong")
    parser.add_argument("--list", action="store_true", help="print the clients")
    parser.add_argument("--text", type=int, default=4000,
                        help="characters shown of a wrong execution")
    options = parser.parse_args()
    if options.list:
        print("\n".join(c[0] for c in CLIENTS))
        return 0
    genmc = find_genmc(options.genmc)
    if not genmc or options.compile:
        if not options.compile:
            print("proof: no genmc here: only compiled (see tests/genmc/explore.py --help)")
        return 1 if compile_only(options.compile or "cc") else 0
    options.headers = headers_of(genmc, options.headers)
    with tempfile.TemporaryDirectory(prefix="lath-genmc-") as out:
        if options.barriers:
            return 1 if explore_barriers(genmc, options, out) else 0
        return 1 if explore_clients(genmc, options, out) else 0


sys.exit(main())
