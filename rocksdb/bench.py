# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bench.py LIBRARY|DB_BENCH [--quick] [--reps N] [--n N] [--json FILE]: the memtable beside RocksDB's skip list.

Drives the packaged db_bench with the library, or a db_bench of RocksDB 11 with the memtable in it; the program is the same for
both memtables. A workload runs with one memtable and with the other one
alternately, all of it in memory: no log, and but for one workload no flush. A ratio is that of one pair of runs; printed are
the medians, and the least and the largest ratio. Full memtables: entries in one when it is full, of which no time is taken.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ONE_PREFIX = "one prefix"
VERSIONS = "versions"
FLUSHES = "flushes"
AMPLIFICATION = "write amplification"
COMPACTED = ["--benchmarks=fillrandom,waitforcompaction", "--statistics", FLUSHES]

# name: (db_bench's arguments, the benchmarks of them that are measured)
WORKLOADS = {
    "16-byte keys": (["--benchmarks=fillrandom,memstats,readrandom,readseq,readreverse"], ["fillrandom", "readrandom", "readseq", "readreverse"]),
    "in order": (["--benchmarks=fillseq,memstats,readseq,readseq"], ["fillseq", "readseq"]),
    "each key once": (["--benchmarks=filluniquerandom,memstats,readrandom"], ["filluniquerandom", "readrandom"]),
    "seek and ten more": (["--benchmarks=fillrandom,seekrandom", "--seek_nexts=10"], ["seekrandom"]),
    "batches of 100": (["--benchmarks=fillrandom", "--batch_size=100"], ["fillrandom"]),
    "two threads": (["--benchmarks=fillrandom,readrandom", "--threads=2"], ["fillrandom", "readrandom"]),
    "four threads": (["--benchmarks=fillrandom,readrandom", "--threads=4"], ["fillrandom", "readrandom"]),
    "reads while one writes": (["--benchmarks=fillrandom,readwhilewriting"], ["readwhilewriting"]),
    "overwrite": (["--benchmarks=fillrandom,overwrite"], ["overwrite"]),
    "16-byte keys, 8 common": (["--benchmarks=fillrandom,memstats,readrandom", "--prefix_size=8", ONE_PREFIX], ["fillrandom", "readrandom"]),
    "64-byte keys, 40 common": (["--benchmarks=fillrandom,memstats,readrandom", "--key_size=64", "--prefix_size=40", ONE_PREFIX],
                                ["fillrandom", "readrandom"]),
    "100 versions of each key": (["--benchmarks=fillrandom,memstats,readrandom", VERSIONS], ["fillrandom", "readrandom"]),
    "15 flushes, compactions": (COMPACTED, ["fillrandom"]),
    "15 flushes at 20 MiB/s": ([*COMPACTED, f"--benchmark_write_rate_limit={20 << 20}"], []),
}
# The two that a workload compares, {name: (memtable, more arguments)}, and others than the usual ones: what checks cost, and a memtable
# that appends entries and orders nothing, which shows what RocksDB takes.
SIDES = {"skip_list": ("skip_list", []), "lathwork": ("lathwork", [])}
PARANOID = "--paranoid_memory_checks"
CHECKS = {"lathwork": ("lathwork", []), "with paranoid checks": ("lathwork", [PARANOID])}
APPENDING = {"skip_list": ("skip_list", []), "vector": ("vector", ["--allow_concurrent_memtable_write=false"])}
WORKLOADS_11 = {
    "64 keys a call": (["--benchmarks=fillrandom,multireadrandom", "--batch_size=64", "--multiread_batched",
                        "--memtable_batch_lookup_optimization"], ["multireadrandom"]),
    "paranoid checks": (["--benchmarks=fillrandom,readrandom,readseq", PARANOID], ["readrandom", "readseq"]),
    "paranoid checks, seek and ten more": (["--benchmarks=fillrandom,seekrandom", "--seek_nexts=10", PARANOID], ["seekrandom"]),
    "cost of checks": (["--benchmarks=fillrandom,seekrandom,readrandom", "--seek_nexts=10"], ["seekrandom", "readrandom"], CHECKS),
    "appending": (["--benchmarks=fillseq"], ["fillseq"], APPENDING),
    "appending, by chance": (["--benchmarks=fillrandom"], ["fillrandom"], APPENDING),
}
# How many entries are in a memtable when it is full: (write buffer, --arena_block_size; 0: as RocksDB chooses). Keys of 10 bytes by
# chance, or of 16 of which a hundred groups share 8.
FULL = "full memtables"
FULL_SIZES = [(128_000, 4096), (128_000, 0), (256 << 10, 4096), (256 << 10, 0), (1 << 20, 4096), (1 << 20, 0), (4 << 20, 4096), (4 << 20, 0)]
FULL_KEYS = {"": ["--key_size=10", f"--num={10**9}"], ", groups": ["--key_size=16", "--prefix_size=8", "--keys_per_prefix=10000", f"--num={10**6}"]}
FLUSH = re.compile(r'"event": "flush_started", "num_memtables": (\d+), "(?:total_num_input|num)_entries": (\d+)')
LINE = re.compile(r"^(\w+) +: +([0-9.]+) micros/op", re.M)
FILES = re.compile(r"^rocksdb\.(flush\.write\.bytes|compact\.write\.bytes|bytes\.written) COUNT : (\d+)", re.M)
MEMORY = re.compile(r"rocksdb\.cur-size-active-mem-table: (\d+)")


