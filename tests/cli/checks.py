# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Counts of what a test of the command has tried."""
import subprocess

passed, failed, skipped = 0, 0, 0


def check(what, ok, *details):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("FAILED", what, *(str(detail)[:1500] for detail in details))


def skip(what, why):
    global skipped
    skipped += 1
    print(f"skipped {what}: {why}")


def run(*args, **more):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False, **more)


def result():
    """Prints the counts. Returns the exit code: 77 if nothing could be tried."""
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0 if passed else 77
