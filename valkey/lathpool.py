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
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

AGAIN = tuple(getattr(redis.exceptions, f"{name}Error")
              for name in ("Connection", "Timeout", "ReadOnly", "ClusterDown", "MasterDown", "TryAgain", "Ask")) + (
                  redis.exceptions.RedisClusterException,)


class NotDurable(Exception):
    """Too few replicas acknowledged the change in time."""


class ShardedPool:
    def __init__(self, nodes, name, shards=16, replicas=1, wait_ms=1000, patience=30.0, timeout=2.0):
        self.nodes = list(nodes)
        self.keys = [f"{name}:{{{name}.{i}}}" for i in range(shards)]
        self.replicas, self.wait_ms, self.patience, self.timeout = replicas, wait_ms, patience, timeout
        self.cluster = None
        self.turn = 0

    def run(self, key, *words, durable=False):
        """Runs a command on the primary that has the key now, until patience ends. durable: and WAITs, on the same connection."""
        end = time.monotonic() + self.patience
        while True:
            try:
                if self.cluster is None:
                    self.cluster = RedisCluster(startup_nodes=[ClusterNode(*node) for node in self.nodes], protocol=2,
                                                socket_timeout=self.timeout, retry=Retry(NoBackoff(), 0))
                node = self.cluster.get_node_from_key(key)
                with self.cluster.get_redis_connection(node).client() as connection:
                    reply = connection.execute_command(words[0], key, *words[1:])
                    if durable and self.replicas and connection.execute_command("WAIT", self.replicas, self.wait_ms) < self.replicas:
                        raise NotDurable(words)
                    return reply
            except AGAIN:
                if time.monotonic() > end:
                    raise
                if self.cluster:
                    self.cluster.close()  # its view of the cluster is old
                self.cluster = None
                time.sleep(0.1)

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
