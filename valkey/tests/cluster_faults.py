#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""cluster_faults.py [options]: clients of a cluster with the module, whose servers are killed, paused, cut off and moved about.

Three primaries and three replicas on loopback, each with an append-only file that is synced always. A round makes new keys, lets
clients call them and notes each call and reply; meanwhile one fault begins and ends. Then it compares what happened with what
the server promises:

    no replica took over, or one was told to and waited for its primary: the calls on each key are linearizable
    a replica took over by itself or by force: the calls that one server answered are linearizable; those that the new primary
        answered begin with a state that the old one had. Acknowledged writes that are lost are counted
    always: no value that nobody wrote; ranges of a pool do not overlap, and no owner has two; what was acknowledged with WAIT is
        there; no server ends by itself; a replica holds what its primary holds (DEBUG DIGEST), and so does a primary that has
        read its keys from a snapshot, or from its append-only file

LATH_VALKEY_MODULE is the module; ./run test-valkey builds it, and the Python with what this needs: build/valkey-python. The same
seed makes the same plan of faults and calls, not the same schedule. Exit status 1: a promise was broken; the seed is printed, and
the history of the round is kept.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import threading
import time

import redis
from cluster import Cluster
from history import POOL, Call, Undecided, explain, plain
from nemesis import FAULTS
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.retry import Retry
from servers import KINDS, seed, wait_for

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from lathpool import NotDurable, ShardedPool  # noqa: E402

CLIENTS, RATE = 8, 40  # RATE: calls on one key per second, so that the search for an order ends
NOT_DONE = tuple(getattr(redis.exceptions, f"{name}Error")  # of calls that did not take place
                 for name in ("ClusterDown", "TryAgain", "BusyLoading", "ReadOnly", "MasterDown"))
UNREACHABLE = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError, OSError)
WON = re.compile(r"Failover election won|Taking over the (?:master|primary)")


# ---- one client ----

class Refused(Exception):
    """The call did not take place."""


class Lost(Exception):
    """The call was sent, and there was no reply."""


class Router:
    """Sends a call to the server that has the key, once: what was sent and not answered is not sent again."""

    def __init__(self, addresses, rng):
        self.addresses, self.rng, self.links, self.slots = addresses, rng, {}, {}

    def send(self, address, words, asking=False):
        """Returns the reply, which may be an error."""
        try:
            if address not in self.links:
                link = redis.Connection(host=address[0], port=address[1], socket_timeout=1.5, protocol=2, retry=Retry(NoBackoff(), 0))
                link.connect()
                self.links[address] = link
        except UNREACHABLE as error:
            return redis.exceptions.BusyLoadingError(str(error))  # nothing was sent
        link = self.links[address]
        try:
            for part in (("ASKING",), words) if asking else (words,):
                link.send_command(*part)
                reply = link.read_response()
            return reply
        except (redis.exceptions.ResponseError, redis.exceptions.BusyLoadingError) as error:
            return error
        except UNREACHABLE as error:
            self.links.pop(address).disconnect()
            raise Lost from error

    def call(self, call, key, patience=20):
        """Sends call.words, and notes the server. Returns the reply; Refused: it did not take place."""
        words, end = (call.words[0], key, *call.words[1:]), time.monotonic() + patience
        slot = key_slot(key.encode())
        while time.monotonic() < end:
            call.node = self.slots.get(slot) or self.rng.choice(self.addresses)
            reply = self.send(call.node, words)
            if type(reply) is redis.exceptions.AskError:
                call.node = (reply.host or "127.0.0.1", reply.port)
                reply = self.send(call.node, words, asking=True)
            if isinstance(reply, redis.exceptions.AskError):  # MovedError too
                self.slots[slot] = (reply.host or "127.0.0.1", reply.port)
            elif isinstance(reply, NOT_DONE) or str(reply).startswith("UNBLOCKED"):
                self.slots.pop(slot, None)
                time.sleep(0.05)
            else:
                return reply
        raise Refused("no server took the call")


