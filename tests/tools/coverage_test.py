#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/coverage: a line that no test enters must be listed with a reason, and only such a line may be."""
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/coverage"
SOURCE = """static int twice(int a,
		 int b)
{
	if (a)
		return -1;
	if (b)
		return -1;
	return 0;
}

int other(void)
{
	return twice(1, 2);
	LATH_ASSERT(true);
}
"""
ALL = {4: 2, 5: 1, 6: 1, 7: 1, 8: 1, 13: 1}
PLACE = "src/sys/a.c twice\n"


def run(lines, exempt, branches="BRDA:4,0,0,1\nBRDA:4,0,1,1\n", sources=("src/sys/a.c",), arguments=(), measured="src/sys/a.c"):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "src/sys").mkdir(parents=True)
        (root / "src/tree").mkdir()
        for source in sources:
            (root / source).write_text(SOURCE)
        (root / "list").write_text(exempt)
        (root / "info").write_text(f"SF:{root.resolve()}/{measured}\n" + "".join(f"DA:{n},{k}\n" for n, k in lines.items()) + branches +
                                   "end_of_record\nSF:/usr/include/x.h\nDA:1,0\nend_of_record\n")
        info = [] if "--check" in arguments else [root / "info"]
        return subprocess.run([TOOL, "--root", name, "--exempt", root / "list", *arguments, *info], capture_output=True, text=True,
                              check=False)


def expect(code, said, *arguments, **named):
    done = run(*arguments, **named)
    if done.returncode != code or said not in done.stdout + done.stderr or "Traceback" in done.stderr:
        sys.exit(f"exit {done.returncode}, not {code}:\n{done.stdout}{done.stderr}\nexpected: {said}")


def main():
    first, second = {**ALL, 5: 0}, {**ALL, 7: 0}
    expect(0, "lines: 6 of 6 entered", ALL, "")
    expect(1, "src/sys/a.c:5: twice: no test enters: return -1;", first, "")
    expect(0, "lines: 6 of 7 entered, 0 not; 0 listed", {**ALL, 14: 0}, "")  # an assertion, not evaluated
    expect(0, "5 of 6 entered, 1 not; 1 listed", first, PLACE + "- return -1;\n= why\n")
    expect(1, "src/sys/a.c:7: twice: no test enters", second, PLACE + "- return -1;\n= why\n")  # the first of two lines is not the second
    expect(0, "1 listed", second, PLACE + "-2 return -1;\n= why\n")
    expect(1, "src/sys/a.c twice: listed, but entered: return -1;", ALL, PLACE + "- return -1;\n= why\n")
    expect(0, "1 listed", ALL, PLACE + "? return -1;\n= why\n")
    expect(0, "1 listed", first, PLACE + "? return -1;\n= why\n")
    expect(1, "listed, but not there: return -2;", ALL, PLACE + "? return -2;\n= why\n")
    expect(1, "listed, but not there", first, "src/sys/a.c other\n- return -1;\n= why\n")  # in another function
    expect(1, "no reason: return -1;", first, PLACE + "- return -1;\n\n")
    expect(1, "no reason: return -1;", first, PLACE + "- return -1;\n")
    expect(1, "listed twice", first, PLACE + "- return -1;\n- return -1;\n= why\n")
    expect(1, "neither place, line nor reason", ALL, "a sentence\n")
    expect(0, "1 listed", first, PLACE + "? *\n= why\n")
    expect(0, "1 listed", first, "src/sys/a.c\n? *\n= why\n")
    expect(0, "1 listed", ALL, "src/sys/a.c\n? *\n= why\n")
    expect(1, "src/sys/a.c:13: other: no test enters", {**ALL, 13: 0}, PLACE + "? *\n= why\n")
    expect(1, "listed, but not there: *", ALL, "src/sys/a.c third\n? *\n= why\n")
    expect(1, "neither place, line nor reason: - *", ALL, "src/sys/a.c\n- *\n= why\n")
    expect(1, "src/sys/b.c: no test is built with it", ALL, "", sources=("src/sys/a.c", "src/sys/b.c"))
    expect(0, "0 listed", ALL, "src/sys/b.c\n= why\n", sources=("src/sys/a.c", "src/sys/b.c"))
    expect(1, "src/sys/a.c: listed as not compiled, but measured", ALL, "src/sys/a.c\n= why\n")
    expect(1, "src/sys/b.c: listed as not compiled, but not there", ALL, "src/sys/b.c\n= why\n")
    expect(1, "1 of 2 branches are taken", ALL, "", branches="BRDA:4,0,0,1\nBRDA:4,0,1,-\n")
    index = {"measured": "src/tree/c.c", "sources": ("src/tree/c.c",)}
    expect(0, "6 of 6 entered", ALL, "", **index)
    expect(1, "src/tree/c.c:5: twice: no test enters: return -1;", first, "", **index)
    expect(1, "no line of the library", {}, "")
    expect(0, "src/sys/a.c twice\n-2 return -1;\n= why", second, PLACE + "-2 return -1;\n= why\n", arguments=["--list"])
    looked = {"arguments": ["--check"]}
    expect(0, "2 lines are where they are listed", ALL, PLACE + "-2 return -1;\n= why\nsrc/sys/a.c other\n? *\n= why\n", **looked)
    expect(1, "src/sys/a.c twice: listed, but not there: return -1;", ALL, PLACE + "-3 return -1;\n= why\n", **looked)
    expect(1, "src/sys/a.c other: listed, but not there: return -1;", ALL, "src/sys/a.c other\n- return -1;\n= why\n", **looked)
    expect(1, "src/sys/a.c third: listed, but not there: *", ALL, "src/sys/a.c third\n? *\n= why\n", **looked)
    expect(1, "src/sys/b.c None: listed, but not there: *", ALL, "src/sys/b.c\n? *\n= why\n", **looked)
    expect(1, "src/sys/b.c: listed as not compiled, but not there", ALL, "src/sys/b.c\n= why\n", **looked)


main()
