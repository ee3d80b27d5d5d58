# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A pool that is spread over the nodes of a cluster: one key per shard, each with its own numbers.

    pool = ShardedPool([("127.0.0.1", 7000)], "ids", shards=16)
    pool.create(first=0, size=1 << 40)
    first = pool.alloc(64, align=64, owner="worker 7")     # None: no shard has room
    pool.free(owner="worker 7")

A range is returned when `replicas` replicas have acknowledged it (WAIT). If that fails, NotDurable is raised: the range may be
lost by a failover; ask again with the same owner. Owners are unique over all shards as long as only this class is used.
One object belongs to one thread.
"""
import time

import redis
from redis.crc import key_slot

RETRY = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, redis.exceptions.ReadOnlyError,
         redis.exceptions.ClusterDownError, redis.exceptions.MasterDownError, redis.exceptions.TryAgainError,
         redis.exceptions.BusyLoadingError)


class NotDurable(Exception):
    """Too few replicas acknowledged the change in time."""


class ShardedPool:
    def __init__(self, nodes, name, shards=16, replicas=1, wait_ms=1000, patience=30.0, timeout=2.0):
        self.seeds = list(nodes)
        self.keys = [f"{name}:{{{name}.{i}}}" for i in range(shards)]
        self.replicas, self.wait_ms, self.patience, self.timeout = replicas, wait_ms, patience, timeout
        self.nodes = {}  # (host, port) -> connection
        self.slots = []  # (first, last, (host, port))
        self.turn = 0

    # ---- routing ----

    def connection(self, node):
        if node not in self.nodes:
            self.nodes[node] = redis.Redis(host=node[0], port=node[1], socket_timeout=self.timeout, protocol=2, retry=None,
                                           single_connection_client=True, decode_responses=False)
        return self.nodes[node]

    def forget(self, node):
        connection = self.nodes.pop(node, None)
        if connection:
            connection.close()

    def find_slots(self):
        for node in [*{node for _, _, node in self.slots}, *self.seeds]:
            try:
                rows = self.connection(node).execute_command("CLUSTER SLOTS")
            except redis.exceptions.RedisError:
                self.forget(node)
                continue
            self.slots = [(row[0], row[1], (row[2][0].decode() or node[0], row[2][1])) for row in _rows(rows)]
            return

    def node_of(self, key):
        slot = key_slot(key.encode())
        for first, last, node in self.slots:
            if first <= slot <= last:
                return node
        return None

    def run(self, key, *words, durable=False):
        """Runs a command on the primary that has the key now, until patience ends. durable: and WAITs, on the same connection."""
        end = time.monotonic() + self.patience
        while True:
            node = self.node_of(key)
            try:
                if node is None:
                    raise redis.exceptions.ConnectionError("no node has the key's slot")
                connection = self.connection(node)
                reply = connection.execute_command(words[0], key, *words[1:])
                if durable and self.replicas and connection.execute_command("WAIT", self.replicas, self.wait_ms) < self.replicas:
                    raise NotDurable(words)
                return reply
            except redis.exceptions.MovedError as error:
                last = error
                self.slots = [(error.slot_id, error.slot_id, (error.host or node[0], error.port)), *self.slots]
            except RETRY as error:
                last = error
                if node:
                    self.forget(node)
                time.sleep(0.1)
            if time.monotonic() > end:
                raise last
            self.find_slots()

    # ---- the pool ----

    def create(self, first, size):
        """Gives each shard its part of the numbers. Shards that exist stay as they are."""
        each = size // len(self.keys)
        for i, key in enumerate(self.keys):
            mine = size - each * i if i == len(self.keys) - 1 else each
            try:
                self.run(key, "LATH.POOL.CREATE", first + each * i, mine, durable=True)
            except redis.exceptions.ResponseError as error:
                if "exists" not in str(error):
                    raise

    def find(self, owner):
        """(key, first, size) of the owner's range, or None."""
        for key in self.keys:
            there = self.run(key, "LATH.POOL.OWNER", owner)
            if there:
                return key, int(there[0]), int(there[1])
        return None

    def alloc(self, size, align=1, owner=None, lease=None, new=False):
        """Takes a range. new: the owner is known to have none, so no shard is asked for it before."""
        options = ["ALIGN", align] + (["OWNER", owner] if owner else []) + (["LEASE", lease] if lease else [])
        there = None if new or not owner else self.find(owner)
        if there:
            return int(self.run(there[0], "LATH.POOL.ALLOC", size, *options, durable=True))
        self.turn += 1
        for i in range(len(self.keys)):
            at = (self.turn + i) % len(self.keys)
            got = self.run(self.keys[at], "LATH.POOL.ALLOC", size, *options, durable=True)
            if got is not None:
                self.turn += i  # shards before it were full: begin here the next time
                return int(got)
        return None

    def free(self, owner):
        there = self.find(owner)
        return bool(there) and self.run(there[0], "LATH.POOL.FREE", "OWNER", owner, durable=True) == 1

    def ranges(self):
        """All ranges of all shards, as (first, size, owner), in no order."""
        for key in self.keys:
            for first, size, owner, _ in self.run(key, "LATH.POOL.RANGES"):
                yield int(first), int(size), owner and owner.decode()


def _rows(reply):
    """CLUSTER SLOTS as the server sends it, or as redis-py parses it."""
    if isinstance(reply, dict):
        return [[first, last, [str(value["primary"][0]).encode(), value["primary"][1]]] for (first, last), value in reply.items()]
    return reply
