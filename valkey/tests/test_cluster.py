# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A pool over a cluster whose servers are killed, paused, cut off, failed over and made to synchronise anew.

What was acknowledged with WAIT is there afterwards, and no range of it was handed out twice."""
import os
import pathlib
import random
import signal
import sys
import threading
import time

import pytest
import redis
from cluster import Cluster
from servers import seed, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from lathpool import NotDurable, ShardedPool  # noqa: E402

FIRST = ("lag", "cut")  # in every run: those that lose most where something is wrong
ROUNDS = int(os.environ.get("LATH_CLUSTER_ROUNDS", "100" if os.environ.get("LATH_VALKEY_LONG") else "5"))


class Client(threading.Thread):
    """Allocates and frees. `sure`: what it was told, and what must hold. An owner whose last answer was lost is not in it."""

    def __init__(self, cluster, name):
        super().__init__()
        self.pool = ShardedPool(cluster.addresses, "ids", shards=12, replicas=1, wait_ms=500, timeout=1.0)
        self.name, self.rng = name, random.Random(name)
        self.sure, self.n, self.stop, self.error = {}, 0, False, None

    def run(self):
        try:
            while not self.stop:
                self.step()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error

    def step(self):
        if self.sure and self.rng.random() < 0.3:
            owner = self.rng.choice(sorted(self.sure))
            del self.sure[owner]  # whatever happens to the answer
            try:
                self.pool.free(owner)
            except (NotDurable, redis.exceptions.RedisError):
                pass
            return
        self.n += 1
        owner, size = f"{self.name} {self.n}", self.rng.choice((1, 8, 16))
        for _ in range(60):
            try:
                got = self.pool.alloc(size, align=size, owner=owner)
            except (NotDurable, redis.exceptions.RedisError):
                if self.stop:
                    return
                continue
            if got is not None:
                self.sure[owner] = (got, size)
            return


def inject(cluster, rng, what):
    """One fault, and its end; "": any. Returns its name."""
    server = rng.choice(cluster.primaries())
    what = what or rng.choice(("kill", "lag", "lag", "cut", "cut", "pause", "failover", "resync"))
    if what == "lag":  # the replica stands still while the primary goes on, and takes over without what it has not seen
        replica = cluster.replica_of(server)
        replica.process.send_signal(signal.SIGSTOP)
        server("CLIENT", "KILL", "TYPE", "replica")  # or the kernel would keep for it what it has not read
        time.sleep(0.6)
        server.kill()
        replica.process.send_signal(signal.SIGCONT)
        wait_for(lambda: cluster.role(replica)[0] == "master", 30)
        server.start()
    elif what == "cut":  # the primary and its clients go on, until it knows; meanwhile another server has its place
        replica = cluster.replica_of(server)
        cluster.cut(server)
        if rng.random() < 0.3:
            time.sleep(rng.choice((0.3, 1.0)))  # too short for a failover
        else:
            wait_for(lambda: cluster.role(replica)[0] == "master", 30)
            time.sleep(rng.choice((0.0, 1.0)))
        cluster.proxy.mend()
    elif what == "kill":
        server.kill()
        wait_for(lambda: len(cluster.primaries()) >= 3, 30)
        server.start()
    elif what == "pause":
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(rng.choice((0.5, 3.0)))
        server.process.send_signal(signal.SIGCONT)
    else:
        replicas = [s for s in cluster.servers if s.alive() and cluster.role(s)[0] == "slave"]
        replica = rng.choice(replicas)
        if what == "failover":
            try:
                replica("CLUSTER", "FAILOVER")
            except redis.exceptions.RedisError:
                pass
        else:  # a replica that comes back empty
            replica.kill()
            replica.start()
    return what


def check(cluster, clients, rounds):
    pool = ShardedPool(cluster.addresses, "ids", shards=12)
    there = {}
    spans = []
    for first, size, owner in pool.ranges():
        assert owner not in there, f"{owner} has two ranges"
        there[owner] = (first, size)
        spans.append((first, size))
    spans.sort()
    assert all(a + n <= b for (a, n), (b, _) in zip(spans, spans[1:])), "ranges overlap"
    for client in clients:
        for owner, range_of in client.sure.items():
            assert there.get(owner) == range_of, f"{owner} was told {range_of}, now {there.get(owner)}, after {rounds}"


@pytest.mark.parametrize("kind", os.environ.get("LATH_VALKEY_KINDS", "redis,valkey").split(","))
def test_faults(kind):
    if os.environ.get("LATH_VALKEY_PRELOAD"):
        pytest.skip("servers with a sanitizer are too slow for time limits of a cluster")
    rng = random.Random(seed())
    cluster = Cluster(kind)
    done = []
    try:
        ShardedPool(cluster.addresses, "ids", shards=12).create(0, 1 << 40)
        for _ in range(ROUNDS):
            clients = [Client(cluster, f"{len(done)} {name}") for name in ("a", "b")]
            for client in clients:
                client.start()
            time.sleep(0.5)
            done.append(inject(cluster, rng, FIRST[len(done)] if len(done) < len(FIRST) else ""))
            time.sleep(0.5)
            assert wait_for(cluster.healthy, 60), f"not healthy after {done}"
            time.sleep(0.3)
            wait_for(lambda: all(client.n > 3 or client.error for client in clients), 60)
            for client in clients:
                client.stop = True
            for client in clients:
                client.join(120)
                assert not client.is_alive() and not client.error, client.error
            assert all(client.n > 3 for client in clients), f"clients made no progress after {done}"
            check(cluster, clients, done)
    finally:
        cluster.stop()
