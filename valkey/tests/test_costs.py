# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""How long one command holds the server, with keys of a million entries and the arguments that cost most: the column "cost" of
the table of commands in doc/valkey.md."""
import pathlib
import random
import threading

import pytest
import servers

N = 1_000_000
FILLED = {  # a command, and what it gets for each i, as Lua
    "z": ("ZADD z", "i, 'member:' .. string.format('%09d', i)"),
    "num": ("LATH.MAP.MSET num", "10 * i, i"),
    "str": ("LATH.MAP.MSET str STRINGS", "'member:' .. string.format('%09d', i), 'value ' .. string.format('%09d', i)"),
    "ivl": ("LATH.INTERVAL.ADD ivl", "60 * i, 60 * i + 3600, i"),
    "lists": ("LATH.INTERVAL.ADD lists", "math.floor(i / 5) * 60, math.floor(i / 5) * 60 + 3600, i"),
    "same": ("LATH.INTERVAL.ADD same", "9, 10, 'guest' .. i"),
}
FILL = """local words = {%s}
local fixed = #words
for i = 0, %d do
    for _, word in ipairs({%s}) do words[#words + 1] = word end
    if #words > 3000 or i == %d then
        redis.call(unpack(words))
        for k = #words, fixed + 1, -1 do words[k] = nil end
    end
end"""
SAME = """local n, same = redis.call('ZCARD', KEYS[1]), 0
for i = 0, n - 1, 1000 do
    local set = redis.call('ZRANGE', KEYS[1], i, i + 999, 'WITHSCORES')
    local map = redis.call('LATH.MAP.RANGEBYRANK', KEYS[2], i, i + 999)
    for k = 1, #set, 2 do
        if set[k] == map[k + 1] and tonumber(set[k + 1]) == tonumber(map[k]) then same = same + 1 end
    end
end
return same"""
POOL = "for i = 0, %d do redis.call('LATH.POOL.RESERVE', 'pool', 3 * i, 2, 'OWNER', 'o' .. i, 'LEASEAT', %d + i %% 1000) end"

# At most 10 ms, whatever is asked for; all of a key is skipped where it can be.
SHORT = """MAP.CREATE made|MAP.SET str member:0005 x|MAP.GET str member:000500000|MAP.MSET str a 1 b 2|MAP.MGET str a b
MAP.DEL str a b|MAP.INCR num 5|MAP.CAS num 5 1 2|MAP.COUNT str - +|MAP.COUNT num - +|MAP.RANK str member:000500000|MAP.SELECT str 500000
MAP.LEN str|MAP.FLOOR str zzz|MAP.CEIL str a|MAP.POP num MAX 100|MAP.DELRANGE num - + LIMIT 100|MAP.SCAN str 0 MATCH *zz* COUNT 1000
MAP.RANGE num - + LIMIT 500000 10|MAP.REVRANGE str + - LIMIT 500000 10|MAP.RANGEBYRANK str 500000 500009|MAP.HELP
POOL.CREATE made2 0 10|POOL.ADD pool 9000000 5|POOL.ALLOC pool 4 BEST|POOL.ALLOC pool 9000000|POOL.ALLOC pool 2 ALIGN 2 LAST
POOL.RESERVE pool 1 1|POOL.FREE pool 1|POOL.LEASE pool 300 9000000 OWNER o100|POOL.LEASEAT pool 300 9999999999999 OWNER o100
POOL.FIND pool 1500000|POOL.OWNER pool o5000|POOL.RANGES pool LIMIT 999999 10|POOL.HOLES pool LIMIT 999999 10|POOL.STAT pool|POOL.HELP
INTERVAL.ADD same 9 10 new|INTERVAL.REM same 9 10 guest777|INTERVAL.ADDNX ivl 0 99999999 x|INTERVAL.STAB same 9 LIMIT 10
INTERVAL.OVERLAPS ivl - + LIMIT 10|INTERVAL.OVERLAPS ivl - + LIMIT 999999 10|INTERVAL.OVERLAPS ivl 30000000 + LIMIT 10
INTERVAL.OVERLAPS lists - + LIMIT 999999 10|INTERVAL.OVERLAPS same - + LIMIT 999999 10|INTERVAL.WITHIN ivl 0 6000000 LIMIT 1
INTERVAL.CONTAINS ivl 30000000 30000010 LIMIT 1|INTERVAL.COUNT ivl - +|INTERVAL.COUNT lists 100 +|INTERVAL.COUNT same 10 +
INTERVAL.NEAREST ivl 99999999999|INTERVAL.LEN ivl|INTERVAL.HELP"""

# In proportion to what they return, remove or copy: the ratio to a command of the server for its types, at most
LONG = (("LATH.MAP.RANGE num - + LIMIT 100000", "ZRANGE z 0 99999 WITHSCORES", 3), ("LATH.INTERVAL.OVERLAPS ivl - + LIMIT 100000", "ZRANGE z 0 99999 WITHSCORES", 8),
        ("LATH.MAP.DELRANGE num.2 - 5000000", "ZREMRANGEBYRANK z.2 0 500000", 1),
        ("LATH.MAP.DELRANGE str.2 - [member:0005", "ZREMRANGEBYRANK z.2 0 500000", 4), ("DUMP num", "DUMP z", 2), ("DUMP str", "DUMP z", 3),
        ("DUMP ivl", "DUMP z", 3), ("DUMP pool", "DUMP z", 3), ("COPY num num.2 REPLACE", "COPY z z.2 REPLACE", 1),
        ("COPY str str.2 REPLACE", "COPY z z.2 REPLACE", 2.5), ("COPY ivl ivl.2 REPLACE", "COPY z z.2 REPLACE", 1),
        ("COPY same same.2 REPLACE", "COPY z z.2 REPLACE", 3), ("COPY pool pool.2 REPLACE", "COPY z z.2 REPLACE", 5))


def milliseconds(server, *words):
    """On a processor: other programs do not count."""
    told = pathlib.Path(f"/proc/{server.process.pid}/task/{server.process.pid}/schedstat")
    before = int(told.read_text().split()[0])
    server(*words)
    return (int(told.read_text().split()[0]) - before) / 1e6


@pytest.fixture(scope="module")
def million(shared):
    if shared.preload:
        pytest.skip("a sanitizer's times say nothing")
    shared("FLUSHALL")
    fill = shared.connect(socket_timeout=900).execute_command
    for command, words in FILLED.values():
        fill("EVAL", FILL % (", ".join(f"'{word}'" for word in command.split()), N - 1, words, N - 1), 0)
    shared("LATH.POOL.CREATE", "pool", 0, 3 * N)
    fill("EVAL", POOL % (N - 1, 9 * 10**12), 0)
    yield shared
    shared("FLUSHALL")


def test_short_commands(million):
    """The machine may be busy: the least time of some, and in proportion to that of a loop, which takes 5 ms where it is not."""
    lines = [" ".join(words) for words in servers.commands(SHORT)]
    names = {name.decode() for name in million("COMMAND", "LIST", "FILTERBY", "MODULE", "lathwork") if name.count(b".") == 2}
    assert {f"LATH.{line.split()[0]}".lower() for line in lines} == {name.lower() for name in names}
    took = {}
    for line in lines:
        for _ in range(10):
            for made in ("made", "made2"):
                million("DEL", made)
            took[line] = min(took.get(line, 1e9), milliseconds(million, *f"LATH.{line}".split()))
            if took[line] < 8:
                break
    loop = min(milliseconds(million, "EVAL", "local s = 0; for i = 1, 1e6 do s = s + i end", 0) for _ in range(3))
    print(took, loop)
    assert not {line: ms for line, ms in took.items() if ms > 10 * max(1, loop / 5)}, loop


def test_leases_that_end_at_once(million):
    """A command ends a thousand, the timer the others."""
    million("LATH.POOL.CREATE", "old", 0, N)
    million("EVAL", "for i = 0, %d do redis.call('LATH.POOL.RESERVE', 'old', i, 1, 'LEASE', 30) end" % (N // 5), 0)
    million("CONFIG", "RESETSTAT")
    for _ in range(10):
        million("LATH.POOL.ALLOC", "old", N + 1)
    assert million("INFO", "commandstats")["cmdstat_LATH.POOL.ALLOC"]["usec_per_call"] < 20000
    assert servers.wait_for(lambda: million("LATH.POOL.HOLES", "old") == [[0, N]], 60)


def test_a_live_set_moves(million):
    """examples/migrate/zset_move.lua, beside a client that writes to both."""
    script = (pathlib.Path(__file__).resolve().parents[2] / "examples/migrate/zset_move.lua").read_text()
    stop, wrote = threading.Event(), []

    def write():
        client, rng = million.connect(), random.Random(7)
        while not stop.is_set():
            score, pipe = rng.randrange(2 * N), client.pipeline(transaction=True)
            pipe.zremrangebyscore("z", score, score)
            pipe.execute_command("LATH.MAP.DEL", "moved", score)
            if rng.random() < 0.7:
                pipe.zadd("z", {f"new {score}": score})
                pipe.execute_command("LATH.MAP.SET", "moved", score, f"new {score}", "FLOATS")
            pipe.execute()
            wrote.append(score)

    writer, at = threading.Thread(target=write), b"-inf"
    writer.start()
    million("CONFIG", "RESETSTAT")
    while at:
        at = million("EVAL", script, 2, "z", "moved", at, 1000)
    stop.set()
    writer.join()
    assert len(wrote) > 100
    assert million("EVAL", SAME, 2, "z", "moved") == million("ZCARD", "z") == million("LATH.MAP.LEN", "moved")
    million("DEL", "moved")


@pytest.mark.parametrize("line", LONG, ids=[" ".join(line[0].split()[:2]) for line in LONG])
def test_long_commands(million, line):
    """Each is made on a copy, if it changes it."""
    command, peer, most = line
    times = {command: 1e9, peer: 1e9}
    for _ in range(10):
        for words in times:
            key = words.split()[1]
            if key.endswith(".2"):
                million("COPY", key[:-2], key, "REPLACE")
            times[words] = min(times[words], milliseconds(million, *words.split()))
        if times[command] < most * times[peer]:
            return
    assert False, times
