# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""gdb runs this when it loads liblathwork.so: it is installed under that name below gdb/auto-load."""
import os
import sys

import gdb

sys.path.insert(0, os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "@debug_from_auto_load@")))
try:
    import lathwork_gdb  # noqa: E402,F401
except ImportError as error:
    gdb.write(f"lathwork: no pretty printers: {error}\n", gdb.STDERR)
