# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""theirs.py DIRECTORY [crash] [SECONDS]: RocksDB's own tests with this memtable, in the directory that tools/rocksdb-build made.

memtablerep_bench and db_bench with both memtables, of which db_bench must find the same; the tests of memtables, iterators, deleted
ranges, merges and transactions, but those in differences.txt; db_crashtest.py with the options that it draws, for this many seconds
(120) in each of its modes. crash: nothing but this, for this many seconds in all, and with other intervals between kills.
"""
import fnmatch
import itertools
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
AT = pathlib.Path(sys.argv[1])
CRASH = sys.argv[2:3] == ["crash"]
SECONDS = int((sys.argv[2 + CRASH:] or ["120"])[0])
SOURCE, DEBUG, RELEASE = AT / "source", AT / "Debug", AT / "Release"
LIMIT = 1200  # seconds that one of RocksDB's test programs may take
# Of programs that take longer one part of this many is run, which one by chance.
PARTS = {"transaction_test": 4, "write_prepared_transaction_test": 4}
# Programs in which entries wait for others in each memtable. Those of the others are wrapped in a memtable of the tests' that does not
# pass on that they are full, so RocksDB's count of their memory would change behind it; there they are too small to wait.
WAITING = {"db_memtable_test", "db_merge_operator_test", "db_tailing_iter_test", "memtable_list_test", "transaction_test",
           "write_prepared_transaction_test"}
WAIT = {"LATH_ROCKSDB_WAIT": "1"}
# The modes of db_crashtest.py. The fifth has files of its own with keys of timestamps, whose order this memtable does not have.
MODES = [[], ["--simple"], ["--cf_consistency"], ["--txn"], ["--optimistic_txn"]]
INTERVAL = 12  # seconds from a start to a kill
VERIFY = 300  # seconds that the last start of a run may take, which verifies
KEYS = 60000  # few enough that a start verifies all of them before the next kill


def run(command, seconds, directory, more=None):
    """Returns (output, exit status; None: it was ended after this many seconds)."""
    environment = {**os.environ, "TEST_TMPDIR": directory, **(more or {})}
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          env=environment, cwd=directory, start_new_session=True) as process:
        try:
            return process.communicate(timeout=seconds)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0], None


def bench(directory):
    """memtablerep_bench: prints its figures, returns whether it ran."""
    good = True
    for memtable in ("skiplist", "lathwork"):
        output, code = run([RELEASE / "memtablerep_bench", f"--memtablerep={memtable}", "--num_operations=300000",
                               "--benchmarks=fillrandom,readrandom,readseq,readwrite"], LIMIT, directory)
        figures = re.findall(r"Running (\w+)\n.*?(?:write|read) us/op: +([0-9.]+)", output, re.S)
        print(f"memtablerep_bench {memtable}: " + ", ".join(f"{name} {micros} us" for name, micros in figures))
        good &= code == 0 and output.count("Elapsed time") == 4  # readwrite prints no more than that
        if code:
            print(output)
    return good


def product(directory):
    """product_test.py: returns (passed, failed)."""
    output, _ = run([sys.executable, "-B", HERE / "product_test.py", RELEASE / "db_bench"], LIMIT, directory)
    print(f"db_bench with both memtables: {output.strip()}")
    counts = re.search(r"^(\d+) passed, (\d+) failed", output, re.M)
    return (int(counts[1]), int(counts[2])) if counts else (0, 1)


def rust(directory):
    """The program in rocksdb/rust, with the RocksDB of the release build: returns whether it ran."""
    environment = {
        "CARGO_TARGET_DIR": str(AT / "rust"), "LIBCLANG_PATH": "/usr/lib/llvm-19/lib", "ROCKSDB_STATIC": "1",
        "ROCKSDB_LIB_DIR": str(RELEASE), "ROCKSDB_INCLUDE_DIR": str(SOURCE / "include"),
        "RUSTFLAGS": f"-L{AT / 'lathwork' / 'build' / 'rocksdb' / 'src'} -llathwork -lsnappy -llz4 -lzstd -lz -lgflags"}
    output, code = run(["cargo", "run", "-q", "--locked", "--manifest-path", HERE.parent / "rust" / "Cargo.toml", "--", f"{directory}/db"],
                       LIMIT, directory, environment)
    print(f"rust: {output.strip()}")
    return code == 0


def java(directory):
    """MemtableTest.java in the RocksDB of Maven with this version: returns whether it ran; None: nothing to run it with."""
    if not shutil.which("javac") or not shutil.which("mvn"):
        print("skipped: java: there is no javac, or no mvn")
        return None
    version = AT.name.partition("-")[2]
    jar, build = f"{directory}/rocksdbjni-{version}.jar", AT / "java"
    steps = [["cmake", "--preset", "rocksdb", "-S", HERE.parents[1], "-B", build, "-DLATH_ROCKSDB=ON", "-DLATH_ROCKSDB_JAVA_OLD_STRINGS=OFF",
              f"-DLATH_ROCKSDB_INCLUDE={SOURCE / 'include'}"],
             ["cmake", "--build", build, "-j", "2", "--target", "lathwork_rocksdb_java"],
             ["mvn", "-q", "dependency:copy", f"-Dartifact=org.rocksdb:rocksdbjni:{version}", f"-DoutputDirectory={directory}"],
             ["javac", "-d", directory, "-cp", jar, HERE / "MemtableTest.java"],
             ["java", "-cp", f"{directory}:{jar}", "MemtableTest", build / "lib" / "liblathwork-rocksdb-java.so"]]
    for step in steps:
        output, code = run(step, LIMIT, directory)
        if code:
            break
    print(f"java: {output.strip()}")
    return code == 0


def expected():
    """Returns {program: {test that fails: reason}}."""
    found = {}
    for line in (HERE / "differences.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, reason = line.split("  ", 1)
            program, test = name.split("::")
            found.setdefault(program, {})[test] = reason
    return found


def gtest(program, differences, directory):
    """Returns (passed, failed, those that fail as they are expected to)."""
    parts = PARTS.get(program.name, 1)
    part = random.randrange(parts)
    output, code = run([program, "--gtest_color=no"], LIMIT, directory, {"GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part),
                                                                          **(WAIT if program.name in WAITING else {})})
    passed = set(re.findall(r"^\[       OK \] (\S+)", output, re.M))
    failed = set(re.findall(r"^\[  FAILED  \] ([^\s,]+\.[^\s,]+)", output, re.M)) - passed
    ended = re.search(r"^\[==========\] .* ran\.", output, re.M)
    unexpected = {test for test in failed if not any(fnmatch.fnmatchcase(test, name) for name in differences)}
    surprises = [name for name in differences if not fnmatch.filter(failed, name)] if ended else []
    memtables = re.findall(r"^memtables: .*", output, re.M)
    note = "" if ended else f"; {'ended after ' + str(LIMIT) + ' s' if code is None else 'died'}"
    name = program.name + (f", part {part + 1} of {parts}" if parts > 1 else "")
    print(f"{name}: {len(passed)} passed, {len(failed)} failed, {len(failed) - len(unexpected)} of them as expected{note}; "
          f"{memtables[-1] if memtables else 'no count of memtables'}")
    for test in sorted(unexpected):
        at = output.find(f"[ RUN      ] {test}\n")
        print(f"FAILED: {program.name}::{test}\n{output[at:output.find('[  FAILED  ]', at)]}")
    for name in surprises:
        print(f"FAILED: {program.name}::{name} does not fail, and differences.txt says that it does")
    if not ended and code is not None:
        print(output[-4000:])
    lathwork = bool(memtables) and not re.search(r" 0 lathwork", memtables[-1])
    bad = len(unexpected) + len(surprises) + (not ended) + (not lathwork)
    return len(passed), bad, len(failed) - len(unexpected)


def crash(mode, seconds, interval, directory):
    """db_crashtest.py in one mode. Returns whether nothing was found, and its counts. Its last start verifies, and is ended after
    VERIFY seconds; where it stood then is printed. That is not a failure of what is in the database: it is counted apart."""
    bin_dir = pathlib.Path(directory, "bin")
    bin_dir.mkdir()
    for name, command in {
            # line by line: what a run that is ended has printed is lost else
            "stress": f'exec stdbuf -oL {DEBUG / "db_stress_tool" / "db_stress"} "$@"',
            # which db_crashtest.py calls if the last start does not end
            "pstack": 'exec gdb -p "$1" -batch -ex "thread apply all bt"'}.items():
        (bin_dir / name).write_text(f"#!/bin/sh\n{command}\n")
        (bin_dir / name).chmod(0o755)
    output, code = run([sys.executable, "-B", SOURCE / "tools" / "db_crashtest.py", *mode, "blackbox", f"--duration={seconds}",
                        f"--interval={interval}", f"--max_key={KEYS}", f"--verify_timeout={VERIFY}", f"--stress_cmd={bin_dir / 'stress'}"],
                       3 * seconds + LIMIT, directory, {**WAIT, "PATH": f"{bin_dir}:{os.environ['PATH']}"})
    ended = re.compile(r"^(?:TERMINATED|KILLED) \d+", re.M)
    before, _, last = output.partition("Running final time for verification")
    counts = {"kills": len(ended.findall(before)),
              "verifications passed": len(re.findall(r"erification passed|Verification successful", output)),
              "starts with checks": len(re.findall(r"--paranoid_memory_checks=1|--memtable_verify_per_key_checksum_on_seek=1", before)),
              "last starts that did not end": len(ended.findall(last))}
    good = code == 0 and counts["kills"] > 0 and counts["verifications passed"] > 0
    print(f"db_crashtest {' '.join(mode) or 'default'}, {interval} s to a kill: {listed(counts)}; exit status {code}")
    if not good:
        print(output[-20000:])
    elif counts["last starts that did not end"]:
        print(last)
    return good, counts


def listed(counts):
    return ", ".join(f"{n} {what}" for what, n in counts.items())


def crash_long(seconds):
    """The crash test alone, for this many seconds: the modes in rotation, with other intervals each time, and sums of the counts."""
    sums, found, end = {}, 0, time.monotonic() + seconds
    for i in itertools.count():
        left = int(end - time.monotonic())
        if left < 10:
            break
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            good, counts = crash(MODES[i % len(MODES)], min(left, 120), random.randint(3, INTERVAL // 2), directory)
        sums = {what: sums.get(what, 0) + n for what, n in counts.items()}
        found += not good
        print(f"so far: {listed(sums)}; {found} runs that found something")
    print(f"{len(sums) > 0 and not found:d} passed, {found} failed")
    return 1 if found or not sums else 0


def main():
    sys.stdout.reconfigure(line_buffering=True)  # it takes half an hour
    if CRASH:
        return crash_long(SECONDS)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
        good = bench(directory)
        more = product(directory)
        passed, failed = passed + good + more[0], failed + (not good) + more[1]
        for good in rust(directory), java(directory):
            passed, failed = passed + (good is True), failed + (good is False)
    differences = expected()
    for program in sorted(DEBUG.glob("*_test")):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            more = gtest(program, differences.get(program.name, {}), directory)
        passed, failed, skipped = passed + more[0], failed + more[1], skipped + more[2]
    for mode in MODES:
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            good, _ = crash(mode, SECONDS, INTERVAL, directory)
        passed, failed = passed + good, failed + (not good)
    print(f"{skipped} failed as differences.txt expects")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
