# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""LATH.POOL.ALLOC ... BLOCK: what becomes of clients that wait when the pool, the server or the client changes.

Retries and timers run outside of commands, where a server checks what a module may do: append-only file and replicas are on."""
import re
import socket
import threading
import time

import pytest
import redis
from redis.exceptions import ResponseError
from redis.crc import key_slot
from servers import Waiter, commands, free_port, wait_for


@pytest.fixture
def logged(shared_log):
    """A server that writes an append-only file, empty."""
    shared_log("CLIENT", "UNPAUSE")
    shared_log("DEBUG", "SET-ACTIVE-EXPIRE", 1)
    shared_log("FLUSHALL")
    return shared_log


def run(server, text):
    """Runs the commands; "1: " before one: in database 1."""
    for words in commands(text):
        if words[0].endswith(":"):
            client = server.connect(db=int(words[0][:-1]))
            client.execute_command(*words[1:])
            client.close()
        else:
            server(*words)


def transaction(server, text):
    pipe = server.client.pipeline(transaction=True)
    for words in commands(text):
        pipe.execute_command(*words)
    pipe.execute()


def full_pool(server):
    """The pool p without room, a string, and pools with and without room."""
    server("FLUSHALL")
    run(server, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10; SET text words; RPUSH list 1 2; LATH.POOL.CREATE room 100 10;"
                "LATH.POOL.CREATE full 50 10; LATH.POOL.ALLOC full 10; LATH.MAP.SET map 1 1")


GONE = ["DEL p", "UNLINK p", "FLUSHDB", "FLUSHDB SYNC", "FLUSHDB ASYNC", "FLUSHALL", "FLUSHALL SYNC", "FLUSHALL ASYNC",
        "PEXPIRE p 1", "PEXPIREAT p 1", "EXPIRE p -1", "EXPIREAT p 1", "RENAME p q", "RENAMENX p q", "RENAME p text", "MOVE p 1",
        "SWAPDB 0 1", "1: FLUSHALL", "1: SWAPDB 1 0", "DEL text p full"]
OTHER = ["SET p words", "SETEX p 100 words", "PSETEX p 100000 words", "RENAME text p", "RENAME map p", "COPY text p REPLACE",
         "COPY map p REPLACE", "SORT list STORE p", "LRANGE list 0 -1; DEL p; RPUSH p 1", "1: SET p x; SWAPDB 0 1",
         "1: SET p x; COPY text p REPLACE", "1: LATH.MAP.SET p 1 1; SWAPDB 1 0", "SINTERSTORE p none; SET p x", "MSET p x text y",
         "BITOP NOT p text", "GETSET text y; RENAME text p"]
ROOM = ["RENAME room p", "COPY room p REPLACE", "1: LATH.POOL.CREATE p 100 10; SWAPDB 0 1", "LATH.POOL.ADD p 100 10"]


@pytest.mark.parametrize("end", GONE)
def test_the_pool_is_gone(logged, end):
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    run(logged, end)
    assert waiter.answer(5) == "no such pool"


@pytest.mark.parametrize("end", ["DEL p", "DEL p; SET text p", "UNLINK p", "RENAME p q", "PEXPIREAT p 1", "LATH.POOL.FREE p 0; DEL p",
                                 "SET p x; DEL p", "FLUSHDB", "SWAPDB 0 1", "RENAME room p; DEL p"])
def test_the_pool_is_gone_in_a_transaction(logged, end):
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    transaction(logged, end)
    assert waiter.answer(5) == "no such pool"
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    calls = ";".join("redis.call(" + ",".join(f"'{word}'" for word in words) + ")" for words in commands(end) if words[0] != "SWAPDB")
    logged("EVAL", calls or "redis.call('DEL', 'p')", 0)
    assert waiter.answer(5) == "no such pool"


@pytest.mark.parametrize("end", OTHER)
def test_the_key_gets_another_type(logged, end):
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    run(logged, end)
    assert str(waiter.answer(5)).startswith(("WRONGTYPE", "no such pool" if "DEL" in end or "SINTER" in end else "WRONGTYPE"))
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    transaction(logged, "DEL p; SET p x")
    assert waiter.answer(5).startswith("WRONGTYPE")


@pytest.mark.parametrize("end", ROOM)
def test_the_key_gets_a_pool_with_room(logged, end):
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    run(logged, end)
    assert waiter.answer(5) == 100
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    transaction(logged, "DEL p; LATH.POOL.CREATE p 100 10")
    assert waiter.answer(5) == 100


def test_restore_over_a_pool(logged):
    for other, answer in (("text", "WRONGTYPE"), ("map", "WRONGTYPE"), ("room", 100)):
        full_pool(logged)
        waiter = Waiter(logged, "p", 5)
        logged("RESTORE", "p", 0, logged("DUMP", other), "REPLACE")
        got = waiter.answer(5)
        assert got == answer or str(got).startswith(str(answer))


@pytest.mark.parametrize("end", ["RENAME full p", "COPY full p REPLACE", "1: LATH.POOL.CREATE p 0 1; SWAPDB 0 1", "DEBUG RELOAD",
                                 "PEXPIRE p 100000", "COPY p q", "1: FLUSHDB", "PERSIST p", "DEL full", "DEBUG LOADAOF"])
def test_a_client_goes_on_waiting(logged, end):
    """The key has a pool without room all the time."""
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    run(logged, end)
    assert waiter.answer(0.3) == "waits"
    logged("LATH.POOL.ADD", "p", 1000, 5)
    assert waiter.answer(5) == 1000
    waiter = Waiter(logged, "p", 5)
    logged("DEL", "p")
    assert waiter.answer(5) == "no such pool", "whatever happened before"


def test_all_that_wait_are_told(logged):
    full_pool(logged)
    run(logged, "1: LATH.POOL.CREATE p 0 1; 1: LATH.POOL.ALLOC p 1")
    waiters = [Waiter(logged, "p", 5) for _ in range(10)] + [Waiter(logged, "full", 5, protocol=3) for _ in range(3)]
    other = Waiter(logged, "p", 1, db=1)
    logged("FLUSHDB")
    assert [waiter.answer(5) for waiter in waiters] == ["no such pool"] * 13
    assert other.answer(0.3) == "waits", "the key of another database"
    logged("FLUSHALL")
    assert other.answer(5) == "no such pool"
    assert not logged("INFO", "clients")["blocked_clients"]


def test_pools_end_beside_many_that_wait_for_another(start):
    """Whom a key that ends concerns is found, not searched for."""
    server = start()

    def microseconds():
        pipe = server.client.pipeline(transaction=False)
        for key in range(5000):
            pipe.execute_command("LATH.POOL.CREATE", f"k{key}", 0, 1)
        pipe.execute()
        server("CONFIG", "RESETSTAT")
        server("DEL", *(f"k{key}" for key in range(5000)))
        return server("INFO", "commandstats")["cmdstat_del"]["usec"]

    run(server, "LATH.POOL.CREATE p 0 1; LATH.POOL.ALLOC p 1")
    alone = min(microseconds() for _ in range(3))
    clients = [socket.create_connection((server.host, server.port)) for _ in range(900)]
    for client in clients:
        client.sendall(b"LATH.POOL.ALLOC p 1 BLOCK 0\r\n")
    assert wait_for(lambda: int(server("INFO", "clients")["blocked_clients"]) == len(clients))
    assert min(microseconds() for _ in range(3)) < 10 * alone
    server("DEL", "p")
    assert all(client.recv(100) == b"-ERR no such pool\r\n" and client.close() is None for client in clients)


def test_eviction(start):
    server = start(appendonly="yes", maxmemory_policy="allkeys-random")
    run(server, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10")
    waiter = Waiter(server, "p", 5)
    server("CONFIG", "SET", "maxmemory", 1)
    for _ in range(100):
        try:
            server("SET", "x", 1)
        except ResponseError:
            pass
        if waiter.answer(0.05) != "waits":
            break
    assert server("EXISTS", "p") == 0 and waiter.answer(1) == "no such pool"


def test_a_key_that_only_the_timer_finds_expired(logged):
    """The timer for a lease deletes the key, which is replicated, and tells the client."""
    logged("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    transaction(logged, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10 LEASE 300; PEXPIRE p 100")
    waiter = Waiter(logged, "p", 10)
    assert waiter.answer(5) == "no such pool"
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    logged("PEXPIRE", "p", 20)
    time.sleep(0.05)
    assert logged("EXISTS", "p") == 0 and waiter.answer(5) == "no such pool", "another client found it expired"
    same_after_restart(logged)


# ---- retries, timers and what the server lets them do ----


def same_after_restart(server):
    """What the append-only file holds is what the server showed."""
    before = server("DEBUG", "DIGEST")
    server("DEBUG", "LOADAOF")
    assert server("DEBUG", "DIGEST") == before


@pytest.mark.parametrize("replicas", [0, 1])
def test_a_lease_ends_without_making_enough_room(logged, start, replicas):
    """The retry may not replicate and then say that the client cannot be served."""
    replica = [start(replicaof=["127.0.0.1", str(logged.port)]) for _ in range(replicas)]
    for one in replica:
        assert wait_for(lambda one=one: one("INFO", "replication")["master_link_status"] == "up")
    for rest in range(1, 9):
        logged("FLUSHALL")
        logged("LATH.POOL.CREATE", "p", 0, 10)
        logged("LATH.POOL.RESERVE", "p", 9, 1)
        logged("LATH.POOL.RESERVE", "p", 0, rest, "LEASE", 40 + 20 * rest)
        logged("LATH.POOL.RESERVE", "p", rest, 9 - rest, "LEASE", 220 - 20 * rest)
        waiters = [Waiter(logged, "p", 10), Waiter(logged, "p", 9)]
        assert waiters[1].answer(5) == 0
        logged("LATH.POOL.FREE", "p", 9)
        logged("LATH.POOL.FREE", "p", 0)
        assert waiters[0].answer(5) == 0 and logged("PING")
        logged("LATH.POOL.FREE", "p", 0)
        for one in replica:
            assert logged("WAIT", 1, 5000) == 1 and one("DEBUG", "DIGEST") == logged("DEBUG", "DIGEST")
    same_after_restart(logged)


def test_many_leases_end_at_once(logged):
    """More than one step of the timer ends."""
    logged("LATH.POOL.CREATE", "p", 0, 5000)
    pipe = logged.client.pipeline(transaction=False)
    for i in range(2500):
        pipe.execute_command("LATH.POOL.ALLOC", "p", 2, "LEASEAT", int(time.time() * 1000) + 1500, "OWNER", i)
    pipe.execute()
    waiter = Waiter(logged, "p", 5000)
    assert waiter.served()[0] == 0
    assert logged("LATH.POOL.RANGES", "p") == [[0, 5000, None, None]]
    same_after_restart(logged)


FARTHEST = 2**62 - 1


@pytest.mark.parametrize("end", [("LEASEAT", FARTHEST), ("LEASEAT", 2**61), ("LEASE", 2**61), ("LEASEAT", 9 * 10**15 + 2 * 10**14)])
@pytest.mark.parametrize("block", [0, FARTHEST, 2**61])
def test_times_far_away(logged, end, block):
    """Servers count some times in microseconds."""
    logged("LATH.POOL.CREATE", "p", 0, 10)
    assert logged("LATH.POOL.RESERVE", "p", 0, 10, *end) == 0
    waiter = Waiter(logged, "p", 10, block=block)
    assert logged("PING") and waiter.is_alive()
    same_after_restart(logged)
    assert logged("LATH.POOL.FREE", "p", 0) == 1
    assert waiter.served()[0] == 0


def test_leases_are_what_replicas_take(logged):
    """A time from now on ends as the same time since 1970, up to the same limit."""
    logged("LATH.POOL.CREATE", "p", 0, 10)
    with pytest.raises(ResponseError, match="lease time"):
        logged("LATH.POOL.ALLOC", "p", 1, "LEASE", FARTHEST)
    assert logged("LATH.POOL.ALLOC", "p", 1, "LEASE", FARTHEST - 10**13) == 0
    with pytest.raises(ResponseError, match="lease time"):
        logged("LATH.POOL.LEASE", "p", 0, FARTHEST)
    with pytest.raises(ResponseError, match="lease time"):
        logged("LATH.POOL.LEASEAT", "p", 0, FARTHEST + 1)
    assert logged("LATH.POOL.LEASEAT", "p", 0, FARTHEST) == 1
    same_after_restart(logged)


def test_an_owner_whose_lease_is_over_waits(logged):
    logged("LATH.POOL.CREATE", "p", 0, 10)
    logged("LATH.POOL.ALLOC", "p", 5, "OWNER", "a", "LEASE", 150)
    logged("LATH.POOL.ALLOC", "p", 5, "LEASE", 400)
    waiter = Waiter(logged, "p", 10, "OWNER", "b")
    assert waiter.served()[0] == 0
    assert logged("LATH.POOL.OWNER", "p", "a") is None
    same_after_restart(logged)


@pytest.mark.parametrize("move", ["RENAME p x; RENAME x p", "RENAME p q", "COPY p q", "MOVE p 1", "SWAPDB 0 1", "DEBUG RELOAD",
                                  "COPY p p DB 1", "RENAME p x; COPY x q", "DEBUG LOADAOF"])
def test_leases_of_a_pool_that_moved_wake_clients(logged, move):
    """A client began to wait under the old name, so that a timer was set; one that waits under the new name is woken too."""
    for lease in (400, 1600, 6400):  # on a slow machine the lease may end before the first client is answered
        run(logged, f"FLUSHALL; LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10 LEASE {lease}")
        first = Waiter(logged, "p", 9, block=50).answer(5)
        if first is None:
            break
    assert first is None
    run(logged, move)
    key, db = "q" if " q" in move else "p", 1 if "1" in move else 0
    assert Waiter(logged, key, 10, db=db).served()[1] < 5 + lease / 1000


@pytest.mark.parametrize("mode", ["WRITE", "ALL"])
def test_nothing_changes_while_clients_are_paused(logged, mode):
    """A lease ends and a client waits for it: neither the end nor the allocation may reach replicas before the pause is over."""
    run(logged, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 5; LATH.POOL.ALLOC p 5")
    waiter = Waiter(logged, "p", 10)
    transaction(logged, f"LATH.POOL.LEASE p 0 50; LATH.POOL.LEASE p 5 100; CLIENT PAUSE 600 {mode}")
    if mode == "WRITE":
        before = logged("INFO", "replication")["master_repl_offset"]
        time.sleep(0.3)
        assert logged("INFO", "replication")["master_repl_offset"] == before
    assert waiter.served()[0] == 0 and waiter.seconds > 0.5
    same_after_restart(logged)


@pytest.mark.parametrize("last", ["LATH.POOL.FREE p 0", "LATH.POOL.ADD p 100 10", "LATH.POOL.LEASE p 0 1", "DEL p", "SET p x"])
def test_a_transaction_that_pauses(logged, last):
    run(logged, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10")
    waiter = Waiter(logged, "p", 10)
    transaction(logged, f"{last}; CLIENT PAUSE 300 WRITE")
    assert waiter.answer(5) in (0, 100, "no such pool") or waiter.answer(5).startswith("WRONGTYPE")
    assert logged("PING")


def test_failover_with_a_client_that_waits(start):
    primary = start(appendonly="yes")
    run(primary, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10")
    replica = start(appendonly="yes", replicaof=["127.0.0.1", str(primary.port)])
    assert wait_for(lambda: replica("INFO", "replication")["master_link_status"] == "up")
    with pytest.raises(ResponseError, match="read only replica"):
        replica("LATH.POOL.ALLOC", "p", 10, "BLOCK", 0)
    waiter = Waiter(primary, "p", 10)
    assert wait_for(lambda: primary("INFO", "replication")["connected_slaves"] == 1)
    primary("LATH.POOL.LEASE", "p", 0, 100)
    primary("FAILOVER", "TIMEOUT", 10000)
    assert "UNBLOCKED" in waiter.answer(15) or "REDIRECT" in waiter.answer(15)
    assert wait_for(lambda: replica("ROLE")[0] == b"master")
    assert Waiter(replica, "p", 10).served()[0] == 0, "the lease ends on the new primary"
    assert wait_for(lambda: primary("DEBUG", "DIGEST") == replica("DEBUG", "DIGEST"))


def test_a_primary_becomes_a_replica(start):
    one, other = start(appendonly="yes"), start()
    run(one, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10 LEASE 200")
    waiters = [Waiter(one, "p", 10), Waiter(one, "p", 4)]
    one("REPLICAOF", "127.0.0.1", other.port)
    assert all("UNBLOCKED" in waiter.answer(5) for waiter in waiters)
    time.sleep(0.3)  # the timer for the lease
    one("REPLICAOF", "NO", "ONE")
    full_pool(one)
    waiter = Waiter(one, "p", 5)
    one("DEL", "p")
    assert waiter.answer(5) == "no such pool"


def test_client_unblock_and_kill(logged):
    full_pool(logged)
    refused = logged("INFO", "lathwork")["lathwork_ranges_refused"]
    waiters = [Waiter(logged, "p", 5) for _ in range(5)]
    assert logged("CLIENT", "UNBLOCK", waiters[0].id) == 1 and waiters[0].answer(5) is None
    assert logged("CLIENT", "UNBLOCK", waiters[1].id, "TIMEOUT") == 1 and waiters[1].answer(5) is None
    assert logged("CLIENT", "UNBLOCK", waiters[2].id, "ERROR") == 1 and "UNBLOCKED" in waiters[2].answer(5)
    assert logged("CLIENT", "KILL", "ID", waiters[3].id) == 1
    assert logged("INFO", "lathwork")["lathwork_ranges_refused"] == refused + 2
    assert waiters[4].answer(0.1) == "waits"
    logged("DEL", "p")
    assert waiters[4].answer(5) == "no such pool"
    full_pool(logged)
    waiter = Waiter(logged, "p", 5)
    transaction(logged, f"DEL p; CLIENT UNBLOCK {waiter.id}; CLIENT KILL ID {waiter.id}")
    waiter = Waiter(logged, "full", 5)
    transaction(logged, f"DEL full; CLIENT KILL ID {waiter.id}")
    time.sleep(0.1)
    assert logged("PING") and not logged("INFO", "clients")["blocked_clients"]


def test_transactions_and_scripts_do_not_wait(logged):
    full_pool(logged)
    pipe = logged.client.pipeline(transaction=True)
    pipe.execute_command("LATH.POOL.ALLOC", "p", 5, "BLOCK", 0)
    pipe.execute_command("LATH.POOL.FREE", "p", 0)
    pipe.execute_command("LATH.POOL.ALLOC", "p", 5, "BLOCK", 0)
    assert pipe.execute() == [None, 1, 0]
    assert logged("EVAL", "return redis.call('LATH.POOL.ALLOC', 'p', 50, 'BLOCK', 0)", 0) is None
    logged("FUNCTION", "LOAD", "#!lua name=f\nredis.register_function('take', function() "
                               "return redis.call('LATH.POOL.ALLOC', 'p', 50, 'BLOCK', 0) end)")
    assert logged("FCALL", "take", 0) is None
    same_after_restart(logged)


def test_timeouts(logged):
    full_pool(logged)
    waiters = [Waiter(logged, "p", 5, block=ms) for ms in (1, 20, 100, 200)]
    assert [waiter.answer(5) for waiter in waiters] == [None] * 4
    logged("DEL", "p")
    full_pool(logged)
    waiter = Waiter(logged, "p", 5, block=100)
    logged("DEL", "p")
    assert waiter.answer(5) == "no such pool"


@pytest.fixture
def pair(start):
    """Two servers of a cluster; the first one has the slot of p. Returns both, the slot, and their names."""
    options = {"cluster-enabled": "yes", "cluster-node-timeout": 2000, "cluster-require-full-coverage": "no", "appendonly": "yes",
               "cluster-allow-replica-migration": "no"}
    source, target = (start(port=free_port(), **options) for _ in range(2))
    slot, other = key_slot(b"p"), key_slot(b"text")
    source("CLUSTER", "ADDSLOTS", slot)
    target("CLUSTER", "ADDSLOTS", other)
    source("CLUSTER", "MEET", "127.0.0.1", target.port)
    assert wait_for(lambda: all(re.search(r"cluster_state\W+ok\b.*cluster_slots_ok\W+2\b", str(one("CLUSTER", "INFO"))) for one in (source, target)))
    run(source, "LATH.POOL.CREATE p 0 10; LATH.POOL.ALLOC p 10")
    return source, target, slot, [one("CLUSTER", "MYID").decode() for one in (source, target)]


def test_the_pool_is_gone_in_a_cluster(pair):
    """A client of a cluster asks again upon TRYAGAIN."""
    source, _, _, _ = pair
    waiter = Waiter(source, "p", 5)
    source("DEL", "p")
    assert waiter.answer(5) in ("TRYAGAIN no such pool here any longer", "no such pool here any longer")
    with pytest.raises(ResponseError, match="no such pool$"):
        source("LATH.POOL.ALLOC", "p", 5)


@pytest.mark.parametrize("way", ["keys", "slot"])
def test_the_slot_of_a_pool_moves(pair, way):
    source, target, slot, names = pair
    waiter = Waiter(source, "p", 5)
    if way == "slot":
        if source.kind != "valkey":
            pytest.skip("a server before Valkey 9.0 moves keys one by one")
        source("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", names[1])
    else:
        target("CLUSTER", "SETSLOT", slot, "IMPORTING", names[0])
        source("CLUSTER", "SETSLOT", slot, "MIGRATING", names[1])
        source("MIGRATE", "127.0.0.1", target.port, "p", 0, 5000)
        for one in (target, source):
            one("CLUSTER", "SETSLOT", slot, "NODE", names[1])
    answer = waiter.answer(15)
    assert "no such pool here any longer" in answer or str(target.port) in answer, answer
    assert wait_for(lambda: target("EXISTS", "p") == 1)
    waiter = Waiter(target, "p", 5)
    target("LATH.POOL.FREE", "p", 0)
    assert waiter.answer(5) == 0
    with pytest.raises(ResponseError):
        source("LATH.POOL.ALLOC", "p", 5)
    assert source("PING") and target("PING")


def test_a_slot_moves_while_its_keys_are_written(pair):
    """CLUSTER MIGRATESLOTS, Valkey 9.0 and later: the server that the slot moves to ends no lease by itself."""
    source, target, slot, names = pair
    if source.kind != "valkey":
        pytest.skip("a server before Valkey 9.0 moves keys one by one")
    pool, numbers, spans = "pool:{p}", "map:{p}", "interval:{p}"
    run(source, f"DEL p; LATH.POOL.CREATE {pool} 0 {1 << 40}; LATH.INTERVAL.ADD {spans} 1 10 x")
    source("LATH.MAP.MSET", numbers, *range(200000))
    for i in range(500):
        source("LATH.POOL.ALLOC", pool, i % 7 + 1, "OWNER", f"o{i}", "LEASE", 10**8)
    stop, done = threading.Event(), [0]

    def write():
        """Leases of a moment, renewed one after the other."""
        client = source.connect()
        while not stop.is_set():
            i = done[0] % 50
            try:
                client.execute_command("LATH.POOL.ALLOC", pool, 9, "OWNER", f"short {i}", "LEASE", 3)
                client.execute_command("LATH.MAP.INCR", numbers, i)
                client.execute_command("LATH.INTERVAL.ADD", spans, i, 1000 + done[0], "y")
            except redis.exceptions.MovedError:
                return
            done[0] += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert wait_for(lambda: done[0] > 100)
        source("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", names[1])
        assert wait_for(lambda: target("CLUSTER", "COUNTKEYSINSLOT", slot) == 3 and not writer.is_alive(), 60)
    finally:
        stop.set()
        writer.join()
    assert target("INFO", "lathwork")["lathwork_leases_ended"] == 0, "that was the source's to decide"
    assert {b"o%d" % i for i in range(500)} <= {owner for _, _, owner, _ in target("LATH.POOL.RANGES", pool)}
    assert target("LATH.MAP.COUNT", numbers, "-", "+") == 100000 + 25
    total = sum(int(value) for value in target("LATH.MAP.RANGE", numbers, 0, 49)[1::2])
    assert total - sum(range(1, 50, 2)) in (done[0], done[0] + 1), "every increment that was acknowledged"
    time.sleep(0.01)
    assert target("LATH.POOL.ALLOC", pool, 1) is not None
    assert not any(owner and owner.startswith(b"short") for _, _, owner, _ in target("LATH.POOL.RANGES", pool)), "leases end here from now on"
