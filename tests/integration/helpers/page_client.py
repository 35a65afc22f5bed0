"""A client of the sidecar that takes the version, the types, the layouts and the reasons from localiofs-broker(7) and
localiofs-status(7), so a test that uses it compares these pages with the sidecar by running. The steps of the probe follow
the page's text; the formats of the registry, the proof and the RPC are written down in this file. wire.py is the protocol
of the sources, for tests that break its rules."""
import hashlib
import os
import re
import socket
import stat
import struct
import uuid
from pathlib import Path

MAN = Path(__file__).resolve().parents[3] / "man"
INTEGERS = {"u32": "I", "i32": "i", "u64": "Q", "i64": "q"}


def layouts(page, introduction):
    """The items of the list behind this sentence: by each name of an item, its fields."""
    text = re.search(rf"{introduction}\n\.Bl -tag -width Ds\n(.*?)^\.El", page, re.M | re.S)[1]
    return {name: " ".join(fields.split()) for names, fields in re.findall(r"^\.It Li (.+)\n((?:[^.\n].*\n)+)", text, re.M)
            for name in names.split(" , ")}


PAGE = (MAN / "localiofs-broker.7").read_text()
VERSION = int(re.search(r"^This page describes version (\d+) of the protocol\.$", PAGE, re.M)[1])
TYPES = {name: int(number, 0) for name, number in re.findall(r"^\.It Cm ([A-Z_]+) Pq (\w+)$", PAGE, re.M)}
REPLY = int(re.search(r"the type of the request plus (0x\d+)", PAGE)[1], 0)
FLAGS = {name: int(number) for name, number in re.findall(r"\b(WANT_ID|ATTR|WANT_FD|WANT_WRITE) (\d):", PAGE)}
PARTS = layouts(PAGE, "The parts of messages are:")
BODIES = layouts(PAGE, "The bodies of the client's requests, [^\n]*are:")
REPLIES = layouts(PAGE, "The bodies of the replies are:")
REASONS = {int(number): code for code, number in
           re.findall(r"^\.It Cm ([\w-]+) Pq (\d+)$", (MAN / "localiofs-status.7").read_text(), re.M)}


def fields_of(layout):
    """(kind, name, number of elements or None) of each field."""
    for kind, name, count in re.findall(r"(\w+) (\w+)(?:\[(\d+)\])?", PARTS.get(layout, layout)):
        yield kind, name, int(count) if count else None


def pack(layout, values):
    packed = b""
    for kind, name, count in fields_of(layout):
        value = values.get(name, b"" if kind in ("u8", "char") else {} if kind in PARTS else [] if count else 0)
        if kind in ("u8", "char"):
            packed += struct.pack(f"={count}s", value)
        elif kind in PARTS:
            packed += pack(kind, value)
        else:
            several = value + [0] * (count - len(value)) if count else [value]
            packed += struct.pack(f"={len(several)}{INTEGERS[kind]}", *several)
    return packed


def unpack(layout, data):
    """The fields and the bytes behind them."""
    values = {}
    for kind, name, count in fields_of(layout):
        if kind in PARTS:
            values[name], data = unpack(kind, data)
            continue
        form = f"={count}s" if kind in ("u8", "char") else f"={INTEGERS[kind]}"
        size = struct.calcsize(form)
        values[name], data = struct.unpack(form, data[:size])[0], data[size:]
        if kind == "char":
            values[name] = values[name].split(b"\0")[0].decode()
    return values, data


def entries(data, count):
    """The entries behind the reply to LIST, by name, and the bytes behind them."""
    found = {}
    for _ in range(count):
        entry, rest = unpack("entry", data)
        at = entry["fh_length"] + entry["name_length"]
        entry["fh"], name = rest[:entry["fh_length"]], rest[entry["fh_length"]:at]
        used = len(data) - len(rest) + at
        nuls = 8 - used % 8
        need(data[used:used + nuls] == bytes(nuls), f"{nuls} NULs do not follow the entry of {name}")
        found[os.fsdecode(name)] = entry
        data = data[used + nuls:]
    return found, data


def handle(data):
    return {"length": len(data), "data": data}


def credential(uid, gid, groups=()):
    return {"uid": uid, "gid": gid, "ngroups": len(groups), "groups": list(groups)}


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)


def has_mark(path):
    s = os.stat(path)
    return os.getxattr(path, "security.localiofs") == b"LIOFSMK1" + struct.pack("=QQ", s.st_dev, s.st_ino)


