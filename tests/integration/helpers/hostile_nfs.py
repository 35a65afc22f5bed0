"""An NFS server in Python with MOUNT, NFSv3 and NFSACL on one port: honest, except for the lies that a test tells it."""
import socket
import struct
import threading

MOUNT, NFS, NFSACL = 100005, 100003, 100227
GETACL, SETACL = (NFSACL, 1), (NFSACL, 2)
ROOT, FILE = b"root-handle", b"file-handle"
CONTENT = bytes(range(256)) * 256
(NULL, GETATTR, SETATTR, LOOKUP, ACCESS, READLINK, READ, WRITE, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR, RENAME,
 LINK, READDIR, READDIRPLUS, FSSTAT, FSINFO, PATHCONF, COMMIT) = range(22)
OK = struct.pack(">I", 0)
NOTHING = struct.pack(">I", 0)  # no attributes


def opaque(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def attributes(handle, size=len(CONTENT)):
    directory = handle == ROOT
    return struct.pack(">IIIIIQQIIQQIIIIII", 2 if directory else 1, 0o755 if directory else 0o644, 2, 0, 0,
                       4096 if directory else size, 4096, 0, 0, 7, 1 if directory else 2, *[1700000000, 0] * 3)


def entry(fileid, name, cookie, plus, handle=FILE):
    body = struct.pack(">IQ", 1, fileid) + opaque(name) + struct.pack(">Q", cookie)
    return body + (struct.pack(">I", 1) + attributes(FILE) + struct.pack(">I", 1) + opaque(handle) if plus else b"")


def listing(entries, plus, eof=True):
    return OK + NOTHING + bytes(8) + b"".join(entry(*e[:3], plus, *e[3:]) for e in entries) + struct.pack(">II", 0, eof)


def acls(mask, access, default=b"", counts=None):
    """GETACL's results: each ACL's count, and its entries, 12 bytes each."""
    counts = counts or (len(access) // 12, len(default) // 12)
    return OK + NOTHING + b"".join((struct.pack(">III", mask, counts[0], len(access) // 12), access,
                                    struct.pack(">II", counts[1], len(default) // 12), default))


def ace(tag, number, permissions):
    return struct.pack(">III", tag, number, permissions)


NAMED = ace(1, 0, 6) + ace(2, 1001, 4) + ace(4, 0, 4) + ace(16, 0, 4) + ace(32, 0, 4)


def record(xid, body):
    message = struct.pack(">IIIIII", xid, 1, 0, 0, 0, 0) + body
    return struct.pack(">I", 0x80000000 | len(message)) + message


class Call:
    """A client's request. Its handle is the first argument of every procedure but NULL."""

    def __init__(self, message):
        self.xid, _, _, self.program, _, self.procedure = struct.unpack(">6I", message[:24])
        at = 24
        for _ in range(2):  # credential and verifier
            length = struct.unpack(">I", message[at + 4:at + 8])[0]
            at += 8 + length + -length % 4
        self.args = message[at:]
        length = struct.unpack(">I", self.args[:4])[0] if len(self.args) >= 4 else 0
        self.handle = self.args[4:4 + length]
        self.rest = self.args[4 + length + -length % 4:]


def honest(call):
    """The results, without any lie."""
    if call.program == MOUNT:
        return OK + opaque(ROOT) + struct.pack(">II", 1, 1) if call.procedure == 1 else b""
    if call.procedure == NULL:
        return b""
    if call.program == NFSACL:
        return acls(struct.unpack(">I", call.rest[:4])[0], NAMED) if call.procedure == 1 else OK + NOTHING
    if call.procedure == GETATTR:
        return OK + attributes(call.handle)
    if call.procedure == LOOKUP:
        return OK + opaque(FILE) + struct.pack(">I", 1) + attributes(FILE) + NOTHING
    if call.procedure == ACCESS:
        return OK + NOTHING + struct.pack(">I", 0x3f)
    if call.procedure == READ:
        offset, count = struct.unpack(">QI", call.rest[:12])
        data = CONTENT[offset:offset + count]
        return OK + NOTHING + struct.pack(">II", len(data), offset + len(data) >= len(CONTENT)) + opaque(data)
    if call.procedure == WRITE:
        return OK + NOTHING * 2 + call.rest[8:12] + struct.pack(">I", 2) + bytes(8)
    if call.procedure == COMMIT:
        return OK + NOTHING * 2 + bytes(8)
    if call.procedure in (READDIR, READDIRPLUS):
        return listing([(2, b"file", 1)], call.procedure == READDIRPLUS)
    if call.procedure == FSINFO:
        return OK + NOTHING + struct.pack(">7IQIII", 65536, 65536, 1, 65536, 65536, 1, 65536, 1 << 40, 0, 1, 0x1b)
    if call.procedure == FSSTAT:
        return OK + NOTHING + struct.pack(">6QI", *[1 << 30] * 6, 0)
    if call.procedure == READLINK:
        return OK + NOTHING + opaque(b"target")
    return struct.pack(">I", 10004) + NOTHING * 4  # NOTSUPP


class Server:
    """lies: {procedure: function(call)} returns the bytes for the wire in place of the honest record, or None to hang
    up."""

    def __init__(self, port):
        self.port = port
        self.lies = {}
        self.connections = 0
        listener = socket.create_server(("", port), family=socket.AF_INET6, backlog=64, dualstack_ipv6=True)
        threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            client, _ = listener.accept()
            self.connections += 1
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        stream = client.makefile("rb")
        try:
            while mark := stream.read(4):
                call = Call(stream.read(struct.unpack(">I", mark)[0] & 0x7fffffff))
                lie = self.lies.get((call.program, call.procedure))
                answer = lie(call) if lie else record(call.xid, honest(call))
                if answer is None:
                    return
                client.sendall(answer)
        except (OSError, struct.error):
            pass
        finally:
            client.close()