# ---- what clients call ----

def draw_map(rng, token):
    entry, counter = rng.randrange(4), rng.choice((8, 9))
    return rng.choice((
        ("SET", entry, token), ("SET", entry, token, "NX"), ("SET", entry, token, "XX"), ("GET", entry), ("GET", entry),
        ("DEL", entry), ("DEL", entry, counter), ("INCR", counter, rng.choice((1, 5, -2))), ("INCR", counter, 1), ("GET", counter),
        ("CAS", entry, "?", token), ("CAS", entry, "?", token), ("MSET", entry, token, 3 - entry, token), ("MGET", 0, 1, 2, 3, 8),
        ("POP", "MIN"), ("POP", "MAX"), ("RANGE", "-", "+"), ("LEN",), ("RANK", entry), ("SELECT", rng.choice((0, 1, -1))),
        ("FLOOR", 7)))


def draw_pool(rng, token):
    size, first, owner = rng.choice((1, 2, 3, 5, 8)), rng.randrange(POOL), f"o{rng.randrange(8)}"
    return rng.choice((
        ("ALLOC", size), ("ALLOC", size, "OWNER", token), ("ALLOC", size, "OWNER", owner), ("ALLOC", size, "OWNER", owner),
        ("ALLOC", 4, "ALIGN", 4), ("ALLOC", size, "OWNER", token, "BLOCK", 200), ("FREE", first), ("FREE", first), ("FREE", first),
        ("FREE", "OWNER", owner), ("FREE", "OWNER", owner), ("RESERVE", first, 1, "OWNER", owner), ("FIND", first), ("OWNER", owner),
        ("RANGES",), ("HOLES",)))


def draw_interval(rng, _token):
    first, value = rng.randrange(20), f"v{rng.randrange(3)}"
    last = first + rng.randrange(6)
    return rng.choice((
        ("ADD", first, last, value), ("ADDNX", first, last, value), ("ADDNX", first, last, value), ("REM", first, last, value),
        ("STAB", first), ("OVERLAPS", first, last), ("COUNT", first, last), ("LEN",)))


DRAW = {"MAP": draw_map, "POOL": draw_pool, "INTERVAL": draw_interval}
FINAL = {"MAP": ("LATH.MAP.RANGE", "-", "+"), "POOL": ("LATH.POOL.RANGES",), "INTERVAL": ("LATH.INTERVAL.OVERLAPS", "0", "99")}


class Round:
    """The keys of a round and the calls on them. `logs`: maps to which each client adds its own entries, to count losses.
    `leases`: pools whose ranges end by themselves."""

    def __init__(self, number, cluster):
        self.number, self.cluster, self.began, self.stop = number, cluster, time.monotonic(), False
        tags = []
        for server in cluster.primaries():  # one tag per primary
            runs = cluster.slots_of(server)
            tags.append(next(f"{{{number}.{i}}}" for i in range(10**6)
                             if any(first <= key_slot(f"{number}.{i}".encode()) <= last for first, last in runs)))
        self.known = {}  # (key, entry) -> the value that a client saw or set last
        self.calls = {f"{kind}:{tag}": [] for kind in DRAW for tag in tags}
        self.logs, self.leases = {f"log:{tag}": {} for tag in tags}, [f"lease:{tag}" for tag in tags]
        self.acknowledged = {key: [] for key in self.logs}  # (when, entry, node)

    def keys(self):
        return [*self.calls, *self.logs, *self.leases]

    def since(self):
        return time.monotonic() - self.began


