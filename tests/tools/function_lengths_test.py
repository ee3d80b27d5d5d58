#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/function-lengths counts the lines of functions and of nothing else, and refuses long ones."""
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/function-lengths"
TABLE = "static const int table[] = {\n" + "\t1,\n" * 60 + "};\n\nstruct wide {\n" + "\tint x;\n" * 60 + "};\n\n"


def function(name, lines):
    """A function with this many lines from brace to brace."""
    return f"static int {name}(int a,\n\t\tint b)\n{{\n" + "\tif (a) {\n\t}\n" * ((lines - 2) // 2) + \
        "\ta++;\n" * (lines % 2) + "}\n\n"


def expect(code, out, *files):
    with tempfile.TemporaryDirectory() as root:
        for i, text in enumerate(files):
            pathlib.Path(root, f"{i}.c").write_text(text)
        names = [f"{i}.c" for i in range(len(files))]
        done = subprocess.run([TOOL, "45", *names], cwd=root, capture_output=True, text=True, check=False)
    if (done.returncode, done.stdout) != (code, out):
        sys.exit(f"exit {done.returncode}, not {code}:\n{done.stdout}{done.stderr}\nexpected:\n{out}")


def main():
    small = "".join(function(f"small{i}", 10) for i in range(17))
    expect(0, "20 functions, 90th percentile 12 lines, longest 45\n",
           TABLE + function("edge", 45) + small, function("b", 12) + function("c", 13))
    expect(1, "0.c:129: 46 lines, more than 45: static int edge(int a,\n"
              "1.c:3: 47 lines, more than 45: static int worse(int a,\n"
              "19 functions, 90th percentile 46 lines, longest 47\n",
           TABLE + function("edge", 46) + small, function("worse", 47))
    expect(2, "")


main()
