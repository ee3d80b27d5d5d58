#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""tools/check-layers accepts a good tree, names every upward or sideways include of a bad one, finds
circles, and has no rule that this project does not use."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/check-layers"
GOOD = {
    "include/lathwork/config.h": "#include <stdint.h>\n",
    "include/lathwork/index.h": '#include "lathwork/config.h"\n',
    "include/lathwork/uapi/llds.h": "#include <linux/types.h>\n",
    "include/lathwork/cxx/index.hpp": "#include <vector>\n#include <lathwork/index.h>\n",
    "src/sys/sys.h": '#include "lathwork/config.h"\n#include <urcu.h>\n',
    "src/arch/search.h": '#include "sys/sys.h"\n#include <emmintrin.h>\n',
    "src/tree/node/node.h": '#include "arch/search.h"\n',
    "src/tree/node/node.c": '#include "tree/node/node.h"\n',
    "src/tree/tree.h": '#include "lathwork/index.h"\n#include "tree/node/node.h"\n',
    "src/tree/way/descend.h": '#include "tree/tree.h"\n',
    "src/tree/way/finger.h": '#include "tree/memory/section.h"\n',
    "src/tree/way/hint.h": '#include "tree/way/finger.h"\n#include "tree/way/descend.h"\n',
    "src/tree/way/locate.h": '#include "tree/way/hint.h"\n',
    "src/tree/memory/section.h": '#include "tree/tree.h"\n',
    "src/tree/memory/stripe.h": '#include "tree/tree.h"\n',
    "src/tree/watch/gap.h": '#include "tree/memory/stripe.h"\n',
    "src/tree/watch/gap.c": '#include "tree/watch/gap.h"\n#include "tree/way/locate.h"\n',
    "src/tree/watch/change.h": '#include "tree/watch/gap.h"\n',
    "src/tree/step/leaf.h": '#include "tree/way/descend.h"\n',
    "src/tree/step/step.h": '#include "tree/way/descend.h"\n',
    "src/tree/call/call.h": '#include "tree/step/leaf.h"\n',
    "src/tree/call/insert.c": '#include "tree/call/call.h"\n#include "tree/watch/change.h"\n',
    "src/set/hole/search.c": '#include "tree/call/call.h"\n#include "tree/watch/gap.h"\n',
    "src/queue/queue.h": '#include "sys/sys.h"\n',
    "src/queue/sortq.c": '#include "queue/queue.h"\n#include "lathwork/index.h"\n',
    "src/store/place/dev.c": '#include "lathwork/uapi/llds.h"\n',
    "src/store/memory/arena.h": '#include "sys/sys.h"\n',
    "src/store/kv/kv.h": '#include "store/memory/arena.h"\n',
    "src/store/place/shm.h": '#include "store/kv/kv.h"\n',
    "bench/harness/table.hpp": "#include <sys/mman.h>\n",
    "bench/subjects/spin.h": "",
    "bench/subjects/ours.cpp": '#include "spin.h"\n#include "harness/table.hpp"\n#include <lathwork/index.h>\n',
    "bench/tables/index.cpp": '#include "harness/table.hpp"\n#include "subjects/spin.h"\n',
    "kernel/llds/main.c": '#include "lathwork/uapi/llds.h"\n#include <linux/fs.h>\n',
    "tests/index/x_unit.c": '#include "tree/tree.h"\n',
}
BAD = {
    # ground, public headers, doors, products
    "include/lathwork/bad.h": "#include <pthread.h>\n",
    "include/lathwork/up.h": '#include "../../src/sys/sys.h"\n',
    "include/lathwork/cxx/bad.hpp": '#include "tree/node/node.h"\n',
    "src/sys/bad.c": '#include "tree/node/node.h"\n',
    "src/arch/bad.c": '#include "lathwork/index.h"\n',
    "src/queue/bad.c": '#include "tree/node/node.h"\n',
    "src/store/place/bad.c": '#include "tree/way/finger.h"\n',
    "src/store/kv/bad.c": '#include "store/place/shm.h"\n',
    "src/store/memory/bad.c": '#include "store/kv/kv.h"\n',
    "src/space/bad.c": '#include "lathwork/uapi/llds.h"\n',
    "src/forrest/bad.c": '#include "sys/sys.h"\n',
    "cli/bad.cpp": '#include "sys/sys.h"\n',
    "cli/bad2.cpp": '#include "../bench/subjects/spin.h"\n',
    "bench/subjects/bad.cpp": '#include "../../src/tree/node/node.h"\n',
    "bench/subjects/bad2.cpp": '#include "tables/index.cpp"\n',
    "bench/harness/bad.hpp": '#include "subjects/spin.h"\n',
    "kernel/llds/bad.c": '#include "../../src/tree/way/descend.h"\n',
    # within the index
    "src/set/bytes/bad.c": '#include "tree/watch/change.h"\n',
    "src/set/hole/bad.c": "#include <urcu.h>\n",
    "src/tree/node/bad.c": '#include "tree/tree.h"\n',
    "src/tree/memory/pool.c": '#include "tree/way/locate.h"\n',
    "src/tree/way/descend.c": '#include "tree/way/finger.h"\n',
    "src/tree/way/hint.c": '#include "tree/way/locate.h"\n',
    "src/tree/way/finger.h": '#include "tree/watch/gap.h"\n',
    "src/tree/way/locate.c": '#include "tree/watch/change.h"\n',
    "src/tree/watch/gap.c": '#include "tree/watch/change.h"\n',
    "src/tree/step/merge.c": '#include "tree/watch/gap.h"\n',
    "src/tree/step/fence.c": '#include "tree/call/call.h"\n',
    "src/tree/call/erase.c": '#include "tree/way/hint.h"\n',
    "src/set/hole/stats.c": '#include "tree/step/step.h"\n',
}
CIRCLE = {
    "src/store/a.h": '#include "store/b.h"\n',
    "src/store/b.h": '#include "c.h"\n',
    "src/store/c.h": '#include "store/a.h"\n',
}
DOOR_CIRCLE = {
    "python/src/a.hpp": '#include "b.hpp"\n',
    "python/src/b.hpp": '#include "a.hpp"\n',
}
# a uses a name that lib.rs takes from c; what a comment names is not used
RUST_CIRCLE = {
    "rust/x/src/lib.rs": "mod a;\nmod b;\nmod c;\npub use c::{C, D};\n",
    "rust/x/src/a.rs": "use crate::{\n    b::B, D,\n};\n",
    "rust/x/src/b.rs": "/// As crate::a\npub struct B;\n",
    "rust/x/src/c.rs": "pub fn c() {\n    crate::a::A\n}\n",
}
RUST_LINE = {**RUST_CIRCLE, "rust/x/src/c.rs": "pub fn c() {\n    crate::b::B\n}\n"}
# A calls b through an inline function of a header, b calls c, c calls a; but a static function is nobody else's.
LOOP = {
    "src/store/a.c": "int a(void)\n{\n\treturn b_ask();\n}\n",
    "src/store/b.h": "int b(void);\nstatic inline int b_ask(void)\n{\n\treturn b();\n}\n",
    "src/store/b.c": "int b(void)\n{\n\treturn c(1);\n}\n",
    "src/store/c.c": "int c(int n)\n{\n\treturn n ? a() : 0;\n}\n",
}
NO_LOOP = {**LOOP, "src/store/c.c": "static int a(void)\n{\n\treturn 0;\n}\nint c(int n)\n{\n\t/* a() */\n\treturn n ? a() : 0;\n}\n"}

