#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""readme_test.py ROOT: the quickstarts in README.md are the programs in examples/, which are built and run."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (root / "README.md").read_text(), re.S | re.M)
wrong = 0
for language in ("c", "cpp", "sh"):
    file = root / "examples" / f"quickstart.{language}"
    code = "".join(line for line in file.read_text().splitlines(True) if "SPDX" not in line)
    if code not in [text for kind, text in blocks if kind == language]:
        print(f"README.md: no ```{language} block is the same as {file.relative_to(root)}")
        wrong = 1
sys.exit(wrong)
