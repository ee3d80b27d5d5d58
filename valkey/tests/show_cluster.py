# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""show_cluster.py KIND: the workload of examples/cluster.sh, with what happens."""
import sys
import time

from cluster import Cluster
from cluster_faults import Durable, ShardedPool, check_durable
from servers import wait_for


def main():
    kind = sys.argv[1]
    cluster = Cluster(kind)
    try:
        print(f"{kind}: three primaries, three replicas, ports {', '.join(str(port) for _, port in cluster.addresses)}")
        ShardedPool(cluster.addresses, "ids", shards=12).create(0, 1 << 40)
        clients = [Durable(cluster, name) for name in ("left", "right")]
        for client in clients:
            client.start()
        time.sleep(2)
        before = sum(client.n for client in clients)
        victim = cluster.primaries()[0]
        victim.kill()
        began = time.monotonic()
        print(f"{before} allocations; now the primary at port {victim.port} is killed")
        wait_for(lambda: len(cluster.primaries()) == 3, 60)
        print(f"a replica took over after {time.monotonic() - began:.1f} s")
        time.sleep(2)
        victim.start()
        wait_for(cluster.healthy, 60)
        for client in clients:
            client.stop = True
        for client in clients:
            client.join()
        wrong = check_durable(cluster, clients)
        if wrong:
            sys.exit("\n".join(wrong))
        print(f"{sum(client.n for client in clients)} allocations; {sum(len(client.sure) for client in clients)} ranges were "
              "acknowledged and not freed: all are there, and no two overlap")
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
