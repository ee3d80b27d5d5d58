#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""readme_test.py ROOT: the first programs of the book are those in examples/, and so is the C++ of README.md; they are built and run."""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(sys.argv[1])
wrong = 0
block = re.search(r"^  ```cpp\n(.*?)^  ```$", (root / "README.md").read_text(), re.S | re.M)
if not block or textwrap.indent(textwrap.dedent(block[1]), "    ") not in (root / "examples/sessions.cpp").read_text():
    print("README.md: its C++ is not a part of examples/sessions.cpp")
    wrong = 1
for language, chapter in (("c", "install"), ("cpp", "install"), ("sh", "command")):
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (root / "doc" / f"{chapter}.md").read_text(), re.S | re.M)
    file = root / "examples" / f"quickstart.{language}"
    code = "".join(line for line in file.read_text().splitlines(True) if "SPDX" not in line)
    if code not in [text for kind, text in blocks if kind == language]:
        print(f"doc/{chapter}.md: no ```{language} block is the same as {file.relative_to(root)}")
        wrong = 1
sys.exit(wrong)
