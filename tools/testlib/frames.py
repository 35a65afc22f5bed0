"""What tools/testenv and the guest say to each other over one serial line: kind, length, that many bytes."""
import os
import struct

# to the guest
STDIN = b"i"    # for COMMAND's standard input; of length 0: its end. One at a time, READY asks for the next
SIGNAL = b"s"   # its number in one byte
CLOSED = b"c"   # nobody reads OUT (b"o") or ERR (b"e") any more
SIZE = b"w"     # of the terminal: rows, columns, two bytes each
# from the guest
READY = b"r"
OUT = b"o"      # what COMMAND wrote
ERR = b"e"
STATUS = b"x"   # the exit status in one byte; nothing follows

OUT_CHUNK = 32768   # bytes in a frame at most
# A serial line of UML that was throttled, with some 4000 bytes unread, never gets anything again. One STDIN frame at
# a time and what else may come must stay below that.
STDIN_CHUNK = 2048
HEAD = struct.Struct(">cI")


def send(fd, kind, data=b""):
    """The caller sees to it that frames do not mix."""
    rest = memoryview(HEAD.pack(kind, len(data)) + data)
    while rest:
        rest = rest[os.write(fd, rest):]


def receive(fd):
    """(kind, data), or None at the end of the line."""
    head = exactly(fd, HEAD.size)
    if head is None:
        return None
    kind, length = HEAD.unpack(head)
    data = exactly(fd, length)
    return None if data is None else (kind, data)


def exactly(fd, length):
    data = b""
    while len(data) < length:
        try:
            more = os.read(fd, length - len(data))
        except OSError:
            return None  # a serial line whose other end is gone
        if not more:
            return None
        data += more
    return data
