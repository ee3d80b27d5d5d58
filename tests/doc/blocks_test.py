#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""blocks_test.py --lath LATH [--bench]: every block of code in README.md and the book is run by a test, or is a command that is
accepted here.

A program is a part of the file that the line before it names, of which a test runs the whole, or of a chapter whose programs a
test takes from the chapter. `lath bench` is asked whether it knows tables, subjects and parameters (--list); every other `lath`
command is run, on small inputs. Of `./run` the help must name the command, of `tools/kernel-run` kernel and stages must be there. What remains is listed here, with the test that
runs it, or with what it is instead of code.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ("c", "cpp", "java", "python", "rust", "cmake", "sh", "text")
# Programs that a test takes from a chapter: (chapter, language) -> the test, which names the chapter.
TAKEN = {("install.md", "c"): "tests/install/quickstart_test.sh", ("install.md", "cpp"): "tests/install/quickstart_test.sh",
         ("install.md", "cmake"): "tests/install/quickstart_test.sh", ("install.md", "rust"): "tests/install/packages_test.sh",
         ("install.md", "python"): "python/tests/test_docs.py", ("python.md", "python"): "python/tests/test_docs.py",
         ("range-locks.md", "python"): "python/tests/test_docs.py", ("command.md", "sh"): "examples/CMakeLists.txt",
         ("valkey.md", "python"): "valkey/tests/test_examples.py", ("README.md", "cpp"): "tests/doc/readme_test.py"}
# Commands that another test runs: their beginning -> (the test, what of it is there).
ELSEWHERE = {
    "export PKG_CONFIG_PATH=": ("tests/install/quickstart_test.sh", "doc/install.md"),
    "cc quickstart.c": ("tests/install/quickstart_test.sh", "cc quickstart.c"),
    "./quickstart": ("tests/install/quickstart_test.sh", "./quickstart"),
    "cmake -B build -DCMAKE_PREFIX_PATH": ("tests/install/quickstart_test.sh", "cmake -B"),
    "cmake --build build\n": ("tests/install/quickstart_test.sh", "cmake -B"),
    "build/quickstart": ("tests/install/quickstart_test.sh", "build/quickstart"),
    "cmake -B build && cmake --build build --target lath_product": ("run", "build release lath_product"),
    "cmake -B build/install": ("run", "build $preset"),
    "cmake --build build/install": ("tools/build", "cmake --build --preset"),
    "cmake --install build/install": ("tests/install/install_test.sh", "--install"),
    "cc -std=c11 -O2 -c lathwork.c": ("tests/amalgamation/amalgamation_test.sh", "-std=c11"),
    "pip install ./python": ("python/tests/run.sh", "install --no-build-isolation ./python"),
    "lath bench --bundle": ("tests/bench/bundle_test.py", "--bundle"),
    "scp -r bundle": ("tests/bench/bundle_test.py", "--bundle"),
    "ssh -t server bundle/run": ("tests/bench/bundle_test.py", "run"),
    "lath report": ("tests/bench/report_test.py", '"report"'),
    "make -C kernel intree": ("tests/kernel/run.sh", "-C kernel intree"),
    "make -C kernel ": ("tools/kernel-build", "kernel"),
    "insmod kernel/": ("tests/kernel/guest.sh", "insmod"),
    "ls -l /dev/llds": ("tests/kernel/guest.sh", "/dev/llds"),
    "cat /sys/kernel": ("tests/kernel/guest.sh", "/sys/kernel"),
    "(gdb) ": ("tests/debug/debug_test.py", "gdb"),
    "$ PYTHONPATH=": ("tests/debug/debug_test.py", "drgn"),
    ">>> ": ("tests/debug/debug_test.py", "lathwork_drgn"),
    "# bpftrace": ("tests/debug/debug_test.py", "*.bt"),
    "podman build": ("tests/install/fresh_root.sh", "Containerfile"),
    "ln -s /path/to/lathwork/rocksdb": ("tools/rocksdb-build", "plugin/lathwork"),
    "cmake -B build -DROCKSDB_PLUGINS=lathwork": ("tools/rocksdb-build", "-DROCKSDB_PLUGINS=lathwork"),
    "cmake --preset rocksdb": ("rocksdb/tests/run.sh", "tools/build rocksdb"),
    "LD_PRELOAD=": ("rocksdb/tests", "LD_PRELOAD"),
    "        db_bench": ("rocksdb/bench.py", "memtablerep"),
    "[dependencies]": ("rust/lathwork/Cargo.toml", "[dependencies]"),
    "lathwork = { path": ("rust/bench/Cargo.toml", "lathwork = { path"),
    "examples/valkey.sh": ("valkey/tests/test_examples.py", "valkey.sh"),
    "valkey-server --loadmodule": ("valkey/tests", "loadmodule"),
    "> LATH.": ("examples/valkey.sh", "LATH.POOL.CREATE"),
    "export LATH_VALKEY_MODULE": ("valkey/tests/run.sh", "LATH_VALKEY_MODULE"),
    "build/valkey-python/bin/python valkey/tests/cluster_faults.py": ("valkey/tests/test_cluster.py", "cluster_faults"),
}
# Blocks that are not code, by what they begin with.
NOT_CODE = ('{"context": {', "head -> record 3", "user    one line installs", "add-auto-load-safe-path")
INPUTS = {"trace.txt": "a 1 16Ki\na 2 32Ki\nf 1\n", "monday": "a 1 16\na 2 32\n", "tuesday": "a 3 8\n", "requests.txt": "a 1 4096\n",
          "fruit.tsv": "pear\tgreen\n",
          "used.json": '{"extents": [{"physical": 4096, "length": 4096}, {"physical": 1048576, "length": 4096}]}'}
