"""The wire formats, written down a second time for tests that break the rules: ONC RPC, NFSv3 MOUNT and LOOKUP, the
registry and its marks (include/localiofs/registry_layout.h), the broker protocol (broker_protocol.h), and raw FUSE."""
import ctypes
import errno
import fcntl
import hashlib
import itertools
import os
import select
import socket
import stat
import struct
import threading
import uuid
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

REGISTRY = Path("/dev/shm/localiofs")
PROBE_PORT = 20122
NFS_PORT = 2049
MOUNT_PORT = 20048
UUID_IS_LOCAL = 1
NFS_LOOKUP, NFS_COMMIT = 3, 21


# ---- ONC RPC ----

# Ganesha answers from its duplicate request cache what begins with the same bytes: the xid and some 200 more.
xids = itertools.count(7)


def opaque(data):
    return struct.pack(">I", len(data)) + data + b"\0" * (-len(data) % 4)


def rpc(port, program, version, procedure, args=b"", uid=0, gid=0, host="127.0.0.1", source_port=None, connection=None,
        groups=()):
    """Returns the results of one call, or raises OSError(EPROTO) if the server does not accept it with success."""
    credential = struct.pack(">I", 0) + opaque(b"test") + struct.pack(f">III{len(groups)}I", uid, gid, len(groups), *groups)
    number = next(xids)
    call = struct.pack(">IIIIII", number, 0, 2, program, version, procedure) + struct.pack(">I", 1) + opaque(credential) + \
        struct.pack(">II", 0, 0) + args
    s = connection or connect(host, port, source_port)
    try:
        s.sendall(struct.pack(">I", 1 << 31 | len(call)) + call)
        size = struct.unpack(">I", receive(s, 4))[0] & 0x7fffffff
        reply = receive(s, size)
    finally:
        if connection is None:
            s.close()
    if len(reply) < 20 or reply[8:12] != b"\0\0\0\0":
        raise OSError(errno.EPROTO, f"RPC: denied {reply[8:].hex()}")
    xid, kind, accepted, _, length = struct.unpack(">IIIII", reply[:20])
    result = struct.unpack(">I", reply[20 + length:24 + length])[0]
    if (xid, kind, accepted, result) != (number, 1, 0, 0):
        raise OSError(errno.EPROTO, f"RPC: {(xid, kind, accepted, result)}")
    return reply[24 + length:]


def connect(host, port, source_port=None, source=""):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(10)
    if source_port or source:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((source, source_port or 0))
    s.connect((host, port))
    return s


def receive(s, size):
    data = b""
    while len(data) < size:
        more = s.recv(size - len(data))
        if not more:
            raise ConnectionResetError(errno.ECONNRESET, "closed")
        data += more
    return data


def nfs_root(path, host="127.0.0.1", connection=None):
    """The handle that the server gives for MOUNT."""
    result = rpc(MOUNT_PORT, 100005, 3, 1, opaque(os.fsencode(path)), host=host, connection=connection)
    if struct.unpack(">I", result[:4])[0] != 0:
        raise OSError(errno.EACCES, "MNT")
    length = struct.unpack(">I", result[4:8])[0]
    return result[8:8 + length]


def nfs_lookup(directory, name, host="127.0.0.1", connection=None):
    result = rpc(NFS_PORT, 100003, 3, 3, opaque(directory) + opaque(os.fsencode(name)), host=host,
                 connection=connection)
    if struct.unpack(">I", result[:4])[0] != 0:
        raise OSError(errno.ENOENT, "LOOKUP")
    length = struct.unpack(">I", result[4:8])[0]
    return result[8:8 + length]


def nfs_attributes(handle, host="127.0.0.1", connection=None):
    """Some attributes, from GETATTR."""
    result = rpc(NFS_PORT, 100003, 3, 1, opaque(handle), host=host, connection=connection)
    status = struct.unpack(">I", result[:4])[0]
    if status != 0:
        raise OSError(errno.ESTALE, f"GETATTR: {status}")
    _, mode, nlink, uid, gid, size = struct.unpack(">IIIIIQ", result[4:32])
    return {"mode": mode, "nlink": nlink, "uid": uid, "gid": gid, "size": size, "mtime": struct.unpack(">II", result[72:80])}


