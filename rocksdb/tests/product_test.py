# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""product_test.py LIBRARY|DB_BENCH: the library in the packaged db_bench, which nobody has changed, or a db_bench of RocksDB 11 with
the memtable in it.

Each workload runs with RocksDB's skip list and with the memtable of the library; what is found must be the same.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

LIBRARY = pathlib.Path(sys.argv[1]).resolve()
INSIDE = LIBRARY.suffix != ".so"
CHECKS = ["--paranoid_memory_checks", "--memtable_verify_per_key_checksum_on_seek", "--memtable_protection_bytes_per_key=8"]
WORKLOADS = {
    "all in the memtable": ["--benchmarks=fillrandom,readrandom,multireadrandom,seekrandom,readseq,readreverse,readmissing",
                            "--seek_nexts=10", "--write_buffer_size=1073741824"],
    "flushes": ["--benchmarks=fillrandom,deleterandom,overwrite,readrandom,seekrandom,readseq", "--write_buffer_size=262144"],
    "threads": ["--benchmarks=filluniquerandom,readseq", "--batch_size=7", "--write_buffer_size=1073741824"],
    "two writers": ["--benchmarks=fillseq,fillrandom,readrandom", "--threads=2", "--write_buffer_size=1073741824"],
    "merges": ["--benchmarks=mergerandom,readrandom", "--merge_operator=stringappend", "--merge_keys=500"],
    "reverse order of a family": ["--benchmarks=fillrandom,readseq,readreverse", "--num_column_families=3"],
}
WORKLOADS_11 = {
    "many keys a call": ["--benchmarks=fillrandom,multireadrandom", "--batch_size=64", "--multiread_batched",
                         "--memtable_batch_lookup_optimization", "--write_buffer_size=1073741824"],
    "checks": ["--benchmarks=fillrandom,readrandom,multireadrandom,seekrandom,readseq,readreverse,readmissing", "--seek_nexts=10",
               "--memtable_batch_lookup_optimization", "--multiread_batched", "--batch_size=10", *CHECKS],
}
COUNTED = re.compile(r"^(\w+) .*?(\d+) operations(?:.*\((\d+ of \d+ found)\))?", re.M)


def db_bench(memtable, arguments, preload):
    """Returns ({benchmark: what it found}, db_bench's output)."""
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(
            [LIBRARY if INSIDE else "db_bench", f"--db={directory}", f"--memtablerep={memtable}", "--num=20000", "--seed=1", "--compression_type=none",
             "--value_size=100", *arguments], env={"PATH": "/usr/bin:/bin", **({"LD_PRELOAD": str(LIBRARY)} if preload else {})},
            capture_output=True, text=True, check=False)
        options = [path.read_text() for path in pathlib.Path(directory).glob("OPTIONS-*")]
    output = run.stdout + run.stderr
    if run.returncode == 0 and not any(f"memtable_factory={'SkipListFactory' if memtable == 'skip_list' else memtable}" in text
                                       or "memtable_factory={id=" + memtable in text for text in options):
        output += "\nthe database's options do not name the memtable"
        return None, output
    return {m[1]: m[3] or m[2] for m in COUNTED.finditer(output)} if run.returncode == 0 else None, output


def main():
    passed = failed = 0
    for name, arguments in {**WORKLOADS, **(WORKLOADS_11 if INSIDE else {})}.items():
        theirs, _ = db_bench("skip_list", arguments, False)
        ours, output = db_bench("lathwork", arguments, not INSIDE)
        same = bool(ours) and ours == theirs
        passed, failed = passed + same, failed + (not same)
        if not same:
            print(f"FAILED: {name}: {theirs} with skip_list, {ours} with lathwork\n{output}")
    if not INSIDE:
        result, output = db_bench("lathwork", WORKLOADS["merges"], False)
        refused = result is None and "lathwork" in output
        passed, failed = passed + refused, failed + (not refused)
        if not refused:
            print(f"FAILED: without the library there is a memtable lathwork\n{output}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
