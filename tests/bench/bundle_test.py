#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bundle_test.py LATH: `bench --bundle DIR` overwrites nothing, and its folder measures on its own: in a root directory that holds
the folder, a shell and the shell's libraries (that part as root), for some seconds, and until SIGINT."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SHORT = ["--n", "2000", "--threads", "1,2"]
LOADS = {"tail", "hot", "one-key", "one-leaf", "fill", "grow", "latency-get", "latency-insert", "latency-update",
         "latency-tail", "latency-one-key"}


def bundle(lath, folder, code=0):
    done = subprocess.run([lath, "bench", "--bundle", folder], capture_output=True, text=True)
    if done.returncode != code:
        sys.exit(f"--bundle {folder}: exit {done.returncode}, expected {code}\n{done.stdout}{done.stderr}")
    return done.stderr


def content(folder):
    """Each path below with its bytes; None: no file"""
    found = {}
    for where, names, files in os.walk(folder):
        for name in names + files:
            path = os.path.join(where, name)
            with open(path, "rb") if name in files else tempfile.TemporaryFile() as file:
                found[path] = file.read() if name in files else None
    return found


def check_refused(lath, scratch):
    """What is in the way is named and stays as it is."""
    full, file = os.path.join(scratch, "full"), os.path.join(scratch, "file")
    os.mkdir(full)
    for path in (os.path.join(full, "run"), file):
        with open(path, "w", encoding="utf-8") as mine:
            mine.write("mine")
    before = content(scratch)
    for path, reason in ((full, "not empty"), (file, "not a directory"), (os.path.join(scratch, "no", "such"), "No such file")):
        error = bundle(lath, path, code=1)
        if path not in error or reason not in error:
            sys.exit(f"--bundle {path}: the error does not name it and '{reason}': {error}")
    done = subprocess.run([lath, "bench", "index", "--bundle", os.path.join(scratch, "new")], capture_output=True, text=True)
    if done.returncode != 105 or "--bundle" not in done.stderr:
        sys.exit(f"--bundle with a table: exit {done.returncode}\n{done.stderr}")
    if content(scratch) != before:
        sys.exit("a refused --bundle changed files")


def check_full_disk(lath, scratch):
    """Where the folder cannot be completed, nothing is left of it. A limit on the size of files stands for a full disk."""
    folder = os.path.join(scratch, "cut")
    command = f'trap "" XFSZ; ulimit -f 100; exec "{lath}" bench --bundle "{folder}"'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    if done.returncode != 1 or folder not in done.stderr or os.path.exists(folder):
        sys.exit(f"--bundle without space: exit {done.returncode}, {os.path.exists(folder)}\n{done.stderr}")


def rows(folder, number):
    with open(os.path.join(folder, f"results-{number}.json"), encoding="utf-8") as file:
        return json.load(file)


def check_results(folder, number, shown):
    document = rows(folder, number)
    if not {row["case"].split("/")[0] for row in document["rows"]} == LOADS:
        sys.exit(f"run {number}: not the standard cases: {sorted({row['case'] for row in document['rows']})}")
    if {row["subject"] for row in document["rows"]} - {"lathwork", "absl-btree", "tbb"}:
        sys.exit(f"run {number}: other subjects than the standard ones")
    if not document["context"]["tables"][0]["complete"] or document["context"]["errors"]:
        sys.exit(f"run {number}: incomplete or wrong: {document['context']}")
    if {len(row["samples"]) for row in document["rows"]} != {2}:
        sys.exit(f"run {number}: not two repetitions")
    with open(os.path.join(folder, f"results-{number}.txt"), encoding="utf-8") as file:
        text = file.read()
    for word in ("tail/2000/2", "latency-get/2000 longest", "index: how many times better lathwork is than a peer", document["context"]["kernel"]):
        if word not in text or word not in shown:
            sys.exit(f"run {number}: no '{word}' in the text or on the terminal\n{text}\n{shown}")
    for word in ("processor: ", "memory: ", "kernel: "):
        if not re.search(f"^{word}.", shown, re.M):
            sys.exit(f"run {number} does not print '{word}'\n{shown}")


