"""A loop device on a file without a name, freed by the kernel with its last user."""
import fcntl
import os
import struct
import tempfile

LOOP_CTL_GET_FREE = 0x4C82
LOOP_CONFIGURE = 0x4C0A
LO_FLAGS_AUTOCLEAR = 4


def unnamed_file(size):
    """A sparse file without a name, on disk rather than in memory."""
    directory = os.environ.get("TMPDIR") or "/var/tmp"
    try:
        fd = os.open(directory, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError:  # a filesystem without O_TMPFILE
        fd, name = tempfile.mkstemp(dir=directory)
        os.unlink(name)
    os.truncate(fd, size)
    return fd


def attach(backing_fd):
    """Return (path, descriptor) of a loop device: it lives as long as the descriptor or a mount of it."""
    # struct loop_config: fd, block_size, then struct loop_info64 with lo_flags at byte 52, then 64 reserved bytes
    config = bytearray(304)
    struct.pack_into("II", config, 0, backing_fd, 0)
    struct.pack_into("I", config, 8 + 52, LO_FLAGS_AUTOCLEAR)
    with open("/dev/loop-control", "rb", buffering=0) as control:
        for _ in range(100):
            number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
            path = f"/dev/loop{number}"
            try:
                device = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                fcntl.ioctl(device, LOOP_CONFIGURE, config)
                return path, device
            except OSError as error:  # another process was faster
                last = error
    raise OSError(last.errno, f"no loop device could be had: {last.strerror}")
