# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""bench.py MODULE [--quick] [--json FILE]: the module's commands beside those of sorted sets, in both servers.

Server time is usec_per_call of INFO commandstats: what the command took inside the server, without the network.
Throughput is that of redis-benchmark with 8 connections and pipelines of 64. Server by server, command by command, in one run;
figures of different servers are not compared, since they have different allocators and ran at different times.
"""
import argparse
import json
import pathlib
import platform
import random
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))
import servers  # noqa: E402

BASE = 10**12  # redis-benchmark writes numbers as 12 digits: with a 1 before them they are keys
LUA = """
local want, align, holes = tonumber(ARGV[1]), tonumber(ARGV[2]), redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
for i = 1, #holes, 2 do
  local first = tonumber(holes[i + 1])
  local size = tonumber(holes[i])
  size = tonumber(string.match(holes[i], ':(%d+)$'))
  local at = math.ceil(first / align) * align
  if at + want <= first + size then
    redis.call('ZREM', KEYS[1], holes[i])
    if at > first then redis.call('ZADD', KEYS[1], first, first .. ':' .. (at - first)) end
    if at + want < first + size then
      redis.call('ZADD', KEYS[1], at + want, (at + want) .. ':' .. (first + size - at - want))
    end
    return at
  end
end
return false
"""


class Bench:
    def __init__(self, kind, module, quick):
        self.server = servers.Server(kind, module=module)
        self.kind = kind
        self.n = 100_000 if quick else 1_000_000
        self.rounds = 3
        self.rows = []

    def usec(self, run, *commands):
        """Runs it. Returns the server's µs per call of these commands together, for calls of the first one."""
        self.server("CONFIG", "RESETSTAT")
        result = run()
        stats = {name.lower(): row for name, row in self.server.client.info("commandstats").items()}
        rows = [stats[f"cmdstat_{name.lower()}"] for name in commands]
        return sum(row["usec"] for row in rows) / rows[0]["calls"], result

    def throughput(self, n, *words):
        """redis-benchmark. Returns requests per second."""
        out = subprocess.run(
            [shutil.which("redis-benchmark"), "-p", str(self.server.port), "-n", str(n), "-r", str(self.n), "-P", "64", "-c", "8",
             "--csv", *(str(word) for word in words)], check=True, capture_output=True, text=True).stdout
        if "ERR" in out:
            raise RuntimeError(out)
        return float(out.splitlines()[-1].split('","')[1])

    def pair(self, what, n, peer, ours, bar=None, fresh=False):
        """Measures both commands in turn, several times; a row of medians. fresh: into keys that are not there."""
        figures = {"peer": [], "ours": [], "peer_rate": [], "ours_rate": []}
        for _ in range(self.rounds):
            for who, words in (("peer", peer), ("ours", ours)):
                if words:
                    if fresh:
                        self.server("DEL", words[1])
                    usec, rate = self.usec(lambda words=words: self.throughput(n, *words), words[0])
                    figures[who].append(usec)
                    figures[f"{who}_rate"].append(rate)
        self.add(what, peer, ours, figures, bar)

    def add(self, what, peer, ours, figures, bar, unit="us"):
        row = {"server": self.kind, "what": what, "unit": unit, "peer": peer[0] if peer else None, "ours": ours[0], "bar": bar,
               **{f"{name}_figure": statistics.median(values) for name, values in figures.items() if values}}
        row["ratio"] = row["peer_figure"] / row["ours_figure"] if peer and row["ours_figure"] else None
        self.rows.append(row)
        show(row)

    # ---- maps ----

    def numbers(self, n):
        rng = random.Random(1)
        numbers = list(range(n))
        rng.shuffle(numbers)
        return numbers

    def send(self, commands):
        pipe = self.server.client.pipeline(transaction=False)
        for i, words in enumerate(commands, 1):
            pipe.execute_command(*words)
            if i % 100 == 0:
                pipe.execute()
        pipe.execute()

    def fill(self, n, command, key, value):
        """n entries in random order."""
        numbers = self.numbers(n)
        self.send((command, key, *(w for i in numbers[at:at + 500] for w in (BASE + i, value(i)))) for at in range(0, n, 500))

    def memory(self):
        def text(i):
            return f"m:{i:012}"
        for n in (10, 1000, self.n):
            took, told = {}, {}
            for who, command, value in (("peer", "ZADD", text), ("text", "LATH.MAP.MSET", text), ("ours", "LATH.MAP.MSET", lambda i: i)):
                copies = max(1, 10000 // n)
                self.server("FLUSHALL", "SYNC")
                time.sleep(0.5)
                before = self.server.client.info("memory")["used_memory"]
                for copy in range(copies):
                    self.fill(n, command, f"k{copy}", value)
                time.sleep(0.5)
                took[who] = [(self.server.client.info("memory")["used_memory"] - before) / n / copies]
                told[who] = [self.server("MEMORY", "USAGE", "k0", "SAMPLES", 0) / n]
            for how, figures in (("used_memory", took), ("MEMORY USAGE", told)):
                bar = {10: 0.5, self.n: 4 if how == "used_memory" else None}.get(n)
                self.add(f"memory per entry, {n} entries, values are numbers ({how})", ("ZSET",), ("LATH.MAP",),
                         {"peer": figures["peer"], "ours": figures["ours"]}, bar, "bytes")
                self.add(f"memory per entry, {n} entries, values of 14 bytes ({how})", ("ZSET",), ("LATH.MAP",),
                         {"peer": figures["peer"], "ours": figures["text"]}, 0.5 if n == 10 else None, "bytes")

    def maps(self):
        n = self.n
        key, member = "1__rand_int__", "m:__rand_int__"
        self.pair("insert", n, ("ZADD", "z", key, member), ("LATH.MAP.SET", "m", key, "__rand_int__"),
                  {"redis": 5, "valkey": 4.5}[self.kind], fresh=True)
        self.server("DEL", "z", "m")
        self.fill(n, "ZADD", "z", lambda i: f"m:{i:012}")
        self.fill(n, "LATH.MAP.MSET", "m", lambda i: i)
        self.fill(n, "LATH.MAP.MSET", "t", lambda i: f"m:{i:012}")
        some = max(n // 10, 20000)
        self.pair("read one", some, ("ZSCORE", "z", member), ("LATH.MAP.GET", "m", key))
        self.pair("read 16", some // 4, ("ZMSCORE", "z", *[member] * 16), ("LATH.MAP.MGET", "m", *[key] * 16), 1)
        self.pair("range of 100", some // 10, ("ZRANGEBYSCORE", "z", key, "+inf", "WITHSCORES", "LIMIT", 0, 100),
                  ("LATH.MAP.RANGE", "m", key, "+", "LIMIT", 100), 4)
        self.pair("range of 100, packed", some // 10, ("ZRANGEBYSCORE", "z", key, "+inf", "WITHSCORES", "LIMIT", 0, 100),
                  ("LATH.MAP.RANGE", "m", key, "+", "LIMIT", 100, "PACKED"), 20)
        self.pair("range of 100, values of 14 bytes", some // 10,
                  ("ZRANGEBYSCORE", "z", key, "+inf", "WITHSCORES", "LIMIT", 0, 100),
                  ("LATH.MAP.RANGE", "t", key, "+", "LIMIT", 100))
        self.pair("range of 100, values of 14 bytes, packed", some // 10,
                  ("ZRANGEBYSCORE", "z", key, "+inf", "WITHSCORES", "LIMIT", 0, 100),
                  ("LATH.MAP.RANGE", "t", key, "+", "LIMIT", 100, "PACKED"))
        self.pair("read one, value of 14 bytes", some, ("ZSCORE", "z", member), ("LATH.MAP.GET", "t", key))
        self.pair("rank", some, ("ZRANK", "z", member), ("LATH.MAP.RANK", "m", key), 1)
        self.pair("count of a range", some, ("ZCOUNT", "z", key, "+inf"), ("LATH.MAP.COUNT", "m", key, "+"), 1)
        self.pair("remove", some, ("ZREM", "z", member), ("LATH.MAP.DEL", "m", key))
        self.pair("SET beside SET", some, ("SET", f"s:{key}", "__rand_int__"), ("LATH.MAP.SET", "m", key, "__rand_int__"))
        self.pair("GET beside GET", some, ("GET", f"s:{key}"), ("LATH.MAP.GET", "m", key))

    # ---- pools ----

    def holes(self):
        """200,000 blocks of 8, half of them freed at random: 50,000 holes; as a pool, and as a sorted set of holes."""
        blocks = 20_000 if self.n < 10**6 else 200_000
        rng = random.Random(2)
        pipe = self.server.client.pipeline(transaction=False)
        pipe.execute_command("LATH.POOL.CREATE", "p", 0, 1 << 40)
        for i in range(blocks):
            pipe.execute_command("LATH.POOL.ALLOC", "p", 8)
            if i % 10000 == 0:
                pipe.execute()
        for i in rng.sample(range(blocks), blocks // 2):
            pipe.execute_command("LATH.POOL.FREE", "p", i * 8)
        pipe.execute()
        at, free = 0, []
        while True:
            some = self.server("LATH.POOL.HOLES", "p", "WITHIN", at, 2**64 - 1, "LIMIT", 10000)
            free += some
            if len(some) < 10000:
                break
            at = some[-1][0] + some[-1][1]
        self.send(("ZADD", "holes", first, f"{first}:{size}") for first, size in free)
        return len(free)

    def alloc(self, calls, *words):
        """Allocates; afterwards, outside the measurement, frees again. Returns µs per allocation."""
        def run():
            pipe = self.server.client.pipeline(transaction=False)
            for _ in range(calls):
                pipe.execute_command("LATH.POOL.ALLOC", "p", *words)
            return pipe.execute()
        usec, got = self.usec(run, "LATH.POOL.ALLOC")
        assert None not in got
        self.send(("LATH.POOL.FREE", "p", first) for first in got)
        return usec

    def pools(self):
        holes = self.holes()
        script = self.server.client.script_load(LUA)
        requests = ((8,), (8, "ALIGN", 64), (64,), (64, "ALIGN", 64))
        usec = {words: [] for words in requests}
        for _ in range(3 * self.rounds):
            for words in requests:
                usec[words].append(self.alloc(2000, *words))
        lua, calls = [], 3
        for _ in range(self.rounds):
            def run():
                for _ in range(calls):
                    self.server("EVALSHA", script, 1, "holes", 64, 64)
            lua.append(self.usec(run, "EVALSHA")[0])
        self.add(f"allocate 64 aligned, {holes} holes", ("Lua first fit",), ("LATH.POOL.ALLOC",), {"peer": lua, "ours": usec[64, "ALIGN", 64]}, 10000)
        for size in (64, 8):
            self.add(f"allocate {size} anywhere beside {size} aligned to 64, {holes} holes", ("LATH.POOL.ALLOC",),
                     ("LATH.POOL.ALLOC ALIGN",), {"peer": usec[size,], "ours": usec[size, "ALIGN", 64]}, 1 / 1.3)
        before = self.server.client.info("memory")["used_memory"]
        pipe = self.server.client.pipeline(transaction=False)
        small = 10000
        for i in range(small):
            pipe.execute_command("LATH.POOL.CREATE", f"small:{i}", 0, 1 << 16)
            for _ in range(10):
                pipe.execute_command("LATH.POOL.ALLOC", f"small:{i}", 16)
            if i % 1000 == 0:
                pipe.execute()
        pipe.execute()
        each = (self.server.client.info("memory")["used_memory"] - before) / small
        self.add(f"bytes per pool of 10 ranges, {small} pools", ("bar: 2 KiB",), ("LATH.POOL",), {"peer": [2048], "ours": [each]}, 1, "bytes")


def show(row):
    ratio = f"{row['ratio']:9.2f}x" if row["ratio"] else " " * 10
    bar = "" if not row["bar"] else (" ok" if row["ratio"] >= row["bar"] else " LOSES") + f" (bar {row['bar']:.2f})"
    rates = f"  {row['peer_rate_figure'] / 1e3:7.0f} {row['ours_rate_figure'] / 1e3:7.0f} k/s" if "ours_rate_figure" in row else ""
    print(f"{row['server']:7} {row['what']:56} {row['peer_figure']:11.2f} {row['ours_figure']:9.2f} {row['unit']:5} {ratio}{rates}{bar}",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("module")
    parser.add_argument("--quick", action="store_true", help="a tenth of the entries")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--server", choices=servers.KINDS, action="append")
    parser.add_argument("--only", choices=("maps", "memory", "pools"), action="append")
    asked = parser.parse_args()
    rows = []
    print(f"{'server':7} {'':56} {'peer':>11} {'ours':>9} {'':5} {'ratio':>10}   peer    ours")
    for kind in asked.server or servers.KINDS:
        bench = Bench(kind, str(pathlib.Path(asked.module).resolve()), asked.quick)
        try:
            for part in asked.only or ("maps", "memory", "pools"):
                bench.server("FLUSHALL")
                getattr(bench, part)()
        finally:
            bench.server.stop()
        rows += bench.rows
    if asked.json:
        asked.json.write_text(json.dumps({"machine": platform.processor() or platform.machine(), "kernel": platform.release(),
                                          "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