def nfs_names(directory, host="127.0.0.1", connection=None):
    """The names that READDIR lists."""
    names, cookie, verifier, end = set(), 0, bytes(8), False
    while not end:
        result = rpc(NFS_PORT, 100003, 3, 16, opaque(directory) + struct.pack(">Q", cookie) + verifier +
                     struct.pack(">I", 8192), host=host, connection=connection)
        if result[:4] != bytes(4):
            raise OSError(errno.ESTALE, f"READDIR: {result[:4].hex()}")
        at = 92 if result[4:8] != bytes(4) else 8
        verifier, at = result[at:at + 8], at + 8
        while struct.unpack(">I", result[at:at + 4])[0]:
            length = struct.unpack(">I", result[at + 12:at + 16])[0]
            names.add(os.fsdecode(result[at + 16:at + 16 + length]))
            at += 16 + (length + 3 & ~3)
            cookie = struct.unpack(">Q", result[at:at + 8])[0]
            at += 8
        end = struct.unpack(">I", result[at + 4:at + 8])[0] == 1
    return names - {".", ".."}


def nfs_look_again(export, path):
    """Makes Ganesha look again at a path below the export that was changed on the server's own side. The path may lead to
    another file by now, or to none. Ganesha remembers files and names for a minute, but looks again for COMMIT, at each
    directory and file on the way, and at those that it remembers there. Each COMMIT comes from the owner of the directory,
    whom no squash keeps out."""
    connection, handle, where = connect("127.0.0.1", NFS_PORT), nfs_root(export), Path(export)

    def ask(procedure, of, arguments):
        owner = os.lstat(where)
        result = rpc(NFS_PORT, 100003, 3, procedure, opaque(of) + arguments, owner.st_uid, owner.st_gid,
                     connection=connection)
        return None if result[:4] != bytes(4) else result[8:8 + struct.unpack(">I", result[4:8])[0]]

    def ask_all(procedure, arguments):
        return {ask(procedure, of, arguments) for of in handles} - {None}

    handles = {handle}  # of the files that exist, and of those that the server remembers
    for name in Path(path).relative_to(export).parts:
        remembered = ask_all(NFS_LOOKUP, opaque(os.fsencode(name)))
        ask_all(NFS_COMMIT, bytes(12))
        handle = ask(NFS_LOOKUP, handle, opaque(os.fsencode(name)))
        handles = remembered | ({handle} - {None})
        if not os.path.lexists(where / name):
            break
        if handle is None:
            raise OSError(errno.EIO, f"LOOKUP of {where / name}")
        where = where / name
    ask_all(NFS_COMMIT, bytes(12))
    connection.close()


def nfs_knows(handle, host="127.0.0.1"):
    """True if GETATTR takes the handle. NFS-Ganesha denies the whole call for a handle of an export that is not this client's."""
    try:
        return struct.unpack(">I", rpc(NFS_PORT, 100003, 3, 1, opaque(handle), host=host)[:4])[0] == 0
    except OSError as error:
        if error.errno != errno.EPROTO:
            raise
        return False


def nfs_access(handle, bits=0x3f, uid=0, gid=0, groups=(), connection=None):
    """Those of the bits that ACCESS allows."""
    result = rpc(NFS_PORT, 100003, 3, 4, opaque(handle) + struct.pack(">I", bits), uid, gid, groups=groups,
                 connection=connection)
    if struct.unpack(">I", result[:4])[0] != 0:
        raise OSError(errno.EACCES, "ACCESS")
    return struct.unpack(">I", result[-4:])[0]


def ask_local(nonce, host="127.0.0.1", port=PROBE_PORT, source_port=None, connection=None):
    """UUID_IS_LOCAL, as a client asks the server's host."""
    return rpc(port, 400122, 1, UUID_IS_LOCAL, nonce, host=host, source_port=source_port, connection=connection)


# ---- nonces ----

def boot_id():
    return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).bytes


def make_nonce(client, sidecar):
    """The nonce of two halves (wire/nonce.h): RFC 4122's version 5, with the client's half as name space."""
    digest = bytearray(hashlib.sha1(client + sidecar).digest()[:16])
    digest[6] = digest[6] & 0x0f | 0x50
    digest[8] = digest[8] & 0x3f | 0x80
    return bytes(digest)


