# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the checks of all structures share: bindings, draws, memory that fails, plans of calls, and their shrinking.

A subject is one structure beside its model. Its configuration and the arguments of its calls are drawn without looking at
the model, so a plan, (configuration, [(call, arguments), ...]), is a list of numbers that can be replayed, cut and printed.
Plans come from a seeded random driver (swarm: each plan has its own subset of calls and its own key space) or from a
Hypothesis state machine over the same calls.
"""
import ast
import ctypes as C
import errno
import math
import mmap
import os
import random
import shlex
import signal
import sys
import time

import errors
from errors import Mismatch

SEEN = errors.Seen()
TOP = 1 << 64
MAX = TOP - 1
EDGES = [0, 1, 2, 7, 255, 256, (1 << 32) - 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, MAX - 2, MAX - 1, MAX]
U64 = C.c_uint64
PLAN_SECONDS = 10
PTR = C.c_void_p


def name_of(result):
    """A result as a person reads it: -EEXIST rather than -17."""
    if isinstance(result, int) and -200 < result < 0 and -result in errno.errorcode:
        return "-" + errno.errorcode[-result]
    return repr(result)


def expect(what, got, *allowed):
    if got not in allowed:
        raise Mismatch(f"{what}: the library says {name_of(got)}, the model {' or '.join(name_of(a) for a in allowed)}")


class Item(C.Structure):
    _fields_ = [("key", U64), ("size", U64), ("value", U64)]

    def tuple(self):
        return (self.key, self.size, self.value)


class Allocator(C.Structure):
    ALLOC = C.CFUNCTYPE(PTR, PTR, C.c_size_t, C.c_size_t)
    FREE = C.CFUNCTYPE(None, PTR, PTR, C.c_size_t)
    _fields_ = [("alloc", ALLOC), ("free", FREE), ("ctx", PTR)]


class Config(C.Structure):
    _fields_ = [("size", C.c_size_t), ("layout", C.c_int), ("flags", C.c_uint), ("rcu", PTR), ("allocator", PTR), ("id", U64)]


ITEM_FN = C.CFUNCTYPE(None, PTR, C.POINTER(Item))
NO_ITEM_FN = ITEM_FN()

POINTS = 1
HUGE_PAGES, NODE_EACH, HOLES, SMALL_PAGES, SHARED, GAPPED, RANKS, ANY_CONTEXT = (1 << i for i in range(8))


class Memory:
    """A lath_allocator that checks what it is given back, and refuses the n-th block if it is told to."""

    libc = C.CDLL(None)
    libc.aligned_alloc.restype = PTR
    libc.aligned_alloc.argtypes = [C.c_size_t, C.c_size_t]
    libc.free.argtypes = [PTR]

    def __init__(self):
        self.live, self.fail_in, self.fail_more, self.refused, self.wrong = {}, 0, 0, 0, None
        self.struct = Allocator(Allocator.ALLOC(self.alloc), Allocator.FREE(self.free), None)

    def alloc(self, _ctx, size, align):
        if self.fail_in:
            self.fail_in -= 1
            if not self.fail_in:
                self.refused += 1
                if self.fail_more:
                    self.fail_more -= 1
                    self.fail_in = 1
                return None
        if align & (align - 1) or not align:
            self.wrong = f"alloc() was asked for an alignment of {align}"
        align = max(align, 16)
        block = self.libc.aligned_alloc(align, (size + align - 1) // align * align)
        self.live[block] = size
        return block

    def free(self, _ctx, block, size):
        if self.live.pop(block, None) != size:
            self.wrong = f"free() got a block or a size that alloc() did not give: {size}"
        self.libc.free(block)

    def arm(self, nth, more):
        self.fail_in, self.fail_more = nth, more

    def check(self, ended=False):
        if self.wrong:
            raise Mismatch(self.wrong)
        if ended and self.live:
            raise Mismatch(f"{len(self.live)} blocks were not given back at the end: {sorted(self.live.values())[:8]}")

    def __del__(self):
        for block in self.live:
            self.libc.free(block)


def aligned(kind, align=64):
    """Returns a zeroed structure at an aligned address, and the buffer that holds it."""
    raw = C.create_string_buffer(C.sizeof(kind) + align)
    at = (C.addressof(raw) + align - 1) // align * align
    return kind.from_address(at), raw


class Draw:
    """Numbers for configurations and calls, from a random number generator; the key space is drawn once per plan."""

    def __init__(self, rng):
        self.rng = rng
        self.int, self.chance_of = rng.randint, rng.random
        kind = rng.choice(["tiny", "small", "dense", "dense", "top", "middle", "pool", "pool", "wide"])
        self.space = kind
        self.base, self.span = {
            "tiny": (0, 16), "small": (rng.choice([0, 1, 100]), 200), "dense": (0, 20000), "top": (TOP - 300, 300),
            "middle": ((1 << 63) - 400, 800), "wide": (0, TOP), "pool": (0, 0)}[kind]
        if kind == "pool":
            shift = rng.choice([0, 0, 8, 20])
            self.pool = [rng.getrandbits(64) >> shift for _ in range(rng.choice([6, 60, 2000]))]
        self.byte_pool = None
        self.byte_pool = [self.bytes() for _ in range(rng.choice([3, 30, 300]))]
        self.edge = rng.choice([0.0, 0.03, 0.1, 0.3])

    def chance(self, part):
        return self.chance_of() < part

    def pick(self, items):
        return items[int(self.chance_of() * len(items))]

    def key(self):
        draw = self.chance_of()
        if draw < self.edge:
            return self.pick(EDGES)
        if self.span:
            return self.base + int(self.chance_of() * self.span) if self.span < 1 << 50 else self.rng.getrandbits(64)
        key = self.pick(self.pool)
        return key if draw < 0.8 else (key + self.rng.randint(-9, 9)) % TOP

    def subset(self, items, part=None):
        part = self.rng.choice([0.2, 0.5, 0.9]) if part is None else part
        return [i for i in items if self.chance_of() < part]

    def bytes(self, most=8):
        draw = self.chance_of()
        if self.byte_pool and most == 8 and self.chance_of() < 0.7:
            return self.pick(self.byte_pool)
        if draw < 0.1:
            return self.pick([b"", b"\0", b"\xff", b"\xff" * 8, b"\xff" * 16, b"\0" * 8, b"\0" * 9, b"a" * 8, b"a" * 40])
        alphabet = self.pick([b"ab", b"\0\xff", b"abcdefgh", bytes(range(256))]) if draw < 0.2 else b"ab\xff"
        stem = b"" if draw < 0.6 else self.pick([b"prefix__", b"\xff" * 8, b"x" * 19])
        return stem + bytes(self.pick(alphabet) for _ in range(self.int(0, most)))


class HypothesisDraw(Draw):
    """The same draws from Hypothesis, which shrinks them."""

    def __init__(self, draw, st):
        self.draw, self.st = draw, st
        self.space = "hypothesis"

    def int(self, low, high):
        return self.draw(self.st.integers(low, high))

    def chance(self, part):
        return self.draw(self.st.integers(0, 99)) >= 100 - part * 100

    def pick(self, items):
        return self.draw(self.st.sampled_from(items))

    def key(self):
        st = self.st
        return self.draw(st.one_of(st.integers(0, 8), st.sampled_from([0, 1, (1 << 63) - 1, 1 << 63, MAX - 1, MAX]),
                                   st.integers(0, 40), st.integers(MAX - 8, MAX), st.sampled_from(EDGES), st.integers(0, MAX)))

    def subset(self, items, part=None):
        return [i for i in items if self.draw(self.st.booleans())]

    def bytes(self, most=8):
        st = self.st
        return self.draw(st.one_of(st.binary(max_size=most), st.text("ab", max_size=2).map(str.encode),
                                   st.sampled_from([b"", b"\xff" * 8, b"\xff" * 9, b"\0" * 8, b"a" * 8, b"a" * 40])))


def op(gen, weight=4):
    """Marks a method as a call of the plan; gen draws its arguments."""
    def mark(fn):
        fn.gen, fn.weight = gen, weight
        return fn
    return mark


class Subject:
    """A structure and its model. Derived classes have name, draw_config(), methods marked by @op, check() and close()."""

    name = "?"
    most_ops = 1500

    def __init__(self, lib, config):
        self.lib, self.config, self.calls = lib, config, 0

    @classmethod
    def ops(cls):
        return {n: getattr(cls, n) for n in dir(cls) if hasattr(getattr(cls, n), "gen")}

    @staticmethod
    def draw_config(_d):
        return {}

    def check(self):
        """Cheap; after each call of small plans."""

    def check_all(self):
        """The whole content; at the end of a plan."""

    def close(self):
        pass

    @staticmethod
    def same(what, got, model):
        if got != model:
            raise Mismatch(f"{what}: the library says {str(got)[:1000]}, the model {str(model)[:1000]}")


def make_plan(cls, seed):
    rng = random.Random(f"{cls.name} {seed}")
    d = Draw(rng)
    config, ops = cls.draw_config(d), cls.ops()
    names = d.subset(sorted(ops)) or sorted(ops)
    weights = [ops[n].weight * rng.choice([1, 1, 1, 4]) for n in names]
    if not seed % 4:
        names, weights = sorted(ops), [ops[n].weight for n in sorted(ops)]
    count = int(2 ** rng.uniform(2, math.log2(cls.most_ops)))
    return config, [(n, ops[n].gen(d)) for n in rng.choices(names, weights, k=count)]


def run_plan(cls, lib, plan, counter=None):
    """Runs a plan; raises Mismatch. counter[0] grows by the calls made."""
    config, ops = plan
    subject = cls(lib, config)
    done, fine = 0, False
    small = len(ops) < 120
    end = time.monotonic() + PLAN_SECONDS
    try:
        for name, args in ops:
            getattr(subject, name)(*args)
            done += 1
            if time.monotonic() > end:
                break
            if small or not done & 31:
                subject.check()
        subject.check_all()
        fine = True
    finally:
        if counter is not None:
            counter[0] += done + subject.calls
        try:
            subject.close()
        except Mismatch:
            if fine:
                raise


def fails(cls, lib, plan, seconds=20):
    """Runs a plan in a child, which may crash or hang; returns None or how it failed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(seconds)
        code, text = 0, ""
        try:
            run_plan(cls, lib, plan)
        except Mismatch as e:
            code, text = 1, str(e)
        except BaseException as e:  # pylint: disable=broad-except
            code, text = 1, f"{type(e).__name__}: {e}"
        os.write(write, text.encode()[:4000])
        os._exit(code)
    os.close(write)
    text = b""
    while part := os.read(read, 4096):
        text += part
    os.close(read)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}" + (" (it hung)" if os.WTERMSIG(status) == signal.SIGALRM else "")
    return text.decode() if os.WEXITSTATUS(status) else None


