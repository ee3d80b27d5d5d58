#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/check-layers accepts a good tree and names every upward or sideways include of a bad one."""
import pathlib
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools/check-layers"
GOOD = {
    "include/lathwork/config.h": "#include <stdint.h>\n",
    "include/lathwork/index.h": '#include "lathwork/config.h"\n',
    "include/lathwork/cxx/index.hpp": "#include <vector>\n#include <lathwork/index.h>\n",
    "src/sys/sys.h": '#include "lathwork/config.h"\n#include <urcu.h>\n',
    "src/arch/search.h": '#include "sys/sys.h"\n#include <emmintrin.h>\n',
    "src/index/block/node.h": '#include "arch/search.h"\n#include "lathwork/index.h"\n',
    "src/index/block/node.c": '#include "index/block/node.h"\n',
    "src/index/index.h": '#include "index/block/node.h"\n',
    "src/queue/sortq.c": '#include "sys/sys.h"\n#include "index/block/node.h"\n',
    "bench/peers/peer.h": "",
    "bench/main.cpp": '#include "peers/peer.h"\n#include <lathwork/index.h>\n',
    "tests/unit/x_test.c": '#include "skiplist/index.h"\n',
}
BAD = {
    "include/lathwork/bad1.h": "#include <pthread.h>\n",
    "include/lathwork/bad2.h": '#include "../../src/sys/sys.h"\n',
    "src/sys/bad3.c": '#include "index/block/node.h"\n',
    "src/index/block/node.bad4.c": '#include "skiplist/index.h"\n',
    "src/index/bad5.c": "#include <urcu.h>\n",
    "src/queue/bad6.c": '#include "skiplist/index.h"\n',
    "cli/bad7.cpp": '#include "sys/sys.h"\n',
    "bench/bad8.cpp": '#include "../src/index/block/node.h"\n',
    "include/lathwork/cxx/bad9.hpp": '#include "index/block/node.h"\n',
}


def run(files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([TOOL, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


def main():
    code, out = run(GOOD)
    if code or out:
        sys.exit(f"a good tree was refused:\n{out}")
    for name, text in BAD.items():
        code, out = run({**GOOD, name: text})
        if code != 1 or not out.startswith(name + ":1:"):
            sys.exit(f"{name}: {text.strip()} was not refused (exit {code})\n{out}")


main()