def db_bench(memtable, library, directory, arguments):
    """Returns what db_bench prints, with its database in the directory."""
    environment = {name: os.environ[name] for name in ("PATH", "LATH_ISA") if name in os.environ}
    inside = library.suffix != ".so"
    if memtable == "lathwork" and not inside:
        environment["LD_PRELOAD"] = str(library)
    done = subprocess.run([library if inside else "db_bench", f"--db={directory}", f"--memtablerep={memtable}", "--disable_wal=1",
                           "--compression_type=none", "--seed=1", *arguments],
                          env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: db_bench failed with {memtable}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def full(memtable, library, buffer, block, keys):
    """Returns how many entries were in a memtable of the first flush."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        db_bench(memtable, library, directory, ["--benchmarks=fillrandom", "--value_size=90", f"--writes={buffer // 25}", *keys,
                                                f"--write_buffer_size={buffer}", f"--arena_block_size={block}"])
        memtables, entries = FLUSH.search(pathlib.Path(directory, "LOG").read_text()).groups()
    return int(entries) / int(memtables)


def run(memtable, library, n, arguments):
    """Returns {benchmark: µs per operation; "bytes per entry" of a memtable's entry, and "write amplification", the bytes
    written to tables per byte of a write, if they were asked for}."""
    threads = int(next((a.split("=")[1] for a in arguments if a.startswith("--threads=")), "1"))
    keys = n // 100 if VERSIONS in arguments else n
    sizes = [f"--num={keys}", f"--writes={n // threads}", f"--reads={n // threads}"]
    if ONE_PREFIX in arguments:
        sizes.append(f"--keys_per_prefix={keys}")
    if FLUSHES in arguments:
        sizes += [f"--write_buffer_size={10 * n}", f"--target_file_size_base={10 * n}", f"--max_bytes_for_level_base={40 * n}"]
    given = ["--value_size=100", f"--write_buffer_size={4 << 30}", *sizes, *(a for a in arguments if a not in (VERSIONS, ONE_PREFIX, FLUSHES))]
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        output = db_bench(memtable, library, directory, given)
    found = {}
    for name, micros in LINE.findall(output):  # of one that runs twice the second time counts
        found[name] = float(micros)
    for size in MEMORY.findall(output):
        found["bytes per entry"] = int(size) / n
    if FLUSHES in arguments:
        written = {name: int(size) for name, size in FILES.findall(output)}
        found[AMPLIFICATION] = (written["flush.write.bytes"] + written["compact.write.bytes"]) / written["bytes.written"]
    return found


def measure(library, n, pairs, arguments, wanted, sides):
    """Returns [{what, a name of each side, ratio, least, largest}]: medians of pairs of runs."""
    one, other = sides
    runs = []
    for i in range(pairs):
        order = (one, other) if i % 2 == 0 else (other, one)
        runs.append({side: run(sides[side][0], library, n, [*arguments, *sides[side][1]]) for side in order})
    rows = []
    for what in [*wanted, "bytes per entry", AMPLIFICATION]:
        if what not in runs[0][other]:
            continue
        both = [(pair[one][what], pair[other][what]) for pair in runs]
        ratios = [a / b if what in wanted else b / a for a, b in both]
        rows.append({"what": what, one: statistics.median(a for a, _ in both), other: statistics.median(b for _, b in both),
                     "ratio": statistics.median(ratios), "least": min(ratios), "largest": max(ratios)})
    return rows


def measure_full(library):
    """Prints and returns rows as measure()."""
    rows = []
    for name, keys in FULL_KEYS.items():
        for buffer, block in FULL_SIZES:
            skip_list, lathwork = (full(memtable, library, buffer, block, keys) for memtable in ("skip_list", "lathwork"))
            what = f"{buffer} bytes, {f'blocks of {block}' if block else 'its blocks'}{name}"
            ratio = lathwork / skip_list
            print(f"{FULL:20}{what:36}{skip_list:10.0f}{lathwork:10.0f}{ratio:8.3f}", flush=True)
            rows.append({"workload": FULL, "what": what, "skip_list": skip_list, "lathwork": lathwork, "ratio": ratio})
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path, help="the memtable's library, or a db_bench of RocksDB 11 that it is in")
    parser.add_argument("--quick", action="store_true", help="100,000 entries")
    parser.add_argument("--n", type=int, help="entries (1,000,000)")
    parser.add_argument("--reps", type=int, default=3, help="pairs of runs of each workload (3)")
    parser.add_argument("--only", default="", help="workloads whose names contain this")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    n = options.n or (100_000 if options.quick else 1_000_000)
    if n < 1000 or options.reps < 1:
        parser.error("--n is at least 1000, --reps at least 1")
    workloads = {**WORKLOADS, **(WORKLOADS_11 if options.library.suffix != ".so" else {})}
    chosen = {name: what for name, what in workloads.items() if options.only in name}
    if not chosen and options.only not in FULL:
        parser.error(f"--only: there are: {', '.join([*workloads, FULL])}")
    print(f"{n} entries, values of 100 bytes, {options.reps} pairs; µs per operation; ratio: times as fast, or of the bytes or entries")
    print(f"{'':36}{'':20}{'skip_list':>10}{'lathwork':>10}{'ratio':>8}   least to largest")
    results = []
    for name, (arguments, wanted, *others) in chosen.items():
        sides = others[0] if others else SIDES
        one, other = sides
        for row in measure(options.library.resolve(), n, options.reps, arguments, wanted, sides):
            print(f"{name:36}{row['what']:20}{row[one]:10.3f}{row[other]:10.3f}{row['ratio']:8.2f}   "
                  f"{row['least']:.2f} to {row['largest']:.2f}{'' if sides is SIDES else f'   {one}; {other}'}", flush=True)
            results.append({"workload": name, **row})
    if options.only in FULL:
        results += measure_full(options.library.resolve())
    if options.json:
        options.json.write_text(json.dumps({"entries": n, "pairs": options.reps, "isa": os.environ.get("LATH_ISA", ""),
                                            "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
