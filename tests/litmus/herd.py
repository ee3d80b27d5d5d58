# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What herd7 says of the litmus tests, with the memory model of Linux as its authors wrote it.

herd7 is taken from PATH, or from Debian's sid (herdtools7), by tools/debian-files in build/herd. The model is in the sources of
Linux (Debian: linux-source-6.1), tools/memory-model. What a test of index.litmus or space.litmus describes must never
happen; of classic.litmus what is published for lkmm, but for what the model of 6.1 has not yet. Without herd7 or the sources of
Linux nothing is tested, which is said.
"""
import pathlib
import re
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCE = pathlib.Path("/usr/src/linux-source-6.1.tar.xz")
LATER = {"RMW+sequence"}  # sequences of read-modify-writes carry a release on since Linux 6.3
MODEL = ("linux-kernel.cat", "linux-kernel.bell", "linux-kernel.def", "linux-kernel.cfg", "lock.cat")


def herd7():
    """The command; None: there is none, which is printed."""
    if not SOURCE.exists():
        print(f"skipped: herd7: there is no {SOURCE}")
        return None
    if shutil.which("herd7"):
        return ["herd7"]
    at = ROOT / "build" / "herd"
    if subprocess.run([ROOT / "tools" / "debian-files", "sid", at, "herdtools7"], stdout=subprocess.DEVNULL).returncode:
        print("skipped: herd7: it cannot be downloaded")
        return None
    return [at / "run", at / "usr" / "bin" / "herd7", "-set-libdir", at / "usr" / "share" / "herdtools7" / "herd"]


def tests():
    """(file, name, text, whether the outcome may happen) of each test."""
    for file in ("classic", "index", "space"):
        text = (HERE / f"{file}.litmus").read_text(encoding="utf-8")
        for part in re.split(r"^(?=C \w)", text, flags=re.M)[1:]:
            said = re.search(r"\blkmm (never|sometimes)", part) if file == "classic" else None
            models = re.search(r"models: ([\w ]+)", part)
            if (file == "classic" and not said) or (models and "lkmm" not in models[1].split()):
                continue
            yield file, part.split()[1], part, bool(said) and said[1] == "sometimes"


def agrees():
    """Asks it. Returns whether it agrees, or is not there."""
    herd = herd7()
    if not herd:
        return True
    good = bad = 0
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(["tar", "xJf", SOURCE, "--strip-components=3", *(f"linux-source-6.1/tools/memory-model/{file}" for file in MODEL)],
                       cwd=name, check=True)
        for file, test, text, may in tests():
            (pathlib.Path(name) / "test.litmus").write_text(text, encoding="utf-8")
            done = subprocess.run([*herd, "-conf", "linux-kernel.cfg", "test.litmus"], cwd=name, capture_output=True, text=True, timeout=300)
            said = re.search(r"^Observation \S+ (\w+)", done.stdout, re.M)
            may = may or test in LATER
            right = said and (said[1] == "Never") != may
            good, bad = good + bool(right), bad + (not right)
            if not right:
                print(f"{file}.litmus: {test}: {said[1] if said else done.stderr.strip()[-300:]}", flush=True)
    print(f"{good} passed, {bad} failed")
    return not bad
