#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Tests of the shared library by what its public headers promise: run.py [options] LIBRARY

Each structure is called beside a model in plain Python, which was written from the headers alone, by a random driver (plans)
and by Hypothesis state machines. Each plan draws a subset of the calls and of the flags. Prints the calls made per structure.
No call may return an error that its header does not name. Each error that a header names must occur: in cases.py, or in plans,
which go on until it has. Exit status: 0, 1 with a shrunk sequence of calls if library and model differ, 77 without Hypothesis.
"""
import argparse
import ast
import ctypes
import faulthandler
import importlib
import mmap
import os
import random
import signal
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import core  # noqa: E402

MODULES = ["store"]


def subjects(lib):
    found = {}
    for name in MODULES:
        module, before = importlib.import_module(name), set(core.SEEN.bound)
        for cls in module.setup(lib):
            cls.bound = core.SEEN.bound - before
            found[cls.name] = cls
    return found


def worker(cls, lib, args, seconds, calls, seed, page, log, part):
    """Runs plans, then state machines, in a child; page tells the parent where it is, should it crash."""
    counter = [0]
    end = time.monotonic() + seconds
    status = 0
    if part == "plans":
        while counter[0] < calls and (time.monotonic() < end or
                                      time.monotonic() < end + args.more and core.SEEN.missing(cls.bound)):
            struct.pack_into("qqq", page, 0, 1, seed, counter[0])
            plan = core.make_plan(cls, seed)
            signal.alarm(args.hang)
            try:
                core.run_plan(cls, lib, plan, counter)
            except BaseException as e:  # pylint: disable=broad-except
                if isinstance(e, KeyboardInterrupt):
                    raise
                status = 1
                break
            signal.alarm(0)
            seed += 1
    else:
        import hypothesis
        from hypothesis import HealthCheck, Phase, settings
        from hypothesis.stateful import run_state_machine_as_test
        quiet = settings(max_examples=20, stateful_step_count=60, deadline=None, database=None, print_blob=False,
                         suppress_health_check=list(HealthCheck), phases=[Phase.generate])  # core.shrink() is faster
        while time.monotonic() < end and counter[0] < calls:
            struct.pack_into("qqq", page, 0, 2, seed, counter[0])
            try:
                run_state_machine_as_test(hypothesis.seed(seed)(core.machine(cls, lib, counter, log, args.hang)), settings=quiet)
            except BaseException as e:  # pylint: disable=broad-except
                if isinstance(e, KeyboardInterrupt):
                    raise
                print(f"{cls.name}: state machine, seed {seed}: {type(e).__name__}: {e}"[:1000])
                status = 1
                break
            seed += 1
    struct.pack_into("qqq", page, 0, 0 if not status else 1 if part == "plans" else 2, seed, counter[0])
    sys.stdout.flush()
    os._exit(status)


def run_child(cls, lib, args, seconds, calls, seed, part):
    page, log = mmap.mmap(-1, 4096), core.Log()
    child = os.fork()
    if not child:
        try:
            worker(cls, lib, args, seconds, calls, seed, page, log, part)
        finally:
            os._exit(3)
    status = os.waitpid(child, 0)[1]
    _, seed, made = struct.unpack_from("qqq", page, 0)
    if not status:
        return made, True
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
    if part == "plans":
        plan, why = core.shrink(cls, lib, core.make_plan(cls, seed), args.shrink)
        core.print_plan(cls, plan, f"{why} ({how}; {len(core.make_plan(cls, seed)[1])} calls before shrinking)", seed)
    elif log.plan():
        plan, why = core.shrink(cls, lib, log.plan(), args.shrink)
        core.print_plan(cls, plan, f"{why} ({how})", seed)
    return made, False


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=1 << 62, help="about this many calls per structure")
    parser.add_argument("--seconds", type=float, help="in all; 20 by default")
    parser.add_argument("--seed", type=int, help="of the first plan; random by default, and printed")
    parser.add_argument("--more", type=float, default=60, help="seconds for errors of a structure that have not occurred in its time")
    parser.add_argument("--only", action="append", help="this structure; may be repeated")
    parser.add_argument("--part", choices=["plans", "machines"], help="one of the two drivers")
    parser.add_argument("--replay", help="a plan as it was printed")
    parser.add_argument("--hang", type=int, default=60, help="seconds after which a plan hangs")
    parser.add_argument("--shrink", type=int, default=60, help="seconds for shrinking")
    parser.add_argument("--described", action="append", default=[], help="CONTAINER=PROGRAM, which has seen the errors that it names")
    parser.add_argument("library")
    args = parser.parse_args()
    if args.part != "plans":
        try:
            import hypothesis  # noqa: F401
        except ImportError:
            print("skipped: hypothesis is not installed; --part plans does not need it")
            return 77
    lib = ctypes.CDLL(args.library)
    all_subjects = subjects(lib)
    chosen = args.only or list(all_subjects)
    for name in chosen:
        if name not in all_subjects:
            parser.error(f"no structure {name}; there are: {' '.join(all_subjects)}")
    if args.replay:
        config, ops = ast.literal_eval(args.replay)
        why = core.fails(all_subjects[chosen[0]], lib, (config, ops))
        print(why or "no difference")
        return 1 if why else 0
    seed = args.seed if args.seed is not None else random.SystemRandom().randrange(1 << 40)
    seconds = args.seconds or (20 if args.calls == 1 << 62 else 1e9)
    print(f"seed {seed}", flush=True)
    failed, total = 0, 0
    if args.part != "machines":
        faulthandler.enable()
        cases.run(lib)
        for described in args.described:
            core.SEEN.described(*described.split("=", 1))
        for name in core.SEEN.documented.exported - core.SEEN.bound:
            print(f"{name}: nothing calls it")
            failed += 1
    for name in chosen:
        cls, made = all_subjects[name], {}
        for part, share in (("plans", 0.7), ("machines", 0.3)):
            if args.part not in (None, part):
                continue
            share = 1 if args.part else share
            calls = int(args.calls * share) if args.calls < 1 << 62 else args.calls
            made[part], fine = run_child(cls, lib, args, seconds / len(chosen) * share, calls, seed, part)
            failed += not fine
        total += sum(made.values())
        print(f"{name}: {sum(made.values())} calls ({', '.join(f'{n} by {p}' for p, n in made.items())})", flush=True)
    bound = set().union(*(all_subjects[name].bound for name in chosen)) if args.only else core.SEEN.bound
    for pair in core.SEEN.missing(bound) if args.part != "machines" and args.calls == 1 << 62 else ():
        print(f"{pair}: its header names the error, and no call has returned it")
        failed += 1
    print(f"all: {total} calls, {failed} faults")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
