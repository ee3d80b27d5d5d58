# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What pytest prints for ./run."""


def pytest_terminal_summary(terminalreporter):
    """The line that ./run counts."""
    stats = terminalreporter.stats
    bad = len(stats.get("failed", [])) + len(stats.get("error", []))
    for report in stats.get("skipped", []):
        terminalreporter.write_line(f"\nskipped: {report.nodeid}: {report.longrepr[2]}")
    terminalreporter.write_line(f"\n{len(stats.get('passed', []))} passed, {bad} failed")
