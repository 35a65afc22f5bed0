"""Changes of names and attributes, one message at a time: by the broker protocol (localiofs-broker(7)), and the same by NFS."""
import os
import stat
import struct

from wire import NFS_PORT, REGISTRY, Broker, broker_fh, opaque, rpc

BROKER_LOOKUP, BROKER_LIST = 13, 21
MAKE, SYMLINK, REMOVE, RENAME, LINK, SETATTR = range(14, 20)
LAZY, EXCLUSIVE, DIRECTORY = 1, 2, 4
MODE, UID, GID, ATIME, MTIME, ATIME_NOW, MTIME_NOW = (1 << n for n in range(7))


UNTOLD, GROUPS = (1 << 32) - 1, 44


def cred(who):
    """Groups None: they are untold."""
    uid, gid, groups = who
    if groups is None:
        return struct.pack("=III16I", uid, gid, UNTOLD, *[0] * 16)
    return struct.pack("=III16I", uid, gid, len(groups), *(list(groups) + [0] * (16 - len(groups))))


def name_of(name, room=256):
    return (name if isinstance(name, bytes) else os.fsencode(name)).ljust(room, b"\0")


class Sidecar:
    """Changes by messages. Each function returns the errno, or None if the server decides."""

    def __init__(self, root, registry=REGISTRY, fuse_fd=None):
        self.broker = Broker(registry)
        self.broker.match()
        if (answer := self.broker.hello(root, fuse_fd)) != (0, 0):
            raise OSError(-answer[0], f"HELLO: {answer}")

    def call(self, kind, body):
        self.reply = self.broker.call(kind, body)
        error, self.reason = struct.unpack("=iI", self.reply[:8])
        return -error if self.reason == 0 else None

    def look_up(self, who, of, name):
        """The handle and the mode of the file are in self.found."""
        error = self.call(BROKER_LOOKUP, broker_fh(of) + cred(who) + name_of(name) + struct.pack("=I", 0))
        length = struct.unpack("=I", self.reply[8:12])[0]
        self.found = self.reply[12:12 + length], struct.unpack("=I", self.reply[204:208])[0]
        return error

    def list(self, who, of, plus=1, asks_acl=0):
        """The entries are in self.listed: by name the file number, the mode and the handle. self.flags: each name's flags.
        self.watched: whether notices come."""
        error = self.call(BROKER_LIST, broker_fh(of) + cred(who) + struct.pack("=II", plus, asks_acl))
        self.watched, count = struct.unpack("=II", self.reply[8:16])
        self.listed, self.flags, at = {}, {}, 104
        for _ in range(count):
            (number, mode), (fh, name) = struct.unpack("=Q60xI", self.reply[at + 8:at + 80]), struct.unpack("=II", self.reply[at + 104:at + 112])
            self.flags[self.reply[at + 112 + fh:at + 112 + fh + name]] = struct.unpack("=I", self.reply[at + 100:at + 104])[0]
            self.listed[self.reply[at + 112 + fh:at + 112 + fh + name]] = number, mode, self.reply[at + 112:at + 112 + fh]
            at += 112 + (fh + name) // 8 * 8 + 8
        if at != len(self.reply):
            raise ValueError(f"the reply has {len(self.reply)} bytes, its entries end at {at}")
        return error

    def make(self, who, of, name, mode, flags=EXCLUSIVE, rdev=(0, 0)):
        return self.call(MAKE, broker_fh(of) + cred(who) + struct.pack("=IIIII", flags, 0, mode, *rdev) + name_of(name))

    def symlink(self, who, of, name, target, flags=0):
        return self.call(SYMLINK, broker_fh(of) + cred(who) + struct.pack("=I", flags) + name_of(name) + name_of(target, 512))

    def remove(self, who, of, name, flags=0):
        return self.call(REMOVE, broker_fh(of) + cred(who) + struct.pack("=I", flags) + name_of(name))

    def rename(self, who, of, name, of2, name2, flags=0):
        return self.call(RENAME, broker_fh(of) + broker_fh(of2) + cred(who) + struct.pack("=I", flags) + name_of(name) + name_of(name2))

    def link(self, who, file, of, name, flags=0):
        return self.call(LINK, broker_fh(file) + broker_fh(of) + cred(who) + struct.pack("=I", flags) + name_of(name))

    def setattr(self, who, file, bits, mode=0, uid=0, gid=0, atime=0, mtime=0, flags=0):
        return self.call(SETATTR, broker_fh(file) + cred(who) + struct.pack("=IIIIIIIIqq", flags, bits, mode, uid, gid, 0, 0, 0, atime, mtime))


