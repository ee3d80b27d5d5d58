#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the public headers say of errors: run.py [--described CONTAINER=PROGRAM] LIBRARY

No call may return an error that its header does not name. Each error that a header names must occur, and each call must be made: in
cases.py, or in the tests that are made of a description (tests/base/calls.hpp), whose PROGRAM lists its calls and their errors.
"""
import argparse
import ctypes
import faulthandler
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import core  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--described", action="append", default=[], help="CONTAINER=PROGRAM, which has seen the errors that it names")
    parser.add_argument("library")
    args = parser.parse_args()
    faulthandler.enable()
    cases.run(ctypes.CDLL(args.library))
    for described in args.described:
        core.SEEN.described(*described.split("=", 1))
    faults = [f"{name}: nothing calls it" for name in sorted(core.SEEN.documented.exported - core.SEEN.bound)]
    faults += [f"{pair}: its header names the error, and no call has returned it" for pair in core.SEEN.missing(core.SEEN.bound)]
    print("\n".join(faults + [f"headers: {len(core.SEEN.bound)} calls, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
