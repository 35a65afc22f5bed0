"""A TCP proxy before the NFS server that understands record marks. It comes to the server from an address of its own but
from the port that its client came from, so that the server's reply cache tells clients apart by that port as without it.
"""
import select
import socket
import struct
import threading
import time

PROCEDURES = ("NULL GETATTR SETATTR LOOKUP ACCESS READLINK READ WRITE CREATE MKDIR SYMLINK MKNOD REMOVE RMDIR RENAME LINK "
              "READDIR READDIRPLUS FSSTAT FSINFO PATHCONF COMMIT").split()

NFS = 100003  # the program number


class Records:
    """Whole records, their marks included, out of a stream of bytes."""

    def __init__(self):
        self.data = b""

    def feed(self, data):
        self.data += data
        while len(self.data) >= 4:
            size = 4 + (struct.unpack(">I", self.data[:4])[0] & 0x7fffffff)
            if len(self.data) < size:
                return
            record, self.data = self.data[:size], self.data[size:]
            yield record


def how_stable(record):
    """The argument `stable` of a WRITE, after handle, offset and count: RFC 5531 8.2, RFC 1813 3.3.7."""
    at = 4 + 24
    for _ in range(2):  # credential and verifier
        at += 8 + (struct.unpack_from(">I", record, at + 4)[0] + 3) // 4 * 4
    at += 4 + (struct.unpack_from(">I", record, at)[0] + 3) // 4 * 4
    return struct.unpack_from(">I", record, at + 12)[0]


def hang_up(sock):
    if sock.fileno() >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()


class Proxy:
    """drop_after(name): the server does the next request of that procedure, and its connection is lost before the
    answer. replaces: a pair of byte strings of equal length, the first of which is replaced in answers, in all or, if
    `wrong` is a number, in so many; or None. refuse(name, status, times): so many requests of that procedure get this NFS
    error, without attributes, and do not reach the server. withholds: requests of other programs than NFSv3, among them
    most looks, wait before the server as long as this is True."""

    def __init__(self, port, server=("127.0.0.1", 2049), source="127.0.0.2", address=None):
        self.server, self.source = server, source
        self.listener = socket.create_server((address, port), backlog=64) if address else \
            socket.create_server(("", port), family=socket.AF_INET6, backlog=64, dualstack_ipv6=True)
        self.armed = self.replaces = self.wrong = None
        self.withholds = False
        self.refused = {}                # by procedure: the status, and how often
        self.before_reconnect = None     # called while the connection is lost
        self.dropped = 0
        self.requests = []               # (procedure, xid, source port) as they came
        self.stable = []                 # the stability that each WRITE asked for: 0 UNSTABLE, 2 FILE_SYNC
        threading.Thread(target=self.accept, daemon=True).start()

    def drop_after(self, name, before_reconnect=None):
        self.before_reconnect = before_reconnect
        self.armed = name
        self.dropped = 0
        self.requests.clear()

    def refuse(self, name, status, times):
        self.refused[name] = [status, times]

    def refusal(self, record):
        """The answer instead of the server's, or None: RFC 5531 9, RFC 1813 3.3.16."""
        xid, procedure = struct.unpack(">4xI16xI", record[:28])
        status_and_times = self.refused.get(PROCEDURES[procedure])
        if not status_and_times or status_and_times[1] == 0:
            return None
        status_and_times[1] -= 1
        return struct.pack(">9I", 0x80000000 | 32, xid, 1, 0, 0, 0, 0, status_and_times[0], 0)

    def accept(self):
        while True:
            client, address = self.listener.accept()
            threading.Thread(target=self.serve, args=(client, address[1]), daemon=True).start()

    def connect(self, port):
        upstream = socket.socket()
        upstream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        upstream.bind((self.source, port))
        upstream.connect(self.server)
        return upstream

    def serve(self, client, port):
        try:
            upstream = self.connect(port)
        except OSError:
            hang_up(client)
            return
        calls, replies, doomed, withheld = Records(), Records(), None, []
        try:
            while True:
                if withheld and not self.withholds:
                    upstream.sendall(b"".join(withheld))
                    withheld.clear()
                for sock in select.select([client, upstream], [], [], 0.05 if withheld else None)[0]:
                    data = sock.recv(1 << 20)
                    if not data:
                        return
                    if sock is client:
                        for record in calls.feed(data):
                            xid, procedure = struct.unpack(">4xI16xI", record[:28])
                            self.requests.append((PROCEDURES[procedure], xid, port))
                            if PROCEDURES[procedure] == "WRITE":
                                self.stable.append(how_stable(record))
                            if PROCEDURES[procedure] == self.armed:
                                self.armed, doomed = None, xid
                            refusal = self.refusal(record)
                            if refusal:
                                client.sendall(refusal)
                            elif self.withholds and struct.unpack(">16xI", record[:20])[0] != NFS:
                                withheld.append(record)
                            else:
                                upstream.sendall(record)
                        continue
                    for record in replies.feed(data):
                        if struct.unpack(">4xI", record[:8])[0] == doomed:
                            self.dropped += 1
                            hang_up(upstream)
                            if self.before_reconnect:
                                self.before_reconnect()
                            return
                        client.sendall(self.replaced(record))
        except OSError:
            pass
        finally:
            hang_up(client)
            hang_up(upstream)

    def replaced(self, record):
        if not self.replaces or self.replaces[0] not in record or self.wrong == 0:
            return record
        if self.wrong is not None:
            self.wrong -= 1
        return record.replace(*self.replaces)

    def seen(self, name):
        return [(xid, port) for procedure, xid, port in self.requests if procedure == name]


def wait_until_quiet(proxy, seconds=0.3):
    while True:
        before = len(proxy.requests)
        time.sleep(seconds)
        if len(proxy.requests) == before:
            return
