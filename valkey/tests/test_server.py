# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the server does with keys of the module: files, replicas, memory, rights, descriptions."""
import math
import os
import pathlib
import random
import re
import signal
import shutil
import struct
import threading
import time

import pytest
from redis.exceptions import RedisError, ResponseError
from servers import wait_for

LONG = bool(os.environ.get("LATH_VALKEY_LONG"))
TOP = 2**64 - 1


def fill(server, n=3000, seed=1):
    """Keys of all types and forms. Returns their names."""
    rng = random.Random(seed)
    pipe = server.client.pipeline(transaction=False)
    run = pipe.execute_command
    for small in (1, 5, 32):
        for i in range(small):
            run("LATH.MAP.SET", f"map:{small}", rng.getrandbits(64), rng.choice((i, "short", f"a longer value {i}")))
            run("LATH.INTERVAL.ADD", f"interval:{small}", i, i + rng.getrandbits(rng.randrange(63)), f"value of {i}")
    run("LATH.MAP.CREATE", "map:strings", "STRINGS")
    run("LATH.MAP.CREATE", "map:empty", "STRINGS")
    run("LATH.MAP.CREATE", "map:numbers")
    run("LATH.POOL.CREATE", "pool:small", 100, 1000)
    run("LATH.POOL.ADD", "pool:small", 5000, 10)
    run("LATH.POOL.ALLOC", "pool:small", 10, "OWNER", "me", "LEASE", 10**9)
    run("LATH.POOL.CREATE", "pool:big", 0, 1 << 30)
    run("LATH.POOL.ADD", "pool:big", 1 << 40, TOP - (1 << 40))
    run("LATH.POOL.CREATE", "pool:free", TOP, 1)
    for i in range(n):
        run("LATH.MAP.SET", "map:big", rng.getrandbits(64), rng.choice((i, "short", f"a longer value {i}")))
        run("LATH.MAP.SET", "map:strings", f"{'prefix of all keys' * (i % 3)}{rng.getrandbits(20)}", i)
        first = rng.getrandbits(40)
        run("LATH.INTERVAL.ADD", "interval:big", first, first + rng.getrandbits(rng.randrange(40)), f"v{i}")
        run("LATH.POOL.ALLOC", "pool:big", rng.randrange(1, 50), *(("OWNER", f"owner {i}") if i % 3 else ()),
            *(("LEASE", 10**9 + i) if i % 5 == 0 else ()))
        if i % 2:
            run("LATH.POOL.FREE", "pool:big", "OWNER", f"owner {i // 2}")
    pipe.execute()
    return sorted(server("KEYS", "*"))


def digests(server, keys=None):
    keys = keys or sorted(server("KEYS", "*"))
    return dict(zip(keys, server("DEBUG", "DIGEST-VALUE", *keys)))


def contents(server):
    """All that commands can show."""
    shown = {}
    for key in sorted(server("KEYS", "*")):
        if key.startswith(b"map"):
            shown[key] = server("LATH.MAP.RANGE", key, "-", "+")
        elif key.startswith(b"interval"):
            shown[key] = server("LATH.INTERVAL.OVERLAPS", key, "-", "+")
        elif key.startswith(b"pool"):
            shown[key] = (server("LATH.POOL.RANGES", key), server("LATH.POOL.HOLES", key), server("LATH.POOL.STAT", key))
    return shown


def test_files_of_all_kinds(start):
    server = start(appendonly="yes")
    fill(server)
    before, whole = contents(server), server("DEBUG", "DIGEST")
    server("DEBUG", "RELOAD")
    assert contents(server) == before and server("DEBUG", "DIGEST") == whole, "the file of keys"
    server("DEBUG", "LOADAOF")
    assert contents(server) == before, "the file of effects"
    server("CONFIG", "SET", "aof-use-rdb-preamble", "no")
    server("BGREWRITEAOF")
    assert wait_for(lambda: not server("INFO", "persistence")["aof_rewrite_in_progress"])
    assert server("INFO", "persistence")["aof_last_bgrewrite_status"] == "ok"
    server("DEBUG", "LOADAOF")
    assert contents(server) == before, "the rewritten file"
    assert server("DEBUG", "DIGEST") == whole


