"""container_attack.py REGISTRY EXPORT: what a container with uid 0, without capabilities, can do to a registry that it sees
read-only, and to the sidecar behind it. Prints the results as one line of JSON; test-container-attackers judges them."""
import errno
import fcntl
import json
import os
import socket
import struct
import sys
from pathlib import Path

from wire import (COMMIT, NFS_PORT, RELEASE, WANT_FD, WANT_ID, WANT_WRITE, Broker, Closed, ask_local, connect, nfs_lookup,
                  nfs_root, registry_slot, release_body)

registry, export = Path(sys.argv[1]), sys.argv[2]
UID = 1000
IDS = 64  # of a machine: the victim's are among the first


def bind():
    socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).bind(str(registry / "mine"))


TRICKS = {
    "list the registry's directory": lambda: os.listdir(registry / "."),
    "remove the socket": lambda: os.unlink(registry / "broker.sock"),
    "rename the socket": lambda: os.rename(registry / "broker.sock", registry / "old"),
    "open the slots for writing": lambda: os.open(registry / "registry", os.O_WRONLY),
    "truncate the slots": lambda: os.truncate(registry / "registry", 0),
    "bind a socket": bind,
    "make a directory": lambda: os.mkdir(registry / "directory"),
    "change the mode": lambda: os.chmod(registry, 0o777),
    "change the owner": lambda: os.chown(registry, 0, 0),
    "take the mark": lambda: os.removexattr(registry / "broker.sock", "security.localiofs"),
    "mark the slots": lambda: os.setxattr(registry / "registry", "security.localiofs", bytes(24)),
}


def tried(function):
    try:
        function()
        return "done"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def hash_is_no_nonce():
    """True if a question with a slot's visible content makes no match."""
    broker = Broker(registry)
    broker.announce()
    ask_local(registry_slot(broker.slot, registry)[0])
    quiet = broker.quiet(0.5)
    broker.close()
    return quiet


def session(fd=None):
    """(broker, error of HELLO)"""
    broker = Broker(registry)
    broker.match()
    return broker, broker.hello(root, fd)[0]


def foreign_descriptor():
    with open("/usr/bin/python3", "rb") as file:
        try:
            broker, error = session(file.fileno())
            broker.close()
            return "refused" if error < 0 else "accepted"
        except Closed:
            return "refused"


def used_ids():
    """The ids, of which this session has none, that a message has an effect on."""
    broker, _ = session()
    effects = []
    for kind in (COMMIT, RELEASE):
        for number in range(1, IDS):
            try:
                body = release_body([number]) if kind == RELEASE else struct.pack("=iI", number, 0)
                if struct.unpack("=iI", broker.call(kind, body))[0] == 0:
                    effects.append((kind, number))
            except Closed:
                broker, _ = session()
    broker.close()
    return effects


def grants(name, uid):
    """Asks for all there is. Returns the reason, the id and whether a descriptor came, and counts descriptors that can write."""
    global writable
    broker, error = session()
    if error < 0:
        return {"hello": error}
    grant = broker.open(nfs_lookup(root, name, connection=nfs), uid, uid, flags=WANT_ID | WANT_FD | WANT_WRITE)
    if grant.fd is not None:
        writable += fcntl.fcntl(grant.fd, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        for flags in (os.O_WRONLY, os.O_RDWR):
            try:
                os.close(os.open(f"/proc/self/fd/{grant.fd}", flags))
                writable += 1
            except OSError:
                pass
    broker.close()
    return {"reason": grant.reason, "id": grant.id, "fd": grant.fd is not None}


nfs = connect("127.0.0.1", NFS_PORT)  # the sidecar answers only clients of the NFS server
root = nfs_root(export)
writable = 0
result = {"tricks": {name: tried(function) for name, function in TRICKS.items()}, "hash is no nonce": hash_is_no_nonce(),
          "foreign descriptor": foreign_descriptor(), "victim's ids": used_ids(), "as root": grants("root", 0),
          "as the user": grants("user", UID)}
result["writable descriptors"] = writable
print(json.dumps(result))