class Client(threading.Thread):
    """Calls the keys of a round until it ends."""

    def __init__(self, of, number, run_seed):
        super().__init__(daemon=True)
        self.round, self.rng = of, random.Random(f"{run_seed} {of.number} {number}")
        self.router = Router(of.cluster.addresses, self.rng)
        self.number, self.made, self.error = number, 0, None

    def run(self):
        try:
            while not self.round.stop:
                self.step()
                time.sleep(self.rng.random() * 0.01)
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error

    def step(self):
        self.made += 1
        key = self.rng.choice(self.round.keys())
        kind = key.split(":")[0]
        if kind == "log":
            self.log(key)
        elif kind == "lease":
            words = ("ALLOC", 1 + self.rng.randrange(9), "LEASE", self.rng.choice((20, 200, 2000))) if self.rng.random() < 0.8 else \
                ("FREE", self.rng.randrange(100))
            self.attempt(Call(self.number, (f"LATH.POOL.{words[0]}", *words[1:]), self.round.since()), key)
        elif len(self.round.calls[key]) < 10 + RATE * self.round.since():
            self.call(key, kind, *DRAW[kind](self.rng, f"{self.number}.{self.made}"))

    def attempt(self, call, key):
        """Returns whether there was a reply; None: the call did not take place."""
        try:
            reply = self.router.call(call, key)
        except Lost:
            self.number += 100  # a client that waits for a reply makes no further call
            time.sleep(0.2)
            return False
        except Refused:
            return None
        call.reply, call.returned = plain(reply), self.round.since()
        return True

    def call(self, key, kind, name, *words):
        known = self.round.known
        words = tuple(str(known.get((key, words[0]), "none") if word == "?" else word) for word in words)
        call = Call(self.number, (f"LATH.{kind}.{name}", *words), self.round.since())
        self.round.calls[key].append(call)
        done = self.attempt(call, key)
        if done is None:
            self.round.calls[key].remove(call)
        elif done and kind == "MAP" and (name == "GET" or name in ("SET", "CAS") and call.reply == "1"):
            known[key, int(words[0])] = call.reply if name == "GET" else words[-1 if name == "CAS" else 1]
        elif done and call.reply == "!no":  # no such pool
            raise AssertionError(f"{key} is gone")

    def log(self, key):
        entry = str(self.number * 100000 + self.made)
        call = Call(self.number, ("LATH.MAP.SET", entry, f"is {entry}"), self.round.since())
        self.round.logs[key][entry] = call
        if self.attempt(call, key):
            self.round.acknowledged[key].append((call.returned, entry))


class Durable(threading.Thread):
    """Allocates and frees by valkey/lathpool.py. `sure`: what it was told with WAIT, and what must hold. An owner whose last
    answer was lost is not in it."""

    def __init__(self, cluster, name):
        super().__init__(daemon=True)
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


# ---- what must hold ----

def check_durable(cluster, clients):
    """What was acknowledged with WAIT is there, and no two ranges overlap. Returns what is wrong."""
    there, spans, wrong = {}, [], []
    for first, size, owner in ShardedPool(cluster.addresses, "ids", shards=12).ranges():
        if owner in there:
            wrong.append(f"owner {owner} has two ranges")
        there[owner] = (first, size)
        spans.append((first, size))
    wrong += overlaps("ids", spans)
    for client in clients:
        wrong += [f"owner {owner} was told {span} with WAIT, now {there.get(owner)}" for owner, span in client.sure.items()
                  if there.get(owner) != span]
    return wrong


def overlaps(key, spans):
    spans = sorted(spans)
    return [f"{key}: the ranges {a} and {b} overlap" for a, b in zip(spans, spans[1:]) if sum(a) > b[0]]


def from_nowhere(key, calls):
    """Values in replies that no call wrote to this key, and owners that none asked for."""
    if key.startswith("MAP"):
        known = {word for call in calls for word in call.words[2:]}
        shown = {word for call in calls if not call.lost and call.words[0].endswith((".GET", ".RANGE", ".POP", ".MGET", ".SELECT"))
                 for word in (call.reply if isinstance(call.reply, tuple) else (call.reply,)) if word and "." in word}
        return [f"{key}: nobody wrote {word}" for word in shown - known]
    if key.startswith("POOL"):
        known = {word for call in calls for word in call.words[2:]}
        shown = {span[2] for call in calls if call.words[0].endswith(".RANGES") and not call.lost for span in call.reply if span[2]}
        return [f"{key}: nobody is {owner}" for owner in shown - known]
    return []