def test_copy_and_dump(server):
    for key in fill(server, 1000):
        digest = server("DEBUG", "DIGEST-VALUE", key)
        assert server("COPY", key, b"copy of " + key) == 1
        assert server("DEBUG", "DIGEST-VALUE", b"copy of " + key) == digest
        payload = server("DUMP", key)
        server("RESTORE", b"restored", 0, payload, "REPLACE")
        assert server("DEBUG", "DIGEST-VALUE", "restored") == digest


def test_files_without_our_keys_need_no_module(start, tmp_path):
    """The module saves nothing besides keys: no auxiliary field that another server would ask for."""
    server = start()
    server("SET", "text", "x")
    server("SAVE")
    shutil.copy(f"{server.directory}/dump.rdb", tmp_path)
    plain = start(module="", directory=str(tmp_path))
    assert plain("GET", "text") == b"x"


def crc64(data, _table=[]):  # of DUMP payloads: Jones' polynomial, reflected
    if not _table:
        for byte in range(256):
            crc = byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
            _table.append(crc)
    crc = 0
    for byte in data:
        crc = _table[(crc ^ byte) & 255] ^ crc >> 8
    return crc


def sealed(body):
    return body + crc64(body).to_bytes(8, "little")


def coded(*numbers):
    """Numbers as blocks of a payload have them."""
    out = bytearray()
    for number in numbers:
        while number >= 128:
            out.append(number & 127 | 128)
            number >>= 7
        out.append(number)
    return bytes(out)


def length(number):
    return b"\x81" + number.to_bytes(8, "big")


def payload(like, *parts):
    """A payload of the type of another one: numbers and blocks."""
    body = b"".join(b"\2" + length(part) if isinstance(part, int) else b"\5" + length(len(part)) + part for part in parts)
    return sealed(like[:10] + body + b"\0" + like[-10:-8])


def double(number):
    """The entry of a map of FLOATS, as a block has it."""
    bits = int.from_bytes(struct.pack(">d", number), "big")
    return ~bits & TOP if bits >> 63 else bits | 1 << 63


def test_payloads_that_no_command_makes(server):
    """Of each field the values that commands refuse, and beside them those on the other side of the limit."""
    server("LATH.MAP.SET", "map", 1.5, "v", "FLOATS")
    server("LATH.POOL.CREATE", "pool", 0, 10)
    server("LATH.INTERVAL.ADD", "interval", 1, 2, "v")
    like = {key: server("DUMP", key) for key in ("map", "pool", "interval")}
    value, farthest, rest = coded(4 << 1) + b"some", 2**62 - 1, coded(5, 2**64 - 10, 1)

    def entries(flags, *codes):
        return payload(like["map"], flags, len(codes), b"".join(coded(code) + value for code in codes))

    def ranges(count, *words):
        return payload(like["pool"], count, b"".join(words))

    def intervals(*ends):
        return payload(like["interval"], len(ends), b"".join(coded(*end) + value for end in ends))

    good = [*(entries(8 + keep, double(number)) for number in (0.0, math.inf, -math.inf, 5e-324, -5e-324) for keep in (0, 2)),
            entries(0, TOP), entries(4, 0), payload(like["map"], 2, 0), payload(like["map"], 1, 1, b"\0" + value),
            ranges(1, coded(5, 2**64 - 5, 1)), ranges(2, coded(0, 5, 0), rest), ranges(2, coded(0, 5, 4, farthest), rest),
            ranges(2, coded(0, 5, 2, 0), rest), ranges(2, coded(0, 5, 1, 1, 2**64 - 6, 1)), intervals((1, 2), (1, 3))]
    bad = [*(entries(8 + keep, code) for code in (double(math.nan), double(-math.nan), double(-0.0), 0, TOP) for keep in (0, 2)),
           payload(like["map"], 0, 0), entries(5, 0), entries(16, 0), payload(like["map"], 1, 2, 2 * (b"\0" + value)),
           ranges(2, coded(5, 5, 1, 0, 2**64 - 10, 1)), ranges(1, coded(0, 5, 0)), ranges(2, coded(0, 5, 1, 0, 2**64 - 5, 1)),
           *(ranges(2, coded(0, 5, 4, end), rest) for end in (0, farthest + 1, TOP)), ranges(2, coded(0, 0, 0), rest),
           ranges(2, coded(0, 5, 8), rest), ranges(2, coded(0, 5, 3, 0), rest), ranges(2, coded(0, 5, 5, 1), rest),
           ranges(3, coded(0, 2, 2, 0), coded(0, 3, 2, 0), rest), ranges(2, coded(0, 5, 0, 5, 2**64 - 9, 1)),
           payload(like["interval"], 0), intervals((2, TOP)), intervals((1, 2), (1, 2))]
    for number, one in enumerate(good):
        assert server("RESTORE", "target", 0, one, "REPLACE") in (b"OK", True), number
        assert server("RESTORE", "again", 0, server("DUMP", "target"), "REPLACE")
        assert len(set(server("DEBUG", "DIGEST-VALUE", "target", "again"))) == 1
    for number, one in enumerate(bad):
        with pytest.raises(ResponseError, match="Bad data format"):
            print(number, server("RESTORE", "target", 0, one, "REPLACE"))


