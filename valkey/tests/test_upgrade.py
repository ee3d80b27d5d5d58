# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The last release's module beside this one: files and streams in both directions. LATH_VALKEY_OLD is that module, as run.sh
builds it."""
import os

import pytest
import redis
from servers import commands, wait_for

OLD = os.environ.get("LATH_VALKEY_OLD", "")
FILES = {"rdb": {"save": ["900", "1"]}, "aof": {"appendonly": "yes", "aof-use-rdb-preamble": "no"},
         "preamble": {"appendonly": "yes", "aof-use-rdb-preamble": "yes"}}
# The dialect of 0.2.0
PLAIN = """LATH.MAP.CREATE kept|LATH.MAP.SET num 5 five|LATH.MAP.MSET num 6 six 7 7|LATH.MAP.INCR num 9 4|LATH.MAP.CREATE str STRINGS
LATH.MAP.MSET str alice 1 bob 2|LATH.MAP.DEL str bob|LATH.MAP.DELRANGE num 6 6|LATH.MAP.POP num MAX|LATH.MAP.CAS num 5 five 5
LATH.POOL.CREATE pool 0 1000|LATH.POOL.ALLOC pool 16 ALIGN 16 OWNER shop|LATH.POOL.ALLOC pool 5 OWNER late LEASE 9000000
LATH.POOL.RESERVE pool 500 5|LATH.POOL.FREE pool 500|LATH.POOL.ADD pool 2000 5|LATH.INTERVAL.ADD ivl 1 5 x 2 9 y|LATH.INTERVAL.REM ivl 2 9 y"""
# What this one adds, and the old one can have in its own words
SAME = """LATH.MAP.SET num 50 v NUMBERS|LATH.MAP.MSET num NUMBERS 51 v 52 w|LATH.MAP.INCR num 53 5 NUMBERS|LATH.MAP.SET str carol 3 STRINGS
LATH.MAP.MSET str STRINGS dave 4 eve 5|LATH.MAPSET num 54 v|LATH.POOLALLOC pool 7 OWNER new|LATH.POOL.LEASE pool 16 8000000 OWNER late
LATH.POOL.FREE pool OWNER shop|LATH.INTERVALADD ivl 7 9 z|LATH.MAP.SET made 1 2 NUMBERS"""
NEW = ("LATH.MAP.SET strange a b STRINGS", "LATH.MAP.SET below -5 b SIGNED", "LATH.MAP.CREATE half FLOATS", "LATH.MAP.SET num 007 v", "LATH.INTERVAL.ADD ivl 7 +inf z")


def run(server, lines):
    for words in commands(lines):
        server(*words)


def fill(server, lines=PLAIN):
    run(server, lines)
    server("LATH.MAP.CREATE", "bigs", "STRINGS")
    for key in ("big", "bigs"):
        server("LATH.MAP.MSET", key, *(word for i in range(5000) for word in (i * 3, f"value {i}")))
    server("LATH.INTERVAL.ADD", "many", *(word for i in range(5000) for word in (i // 700, i // 700 + i % 9, f"v{i}")))


def look(server):
    """All that is there, in the words that both have."""
    def each(key, kind):
        if kind.startswith("lathwkmap"):
            return server("LATH.MAP.RANGE", key, "-", "+")
        return server("LATH.POOL.RANGES", key) + server("LATH.POOL.HOLES", key) if kind == "lathwkrng" else \
            server("LATH.INTERVAL.OVERLAPS", key, "-", "+")
    return {key: each(key, server("TYPE", key).decode()) for key in sorted(server("KEYS", "*"))}


def write(server, how):
    if how == "rdb":
        server("SAVE")
        return
    server("BGREWRITEAOF")
    assert wait_for(lambda: not any(server("INFO", "persistence")[f"aof_rewrite_{word}"] for word in ("in_progress", "scheduled")))


def reopen(server, module):
    server.process.terminate()
    server.process.wait(60)
    server.module = module
    server.start()


@pytest.fixture
def old():
    if not os.path.exists(OLD) or os.environ.get("LATH_VALKEY_PRELOAD"):
        pytest.skip("no module of the last release (no git history), or one without the sanitizer")
    return OLD


@pytest.fixture(params=["old to new", "new to old"])
def modules(shared, old, request):
    return (old, shared.module) if request.param == "old to new" else (shared.module, old)


@pytest.mark.parametrize("how", FILES)
def test_files(start, modules, how):
    """Written anew, and with commands behind."""
    server = start(module=modules[0], **FILES[how])
    fill(server)
    write(server, how)
    if modules[1] == OLD:
        run(server, SAME)
    else:
        run(server, "LATH.MAP.SET num 77 v|LATH.POOL.FREE pool OWNER shop|LATH.MAP.POP big MIN 7")
    if how == "rdb":
        server("SAVE")
    before = look(server)
    reopen(server, modules[1])
    assert look(server) == before


def test_replication(start, modules):
    primary = start(module=modules[0])
    fill(primary)
    replica = start(module=modules[1], replicaof=["127.0.0.1", str(primary.port)])
    assert wait_for(lambda: replica("INFO", "replication")["master_link_status"] == "up")
    run(primary, SAME if modules[1] == OLD else "LATH.MAP.SET num 77 v|LATH.POOL.FREE pool OWNER shop|LATH.MAP.POP big MIN 7|LATH.MAP.DELRANGE bigs - [2")
    assert primary("WAIT", 1, 20000) == 1
    assert look(replica) == look(primary)


@pytest.mark.parametrize("line", NEW)
def test_what_the_old_one_does_not_know_is_refused_loudly(start, shared, old, line):
    """A stream, if the replica is told to stop at what it cannot do; a file."""
    primary = start(module=shared.module, save=["900", "1"])
    replica = start(module=old, replicaof=["127.0.0.1", str(primary.port)], propagation_error_behavior="panic-on-replicas")
    assert wait_for(lambda: replica("INFO", "replication")["master_link_status"] == "up")
    run(primary, line)
    assert wait_for(lambda: not replica.alive()), "it ends, and says why"
    assert "panicked" in replica.log.read_text(errors="replace")
    if "below" in line or "half" in line:  # these need this version in files too
        primary("SAVE")
        with pytest.raises((RuntimeError, redis.exceptions.RedisError)):
            reopen(primary, old)
