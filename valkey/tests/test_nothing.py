# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Write commands that do nothing leave no trace: transactions that watch the key succeed, nothing is replicated, written or
announced, and copies in clients stay valid. Those that do something leave all of these traces."""
from redis.exceptions import RedisError, WatchError
from servers import commands

STATE = commands("""LATH.MAP.MSET m 1 a 2 b 3 9223372036854775807 | LATH.MAP.CREATE s STRINGS | LATH.MAP.SET s alice 1 | LATH.MAP.CREATE e
LATH.MAP.CREATE es STRINGS | SET text words | LATH.POOL.CREATE p 0 10 | LATH.POOL.RESERVE p 0 4 OWNER a
LATH.POOL.CREATE full 0 4 | LATH.POOL.ALLOC full 4 | LATH.INTERVAL.ADD i 1 5 x""")

NOTHING = commands("""MAP.SET m 1 z NX | MAP.SET m 9 z XX | MAP.SET none 9 z XX | MAP.SET none alice z XX | MAP.SET s alice 2 NX
MAP.SET s bob 2 XX | MAP.SET m word z | MAP.SET none word z | MAP.SET m 1 z STRINGS | MAP.SET s alice 1 NUMBERS
MAP.SET none word z SIGNED | MAP.SET none 1e z FLOATS | MAP.SET none word z XX STRINGS | MAP.MSET m STRINGS word z
MAP.MSET none FLOATS 1 z word z | MAP.INCR none 1.5 SIGNED | MAP.SET text 1 z | MAP.SET m 1 z ZX | MAP.MSET m 4 d word e
MAP.MSET none 4 d word e | MAP.MSET text 4 d | MAP.DEL m 77 | MAP.DEL m 77 78 79 | MAP.DEL none 1 | MAP.DEL none alice
MAP.DEL s bob | MAP.DEL e 1 | MAP.DEL m word | MAP.DEL text 1 | MAP.INCR m 1 | MAP.INCR m 3 | MAP.INCR m 4 word
MAP.INCR none 4 1.5 | MAP.INCR text 4 | MAP.CAS m 1 q z | MAP.CAS m 99 q z | MAP.CAS none 1 q z | MAP.CAS none alice q z
MAP.CAS s alice q z | MAP.CAS s bob q z | MAP.CREATE m | MAP.CREATE s STRINGS | MAP.CREATE e NUMBERS | MAP.CREATE p
MAP.CREATE none DOUBLES | MAP.POP e | MAP.POP es MAX 3 | MAP.POP none | MAP.POP m MIN 0 | MAP.POP m MIDDLE
MAP.DELRANGE m 50 60 | MAP.DELRANGE m 60 50 | MAP.DELRANGE m (1 (2 | MAP.DELRANGE m - + LIMIT 0 | MAP.DELRANGE none - +
MAP.DELRANGE none [a [z | MAP.DELRANGE e - + | MAP.DELRANGE s [b [c | MAP.DELRANGE m - + KEYS | POOL.CREATE p 0 10
POOL.CREATE p 50 10 | POOL.CREATE m 0 10 | POOL.CREATE none 0 0 | POOL.ADD p 5 10 | POOL.ADD p 20 0 | POOL.ADD none 0 1
POOL.ALLOC p 50 | POOL.ALLOC full 1 | POOL.ALLOC full 1 BLOCK 1 | POOL.ALLOC p 7 BEST | POOL.ALLOC p 1 EXACT 2
POOL.ALLOC p 1 WITHIN 1 2 | POOL.ALLOC p 4 ALIGN 4 EXACT 3 | POOL.ALLOC p 4 OWNER a | POOL.ALLOC p 5 OWNER a | POOL.ALLOC p 0
POOL.ALLOC none 1 | POOL.RESERVE p 2 3 | POOL.RESERVE p 100 1 | POOL.RESERVE p 0 4 OWNER a | POOL.RESERVE p 1 2 OWNER a
POOL.RESERVE none 1 1 | POOL.FREE p 7 | POOL.FREE p 1 | POOL.FREE p OWNER nobody | POOL.FREE p 0 3 OWNER a | POOL.FREE p 0
POOL.FREE p 0 OWNER b | POOL.LEASE p 0 100000 | POOL.LEASEAT p 0 4000000000000 OWNER b | POOL.FREE none 1
POOL.LEASE p 7 100 | POOL.LEASE p 0 word | POOL.LEASE none 7 100 | POOL.LEASEAT p 7 1 | POOL.LEASEAT p 1 1
POOL.LEASEAT none 1 1 | INTERVAL.ADD i 1 5 x | INTERVAL.ADD i 1 5 x 1 5 x | INTERVAL.ADD i 9 1 y | INTERVAL.ADD none 9 1 y
INTERVAL.ADDNX i 4 6 y | INTERVAL.ADDNX i 1 5 x | INTERVAL.ADDNX i 6 4 y | INTERVAL.REM i 1 5 y | INTERVAL.REM i 7 8 x 1 5 q
INTERVAL.REM none 1 2 x | INTERVAL.REM text 1 2 x""")

SOMETHING = commands("""MAP.SET m 1 z | MAP.SET m 9 z NX | MAP.SET none 9 z | MAP.SET none word z STRINGS | MAP.SET none -9 z SIGNED
MAP.MSET none FLOATS -1.5 z 1e9 z | MAP.INCR none word STRINGS | MAP.SET m 1 z XX | MAP.SET s alice 1 | MAP.MSET m 1 z 4 d
MAP.DEL m 77 1 | MAP.DEL s alice | MAP.INCR m 4 | MAP.INCR none 4 | MAP.CAS m 1 a z | MAP.CREATE none | MAP.POP m
MAP.POP m MAX 9 | MAP.DELRANGE m 1 2 | POOL.CREATE none 0 10 | POOL.ADD p 20 10 | POOL.ALLOC p 6
POOL.ALLOC p 4 OWNER a LEASE 100000 | POOL.RESERVE p 6 1 | POOL.FREE p 0 OWNER a | POOL.FREE p OWNER a
POOL.LEASE p 0 100000 OWNER a | POOL.LEASEAT p 0 4000000000000 OWNER a | INTERVAL.ADD i 1 5 x 1 5 y | INTERVAL.ADDNX i 6 7 x
INTERVAL.REM i 1 5 x""")


class Traces:
    """What commands leave behind, as other clients see it."""

    def __init__(self, server):
        self.server, self.watcher, self.reader = server, server.connect(), server.connect(single_connection_client=True)
        self.events, self.invalid = server.connect(), server.connect()
        server("CONFIG", "SET", "notify-keyspace-events", "KEA")
        self.events = self.events.pubsub()
        self.events.psubscribe("__keyspace@0__:*")
        self.invalid = self.invalid.pubsub()
        self.invalid.execute_command("CLIENT", "ID")
        number = self.invalid.connection.read_response()
        self.invalid.subscribe("__redis__:invalidate")
        self.drain(self.events), self.drain(self.invalid)
        self.reader.execute_command("CLIENT", "TRACKING", "ON", "REDIRECT", number)

    @staticmethod
    def drain(listener):
        """What arrived; a PING comes back behind it."""
        listener.ping("last")
        got = []
        while True:
            message = listener.get_message(timeout=5)
            assert message
            if message["type"] == "pong":
                return got
            if message["type"] in ("message", "pmessage"):
                got.append(message)

    def written(self):
        """What counts changes: for snapshots, and for the append-only file."""
        told = self.server("INFO", "persistence")
        return told["rdb_changes_since_last_save"], told["aof_current_size"]

    def of(self, words):
        """Runs a command. Returns the set of its traces, and its reply."""
        server, key = self.server, words[1]
        server("FLUSHALL")
        for line in STATE:
            server(*line)
        self.reader.execute_command("EXISTS", key)
        self.reader.execute_command("LATH.MAP.LEN", key) if key in "ms" else None
        pipe = self.watcher.pipeline()
        pipe.watch(key)
        self.drain(self.events), self.drain(self.invalid)
        before, digest = self.written(), server("DEBUG", "DIGEST")
        try:
            reply = server(*words)
        except RedisError as error:
            reply = error
        after = self.written()
        traces = {name for name, a, b in (("dirty", before[0], after[0]), ("file", before[1], after[1])) if a != b}
        traces |= {"event"} if self.drain(self.events) else set()
        traces |= {"invalidation"} if self.drain(self.invalid) else set()
        traces |= {"content"} if digest != server("DEBUG", "DIGEST") else set()
        pipe.multi()
        pipe.ping()
        try:
            pipe.execute()
        except WatchError:
            traces.add("watch")
        return traces, reply


def test_commands_that_do_nothing_leave_no_trace(start):
    traces = Traces(start(appendonly="yes", appendfsync="no"))
    bad = [(line, got) for line in NOTHING if (got := traces.of([f"LATH.{line[0]}", *line[1:]]))[0]]
    assert not bad


def test_commands_that_do_something_leave_all_traces(start):
    traces = Traces(start(appendonly="yes", appendfsync="no"))
    every = {"dirty", "file", "event", "invalidation", "watch"}
    for line in SOMETHING:
        got, reply = traces.of([f"LATH.{line[0]}", *line[1:]])
        assert got - {"content"} == every, (line, reply, got)
        assert "content" in got or line == "MAP.SET s alice 1".split()


def test_all_write_commands_are_tried(server):
    client = server.connect()
    names = client.execute_command("COMMAND", "LIST", "FILTERBY", "MODULE", "lathwork")
    writes = {row[0].decode().upper() for row in client.execute_command("COMMAND", "INFO", *names) if b"write" in row[2]}
    for table in (NOTHING, SOMETHING):
        tried = {f"LATH.{line[0]}" for line in table}
        # MSET does something unless it is refused
        assert tried == {name for name in writes if name.count(".") == 2}, tried ^ writes
    assert {name.replace(".", "") for name in writes} == {name.replace(".", "") for name in tried} and len(writes) == 2 * len(tried)


def test_transactions_of_others_go_on(server):
    """A watched key and a stream of commands that do nothing; then one that does something."""
    for line in STATE:
        server(*line)
    for key in ("m", "s", "p", "i", "none", "full"):
        pipe = server.connect().pipeline()
        pipe.watch(key)
        for line in NOTHING:
            try:
                server(f"LATH.{line[0]}", *line[1:])
            except RedisError:
                pass
        pipe.multi()
        pipe.execute_command("LATH.MAP.LEN", "m")
        assert pipe.execute() == [3], key