def nonce_hash(nonce):
    return make_nonce(nonce, b"localiofs registry slot")


# ---- the registry ----

MARK, OWNER_PROOF = "security.localiofs", "trusted.localiofs"
SLOT_FREE, SLOT_ANNOUNCED, SLOT_USED = 0, 1, 2
SLOTS = 512


def set_mark(path):
    """Marks the path: only root of this host can do so on tmpfs."""
    s = os.stat(path, follow_symlinks=False)
    os.setxattr(path, MARK, b"LIOFSMK1" + struct.pack("=QQ", s.st_dev, s.st_ino), follow_symlinks=False)


def registry_slot(number, registry=REGISTRY):
    """(hash, state) of a slot of the registry's file."""
    with open(registry / "registry", "rb") as f:
        record = f.read()[64 + 32 * number:][:32]
    return record[:16], struct.unpack("=I", record[16:20])[0]


def make_registry(path, uid, boot=None):
    """Makes a registry as a sidecar would, marked, for a test to fill. It has no socket yet."""
    path = Path(path)
    path.mkdir()
    path.chmod(0o711)
    (path / "registry").write_bytes(b"LIOFSREG" + struct.pack("=II", 1, SLOTS) + (boot or boot_id()) + bytes(32 + 32 * SLOTS))
    (path / "registry").chmod(0o644)
    for name in (path, path / "registry"):
        os.chown(name, uid, uid)
        set_mark(name)
    return path


# ---- the broker ----

ANNOUNCE, HELLO, OPEN, RELEASE, COMMIT, PING = range(1, 7)
PROVE = 12
REPLY, MATCHED, REVOKE, GOODBYE = 0x100, 0x201, 0x202, 0x203
WANT_ID, ATTR, WANT_FD, WANT_WRITE, WANT_LOOK, WATCH, WANT_SET = 1, 2, 4, 8, 16, 32, 64
SET_NAMES, SET_MKDIR = 128, 256  # of Grant.may_set
VERSION = 14
MAX_RELEASE = 31
HELLO_REPLY = 232  # bytes of its body
REASON_BAD_REGISTRY = 6
REASON_LIMIT, REASON_UNREADABLE, REASON_NOT_REGULAR, REASON_NOT_MATCHED, REASON_BAD_DESCRIPTOR = 23, 26, 24, 13, 19


def announce_body(half=bytes(16), version=VERSION):
    return struct.pack("=II", version, 0) + half


class Closed(Exception):
    """The sidecar has ended the session."""


