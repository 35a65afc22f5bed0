"""The filesystems of tools/testenv --fs, each empty at first, and gone with the namespaces."""
import ctypes
import os
import shutil
import struct

from . import loopdev
from .namespaces import libc
from .parts import DIR
from .places import PartError, run

AT_FDCWD = -100
MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-E", "lazy_itable_init=1,nodiscard"],
    "xfs": ["mkfs.xfs", "-q", "-K"],
    "btrfs": ["mkfs.btrfs", "-q", "-K"],
}
# For --thin, blocks of a page: a write that begins in an existing page succeeds, even if its end fails.
PAGES = {"ext4": ["-b", "4096"], "xfs": ["-b", "size=4096"], "btrfs": []}
COARSE = ["-I", "128"]  # for --coarse: ext4's inodes without room for nanoseconds
LEAST_MB = {"ext4": 8, "xfs": 300, "btrfs": 128, "overlay": 16, "tmpfs": 1}
RAMDISK = "/dev/ram0"  # in the knfsd guest, whose kernel gets its size; faster than a disk in the guest
RAMDISK_MB = 1536
FILE_DISK = "/dev/ubda"  # in the guest, of --disk
THIN = DIR / "thin"  # --thin: a tmpfs that the disk's image can fill


def make_image(size, thin):
    """The descriptor of the file below the loop device."""
    if not thin:
        return loopdev.unnamed_file(size << 20)
    THIN.mkdir()
    run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "testenv", THIN])
    fd = os.open(THIN / "image", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.truncate(fd, size << 20)
    return fd


def make_disk(kind, size, where, guests, more=()):
    """A new filesystem of this kind, mounted at where: on the guest's disk, or else on a loop device. more: "thin" or
    "coarse", as the options of tools/testenv."""
    if guests:
        run([*MKFS[kind], guests])
        run(["mount", "-t", kind, guests, where])
    else:
        backing = make_image(size, "thin" in more)
        path, device = loopdev.attach(backing)
        os.close(backing)
        run([*MKFS[kind], *(PAGES[kind] if "thin" in more else []), *(COARSE if "coarse" in more else []), path])
        run(["mount", "-t", kind, path, where])
        os.close(device)  # the mount holds the loop device now
    shutil.rmtree(where / "lost+found", ignore_errors=True)


def make_directory(machine, where):
    """A directory of the filesystem of TMPDIR or /var/tmp, below a mount that all users may cross."""
    (machine / "export").mkdir()
    where.parent.mkdir()
    run(["mount", "--bind", machine, where.parent])
    demand_handles(where)


def demand_handles(where):
    """PartError if the filesystem has no file handles: no server could export it."""
    handle = ctypes.create_string_buffer(struct.pack("II", 128, 0), 136)
    mount_id = ctypes.c_int()
    if libc.name_to_handle_at(AT_FDCWD, bytes(where), handle, ctypes.byref(mount_id), 0) < 0:
        kind = run(["stat", "--file-system", "--format=%T", where]).strip()
        raise PartError(f"--fs=dir: {kind} has no file handles here ({os.strerror(ctypes.get_errno())}): "
                        "set TMPDIR to a directory of a filesystem with file handles")


def make(options, where, in_guest):
    """An empty filesystem by the options, with its root at where."""
    kind, size = options.fs, options.size
    guests = (FILE_DISK if options.disk else RAMDISK) if in_guest else None
    if kind == "dir":
        make_directory(options.directory, where)
    else:
        where.mkdir()
    if kind == "tmpfs":
        run(["mount", "-t", "tmpfs", "-o", f"size={size}m", "testenv", where])
    elif kind == "overlay":
        layers = DIR / "layers"
        layers.mkdir()
        make_disk("ext4", size, layers, guests)
        for name in ("lower", "upper", "work"):
            (layers / name).mkdir()
        # These options make file handles that stay valid, without which the server can export nothing.
        run(["mount", "-t", "overlay", "-o", f"lowerdir={layers}/lower,upperdir={layers}/upper,"
             f"workdir={layers}/work,index=on,nfs_export=on,redirect_dir=on", "testenv", where])
    elif kind in MKFS:
        make_disk(kind, size, where, guests, [word for word in ("thin", "coarse") if getattr(options, word)])
    where.chmod(0o755)
