#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""litmus_test [--table] [--herd]

The order that doc/locking.md promises is sufficient, and each barrier is needed.

1. The models of memory_model.py give the published outcomes of classic.litmus.
2. What a test of index.litmus or space.litmus describes happens in no model; "models:" in its comment names others than all.
3. Without its order (an acquire or release becomes relaxed, a barrier is left out), each statement that stands for code makes one
   of the tests happen, both in the Linux kernel's model and in C11. "spare: FUNCTION PRIMITIVE MODEL: reason" in the head of a
   file names those that do not.
4. The tests and the code agree: the acquires, releases and barriers of each function, with their fields, are those of the
   statements that name it, in the same order, and each of them is in a test; the table of memory order in doc/locking.md names
   for each row the tests, and these name all functions of the row.
--table prints for each statement in which models its test needs it. --herd asks herd7 too: herd.py.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import herd  # noqa: E402
import memory_model  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/litmus"
NAMES = {"lath_fetch_add_release": "atomic_fetch_add_release", "lath_load_pointer": "smp_load_acquire"}  # of the code -> of the tests
PRIMITIVE = re.compile(r"\b(smp_load_acquire|lath_load_pointer|smp_store_release|smp_rmb|smp_wmb|smp_mb|cmpxchg_acquire|lath_fetch_add_release)\(([^;]*)")
FUNCTION = re.compile(r"^[a-z].*?\b(\w+)\([^;]*$")
NEEDS = ("lkmm", "c11")
errors = []


def complain(text):
    errors.append(text)


def first_argument(text):
    """Up to the comma or the parenthesis, without what is in brackets."""
    depth, out = 0, ""
    for c in text:
        depth += (c in "([") - (c in ")]")
        if depth < 0 or (c == "," and not depth):
            break
        if not depth:
            out += c
    return out


def code(*patterns):
    """function -> [(primitive, field)], of all functions that have some."""
    found = {}
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            function, lines = "", path.read_text(encoding="utf-8").split("\n")
            for i, line in enumerate(lines):
                if m := FUNCTION.match(line):
                    function = m[1]
                if m := PRIMITIVE.search(line.split("/*")[0]):
                    fields = re.findall(r"(?:->|\.)(\w+)", first_argument(m[2] + " " + lines[i + 1].strip()))
                    found.setdefault(function, []).append((NAMES.get(m[1], m[1]), fields[-1] if fields else None))
    return found


def stands_for(test, function):
    """[(primitive, place)] of the statements that name the function, for each thread of the test that has some."""
    threads = {}
    for thread, s in test.statements():
        if function in s.anchors:
            threads.setdefault(thread, []).append((s.call, s.places[0] if s.places else None))
    return list(threads.values())


def fits(part, whole):
    """Is part in whole, in this order? A place without a name in the code fits all."""
    rest = iter(whole)
    return all(any(call == c and (field is None or place is None or field == place) for c, field in rest) for call, place in part)


def published():
    for test in memory_model.read(HERE / "classic.litmus"):
        for model, want in re.findall(r"\b(lkmm|rc11|c11|tso) (never|sometimes)", test.comment):
            if memory_model.allowed(test, model) != (want == "sometimes"):
                complain(f"classic.litmus: {test.name}: {model} does not say {want}")
            yield test.name, model


def prove(tests, spare, table):
    """2 and 3."""
    needed = {}
    count = 0
    for test in tests:
        models = re.search(r"models: ([\w ]+)", test.comment)
        models = models[1].split() if models else memory_model.MODELS
        for model in models:
            count += 1
            if memory_model.allowed(test, model):
                complain(f"{test.where}: {test.name}: {model} allows it")
        for _, s in test.statements():
            if s.call not in memory_model.WEAKER:
                continue
            by = [model for model in models if model in NEEDS and memory_model.allowed(test, model, s)]
            count += sum(model in NEEDS for model in models)
            if table:
                print(f"{test.name:22} {s.call:26} {s.places[0] if s.places else '':10} {' '.join(by) or '-':10} {', '.join(s.anchors)}")
            for function in s.anchors:
                needed.setdefault((function, s.call), set()).update(by)
    for (function, call), by in sorted(needed.items()):
        for model in NEEDS:
            if model not in by and (function, call, model) not in spare:
                complain(f"{function}: no test needs its {call} in {model}")
            elif model in by and (function, call, model) in spare:
                complain(f"{function}: {call} is called spare, and a test needs it in {model}")
    return count, len(needed)


def compare(tests, functions, host):
    """4, tests and code. host: functions that need not all be in a test."""
    by_function = {}
    for test in tests:
        for _, s in test.statements():
            for function in s.anchors:
                by_function.setdefault(function, {})[test.name] = test
    for function, users in sorted(by_function.items()):
        if function not in functions | host:
            complain(f"{', '.join(users)}: {function} has no acquire, release or barrier")
    for function, calls in sorted((functions | {f: host[f] for f in by_function if f in host}).items()):
        seen = set()
        for test in by_function.get(function, {}).values():
            for part in stands_for(test, function):
                seen.update(part)
                if not fits(part, calls):
                    complain(f"{test.where}: {test.name}: {function} has not {', '.join(f'{c}({p or str()})' for c, p in part)} in this order")
        for call, field in sorted(set(calls), key=str):
            if not any(call == c and (field is None or place is None or field == place) for c, place in seen):
                complain(f"no test has {call}({field or ''}) of {function}")


def compare_table(tests):
    """4, tests and document."""
    tests = {test.name: test for test in tests}
    text = (ROOT / "doc/locking.md").read_text(encoding="utf-8")
    rows = [part.split("\n\n")[0].splitlines()[2:] for part in text.split("| published by |")[1:]]
    for row in sum(rows, []):
        left, right, _, names = (*row.strip("| ").split(" | "), "")[:4]
        wanted = {word for cell in (left, right) for word in re.findall(r"`(\w+)`", re.sub(r"(of|to) `\w+`", "", cell))}
        named = set()
        for name in re.findall(r"`(\w+)`", names):
            if name not in tests:
                complain(f"doc/locking.md: there is no litmus test {name}")
                continue
            named.update(a for _, s in tests[name].statements() for a in s.anchors)
            tests[name].in_table = True
        for function in sorted(wanted - named):
            complain(f"doc/locking.md: {function} is in none of {names}")
    for test in tests.values():
        if not getattr(test, "in_table", False) and f"`{test.name}`" not in text:
            complain(f"doc/locking.md does not name the litmus test {test.name}")


def main():
    table = "--table" in sys.argv[1:]
    shapes = len(list(published()))
    files = [HERE / "index.litmus", HERE / "space.litmus"]
    tests = [test for path in files for test in memory_model.read(path)]
    spare = {tuple(words) for path in files
             for words in re.findall(r"spare: (\w+) (\w+) (\w+):", path.read_text(encoding="utf-8"))}
    checks, statements = prove(tests, spare, table)
    compare(tests, code("src/tree/**/*.[ch]", "src/set/**/*.[ch]", "src/space/**/*.[ch]"), code("src/sys/user.h"))
    compare_table(tests)
    print(f"proof: {shapes} published outcomes, {len(tests)} tests, {statements} acquires, releases and barriers of functions, "
          f"{checks} searches of all executions")
    print("".join(f"{error}\n" for error in errors) + f"{shapes + checks} passed, {len(errors)} failed")
    sys.exit(bool(errors) or "--herd" in sys.argv[1:] and not herd.agrees())


main()