class Server:
    """The same by NFS, on this connection."""

    def __init__(self, connection):
        self.connection = connection

    def call(self, who, procedure, arguments):
        result = rpc(NFS_PORT, 100003, 3, procedure, arguments, who[0], who[1], groups=who[2], connection=self.connection)
        return struct.unpack(">I", result[:4])[0]

    def look_up(self, who, of, name):
        """The status, and the handle."""
        result = rpc(NFS_PORT, 100003, 3, 3, opaque(of) + opaque(name if isinstance(name, bytes) else os.fsencode(name)), who[0], who[1],
                     groups=who[2], connection=self.connection)
        length = struct.unpack(">I", result[4:8])[0]
        return struct.unpack(">I", result[:4])[0], result[8:8 + length] if result[:4] == bytes(4) else b""

    def list(self, who, of):
        """The status of READDIR."""
        return self.call(who, 16, opaque(of) + bytes(16) + struct.pack(">I", 8192))

    @staticmethod
    def sattr(bits=0, mode=0, uid=0, gid=0, atime=0, mtime=0):
        def field(bit, value):
            return struct.pack(">II", 1, value) if bits & bit else bytes(4)

        def time_field(given, now, value):
            return struct.pack(">III", 2, value, 0) if bits & given else struct.pack(">I", 1 if bits & now else 0)
        return (field(MODE, mode) + field(UID, uid) + field(GID, gid) + bytes(4) + time_field(ATIME, ATIME_NOW, atime) +
                time_field(MTIME, MTIME_NOW, mtime))

    def make(self, who, of, name, mode, flags=EXCLUSIVE, rdev=(0, 0)):
        where, kind, attributes = opaque(of) + opaque(os.fsencode(name)), stat.S_IFMT(mode), self.sattr(MODE, mode & 0o7777)
        if kind == stat.S_IFREG:
            return self.call(who, 8, where + struct.pack(">I", 1 if flags & EXCLUSIVE else 0) + attributes)
        if kind == stat.S_IFDIR:
            return self.call(who, 9, where + attributes)
        number = {stat.S_IFBLK: 3, stat.S_IFCHR: 4, stat.S_IFSOCK: 6, stat.S_IFIFO: 7}[kind]
        device = struct.pack(">II", *rdev) if number < 5 else b""
        return self.call(who, 11, where + struct.pack(">I", number) + attributes + device)

    def symlink(self, who, of, name, target):
        return self.call(who, 10, opaque(of) + opaque(os.fsencode(name)) + self.sattr() + opaque(os.fsencode(target)))

    def remove(self, who, of, name, flags=0):
        return self.call(who, 13 if flags & DIRECTORY else 12, opaque(of) + opaque(os.fsencode(name)))

    def rename(self, who, of, name, of2, name2):
        return self.call(who, 14, opaque(of) + opaque(os.fsencode(name)) + opaque(of2) + opaque(os.fsencode(name2)))

    def link(self, who, file, of, name):
        return self.call(who, 15, opaque(file) + opaque(of) + opaque(os.fsencode(name)))

    def setattr(self, who, file, bits, **values):
        return self.call(who, 2, opaque(file) + self.sattr(bits, **values) + bytes(4))