wrong = []


def blocks(path):
    """(line number, language or "", the lines) of each block."""
    lines, at = [*path.read_text().split("\n"), ""], 0
    while at < len(lines):
        fence = re.match(r"( *)```(\w*)$", lines[at])
        end = at + 1
        if fence:
            while not lines[end].startswith(fence[1] + "```"):
                end += 1
            yield at + 1, fence[2], lines[at + 1:end]
            end += 1
        elif lines[at].startswith("    ") and lines[at].strip() and (not at or not lines[at - 1].strip()):
            while lines[end].startswith("    ") or (not lines[end] and lines[end + 1].startswith("    ")):
                end += 1
            yield at + 1, "", [line[4:] for line in lines[at:end]]
        at = end


def bare(lines):
    return [line.strip() for line in lines if line.strip()]


def is_part(code, file):
    there, code = bare(file.read_text().split("\n")), bare(code)
    return any(there[i:i + len(code)] == code for i in range(len(there)))


def named_before(path, number):
    """The file that the last line before a block names: `PATH`:"""
    before = [line for line in path.read_text().split("\n")[:number - 1] if line.strip()]
    match = re.search(r"`([\w./-]+)`:$", before[-1]) if before else None
    return match and "/" in match[1] and ROOT / match[1]


def holds(test, text):
    files = [f for f in (ROOT / test).rglob("*") if f.is_file()] if (ROOT / test).is_dir() else [ROOT / test]
    return any(text in file.read_text(errors="replace") for file in files if file.exists())


def program(path, number, language, code):
    file = named_before(path, number)
    test = TAKEN.get((path.name, language))
    if file:
        return None if file.exists() and is_part(code, file) else f"it is not a part of {file.relative_to(ROOT)}"
    if not test:
        return "no file is named before it, and no test takes it from the chapter"
    return None if holds(test, path.name) else f"{test} does not name the chapter"