def test_replica(start):
    primary = start()
    keys = fill(primary, 1000)
    replica = start(replicaof=["127.0.0.1", str(primary.port)])
    assert wait_for(lambda: replica("INFO", "replication")["master_link_status"] == "up")
    pipe = primary.client.pipeline(transaction=False)
    rng = random.Random(3)
    for i in range(2000):
        pipe.execute_command("LATH.MAP.POP", "map:big", rng.choice(("MIN", "MAX")), rng.randrange(3))
        pipe.execute_command("LATH.MAP.INCR", "map:numbers", rng.randrange(50), rng.randrange(100))
        pipe.execute_command("LATH.MAP.CAS", "map:numbers", rng.randrange(50), rng.randrange(100), "x")
        pipe.execute_command("LATH.MAP.DELRANGE", "map:strings", "[" + str(rng.randrange(9)), "+", "LIMIT", 2)
        pipe.execute_command("LATH.POOL.ALLOC", "pool:big", rng.randrange(1, 40), rng.choice(("FIRST", "LAST", "BEST")),
                             "LEASE", rng.choice((1, 10**6)))
        pipe.execute_command("LATH.INTERVAL.ADDNX", "interval:big", rng.getrandbits(40), 1 << 41, i)
    pipe.execute(raise_on_error=False)
    time.sleep(0.02)
    primary("LATH.POOL.ALLOC", "pool:big", 1)  # ends leases
    assert primary("WAIT", 1, 10000) == 1
    assert digests(replica) == digests(primary)
    with pytest.raises(ResponseError, match="read only replica"):
        replica("LATH.MAP.SET", "map:big", 1, 1)
    replica("REPLICAOF", "NO", "ONE")
    primary("LATH.MAP.SET", "only here", 1, 1)
    replica("LATH.MAP.SET", "only there", 1, 1)
    replica("REPLICAOF", "127.0.0.1", primary.port)  # full resynchronisation
    assert wait_for(lambda: replica("INFO", "replication")["master_link_status"] == "up")
    assert wait_for(lambda: replica("DEBUG", "DIGEST") == primary("DEBUG", "DIGEST"))
    assert len(keys)


