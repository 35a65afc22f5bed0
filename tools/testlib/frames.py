"""Frames between tools/testenv and the guest on a serial line: kind, length, and as many bytes."""
import os
import struct

# to the guest
STDIN = b"i"    # for COMMAND's standard input; length 0 is its end. READY asks for the next frame, one at a time
SIGNAL = b"s"   # the signal's number in one byte
CLOSED = b"c"   # nobody reads OUT (data b"o") or ERR (data b"e") any more
SIZE = b"w"     # of the terminal: rows, columns, two bytes each
# from the guest
READY = b"r"
OUT = b"o"      # COMMAND's standard output; ERR is its standard error
ERR = b"e"
STATUS = b"x"   # the exit status in one byte; nothing follows

OUT_CHUNK = 32768   # the most bytes of a frame
# A serial line of UML with some 4000 unread bytes is throttled, and never gets a byte again. One STDIN frame and all
# other frames that may come at the same time must stay below this.
STDIN_CHUNK = 2048
HEAD = struct.Struct(">cI")


def send(fd, kind, data=b""):
    """The caller prevents that two frames mix."""
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