# go() is in two files. The caller sees one of them, which calls back.
TWO_HOMES = {
    "src/store/a.h": '#include "store/c.h"\nint a(void);\n',
    "src/store/a.c": '#include "store/a.h"\nint a(void)\n{\n\treturn go();\n}\n',
    "src/store/b.h": "static inline int go(void)\n{\n\treturn 0;\n}\n",
    "src/store/c.h": "int a(void);\nstatic inline int go(void)\n{\n\treturn a();\n}\n",
}
OTHER_HOME = {**TWO_HOMES, "src/store/a.h": '#include "store/b.h"\n'}
BOTH_HOMES = {**TWO_HOMES, "src/store/a.h": '#include "store/b.h"\n#include "store/c.h"\n'}
# Two hosts have the calls of src/sys: a loop of one of them.
HOSTS = {
    "src/sys/linux.c": "int lath_block_free(void)\n{\n\treturn 0;\n}\n",
    "src/sys/user.c": "int lath_block_free(void)\n{\n\treturn error();\n}\n",
    "src/sys/error.c": "int error(void)\n{\n\treturn lath_block_free();\n}\n",
}


def run(files, *options):
    with tempfile.TemporaryDirectory() as root:
        for name, text in files.items():
            path = pathlib.Path(root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([TOOL, *options, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout


def main():
    code, out = run(GOOD)
    if code or out:
        sys.exit(f"a good tree was refused:\n{out}")
    for name, text in BAD.items():
        code, out = run({**GOOD, name: text})
        if code != 1 or not out.startswith(name + ":1:"):
            sys.exit(f"{name}: {text.strip()} was not refused (exit {code})\n{out}")
    code, out = run({**GOOD, **CIRCLE})
    if code != 1 or out != "circle: src/store/a.h -> src/store/b.h -> src/store/c.h -> src/store/a.h\n":
        sys.exit(f"a circle was not found (exit {code})\n{out}")
    for files, circle in ((DOOR_CIRCLE, "python/src/a.hpp -> python/src/b.hpp -> python/src/a.hpp"),
                          (RUST_CIRCLE, "rust/x/src/a.rs -> rust/x/src/c.rs -> rust/x/src/a.rs")):
        code, out = run({**GOOD, **files})
        if code != 1 or out != f"circle: {circle}\n":
            sys.exit(f"a circle of a door was not found (exit {code})\n{out}")
    code, out = run({**GOOD, **RUST_LINE})
    if code or out:
        sys.exit(f"files of a crate in no circle were refused:\n{out}")
    code, out = run({**GOOD, **LOOP})
    if code != 1 or out != "loop of calls: store/a store/b store/c\n":
        sys.exit(f"a loop of calls was not found (exit {code})\n{out}")
    code, out = run({**GOOD, **NO_LOOP})
    if code or out:
        sys.exit(f"calls that make no loop were refused:\n{out}")
    in_door = {name.replace("src/store", "kernel/llds"): text for name, text in LOOP.items()}
    for what, files, loop in (("of a door", in_door, "kernel/llds/a kernel/llds/b kernel/llds/c"), ("of two", TWO_HOMES, "store/a store/c"), ("of a host", HOSTS, "sys/error sys/user")):
        code, out = run({**GOOD, **files})
        if code != 1 or out != f"loop of calls: {loop}\n":
            sys.exit(f"a loop of calls to a name {what} was not found (exit {code})\n{out}")
    code, out = run({**GOOD, **OTHER_HOME})
    if code or out:
        sys.exit(f"a name that the caller does not see was taken for what it calls:\n{out}")
    code, out = run({**GOOD, **BOTH_HOMES})
    if code != 1 or "src/store/a.c: a() calls go(), which is in store/b and store/c\n" not in out:
        sys.exit(f"a name of two files that the caller sees was not told (exit {code})\n{out}")
    code, out = run(GOOD, "--unused")
    if code != 1 or "which nothing uses" not in out or "no file for the rule" not in out:
        sys.exit(f"unused rules were not reported (exit {code})\n{out}")
    done = subprocess.run([TOOL, "--unused", ROOT], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"this project:\n{done.stdout}")


main()
