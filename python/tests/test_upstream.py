# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The suites of sortedcontainers and intervaltree, in their own processes (upstream_plugin.py)."""
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
UPSTREAM = pathlib.Path(os.environ.get("LATH_PYTHON_UPSTREAM", HERE / "upstream"))


@pytest.mark.parametrize("name, tests", [("sortedcontainers", "tests"), ("intervaltree", "test")])
def test_upstream(name, tests):
    if not (UPSTREAM / name).is_dir():
        pytest.skip(f"its tests are not in {UPSTREAM}: fetch_upstream.py")
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "upstream_plugin", "-p", "no:cacheprovider", tests]
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(command, cwd=UPSTREAM / name, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    print(result.stdout[-6000:], result.stderr[-2000:])
    assert result.returncode == 0
