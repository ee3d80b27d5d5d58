# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""serve.py KIND MODULE [ARGUMENTS]: becomes a server with the module (./run valkey)."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))
from servers import program  # noqa: E402


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("valkey", "redis"):
        sys.exit(__doc__)
    kind, module, rest = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.execv(program(kind), [f"{kind}-server", *rest, "--loadmodule", module])


if __name__ == "__main__":
    main()