def test_replicas_do_not_end_leases(start):
    primary = start()
    replica = start(replicaof=["127.0.0.1", str(primary.port)])
    assert wait_for(lambda: replica("INFO", "replication")["master_link_status"] == "up")
    primary("LATH.POOL.CREATE", "p", 0, 10)
    primary("LATH.POOL.ALLOC", "p", 10, "LEASE", 700)
    assert primary("WAIT", 1, 10000) == 1
    os.kill(primary.process.pid, signal.SIGSTOP)
    time.sleep(0.8)
    assert replica("LATH.POOL.FIND", "p", 1) is None, "it is over"
    assert replica("LATH.POOL.HOLES", "p") == [] and len(replica("LATH.POOL.RANGES", "p")) == 1, "but not yet free"
    os.kill(primary.process.pid, signal.SIGCONT)
    assert wait_for(lambda: replica("LATH.POOL.HOLES", "p") == [[0, 10]]), "nobody asked the primary"
    assert digests(replica) == digests(primary)


def test_save_beside_writes(start):
    server = start(save=["3600", "1"])
    fill(server, 20000)
    stop = threading.Event()

    def write(seed):
        client, rng = server.connect(), random.Random(seed)
        while not stop.is_set():
            client.execute_command("LATH.MAP.SET", "map:big", rng.getrandbits(64), rng.getrandbits(64))
            client.execute_command("LATH.POOL.ALLOC", "pool:big", 3)
            client.execute_command("LATH.MAP.POP", "map:big", "MIN", 20)
            client.execute_command("LATH.INTERVAL.ADD", "interval:big", seed, rng.getrandbits(40) + seed, "x")

    writers = [threading.Thread(target=write, args=(seed,)) for seed in (1, 2)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(5):
            server("BGSAVE")
            assert wait_for(lambda: not server("INFO", "persistence")["rdb_bgsave_in_progress"], 60), "the child hangs"
            assert server("INFO", "persistence")["rdb_last_bgsave_status"] == "ok"
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    server("SAVE")
    before = server("DEBUG", "DIGEST")
    server.kill()
    server.start()
    assert server("DEBUG", "DIGEST") == before


def test_lazy_free(server):
    for command in (("FLUSHALL", "ASYNC"), ("FLUSHALL", "SYNC")):
        fill(server, 5000)
        server(*command)
        assert server("DBSIZE") == 0
    fill(server, 5000)
    for key in server("KEYS", "*"):
        server("UNLINK", key)
    assert wait_for(lambda: not server("INFO", "memory").get("lazyfree_pending_objects", 0))
    assert server("PING")


def threads(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def test_no_thread_of_its_own(start):
    with_module, without = start(), start(module="")
    fill(with_module, 3000)
    with_module("FLUSHALL", "SYNC")
    fill(with_module, 3000)
    without("FLUSHALL", "SYNC")
    assert threads(with_module) == threads(without)


def test_no_leak(server):
    """Memory after many commands is what it was before them."""
    def round_of(n):
        fill(server, n)
        pipe = server.client.pipeline(transaction=False)
        for i in range(n):
            pipe.execute_command("LATH.MAP.SET", "churn", i % 500, f"a value that has a block {i}")
            pipe.execute_command("LATH.MAP.DEL", "churn", (i * 7) % 500)
            pipe.execute_command("LATH.POOL.ALLOC", "pool:big", 5, "OWNER", f"churn {i % 100}", "LEASE", 1 + i % 3)
        pipe.execute()
        server("FLUSHALL", "SYNC")
        time.sleep(0.3)  # the server's clock frees what was retired
        return server("INFO", "memory")["used_memory"]

    round_of(2000)
    first = round_of(2000)
    rest = [round_of(20000 if LONG else 2000) for _ in range(10 if LONG else 3)]
    assert min(rest) < first + 300_000, (first, rest)


def test_memory_is_told(server):
    """MEMORY USAGE is near to what the server's allocator says."""
    fill(server, 10)
    for key, make in (("m", lambda i: ("LATH.MAP.SET", "m", i * 1237 % 50021, i)),
                      ("s", lambda i: ("LATH.MAP.SET", "s", f"key number {i * 1237 % 50021}", f"the value of {i}")),
                      ("i", lambda i: ("LATH.INTERVAL.ADD", "i", i * 1237 % 50021, 50021 + i, i))):
        if key == "s":
            server("LATH.MAP.CREATE", "s", "STRINGS")
        before = server("INFO", "memory")["used_memory"]
        pipe = server.client.pipeline(transaction=False)
        for i in range(50000):
            pipe.execute_command(*make(i))
        pipe.execute()
        took = server("INFO", "memory")["used_memory"] - before
        told = server("MEMORY", "USAGE", key)
        assert 0.7 * took < told < 1.3 * took + 100_000, (key, took, told)


WRITES = """MAP.SET m 1 2; MAP.MSET m 1 2; MAP.DEL m 1; MAP.INCR m 1; MAP.CAS m 1 v w; MAP.CREATE x; MAP.POP m; MAP.DELRANGE m - +;
    POOL.CREATE y 0 1; POOL.ADD p 100 1; POOL.ALLOC p 1; POOL.ALLOC p 1 BLOCK 1; POOL.RESERVE p 1 1; POOL.FREE p 2; POOL.LEASE p 0 1 OWNER a;
    POOL.LEASEAT p 0 1 OWNER a; INTERVAL.ADD i 1 3 x; INTERVAL.ADDNX i 7 8 x; INTERVAL.REM i 1 2 x"""
READS = """MAP.GET m 1; MAP.MGET m 1; MAP.RANGE m - +; MAP.REVRANGE m + -; MAP.COUNT m - +; MAP.RANK m 1; MAP.SELECT m 0; MAP.LEN m; MAP.RANGEBYRANK m 0 1;
    MAP.FLOOR m 1; MAP.CEIL m 1; MAP.SCAN m 0; POOL.FIND p 0; POOL.OWNER p a; POOL.RANGES p; POOL.HOLES p; POOL.STAT p;
    INTERVAL.STAB i 1; INTERVAL.OVERLAPS i 1 2; INTERVAL.WITHIN i 1 2; INTERVAL.CONTAINS i 1 2; INTERVAL.COUNT i 1 2;
    INTERVAL.NEAREST i 1; INTERVAL.LEN i; MAP.HELP; POOL.HELP; INTERVAL.HELP"""
TELLS = {"MAP.INCR", "MAP.CAS", "MAP.POP"}  # writes that reply with what was there
NO_KEY = {"MAP.HELP", "POOL.HELP", "INTERVAL.HELP"}


def allowed(server, user, commands):
    """Those of the commands that the user may give."""
    client, done = server.connect(username=user, password="x"), set()
    for line in commands.split(";"):
        words = line.split()
        try:
            client.execute_command("LATH." + words[0], *words[1:])
            done.add(words[0])
        except RedisError as error:
            assert "ermissions" in str(error), error
    return done


def test_rights_by_category_and_by_key(start):
    """Where the server has no categories for modules, it and the log say so; users that only read are made with %R~."""
    server = start()
    writes, reads = ({line.split()[0] for line in text.split(";")} for text in (WRITES, READS))
    assert len(writes | reads) == 45
    for name, rules in {"keys": ["%R~*", "+@all"], "writer": ["%W~*", "+@all"], "write": ["~*", "+@all", "-@write"], "read": ["~*", "+@read"], "all": ["~*", "+@all"],
                        "none": ["~*", "+@all", "-@read", "-@write"], "name": ["~*", "+@all", "-lath.map.set"]}.items():
        server("ACL", "SETUSER", name, "on", ">x", *rules)

    def fill():
        server("FLUSHALL")
        for line in ("LATH.MAP.SET m 1 v", "LATH.POOL.CREATE p 0 10", "LATH.POOL.ALLOC p 1 OWNER a", "LATH.INTERVAL.ADD i 1 2 x"):
            server(*line.split())

    def may(user):
        fill()
        done = allowed(server, user, READS)
        return done | allowed(server, user, WRITES)

    server("ACL", "SETUSER", "few", "on", ">x", "~m*", "+lath.map.get", "+lath.map.range")
    assert may("few") == {"MAP.GET", "MAP.RANGE"}
    assert may("keys") == reads and may("all") == reads | writes and may("name") == (reads | writes) - {"MAP.SET"}
    assert server("ACL", "DRYRUN", "name", "LATH.MAPSET", "m", 1, 2) == b"OK", "the other name is another command"
    assert may("writer") == (writes - TELLS) | NO_KEY, "who may only write is told nothing of what was there"
    told = "cannot put commands of modules into ACL categories" in server.log.read_text()
    assert server("INFO", "lathwork")["lathwork_acl_categories"] == ("none" if told else "set")
    assert told == (server.kind == "redis"), "Redis 7.0"
    if told:
        assert may("write") == reads | writes and may("read") == set() and may("none") == reads | writes
        with pytest.raises(RedisError, match="(?i)unknown command or category"):
            server("ACL", "SETUSER", "x", "+@lathwork")
    else:
        assert may("write") == reads and may("read") == reads and may("none") == set()
        server("ACL", "SETUSER", "group", "on", ">x", "~*", "-@all", "+@lathwork", "-@write")
        assert may("group") == reads
        names = {f"LATH.{other}": name for name in reads | writes for other in (name, name.replace(".", ""))}
        for name, row in zip(names.values(), server.connect().execute_command("COMMAND", "INFO", *names)):
            assert {b"@lathwork", b"@write" if name in writes else b"@read"} <= set(row[6]) and (b"@blocking" in row[6]) == (name == "POOL.ALLOC")
        assert {b"LATH.POOL.ALLOC", b"LATH.POOLALLOC"} <= {name.upper() for name in server("ACL", "CAT", "blocking")}


def test_commands_are_described(server):
    client = server.connect()
    for name in ("COMMAND", "COMMAND DOCS", "COMMAND INFO"):
        client.response_callbacks.pop(name, None)
    names = sorted(client.execute_command("COMMAND", "LIST", "FILTERBY", "MODULE", "lathwork"), key=lambda name: (name.count(b"."), name))
    assert len(names) == 90 and [name.replace(b".", b"") for name in names[:45]] == [name.replace(b".", b"") for name in names[45:]]
    text = pathlib.Path(__file__).parent.parent.parent.joinpath("doc", "valkey.md").read_text(encoding="utf-8")
    assert sorted(set(re.findall(r"^\| `(LATH\.\w+\.\w+)", text, re.M))) == sorted(name.decode().upper() for name in names[45:])
    for name, row in zip(names, client.execute_command("COMMAND", "INFO", *names)):
        docs = client.execute_command("COMMAND", "DOCS", name)[1]
        docs = dict(zip(docs[::2], docs[1::2]))
        assert docs[b"summary"] and docs[b"complexity"] and docs[b"since"] == b"0.1.0"
        arguments = [dict(zip(a[::2], a[1::2])) for a in docs.get(b"arguments", [])]
        if name.lower().endswith(b"help"):
            assert not arguments and row[1] == 1 and row[3:6] == [0, 0, 0] and b"readonly" in row[2]
            continue
        assert arguments[0][b"name"] == b"key" and arguments[0][b"type"] == b"key"
        assert row[3:6] == [1, 1, 1] and (b"write" in row[2]) != (b"readonly" in row[2])
        least = abs(row[1])
        if row[1] < 0:  # one less than the least is refused, whatever it is
            with pytest.raises(ResponseError, match="wrong number of arguments"):
                client.execute_command(name, *["1"] * (least - 2))
        assert client.execute_command("COMMAND", "GETKEYS", name, *["1"] * (least + 2 if row[1] < 0 else least - 1))[0] == b"1"


def test_info_and_config(server):
    def told():
        return {name.removeprefix("lathwork_"): value for name, value in server("INFO", "lathwork").items()}

    before = told()
    client = server.connect()
    client.response_callbacks.pop("INFO", None)
    for section in ("lathwork", "everything", "modules", "LATHWORK"):
        titles = [line for line in client.execute_command("INFO", section).decode().split("\r\n") if line.startswith("# lath")]
        assert titles == ["# lathwork"], section
    header = pathlib.Path(__file__).parent.parent.parent.joinpath("include", "lathwork", "config.h").read_text(encoding="utf-8")
    version = ".".join(re.findall(r"^#define LATH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", header, re.M))
    assert before["version"] == version and before["packed_entries"] == 32
    server("LATH.POOL.CREATE", "p", 0, 2)
    assert server("LATH.POOL.ALLOC", "p", 2, "LEASE", 1) == 0
    time.sleep(0.005)
    assert server("LATH.POOL.ALLOC", "p", 2) == 0
    assert server("LATH.POOL.ALLOC", "p", 2) is None and server("LATH.POOL.ALLOC", "p", 2, "BLOCK", 1) is None
    after = told()
    assert [after[name] - before[name] for name in ("ranges_allocated", "ranges_refused", "leases_ended")] == [2, 2, 1]
    server("LATH.MAP.MSET", "m", *range(2000))
    assert told()["index_bytes"] > after["index_bytes"] + 16000
    server("DEL", "m")
    assert wait_for(lambda: told()["index_bytes"] == after["index_bytes"]), "the clock frees what was retired"
    server("CONFIG", "SET", "lathwork.packed-entries", 5)
    assert server("CONFIG", "GET", "lathwork.packed-entries") == [b"lathwork.packed-entries", b"5"]
    with pytest.raises(ResponseError):
        server("CONFIG", "SET", "lathwork.packed-entries", 33)


def test_the_module_is_stripped():
    """What a server loads has no symbols but those it exports; those for debuggers are in the file beside it."""
    if os.environ.get("LATH_VALKEY_PRELOAD"):
        pytest.skip("a build with sanitizers keeps its symbols")
    module = pathlib.Path(os.environ["LATH_VALKEY_MODULE"])
    assert b".symtab" not in module.read_bytes() and b".symtab" in module.with_name(module.name + ".debug").read_bytes()


def test_events(server):
    server("CONFIG", "SET", "notify-keyspace-events", "KEA")
    listener = server.client.pubsub()
    listener.psubscribe("__keyevent@0__:*")
    listener.get_message(timeout=5)
    server("LATH.MAP.SET", "m", 1, 1)
    server("LATH.MAP.DEL", "m", 1)
    server("LATH.POOL.CREATE", "p", 0, 10)
    server("LATH.POOL.ALLOC", "p", 1)
    server("LATH.POOL.FREE", "p", 0)
    server("LATH.INTERVAL.ADD", "i", 0, 1, "x")
    got = []
    while len(got) < 7:
        message = listener.get_message(timeout=5)
        assert message, got
        got.append((message["channel"].split(b":")[1], message["data"]))
    listener.close()
    server("CONFIG", "SET", "notify-keyspace-events", "")
    assert got == [(b"lath.map.set", b"m"), (b"lath.map.del", b"m"), (b"del", b"m"), (b"lath.pool.create", b"p"),
                   (b"lath.pool.alloc", b"p"), (b"lath.pool.free", b"p"), (b"lath.interval.add", b"i")]


def test_out_of_memory(start):
    server = start(maxmemory="20mb", maxmemory_policy="noeviction")
    server("LATH.POOL.CREATE", "p", 0, 10)
    assert server("LATH.POOL.ALLOC", "p", 5, "OWNER", "a", "LEASE", 10**6) == 0
    with pytest.raises(ResponseError, match="used memory"):
        for i in range(10**6):
            server("LATH.MAP.SET", "m", i, "x" * 10000)
    server("CONFIG", "SET", "maxmemory", 10**6)
    with pytest.raises(ResponseError, match="used memory"):
        server("LATH.POOL.ALLOC", "p", 5, "OWNER", "b")
    assert server("LATH.POOL.LEASE", "p", 0, 2 * 10**6, "OWNER", "a") == 1, "as EXPIRE"
    assert server("LATH.MAP.GET", "m", 0) == b"x" * 10000
    assert server("LATH.MAP.DEL", "m", 0) == 1
