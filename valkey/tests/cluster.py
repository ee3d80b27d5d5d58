# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A cluster of three primaries and three replicas on loopback."""
import shutil
import signal
import subprocess

from proxy import Proxy
from redis.crc import key_slot
from servers import Server, free_port, wait_for


class Cluster:
    """Servers that reach each other through `proxy` alone, and are reached through it at `addresses`."""

    def __init__(self, kind, node_timeout=1500):
        self.servers, self.addresses, self.proxy = [], [], Proxy()
        options = {"cluster-enabled": "yes", "cluster-config-file": "nodes.conf", "cluster-node-timeout": node_timeout,
                   "appendonly": "yes", "appendfsync": "always", "repl-diskless-sync-delay": 0, "cluster-require-full-coverage": "no",
                   "cluster-replica-validity-factor": 0, "protected-mode": "no", "cluster-announce-ip": "127.0.0.1"}
        self.proxy.start()
        try:
            for _ in range(6):
                self.start_server(kind, options)
            subprocess.run([shutil.which("redis-cli"), "--cluster", "create", *(f"{host}:{port}" for host, port in self.addresses),
                            "--cluster-replicas", "1", "--cluster-yes"], check=True, stdout=subprocess.DEVNULL, timeout=120)
            if not wait_for(self.healthy, 60):
                raise RuntimeError("the cluster does not form")
        except BaseException:
            self.stop()
            raise

    def start_server(self, kind, options):
        number, port, bus = self.proxy.listen()
        host = self.proxy.host(number)
        server = Server(kind, host=host, port=free_port(), **options, **{
            "bind-source-addr": host, "cluster-announce-port": port, "cluster-announce-bus-port": bus})
        self.proxy.connect(number, (port, bus), (server.port, server.port + 10000))
        self.servers.append(server)
        self.addresses.append(("127.0.0.1", port))

    def cut(self, server):
        self.proxy.cut(self.servers.index(server))

    def role(self, server):
        info = server.client.info("replication")
        return info["role"], info.get("connected_slaves", 0), info.get("master_link_status")

    def healthy(self):
        """All nodes answer, agree, and each primary has its replica in step."""
        try:
            for server in self.servers:
                state = dict(line.split(":") for line in _text(server("CLUSTER", "INFO")).split("\r\n") if ":" in line)
                if state["cluster_state"] != "ok" or state["cluster_slots_ok"] != "16384":
                    return False
            roles = [self.role(server) for server in self.servers]
        except Exception:  # pylint: disable=broad-except
            return False
        return (sum(role == "master" and replicas >= 1 for role, replicas, _ in roles) == 3 and
                sum(role == "slave" and link == "up" for role, _, link in roles) == 3)

    def primaries(self):
        return [server for server in self.servers if server.alive() and self.role(server)[0] == "master"]

    def slots_of(self, server):
        """(first, last) of each run of slots that this server has, as it knows."""
        mine = next(line for line in server("CLUSTER", "NODES").decode().split("\n") if "myself" in line)
        return [(int(run.split("-")[0]), int(run.split("-")[-1])) for run in mine.split()[8:] if not run.startswith("[")]

    def owner(self, key):
        """The primary that has the slot of a key."""
        slot = key_slot(key.encode())
        return next(server for server in self.primaries() if any(first <= slot <= last for first, last in self.slots_of(server)))

    def replica_of(self, primary):
        port = self.addresses[self.servers.index(primary)][1]
        for server in self.servers:
            if server.alive() and server.client.info("replication").get("master_port") == port:
                return server
        return None

    def stop(self):
        for server in self.servers:
            if server.alive():
                server.process.send_signal(signal.SIGCONT)
            server.stop()
        self.proxy.stop()


def _text(reply):
    if isinstance(reply, dict):
        return "\r\n".join(f"{name}:{value}" for name, value in reply.items())
    return reply.decode() if isinstance(reply, bytes) else reply
