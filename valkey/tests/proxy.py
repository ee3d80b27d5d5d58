# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A network between servers that can be cut: every connection passes through a thread here.

A server has its own address, 127.0.0.11 and so on, from which it also makes its connections; so the proxy knows both
ends. Servers announce the proxy's ports. Bytes that a cut holds back wait, and pass when it is mended, as after a loss of
packets. When one end closes a connection, what has not passed is lost."""
import selectors
import socket
import threading


class Connection:
    def __init__(self, near, ends):
        self.near, self.far, self.ends = near, None, ends  # ends: the servers at both ends; None: a client
        self.waiting = {}  # socket -> bytes for it

    def other(self, sock):
        return self.far if sock is self.near else self.near


class Proxy(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.poll = selectors.DefaultSelector()
        self.lock = threading.RLock()
        self.cut_off = set()  # (from, to): numbers of servers between which no byte passes in this direction
        self.connections, self.servers, self.stopped = set(), [], False

    @staticmethod
    def host(number):
        return f"127.0.0.{11 + number}"

    def listen(self):
        """Returns the number of a new server, and two ports: for its clients and for its peers."""
        number, ports = len(self.servers), []
        self.servers.append({})
        for _ in range(2):
            sock = socket.create_server(("127.0.0.1", 0), backlog=64)
            sock.setblocking(False)
            ports.append(sock.getsockname()[1])
            self.servers[number][ports[-1]] = None
            self.poll.register(sock, selectors.EVENT_READ, (number, ports[-1]))
        return number, ports[0], ports[1]

    def connect(self, number, ports, real):
        """Where the connections to these ports of the server go."""
        for port, to in zip(ports, real):
            self.servers[number][port] = (self.host(number), to)

    def cut(self, number):
        """Nothing passes any more between this server and the others. Clients still reach it."""
        others = [other for other in range(len(self.servers)) if other != number]
        self.cut_links([(number, other) for other in others] + [(other, number) for other in others])

    def cut_links(self, links):
        """links: (from, to). A connection that is begun needs both directions."""
        with self.lock:
            self.cut_off.update(links)
            self.refresh()

    def mend(self):
        with self.lock:
            self.cut_off.clear()
            self.refresh()

    def drop_clients(self, number):
        """Closes the connections of clients to this server; an answer that is on its way is lost."""
        with self.lock:
            for connection in list(self.connections):
                if connection.ends == (None, number):
                    self.close(connection)

    def is_cut(self, connection, source):
        """Whether what the socket `source` of the connection has sent is held back."""
        return connection.ends[::1 if source is connection.near else -1] in self.cut_off

    def refresh(self):
        for connection in list(self.connections):
            if connection.far is None:
                self.close(connection)  # begun while it was cut
            else:
                self.watch(connection)

    def watch(self, connection):
        """What the thread waits for: bytes to read, unless the connection is cut or there are too many, and room to write."""
        for sock in (connection.near, connection.far):
            events = 0
            if not self.is_cut(connection, sock) and len(connection.waiting[connection.other(sock)]) < 1 << 20:
                events |= selectors.EVENT_READ
            if not self.is_cut(connection, connection.other(sock)) and connection.waiting[sock]:
                events |= selectors.EVENT_WRITE
            registered = sock in self.poll.get_map()
            if events and registered:
                self.poll.modify(sock, events, connection)
            elif events:
                self.poll.register(sock, events, connection)
            elif registered:
                self.poll.unregister(sock)

    def accept(self, listener, number, port):
        near, peer = listener.accept()
        near.setblocking(False)
        source = int(peer[0].rsplit(".", 1)[1]) - 11
        connection = Connection(near, (source if 0 <= source < len(self.servers) else None, number))
        self.connections.add(connection)
        if connection.ends in self.cut_off or connection.ends[::-1] in self.cut_off:
            return
        try:
            connection.far = socket.create_connection(self.servers[number][port], timeout=1)
        except OSError:
            self.close(connection)
            return
        for sock in (near, connection.far):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setblocking(False)
            connection.waiting[sock] = bytearray()
        self.watch(connection)

    def close(self, connection):
        self.connections.discard(connection)
        for sock in (connection.near, connection.far):
            if sock is not None:
                if sock in self.poll.get_map():
                    self.poll.unregister(sock)
                sock.close()

    def move(self, connection, sock, events):
        try:
            if events & selectors.EVENT_READ and not self.is_cut(connection, sock):
                data = sock.recv(65536)
                if not data:
                    self.close(connection)
                    return
                connection.waiting[connection.other(sock)] += data
                sock = connection.other(sock)
            data = connection.waiting[sock]
            if data and not self.is_cut(connection, connection.other(sock)):
                del data[:sock.send(data)]
        except BlockingIOError:
            pass
        except OSError:
            self.close(connection)
            return
        self.watch(connection)

    def run(self):
        while not self.stopped:
            for key, events in self.poll.select(0.02):
                with self.lock:
                    if isinstance(key.data, tuple):
                        self.accept(key.fileobj, *key.data)
                    elif key.data in self.connections:
                        self.move(key.data, key.fileobj, events)

    def stop(self):
        self.stopped = True
        self.join()
        for connection in list(self.connections):
            self.close(connection)
        for key in list(self.poll.get_map().values()):
            key.fileobj.close()
        self.poll.close()