def check_history(key, calls, primary, wins, kept):
    """Returns (how it was checked, what is wrong). kept: all promises of one server hold for the cluster."""
    wrong = from_nowhere(key, calls)
    try:
        if kept:
            if not explain(calls)[0]:
                wrong.append(f"{key}: not linearizable")
            return "whole", wrong
        nodes = list(dict.fromkeys(call.node for call in sorted(calls, key=lambda call: call.called) if not call.lost))
        if any(wins[node] > (node != primary) for node in nodes):
            return "values only", wrong  # a server that was a primary twice
        states = {()}
        for node in sorted(nodes, key=lambda node: node != primary):
            good, seen = explain([call for call in calls if call.node == node], tuple(states), everything=node == primary)
            states |= seen
            if not good:
                wrong.append(f"{key}: not linearizable: what the server at port {node[1]} answered")
        return "per server", wrong
    except Undecided:
        return "undecided", wrong


def check_logs(of, kept):
    """Returns (how many acknowledged entries are lost, what is wrong)."""
    lost, wrong = 0, []
    router = Router(of.cluster.addresses, random.Random(0))
    for key, calls in of.logs.items():
        reply = plain(router.call(Call(0, ("LATH.MAP.RANGE", "-", "+"), 0), key, 60))
        there = dict(zip(reply[::2], reply[1::2]))
        wrong += [f"{key}: nobody wrote {entry} {value}" for entry, value in there.items()
                  if entry not in calls or value != f"is {entry}"]
        gone = [entry for _, entry in of.acknowledged[key] if entry not in there]
        lost += len(gone)
        if gone and kept:
            wrong.append(f"{key}: acknowledged, and not there: {' '.join(gone[:20])}")
    for key in of.leases:
        spans = plain(router.call(Call(0, ("LATH.POOL.RANGES",), 0), key, 60))
        wrong += overlaps(key, [(int(span[0]), int(span[1])) for span in spans])
    return lost, wrong


def in_step(cluster, primary):
    """The replicas of a primary that have all it sent; None: not all have, yet."""
    port = cluster.addresses[cluster.servers.index(primary)][1]
    offset = primary.client.info("replication")["master_repl_offset"]
    found = []
    for server in cluster.servers:
        info = server.client.info("replication")
        if info.get("master_port") == port:
            if info["slave_repl_offset"] != offset:
                return None
            found.append(server)
    return found


def check_copies(cluster):
    """Each replica beside its primary; then each primary before and after it has read its files."""
    wrong = []
    time.sleep(2.1)  # until all leases have ended: none ends between two looks
    for primary in cluster.primaries():
        found, what = [], f"the primary at port {primary.port}"
        if not wait_for(lambda: found.append(in_step(cluster, primary)) or found[-1], 30):
            wrong.append(f"{what} has no replica in step")
            continue
        digest = primary("DEBUG", "DIGEST")
        wrong += [f"{what} and its replica at port {replica.port} differ" for replica in found[-1] if replica("DEBUG", "DIGEST") != digest]
        for load in ("RELOAD", "LOADAOF"):
            primary("DEBUG", load)
            if primary("DEBUG", "DIGEST") != digest:
                wrong.append(f"{what} differs after DEBUG {load}")
    return wrong


def check_logs_of_servers(cluster, begins):
    """Returns (takeovers per address, whether one that was asked for ran out of time, what is wrong)."""
    wins, late, wrong = collections.Counter(), False, []
    for server, address, begin in zip(cluster.servers, cluster.addresses, begins):
        text = server.log.read_bytes()[begin:].decode("utf-8", "replace")
        wins[address] = len(WON.findall(text))
        late = late or "Manual failover timed out" in text
        if "BUG REPORT" in text or "Assertion" in text or "AddressSanitizer" in text:
            wrong.append(f"the server at port {server.port} failed: {text[-3000:]}")
    return wins, late, wrong