class Broker:
    """A client's connection. The class checks nothing: the test chooses every packet."""

    def __init__(self, registry=REGISTRY):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(str(registry / "broker.sock"))
        self.registry = registry
        self.events = []
        self.next_id = 1

    def close(self):
        self.socket.close()

    def send(self, kind, body=b"", fds=(), length=None, request_id=None):
        if request_id is None:
            request_id = self.next_id
            self.next_id += 1
        packet = struct.pack("=IIQ", kind, 16 + len(body) if length is None else length, request_id) + body
        self.send_raw(packet, fds)

    def send_raw(self, packet, fds=()):
        try:
            if fds:
                socket.send_fds(self.socket, [packet], list(fds))
            else:
                self.socket.send(packet)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None
        except PermissionError:  # the sidecar accepts no descriptors now: since Linux 6.16 the kernel reports that
            self.send_raw(packet)

    def receive(self):
        """Returns (type, body) of the next packet. A descriptor that came along is in self.fd."""
        try:
            packet, fds, _, _ = socket.recv_fds(self.socket, 1 << 17, 1)
        except ConnectionResetError:
            raise Closed from None
        if not packet:
            raise Closed
        self.fd = fds[0] if fds else None
        kind, _, _ = struct.unpack("=IIQ", packet[:16])
        return kind, packet[16:]

    def call(self, kind, body=b"", fds=()):
        """Returns the body of the reply, and keeps other packets that arrive meanwhile."""
        self.send(kind, body, fds)
        while True:
            got, answer = self.receive()
            if got == kind | REPLY:
                return answer
            self.events.append((got, answer))

    def quiet(self, seconds):
        """True if no packet comes for this long."""
        return not select.select([self.socket], [], [], seconds)[0]

    def ended(self, seconds=5):
        """True if the sidecar ends the session within this time, whatever packets come before."""
        self.socket.settimeout(seconds)
        try:
            while True:
                self.events.append(self.receive())
        except Closed:
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(20)

    def announce(self, half=None):
        """Returns (error, reason). The nonce that was made is in self.nonce."""
        half = half or uuid.uuid4().bytes
        answer = self.call(ANNOUNCE, announce_body(half))
        (error, reason, self.slot, self.probeport, self.recheck, _, sidecar,
         self.challenge) = struct.unpack("=iIIIII16s16s", answer)
        self.nonce = make_nonce(half, sidecar)
        return error, reason

    def match(self, **how):
        """Takes the honest way to MATCHED, and returns the peer that the sidecar saw."""
        error, reason = self.announce()
        if error:
            raise OSError(-error, f"ANNOUNCE: reason {reason}")
        ask_local(self.nonce, **how)
        kind, body = self.receive()
        if kind != MATCHED:
            raise OSError(errno.EPROTO, f"{kind:#x} came instead of MATCHED")
        return body[:56].split(b"\0")[0].decode()

    def proof(self):
        """The content of a proof for this connection."""
        s = os.stat(self.registry / "broker.sock")
        return self.challenge + struct.pack("=QQ", s.st_dev, s.st_ino)

    def prove(self, fd=None, value=None):
        """True if the sidecar believes that this client owns the machine: by a memfd of our own, or by fd."""
        made = None
        if fd is None:
            fd = made = os.memfd_create("proof")
            os.setxattr(fd, OWNER_PROOF, value or self.proof())
        try:
            return struct.unpack("=iI", self.call(PROVE, b"", [fd]))[0] == 0
        finally:
            if made is not None:
                os.close(made)

    def hello(self, root, fuse_fd=None, setter=0):
        answer = self.call(HELLO, hello_body(root, setter), [] if fuse_fd is None else [fuse_fd])
        return struct.unpack("=iI", answer[:8])

    def open(self, handle, uid=0, gid=0, groups=(), flags=WANT_ID):
        grant = Grant(self.call(OPEN, open_body(handle, uid, gid, groups, flags)))
        grant.fd = self.fd
        return grant

    def release(self, backing_id):
        return self.release_all([backing_id])

    def release_all(self, ids, count=None):
        return struct.unpack("=iI", self.call(RELEASE, release_body(ids, count)))[0]

    def commit(self, backing_id, data_only=0):
        return struct.unpack("=iI", self.call(COMMIT, struct.pack("=iI", backing_id, data_only)))[0]

    def ping(self):
        return struct.unpack("=iI", self.call(PING))[0]


def release_body(ids, count=None):
    return struct.pack(f"=I{MAX_RELEASE}i", len(ids) if count is None else count, *ids, *[0] * (MAX_RELEASE - len(ids)))


class Grant:
    def __init__(self, body):
        (self.error, self.reason, self.access, self.id, self.writable, self.root, self.any_groups, _, self.may_set, self.set_uid,
         self.set_gid, self.owner, self.fileid) = struct.unpack("=iIIiIIIIIIIIQ", body[:56])

    def kind(self):
        return "descriptor" if self.id < 0 else "none" if self.id == 0 else "writable" if self.writable else "read-only"

    def __repr__(self):
        return f"error {self.error}, reason {self.reason}, access {self.access:#x}, id {self.id} ({self.kind()})"


def broker_fh(handle, length=None):
    return struct.pack("=I128s", len(handle) if length is None else length, handle)


def hello_body(root, setter=0, version=VERSION):
    return struct.pack("=I", version) + broker_fh(root) + struct.pack("=i", setter)


def open_body(handle, uid=0, gid=0, groups=(), flags=WANT_ID, ngroups=None, fh_length=None):
    return broker_fh(handle, fh_length) + struct.pack("=III16I", uid, gid, len(groups) if ngroups is None else ngroups,
                                                      *(list(groups) + [0] * (16 - len(groups)))) + struct.pack("=I", flags)


# ---- raw FUSE: a daemon with answers that the test chooses ----