def check_run(folder, number, root=None):
    """Runs the folder for two repetitions, with the directory `root` as /; returns how long it took."""
    command = [f"/{os.path.basename(folder)}/run" if root else os.path.join(folder, "run")]
    start = time.monotonic()
    # what is in the environment has no meaning in the other root
    done = subprocess.run([*command, *SHORT, "--seconds", "300", "--reps", "2"], capture_output=True, text=True, env={},
                          preexec_fn=(lambda: (os.chroot(root), os.chdir("/"))) if root else None)
    took = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{command[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    check_results(folder, number, done.stdout)
    return took


def check_time(folder, number):
    """--seconds ends a run that would take minutes, and the table says what it lacks."""
    done = subprocess.run([os.path.join(folder, "run"), "--seconds", "1"], capture_output=True, text=True, timeout=200)
    left = next((r for r in rows(folder, number)["context"]["remarks"] if "the time was over before:" in r), "")
    if done.returncode or "fill/10000000" not in left or rows(folder, number)["context"]["tables"][0]["complete"] or left.split(": ")[1] not in done.stdout:
        sys.exit(f"--seconds 1: exit {done.returncode}, remark '{left}'\n{done.stdout}{done.stderr}")


def check_interrupted(folder, number):
    """SIGINT: exit 130, what was measured until then is in both files."""
    for wait in (1, 2, 4, 8, 16):
        command = [os.path.join(folder, "run"), *SHORT, "--seconds", "300"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            time.sleep(wait)
            run.send_signal(signal.SIGINT)
            shown, error = run.communicate(timeout=120)
        if run.returncode == 130 and "interrupted" in error and rows(folder, number)["rows"]:
            if "index - maps" not in shown:
                sys.exit(f"interrupted: no table on the terminal\n{shown}")
            return
        number += os.path.exists(os.path.join(folder, f"results-{number}.json"))
    sys.exit(f"interrupted: exit {run.returncode}, expected 130 and rows\n{error}")


def check_store(folder):
    """Table store starts the program anew for each subject, --isa does so once: by the loader of the folder."""
    loader = next(name for name in os.listdir(os.path.join(folder, "lib")) if name.startswith("ld-"))
    program = [os.path.join(folder, "lib", loader), "--library-path", os.path.join(folder, "lib"), os.path.join(folder, "lath-bench")]
    done = subprocess.run([*program, "store", "--quick", "--reps", "1", "--n", "2000", "--subjects", "lathwork", "--isa", "scalar",
                           "--cases", "get"], capture_output=True, text=True, env={})
    if done.returncode or ", scalar\n" not in done.stdout or "get/2000/1" not in done.stdout:
        sys.exit(f"store in the bundle: exit {done.returncode}\n{done.stdout}{done.stderr}")


def copy_shell(root):
    """/bin/sh and what it is linked with"""
    files = ["/bin/sh", *re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", "/bin/sh"], capture_output=True, text=True, check=True).stdout)]
    for path in files:
        os.makedirs(root + os.path.dirname(path), exist_ok=True)
        shutil.copy(os.path.realpath(path), root + path)


def main():
    lath = sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        check_refused(lath, scratch)
        check_full_disk(lath, scratch)
        folder = os.path.join(scratch, "root", "bundle")
        os.makedirs(folder)  # an empty one is taken
        bundle(lath, folder)
        with open(os.path.join(folder, "README"), encoding="utf-8") as file:
            if len(file.read().splitlines()) != 5:
                sys.exit("README has not five lines")
        took = check_run(folder, 1)
        check_time(folder, 2)
        check_interrupted(folder, 3)
        check_store(folder)
        if os.geteuid() == 0:
            last = max(int(name.split("-")[1].split(".")[0]) for name in os.listdir(folder) if name.startswith("results-"))
            copy_shell(os.path.join(scratch, "root"))
            check_run(folder, last + 1, root=os.path.join(scratch, "root"))
            print(f"the bundle measured in {took:.0f} s, and in its own root directory")
        else:
            print(f"the bundle measured in {took:.0f} s; not in its own root directory: that needs root")


main()