def shrink(cls, lib, plan, seconds=60):
    """Delta debugging: removes calls, then whole elements of arguments become smaller, while the plan still fails."""
    config, ops = plan
    end = time.monotonic() + seconds
    why = fails(cls, lib, plan)
    if why is None:
        return plan, "it does not fail when it is run alone"
    step = max(1, len(ops) // 2)
    alone = 3 if "it hung" in why else 20
    while step and time.monotonic() < end:
        i, cut = 0, False
        while i < len(ops) and time.monotonic() < end:
            trial = ops[:i] + ops[i + step:]
            if other := fails(cls, lib, (config, trial), alone):
                ops, why, cut = trial, other, True
            else:
                i += step
        step = step if cut and step == 1 else step // 2
    changed = True
    while changed and time.monotonic() < end:
        changed = False
        for i, (name, args) in enumerate(ops):
            for j, arg in enumerate(args):
                for smaller in simpler(arg):
                    trial = ops[:i] + [(name, args[:j] + (smaller,) + args[j + 1:])] + ops[i + 1:]
                    if time.monotonic() < end and (other := fails(cls, lib, (config, trial), alone)):
                        ops, why, changed = trial, other, True
                        args = ops[i][1]
                        break
    return (config, ops), why


def simpler(arg):
    if isinstance(arg, bool) or arg is None:
        return []
    if isinstance(arg, int):
        return [n for n in dict.fromkeys([0, 1, arg // 2, arg - 1]) if 0 <= n < arg] if arg > 0 else [0] * (arg < 0)
    if isinstance(arg, (bytes, tuple, list)) and len(arg) > 1:
        half = len(arg) // 2
        return [arg[:half], arg[half:], arg[:-1], arg[1:]]
    return []


def print_plan(cls, plan, why, seed, out=sys.stdout):
    config, ops = plan
    print(f"{cls.name}: {why}\n  seed {seed}; replay: run.py --only {cls.name} --replay {shlex.quote(repr((config, ops)))} LIBRARY", file=out)
    print(f"  config {config}", file=out)
    for name, args in ops:
        print(f"  {name}{args!r}"[:2000], file=out)
    out.flush()


class Log:
    """The calls of the example that runs, in memory that the parent process sees, should the example crash or hang."""

    def __init__(self, size=1 << 22):
        self.page = mmap.mmap(-1, size)
        self.at = 0

    def begin(self, config):
        self.at = 0
        self.add(config)

    def add(self, thing):
        text = repr(thing).encode() + b"\n"
        if self.at + len(text) < len(self.page):
            self.page[self.at:self.at + len(text) + 1] = text + b"\0"
            self.at += len(text)

    def plan(self):
        lines = self.page[:].split(b"\0", 1)[0].decode().splitlines()
        return (ast.literal_eval(lines[0]), [ast.literal_eval(line) for line in lines[1:]]) if lines else None


def machine(cls, lib, counter, log, hang):
    """A Hypothesis state machine with a rule per call of the subject."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

    def drawn(gen):
        try:
            return st.just(gen(None))  # it draws nothing
        except AttributeError:
            pass
        return st.composite(lambda draw: gen(HypothesisDraw(draw, st)))()

    def rule_of(name, fn):
        def call(self, args):
            log.add((name, args))
            getattr(self.subject, name)(*args)
            counter[0] += 1
        call.__name__ = name
        return rule(args=drawn(fn.gen))(call)

    def begin(self, config):
        signal.alarm(hang)
        log.begin(config)
        self.subject = cls(lib, config)

    def check(self):
        if getattr(self, "subject", None):
            self.subject.check()

    def teardown(self):
        if getattr(self, "subject", None):
            subject, self.subject = self.subject, None
            signal.alarm(0)
            try:
                subject.check_all()
            finally:
                counter[0] += subject.calls
                subject.close()

    body = {}
    for n, f in cls.ops().items():  # a rule is as likely as another: calls of more weight have several
        for i in range(1 + int(f.weight >= 5) + 2 * int(f.weight >= 8)):
            body[f"{n}_{i}" if i else n] = rule_of(n, f)
    body["begin"] = initialize(config=drawn(cls.draw_config))(begin)
    body["check"] = invariant()(check)
    body["teardown"] = teardown
    return type(cls.__name__ + "Machine", (RuleBasedStateMachine,), body)


TYPES = {"p": PTR, "i": C.c_int, "u": U64, "z": C.c_size_t, "q": C.c_int64, "n": C.c_uint32, "s": C.c_char_p, "-": None}


def bind(lib, prefix, calls, **types):
    """calls: of each its name behind the prefix, and letters for the types of its result and of its arguments; types: more letters."""
    for name, letters in (call.split(":") for call in calls.split()):
        fn = getattr(lib, prefix + name)
        fn.restype, *fn.argtypes = ({**TYPES, **types}[letter] for letter in letters)
        SEEN.watch(prefix + name, fn)