FOPEN_DIRECT_IO, FOPEN_PASSTHROUGH = 1, 1 << 7
(LOOKUP, FORGET, GETATTR, SETATTR) = (1, 2, 3, 4)
(FUSE_OPEN, FUSE_READ, FUSE_WRITE, STATFS, FUSE_RELEASE) = (14, 15, 16, 17, 18)
(FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, INTERRUPT, DESTROY, BATCH_FORGET) = (25, 26, 27, 28, 29, 36, 38, 42)


class RawFuse:
    """A mount with the regular files that lookup() names. open_with says the answer to each open."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.directory.mkdir(exist_ok=True)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"hostile", os.fsencode(self.directory), b"fuse", 0, options.encode()) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(directory))
        self.open_with = {}   # name: (open_flags, backing_id) or an errno
        self.opened = {}      # name: flags of each OPEN that arrived
        self.names = {}
        self.silent = False   # answers nothing any more
        self.hold_reads = False  # answers no READ
        self.held = 0         # the number of READs
        self.attr_uid, self.attr_mode = 0, 0o666
        self.wake = os.eventfd(0)
        os.set_blocking(self.fd, False)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        os.stat(self.directory)  # waits for INIT: before that, the descriptor belongs to no mount

    def serve(self):
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        poll.register(self.wake, select.POLLIN)
        while True:
            poll.poll()
            if self.silent:
                return
            try:
                request = os.read(self.fd, 1 << 20)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return
            self.answer(*struct.unpack("=IIQQ", request[:24]), request[40:])

    def reply(self, unique, body=b"", error=0):
        try:
            os.write(self.fd, struct.pack("=IiQ", 16 + len(body), -error, unique) + body)
        except OSError:
            pass

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o777 if node == 1 else stat.S_IFREG | self.attr_mode
        return struct.pack("=6Q10I", node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, self.attr_uid, 0, 0, 4096, 0)

    def answer(self, _, opcode, unique, node, body):
        if opcode == INIT:
            major, minor, readahead, flags = struct.unpack("=IIII", body[:16])
            self.reply(unique, struct.pack("=IIIIHHIIHHIIHH20x", 7, min(minor, 45), readahead, 1 << 30, 12, 9, 1 << 17, 1,
                                           0, 0, 1 << 5, 2, 0, 0))  # FUSE_INIT_EXT, FUSE_PASSTHROUGH, also on overlayfs
        elif opcode == LOOKUP:
            name = body.split(b"\0")[0].decode()
            if name not in self.open_with:
                self.reply(unique, error=errno.ENOENT)
                return
            node = next((n for n, known in self.names.items() if known == name), len(self.names) + 2)
            self.names[node] = name
            self.reply(unique, struct.pack("=QQQQII", node, 1, 0, 0, 0, 0) + self.attributes(node))
        elif opcode in (GETATTR, SETATTR):
            self.reply(unique, struct.pack("=QII", 0, 0, 0) + self.attributes(node))
        elif opcode == FUSE_OPEN:
            name = self.names[node]
            self.opened.setdefault(name, []).append(struct.unpack("=I", body[:4])[0])
            how = self.open_with[name]
            if isinstance(how, int):
                self.reply(unique, error=how)
            else:
                self.reply(unique, struct.pack("=QIi", 1, *how))
        elif opcode == FUSE_READ and self.hold_reads:
            self.held += 1
        elif opcode == OPENDIR:
            self.reply(unique, struct.pack("=QIi", 1, 0, 0))
        elif opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            pass
        elif opcode in (FUSE_RELEASE, RELEASEDIR, FLUSH, READDIR, DESTROY):
            self.reply(unique)
        else:
            self.reply(unique, error=errno.ENOSYS)

    def path(self, name, open_flags=0, backing_id=0):
        self.open_with[name] = (open_flags, backing_id)
        return self.directory / name

    def die(self):
        """Ends the daemon. Its mount stays."""
        self.silent = True
        # A waiting poll() would keep the device, and would then look at the file that gets its number next.
        os.eventfd_write(self.wake, 1)
        self.thread.join()
        os.close(self.wake)
        os.close(self.fd)

    def unmount(self):
        # Not in a child: it would close its copies of files on a mount that answers nothing, and hang.
        if libc.umount2(os.fsencode(self.directory), 2) < 0:  # MNT_DETACH
            raise OSError(ctypes.get_errno(), "umount2", str(self.directory))
