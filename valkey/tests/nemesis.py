# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Faults of a cluster: each takes the cluster, a random source and one of the primaries, and ends what it began."""
import shutil
import signal
import time
from pathlib import Path

import redis
from redis.crc import key_slot
from servers import wait_for


def replicas(cluster):
    return [server for server in cluster.servers if server.alive() and cluster.role(server)[0] == "slave"]


def took_over(cluster, replica, seconds=30):
    return wait_for(lambda: cluster.role(replica)[0] == "master", seconds)


def stand_still(server, seconds):
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    server.process.send_signal(signal.SIGCONT)


def none(_cluster, _rng, _server):
    time.sleep(1)


def kill(cluster, _rng, server):
    """A primary ends by SIGKILL, a replica takes over, and it comes back."""
    server.kill()
    wait_for(lambda: len(cluster.primaries()) >= 3, 30)
    server.start()


def restart(_cluster, _rng, server):
    """A primary ends by SIGKILL and is back at once, before it is missed, with what its append-only file has."""
    server.kill()
    server.start()


def restart_all(cluster, _rng, _server):
    """All six end by SIGKILL, and start again."""
    for server in cluster.servers:
        server.kill()
    for server in cluster.servers:
        server.start()


def kill_replica(cluster, rng, _server):
    replica = rng.choice(replicas(cluster))
    replica.kill()
    time.sleep(rng.choice((0.0, 2.5)))
    replica.start()


def empty_replica(cluster, rng, _server):
    """A replica loses its disk, all but its name in the cluster."""
    replica = rng.choice(replicas(cluster))
    replica.kill()
    shutil.rmtree(Path(replica.directory, "appendonlydir"))
    replica.start()


def rewrite(cluster, rng, server):
    """Every server writes its append-only file anew, one primary twice, and that one is killed in the meantime."""
    for one in cluster.servers:
        one("BGREWRITEAOF")
    time.sleep(rng.choice((0.0, 0.02, 0.1, 0.5)))
    server.kill()
    server.start()
    server("BGREWRITEAOF")


def pause(_cluster, rng, server):
    """A primary stands still, not long enough to be missed."""
    stand_still(server, rng.choice((0.2, 0.6, 0.9)))


def pause_long(cluster, _rng, server):
    """A primary stands still until a replica has its place; then it goes on where it was."""
    replica = cluster.replica_of(server)
    server.process.send_signal(signal.SIGSTOP)
    took_over(cluster, replica)
    server.process.send_signal(signal.SIGCONT)


def pause_replica(cluster, rng, _server):
    stand_still(rng.choice(replicas(cluster)), rng.choice((0.5, 2.5)))


def lag(cluster, _rng, server):
    """The replica stands still while the primary goes on, and takes over without what it has not seen."""
    replica = cluster.replica_of(server)
    replica.process.send_signal(signal.SIGSTOP)
    server("CLIENT", "KILL", "TYPE", "replica")  # or the kernel would keep for it what it has not read
    time.sleep(0.6)
    server.kill()
    replica.process.send_signal(signal.SIGCONT)
    took_over(cluster, replica)
    server.start()


def cut(cluster, rng, server):
    """The primary and its clients go on, until it knows; meanwhile its replica has its place."""
    replica = cluster.replica_of(server)
    cluster.cut(server)
    took_over(cluster, replica)
    time.sleep(rng.choice((0.0, 1.0)))
    cluster.proxy.mend()


def cut_short(cluster, rng, server):
    cluster.cut(server)
    time.sleep(rng.choice((0.3, 0.8)))
    cluster.proxy.mend()


def cut_replica(cluster, rng, _server):
    cluster.cut(rng.choice(replicas(cluster)))
    time.sleep(rng.choice((0.5, 2.5)))
    cluster.proxy.mend()


def cut_one_way(cluster, rng, server):
    """A primary is heard and does not hear, or hears and is not heard."""
    at = cluster.servers.index(server)
    others = [other for other in range(len(cluster.servers)) if other != at]
    cluster.proxy.cut_links([(at, other) for other in others] if rng.random() < 0.5 else [(other, at) for other in others])
    time.sleep(rng.choice((0.8, 3.0)))
    cluster.proxy.mend()


def cut_halves(cluster, rng, _server):
    """Three servers on each side."""
    side = set(rng.sample(range(len(cluster.servers)), 3))
    everyone = range(len(cluster.servers))
    cluster.proxy.cut_links([(a, b) for a in everyone for b in everyone if (a in side) != (b in side)])
    time.sleep(rng.choice((1.0, 4.0)))
    cluster.proxy.mend()


def drop(cluster, rng, _server):
    """The connections of all clients end, now and again."""
    for _ in range(8):
        cluster.proxy.drop_clients(rng.randrange(len(cluster.servers)))
        time.sleep(0.1)


def failover(cluster, rng, _server):
    """A replica is told to take over, and its primary waits for it."""
    replica = rng.choice(replicas(cluster))
    replica("CLUSTER", "FAILOVER")
    took_over(cluster, replica, 10)


def takeover(cluster, rng, _server):
    """A replica is told to take over without asking its primary, or anybody."""
    replica = rng.choice(replicas(cluster))
    replica("CLUSTER", "FAILOVER", rng.choice(("FORCE", "TAKEOVER")))
    took_over(cluster, replica, 10)


def migrate(cluster, rng, server):
    """The slots of the keys that the server has go to another primary, one after the other."""
    target = rng.choice([other for other in cluster.primaries() if other is not server])
    slots = sorted({key_slot(key) for key in server("KEYS", "*")})
    for slot in rng.sample(slots, min(3, len(slots))):
        if server.kind.startswith("valkey") and rng.random() < 0.5:
            move_at_once(server, target, slot)
        else:
            move_by_keys(cluster, server, target, slot)


def move_at_once(server, target, slot):
    """CLUSTER MIGRATESLOTS, Valkey 9.0 and later."""
    server("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target("CLUSTER", "MYID"))
    wait_for(lambda: not server("CLUSTER", "COUNTKEYSINSLOT", slot), 20)


def move_by_keys(cluster, server, target, slot):
    """As every release can: key by key, with ASK in the meantime."""
    target_id = target("CLUSTER", "MYID")
    port = cluster.addresses[cluster.servers.index(target)][1]
    target("CLUSTER", "SETSLOT", slot, "IMPORTING", server("CLUSTER", "MYID"))
    server("CLUSTER", "SETSLOT", slot, "MIGRATING", target_id)
    while keys := server("CLUSTER", "GETKEYSINSLOT", slot, 3):
        try:
            server("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)
        except redis.exceptions.ResponseError as error:
            if "NOKEY" not in str(error):
                raise
        time.sleep(0.02)
    for one in (target, server, *(other for other in cluster.primaries() if other not in (server, target))):
        one("CLUSTER", "SETSLOT", slot, "NODE", target_id)


FAULTS = {fault.__name__.replace("_", "-"): fault for fault in (
    none, kill, restart, restart_all, kill_replica, empty_replica, rewrite, pause, pause_long, pause_replica, lag, cut, cut_short,
    cut_replica, cut_one_way, cut_halves, drop, failover, takeover, migrate)}