class PageClient:
    """One session."""

    def __init__(self, registry):
        """Steps 1 and 2 of the probe: looks at the registry before it connects, and announces."""
        self.directory = os.open(registry, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        mount = re.search(r"^mnt_id:\s*(\d+)$", Path(f"/proc/self/fdinfo/{self.directory}").read_text(), re.M)[1]
        line = next(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if line.startswith(f"{mount} "))
        need(line.split(" - ")[1].startswith("tmpfs "), "the registry is not on tmpfs")
        s = os.fstat(self.directory)
        need(s.st_uid != 0 and not s.st_mode & 0o022, "another user may write to the registry")
        need(has_mark(f"/proc/self/fd/{self.directory}"), "the registry has no mark")
        self.path = os.open("broker.sock", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.directory)
        self.mark = os.fstat(self.path)
        need(stat.S_ISSOCK(self.mark.st_mode) and has_mark(f"/proc/self/fd/{self.path}"), "the socket has no mark")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(20)
        self.socket.connect(f"/proc/self/fd/{self.path}")
        self.ids, self.unasked, self.fd = 100, [], None

    def close(self):
        self.socket.close()
        os.close(self.path)
        os.close(self.directory)

    def receive(self):
        """(type, id, body) of the next message, or None at the end of the session."""
        try:
            packet, fds, _, _ = socket.recv_fds(self.socket, 1 << 17, 1)
        except ConnectionResetError:
            return None
        if not packet:
            return None
        header, rest = unpack("header", packet)
        asked = {number: name for name, number in TYPES.items()}
        need(header["length"] == len(packet), f"a packet of {len(packet)} bytes says {header['length']}")
        self.fd = fds[0] if fds else None
        kind = header["type"]
        layout = BODIES[asked[kind]] if kind in asked else REPLIES[asked[kind - REPLY]]
        body, rest = unpack(layout, rest)
        if kind == TYPES["LIST"] + REPLY:
            body["entries"], rest = entries(rest, body["count"])
        need(not rest, f"a packet of type {kind:#x} has {len(rest)} bytes more than the page says")
        return kind, header["id"], body

    def send(self, name, values, fds=()):
        body = pack(BODIES.get(name, ""), values)
        self.ids += 1
        header = {"type": TYPES[name], "length": len(pack("header", {})) + len(body), "id": self.ids}
        socket.send_fds(self.socket, [pack("header", header) + body], fds)

    def goodbye(self, name, **values):
        """The body of the GOODBYE that answers this message; None if the session ends without."""
        self.send(name, values)
        message = self.receive()
        need(message is None or message[:2] == (TYPES["GOODBYE"], 0), f"{message} came instead of GOODBYE")
        return message and message[2]

    def ask(self, name, fds=(), **values):
        """The body of the reply. Unasked messages that come before it are kept."""
        self.send(name, values, fds)
        while True:
            message = self.receive()
            need(message, f"the sidecar ended the session at {name}; before that came {self.unasked}")
            if message[:2] == (TYPES[name] + REPLY, self.ids):
                return message[2]
            self.unasked.append(message)

    def announce(self):
        """The reply. The nonce is in self.nonce, and the slot holds its hash."""
        half = uuid.uuid4()
        reply = self.ask("ANNOUNCE", version=VERSION, uuid=half.bytes)
        need(reply["error"] == 0, f"ANNOUNCE: {reply}")
        self.challenge = reply["challenge"]
        self.nonce = version_5(half.bytes, reply["uuid"])
        fd = os.open("registry", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self.directory)
        with open(fd, "rb") as file:
            need(has_mark(f"/proc/self/fd/{fd}"), "the file has no mark")
            content = file.read()
        boot = uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).bytes
        need(content[:64] == b"LIOFSREG" + struct.pack("=II", 1, 512) + boot + bytes(32), f"header {content[:64]}")
        need(len(content) == 64 + 512 * 32, f"the registry has {len(content)} bytes")
        slot = content[64 + 32 * reply["slot"]:][:32]
        wanted = version_5(self.nonce, b"localiofs registry slot") + struct.pack("=I", 1) + bytes(12)
        need(slot == wanted, f"slot {reply['slot']} has {slot.hex()}, expected {wanted.hex()}")
        return reply

    def question(self, address, port, source=""):
        """Step 3: asks UUID_IS_LOCAL at the port. Returns the address and port of the question."""
        call = struct.pack(">IIIIII", 1, 0, 2, 400122, 1, 1) + bytes(16) + self.nonce  # AUTH_NONE, no verifier
        with socket.create_connection((address, port), 10, (source, 0)) as asking:
            peer = "{}:{}".format(*asking.getsockname()[:2])
            asking.sendall(struct.pack(">I", 1 << 31 | len(call)) + call)
            answer = b""
            while more := asking.recv(100):
                answer += more
        need(answer == struct.pack(">IIIIIII", 1 << 31 | 24, 1, 1, 0, 0, 0, 0), f"UUID_IS_LOCAL: {answer.hex()}")
        return peer

    def matched(self, address, port):
        """Steps 3 and 4. Returns MATCHED, and the address and port of the question."""
        peer = self.question(address, port)
        kind, number, body = self.receive()
        need((kind, number) == (TYPES["MATCHED"], 0), f"{kind:#x} came instead of MATCHED")
        return body, peer

    def prove(self):
        """Step 6, for an owner of the machine."""
        memfd = os.memfd_create("proof")
        os.setxattr(memfd, "trusted.localiofs", self.challenge + struct.pack("=QQ", self.mark.st_dev, self.mark.st_ino))
        reply = self.ask("PROVE", [memfd])
        os.close(memfd)
        return reply


def version_5(space, name):
    """The UUID of version 5, of bytes: uuid.uuid5() takes text only before Python 3.12."""
    return uuid.UUID(bytes=hashlib.sha1(space + name).digest()[:16], version=5).bytes
