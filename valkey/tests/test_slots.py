# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A slot moves to another server while its keys are written (CLUSTER MIGRATESLOTS, Valkey 9.0 and later)."""
import threading
import time

import pytest
import redis
from redis.crc import key_slot
from servers import free_port, wait_for

KEYS = ("pool:{s}", "map:{s}", "interval:{s}")


def info(server):
    reply = server("CLUSTER", "INFO")
    return reply if isinstance(reply, dict) else dict(line.split(":") for line in reply.decode().split() if ":" in line)


def test_a_slot_moves_with_its_keys(shared, start):
    if shared.kind != "valkey":
        pytest.skip("a server before Valkey 9.0 moves keys one by one, as DUMP and RESTORE do")
    options = {"cluster-enabled": "yes", "cluster-node-timeout": 2000, "cluster-require-full-coverage": "no"}
    source, target = (start(port=free_port(55000), **options) for _ in range(2))
    slot = key_slot(b"s")
    source("CLUSTER", "ADDSLOTSRANGE", slot, slot)
    source("CLUSTER", "MEET", "127.0.0.1", target.port)
    assert wait_for(lambda: all(info(s)["cluster_known_nodes"] == "2" and info(s)["cluster_state"] == "ok" for s in (source, target)))
    source("LATH.POOL.CREATE", KEYS[0], 0, 1 << 40)
    source("LATH.MAP.MSET", KEYS[1], *range(200000))
    source("LATH.INTERVAL.ADD", KEYS[2], 1, 10, "x")
    for i in range(500):
        source("LATH.POOL.ALLOC", KEYS[0], i % 7 + 1, "OWNER", f"o{i}", "LEASE", 10**8)
    stop, done = threading.Event(), [0]

    def write():
        """Leases of a moment, renewed one after the other: the server that the slot moves to must not end them by itself."""
        client = source.connect()
        while not stop.is_set():
            i = done[0] % 50
            try:
                client.execute_command("LATH.POOL.ALLOC", KEYS[0], 9, "OWNER", f"short {i}", "LEASE", 3)
                client.execute_command("LATH.MAP.INCR", KEYS[1], i)
                client.execute_command("LATH.INTERVAL.ADD", KEYS[2], i, 1000 + done[0], "y")
            except redis.exceptions.MovedError:
                return
            done[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert wait_for(lambda: done[0] > 100)
        target_id = target("CLUSTER", "MYID").decode()
        source("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target_id)
        assert wait_for(lambda: info(target)["cluster_slots_assigned"] == "1" and target("CLUSTER", "COUNTKEYSINSLOT", slot) == 3
                        and not writer.is_alive(), 60)
    finally:
        stop.set()
        writer.join()
    assert target("INFO", "lathwork")["lathwork_leases_ended"] == 0, "that was the source's to decide"
    owners = {owner for _, _, owner, _ in target("LATH.POOL.RANGES", KEYS[0])}
    assert {b"o%d" % i for i in range(500)} <= owners
    assert target("LATH.MAP.COUNT", KEYS[1], "-", "+") == 100000 + 25
    total = sum(int(value) for value in target("LATH.MAP.RANGE", KEYS[1], 0, 49)[1::2])
    assert total - sum(range(1, 50, 2)) in (done[0], done[0] + 1), "every increment that was acknowledged"
    time.sleep(0.01)
    assert target("LATH.POOL.ALLOC", KEYS[0], 1) is not None
    assert not any(owner and owner.startswith(b"short") for _, _, owner, _ in target("LATH.POOL.RANGES", KEYS[0])), \
        "leases end here from now on"
