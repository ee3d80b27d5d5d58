# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Fixtures: each test runs with each server; LATH_VALKEY_LONG=1 takes more of what is random."""
import os
import sys

import hypothesis
import pytest

sys.path.insert(0, os.path.dirname(__file__))
import servers  # noqa: E402

LONG = bool(os.environ.get("LATH_VALKEY_LONG"))
hypothesis.settings.register_profile(
    "lath", deadline=None, max_examples=3000 if LONG else 100, stateful_step_count=60 if LONG else 40,
    suppress_health_check=list(hypothesis.HealthCheck), print_blob=True)
hypothesis.settings.load_profile("lath")


def lasting(kind, **options):
    """A server for many tests."""
    server = servers.Server(kind, preload=servers.PRELOAD if kind == "valkey" else "", **options)
    yield server
    alive = server.alive()
    text = server.stop()
    assert alive, text[-3000:]
    assert "AddressSanitizer" not in text, text[-3000:]


@pytest.fixture(scope="session", params=servers.KINDS)
def shared(request):
    """One server of each kind for all tests that only need their own keys."""
    yield from lasting(request.param)


@pytest.fixture(scope="session")
def shared_log(shared):
    """Another one, which writes an append-only file."""
    yield from lasting(shared.kind, appendonly="yes", appendfsync="no")


@pytest.fixture
def server(shared):
    """The shared server, empty."""
    shared("FLUSHALL")
    shared("CONFIG", "SET", "lathwork.packed-entries", 32)
    return shared


@pytest.fixture
def start(shared):
    """Starts further servers of the same kind; they are stopped afterwards."""
    running = []

    def begin(**options):
        options.setdefault("preload", shared.preload)
        server = servers.Server(shared.kind, **options)
        running.append(server)
        return server

    yield begin
    for server in running:
        alive = server.alive()
        text = server.stop()
        if not alive:  # shown if the test failed
            print(f"the server at port {server.port} had ended ({server.process.returncode}):\n{text[-8000:]}")
        assert "AddressSanitizer" not in text, text[-3000:]


@pytest.fixture(params=[32, 0], ids=["packed", "index"])
def form(server, request):
    """A server whose small keys are packed, and one whose keys are indexes from the first entry on."""
    server("CONFIG", "SET", "lathwork.packed-entries", request.param)
    return server


def pytest_terminal_summary(terminalreporter):
    """The line that ./run counts."""
    stats = terminalreporter.stats
    bad = len(stats.get("failed", [])) + len(stats.get("error", []))
    for report in stats.get("skipped", []):
        terminalreporter.write_line(f"\nskipped: {report.nodeid}: {report.longrepr[2]}")
    terminalreporter.write_line(f"\n{len(stats.get('passed', []))} passed, {bad} failed")
