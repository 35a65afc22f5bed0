"""Makes writeback of chosen files fail, for an environment of tools/testenv --thin.

The disk's image gets memory, except below the data of these files. So the filesystem can write metadata and its journal and
goes on, while a write of the data fails with ENOSPC, as on a full thin device.
"""
import contextlib
import ctypes
import fcntl
import os
import struct
from pathlib import Path

IMAGE = Path("/run/testenv/thin/image")
FILLER = IMAGE.with_name("filler")
FS_IOC_FIEMAP = 0xC020660B
FIEMAP_FLAG_SYNC = 1
MAX_EXTENTS = 64
PAGE = 4096
HEADER, EXTENT = 32, 56  # bytes of struct fiemap without its extents, and of struct fiemap_extent
FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE = 1, 2
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]


def fallocate(fd, how, offset, length):
    if libc.fallocate(fd, how, offset, length) < 0:
        raise OSError(ctypes.get_errno(), "fallocate")


def extents(path):
    """A list of (offset, length): the places of a file's data on the disk."""
    answer = bytearray(HEADER + MAX_EXTENTS * EXTENT)
    struct.pack_into("=QQIII", answer, 0, 0, 2**64 - 1, FIEMAP_FLAG_SYNC, 0, MAX_EXTENTS)
    fd = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, FS_IOC_FIEMAP, answer)
    finally:
        os.close(fd)
    count = struct.unpack_from("=I", answer, 20)[0]
    found = [struct.unpack_from("=QQQ", answer, HEADER + n * EXTENT)[1:] for n in range(count)]
    if not 0 < count < MAX_EXTENTS or any(offset % PAGE for offset, _ in found):
        raise OSError(f"{path} has too many extents, or extents of partial pages: {found}")
    return found


class Disk:
    """The disk below files whose data is stable already. No other process may use the tmpfs."""

    def __init__(self, paths):
        self.image = os.open(IMAGE, os.O_RDWR)
        self.holes = [extent for path in paths for extent in extents(path)]

    def fail(self):
        """From now on every write of these files' data to the disk fails."""
        size = os.fstat(self.image).st_size
        fallocate(self.image, 0, 0, size)
        for offset, length in self.holes:
            fallocate(self.image, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length)
        with contextlib.suppress(OSError), open(FILLER, "wb", buffering=0) as filler:  # until the tmpfs is full
            while filler.write(bytes(PAGE)) == PAGE:
                pass

    def mend(self):
        """From now on the disk has room again."""
        FILLER.unlink()
