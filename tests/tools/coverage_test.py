#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/coverage: a function that no test enters must have a mark with a reason, and most lines must be entered."""
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/coverage"
SOURCE = """/* a.c */
static int twice(int a)
{
	if (a)
		return -1;
	return 0;
}

/* Calls it. */
int other(void)
{
	return twice(1);
	LATH_ASSERT(true);
}
"""
ALL = {4: 2, 5: 1, 6: 1, 12: 1}


def run(lines, branches="BRDA:4,0,0,1\nBRDA:4,0,1,1\n", more=(), **changed):
    source = SOURCE
    for old, new in changed.items():
        source = source.replace({"first": "a.c", "line": "return -1;", "heading": "Calls it."}[old], new)
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "src/sys").mkdir(parents=True)
        for file in ("a.c", *more):
            (root / "src/sys" / file).write_text(source)
        (root / "info").write_text(f"SF:{root.resolve()}/src/sys/a.c\n" + "".join(f"DA:{n},{k}\n" for n, k in lines.items()) + branches +
                                   "end_of_record\nSF:/usr/include/x.h\nDA:1,0\nend_of_record\n")
        return subprocess.run([TOOL, "--root", name, "--list", root / "info"], capture_output=True, text=True, check=False)


def expect(code, said, *arguments, **named):
    done = run(*arguments, **named)
    if done.returncode != code or said not in done.stdout + done.stderr or "Traceback" in done.stderr:
        sys.exit(f"exit {done.returncode}, not {code}:\n{done.stdout}{done.stderr}\nexpected: {said}")


def main():
    expect(0, "lines: 4 of 4 entered", ALL)
    expect(0, "lines: 4 of 4 entered", {**ALL, 13: 0})  # an assertion, not evaluated
    expect(1, "3 of 4 lines are entered, less than 97 %", {**ALL, 5: 0})
    expect(1, "src/sys/a.c:5: twice: return -1;", {**ALL, 5: 0})
    expect(0, "lines: 3 of 3 entered", {**ALL, 5: 0}, line="return -1; /* unreached: why */")
    expect(0, "lines: 4 of 4 entered", ALL, line="return -1; /* unreached: why */")
    expect(1, "src/sys/a.c: no test enters other()", {**ALL, 12: 0})
    expect(0, "lines: 3 of 3 entered", {**ALL, 12: 0}, heading="unreached: why")
    expect(1, "src/sys/a.c: no test enters twice()", {4: 0, 5: 0, 6: 0, 12: 1}, heading="unreached: why")
    expect(1, "src/sys/b.c: no test is built with it", ALL, more=["b.c"])
    expect(1, "no line of the library", ALL, first="a.c; unreached: why")
    expect(1, "1 of 2 branches are taken", ALL, "BRDA:4,0,0,1\nBRDA:4,0,1,-\n")
    expect(1, "no line of the library", {})


main()