# ---- rounds ----

class Run:
    def __init__(self, kind, run_seed, faults=None, keep=None):
        self.seed, self.kind, self.keep = run_seed, kind, keep
        self.rng = random.Random(run_seed)
        self.faults = list(faults or FAULTS)
        self.planned = []  # each fault once, in an order that is drawn; then again
        self.totals = collections.defaultdict(collections.Counter)
        self.cluster, self.number, self.durable = Cluster(kind), 0, []
        self.broken = False  # the cluster is not whole after a round; there can be no other
        try:
            ShardedPool(self.cluster.addresses, "ids", shards=12).create(0, 1 << 40)
        except BaseException:
            self.cluster.stop()
            raise

    def round(self, fault=None):
        """One round. Returns what is wrong."""
        if not fault and not self.planned:
            self.planned = self.rng.sample(self.faults, len(self.faults))
        fault = fault or self.planned.pop()
        self.number += 1
        cluster, begins = self.cluster, [server.log.stat().st_size for server in self.cluster.servers]
        of = Round(self.number, cluster)
        self.prepare(of)
        primary_of = {key: cluster.addresses[cluster.servers.index(cluster.owner(key))] for key in of.calls}
        clients = [Client(of, 1 + number, self.seed) for number in range(CLIENTS)]
        self.durable = [Durable(cluster, f"{self.number} {name}") for name in ("a", "b")]
        for client in (*clients, *self.durable):
            client.start()
        time.sleep(0.5)
        wrong = self.inject(fault)
        time.sleep(0.5)
        ended = [f"the server at port {server.port} ended: {server.log.read_text(errors='replace')[-1000:]}"
                 for server in cluster.servers if not server.alive()]
        wins, late, failed = check_logs_of_servers(cluster, begins)
        wrong += ended + failed
        self.broken = bool(wrong)
        wrong += self.finish(of, clients)
        kept = not sum(wins.values()) or (fault == "failover" and not late)
        if not self.broken:
            wrong += self.compare(of, fault, primary_of, wins, kept)
        if wrong:
            print(f"seed {self.seed}, round {self.number}, {fault}: history in {self.write(of, fault, wins, wrong)}", flush=True)
        return wrong

    def prepare(self, of):
        router = Router(self.cluster.addresses, self.rng)
        for key in of.keys():
            size = POOL if key.startswith("POOL") else 100 if key.startswith("lease") else 0
            if size:
                router.call(Call(0, ("LATH.POOL.CREATE", 0, size), 0), key)
        wait_for(lambda: all(in_step(self.cluster, primary) for primary in self.cluster.primaries()), 30)
        of.began = time.monotonic()

    def inject(self, fault):
        try:
            FAULTS[fault](self.cluster, self.rng, self.rng.choice(self.cluster.primaries()))
        except redis.exceptions.RedisError as error:
            print(f"round {self.number}: {fault}: {error}")
        finally:
            self.cluster.proxy.mend()
        if not wait_for(self.cluster.healthy, 60):
            return [f"not healthy a minute after {fault}"]
        return []

    def finish(self, of, clients):
        """Ends the clients, reads all keys a last time. Returns what is wrong."""
        wait_for(lambda: self.broken or all(client.n > 3 or client.error for client in self.durable), 60)
        of.stop = True
        for client in self.durable:
            client.stop = True
        for client in (*clients, *self.durable):
            client.join(120)
        wrong = [f"a client ended: {client.error!r}" for client in (*clients, *self.durable) if client.error]
        wrong += ["a client does not end" for client in (*clients, *self.durable) if client.is_alive()]
        router = Router(self.cluster.addresses, self.rng)
        for key, calls in of.calls.items() if not self.broken else ():
            call = Call(0, FINAL[key.split(":")[0]], of.since())
            call.reply, call.returned = plain(router.call(call, key, 60)), of.since()
            calls.append(call)
        return wrong

    def compare(self, of, fault, primary_of, wins, kept):
        lost, wrong = check_logs(of, kept)
        count = self.totals[fault]
        for key, calls in of.calls.items():
            how, found = check_history(key, calls, primary_of[key], wins, kept)
            count[how] += 1
            wrong += found
        wrong += check_durable(self.cluster, self.durable)
        wrong += check_copies(self.cluster)
        logged = [sorted(when for when, _ in rows) for rows in of.acknowledged.values()]
        count["stall ms"] = max(count["stall ms"], *(int(1000 * (b - a)) for rows in logged for a, b in zip(rows, rows[1:])))
        for name, n in (("rounds", 1), ("takeovers", sum(wins.values())), ("lost", lost), ("wrong", len(wrong)),
                        ("calls", sum(map(len, of.calls.values())) + sum(map(len, of.logs.values()))),
                        ("acknowledged", sum(map(len, of.acknowledged.values()))),
                        ("unanswered", sum(call.lost for calls in (*of.calls.values(), *(log.values() for log in of.logs.values()))
                                           for call in calls))):
            count[name] += n
        print(f"round {self.number}: {fault}: {sum(map(len, of.calls.values()))} calls in histories, {sum(wins.values())} takeovers, "
              f"{lost} acknowledged writes lost, {len(wrong)} promises broken", flush=True)
        for key in of.keys():
            Router(self.cluster.addresses, self.rng).call(Call(0, ("UNLINK",), 0), key)
        return wrong

    def write(self, of, fault, wins, wrong):
        """The history as lines of JSON. Returns the name of the file."""
        file, name = tempfile.mkstemp(prefix=f"lath-history-{self.seed}-{self.number}-", suffix=".jsonl", dir=self.keep)
        with os.fdopen(file, "w", encoding="utf-8") as out:
            head = {"server": self.kind, "seed": self.seed, "round": self.number, "fault": fault, "wrong": wrong,
                    "takeovers": {str(node): n for node, n in wins.items() if n}}
            print(json.dumps(head), file=out)
            for key, calls in of.calls.items():
                for call in calls:
                    print(json.dumps({"key": key, **call.row()}), file=out)
            for key, entries in of.logs.items():
                for call in entries.values():
                    print(json.dumps({"key": key, **call.row()}), file=out)
        return name

    def report(self):
        names = ("rounds", "takeovers", "calls", "unanswered", "acknowledged", "lost", "stall ms", "whole", "per server", "values only",
                 "undecided", "wrong")
        print(f"{'fault':14}" + "".join(f"{name:>13}" for name in names))
        for fault, count in sorted(self.totals.items()):
            print(f"{fault:14}" + "".join(f"{count[name]:13}" for name in names))
        total = sum(self.totals.values(), collections.Counter())
        total["stall ms"] = max((count["stall ms"] for count in self.totals.values()), default=0)
        print(f"{'all':14}" + "".join(f"{total[name]:13}" for name in names), flush=True)

    def stop(self):
        self.cluster.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", default=KINDS[-1], help="redis, valkey, or another release: see fetch_servers.py")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--faults", help=f"by commas, of: {' '.join(FAULTS)}")
    parser.add_argument("--keep", help="directory for histories of rounds that broke a promise")
    asked = parser.parse_args()
    faults = asked.faults.split(",") if asked.faults else None
    for fault in faults or ():
        if fault not in FAULTS:
            parser.error(f"no fault {fault}; there are: {' '.join(FAULTS)}")
    if asked.rounds < 1:
        parser.error(f"--rounds is 1 or above, not {asked.rounds}")
    run = Run(asked.kind, asked.seed if asked.seed is not None else seed(), faults, asked.keep)
    bad = 0
    try:
        print(f"{asked.kind}, seed {run.seed}, {asked.rounds} rounds", flush=True)
        while run.number < asked.rounds and not run.broken:
            wrong = run.round()
            print("\n".join(wrong), end="\n" * bool(wrong), flush=True)
            bad += bool(wrong)
        run.report()
    finally:
        run.stop()
    print(f"{run.number - bad} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