class Commands:
    def __init__(self, asked, work):
        self.lath, self.work = asked.lath, work
        self.run_help = subprocess.run([ROOT / "run", "--help"], capture_output=True, text=True, check=True).stdout
        self.bench = asked.bench
        for name, text in INPUTS.items():
            (work / name).write_text(text)
        (work / "osd.json").write_text('{"capacity": 1048576, "alloc_unit": 4096, "alloc_type": "hybrid", "alloc_name": "block", '
                                       '"extents": [{"offset": "0x0", "length": "0x100000"}]}')
        (work / "some").mkdir()
        (work / "some/file").write_text("x" * 100000)

    def accepted(self, words, environment=()):
        told = subprocess.run(["env", *environment, self.lath, *words], cwd=self.work, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60)
        return None if told.returncode in (0, 3, 4) else f"exit {told.returncode}: {told.stderr.strip()}"

    def wrong_with(self, line):
        for begin, (test, text) in ELSEWHERE.items():
            if (line + "\n").startswith(begin):
                return None if holds(test, text) else f"{test} does not have {text!r}"
        words = shlex.split(line, comments=True)
        environment = []
        while words and re.match(r"[A-Z_]+=", words[0]):
            environment.append(words.pop(0))
        if words[:2] == ["./run", "bench"] and words[2] not in ("python", "rust", "valkey", "rocksdb", "ledger"):
            words = ["lath", *words[1:]]
        if words and words[0] == "./run":
            known = len(words) == 1 or re.search(rf"^  {re.escape(' '.join(words[1:3] if words[1] == 'bench' else words[1:2]))}\b",
                                                 self.run_help, re.M)
            return None if known else "./run --help does not name it"
        if words and words[0] == "tools/kernel-run":  # minutes each: the kernel and the stages must be there
            lacks = [word for word in words[1:2] if not holds("tools/kernel-run", word)]
            lacks += [word for word in words[2:] if "=" not in word and not holds("tests/kernel/guest.sh", f"stage_{word}() {{")]
            return f"tools/kernel-run does not know {', '.join(lacks)}" if lacks else None
        if words and words[0].endswith("bin/lath"):
            words[0] = "lath"
        if not words or words[0] != "lath":
            return "no test is known that runs it"
        if words[1] == "bench":
            return self.accepted([*words[1:], "--list"], environment) if self.bench else None
        if words[1:3] == ["alloc", "--extents"]:
            (self.work / "used.json").write_text(INPUTS["used.json"])  # of a file system with a hole
        return self.accepted([re.sub(r"^/(usr|var|srv)?$", "some", word) for word in words[1:]], environment)


def one_line(lines):
    """Lines joined at backslashes, and commands at ; apart."""
    joined = "\n".join(lines).replace("\\\n", " ")
    for line in joined.split("\n"):
        yield from re.split(r"; (?=lath )", line) if "#" not in line else [line]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lath", type=pathlib.Path, required=True)
    parser.add_argument("--bench", action="store_true", help="the benchmarks are there")
    asked = parser.parse_args()
    seen = 0
    with tempfile.TemporaryDirectory() as work:
        commands = Commands(asked, pathlib.Path(work))
        for path in [ROOT / "README.md", *sorted((ROOT / "doc").glob("*.md"))]:
            for number, language, lines in blocks(path):
                seen += 1
                where = f"{path.relative_to(ROOT)}:{number}"
                if language in PROGRAMS:
                    fault = program(path, number, language, lines)
                    if fault:
                        wrong.append(f"{where}: {fault}")
                elif not lines[0].startswith(NOT_CODE):
                    if any(line.startswith("(gdb) ") for line in lines):  # the others are what it answers
                        lines = [line for line in lines if line.startswith("(gdb) ")]
                    for line in one_line(lines):
                        fault = line.strip() and commands.wrong_with(line)
                        if fault:
                            wrong.append(f"{where}: {line.strip()}: {fault}")
    print("\n".join(wrong) or f"{seen} blocks")
    sys.exit(1 if wrong or seen < 90 else 0)


main()
