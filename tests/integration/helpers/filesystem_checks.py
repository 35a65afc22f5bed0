"""The checks that every data path of a filesystem must pass. Run inside tools/testenv, in the mount's root."""
import errno
import mmap
import os
import random
import stat
import sys
import threading
import time

sys.dont_write_bytecode = True
from lib import environment_paths, equal, finish, libc, must, noticed, raises, true, wait_for  # noqa: E402

MNT, BACKING = environment_paths()
os.chdir(MNT)
os.umask(0o022)
rng = random.Random(int(os.environ.get("LOCALIOFS_SEED", "1")))


def on_server(name):
    return (BACKING / name).read_bytes()


def silly_names():
    return [name for name in os.listdir(BACKING) if name.startswith(".nfs")]


def contents():
    data = rng.randbytes(3_000_001)
    fd = os.open("contents", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    for at in range(0, len(data), 70_001):
        os.pwrite(fd, data[at:at + 70_001], at)
    os.fsync(fd)
    equal("the server has the data that was written and synced", data, on_server("contents"))
    for _ in range(200):
        at, length = rng.randrange(len(data)), rng.randrange(100_000)
        if os.pread(fd, length, at) != data[at:at + length]:
            return true("random reads agree", False, f"{length} bytes at {at}")
    true("random reads agree", True)
    os.close(fd)
    with open(BACKING / "contents", "r+b") as other:
        other.write(b"changed on the server")
    noticed(BACKING / "contents")
    time.sleep(0.02)
    with open("contents", "rb") as again:
        equal("a later open sees a change on the server", b"changed on the server", again.read(21))


def mapping():
    size = 1 << 20
    fd = os.open("mapped", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    os.ftruncate(fd, size)
    data = rng.randbytes(size)
    with mmap.mmap(fd, size) as m:
        m[:] = data
        m.flush()
        equal("the server has data written through a mapping after msync", data, on_server("mapped"))
        m[10:13] = b"end"
    os.close(fd)
    equal("... and without msync when mapping and file are closed", b"end", on_server("mapped")[10:13])
    with open("mapped", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        equal("reading through a mapping gives the same data", data[13:], m[13:])


def appending():
    """Processes and two openers at once, with records that name their writer."""
    count, writers = 200, 4
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                one = os.open("appended", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
                two = os.open("appended", os.O_WRONLY | os.O_APPEND)
                for n in range(count):
                    os.write(one if n % 2 else two, f"{writer} {n:5}\n".encode() + b"." * 90 + b"\n")
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    equal("appending processes succeed", [0] * writers, codes)
    lines = on_server("appended").split(b"\n" + b"." * 90 + b"\n")[:-1]
    expected = sorted(f"{writer} {n:5}".encode() for writer in range(writers) for n in range(count))
    equal("concurrent appends by processes lose and tear no record", expected, sorted(lines))
    with open(BACKING / "appended", "ab") as other:
        fd = os.open("appended", os.O_WRONLY | os.O_APPEND)
        other.write(b"server")
        other.flush()
        noticed(BACKING / "appended")
        os.write(fd, b"client")
        os.close(fd)
    equal("an append goes behind data that the server appended", b"serverclient", on_server("appended")[-12:])


def sizes():
    fd = os.open("sparse", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    at = 5 << 30
    os.pwrite(fd, b"beyond 4 GiB", at)
    os.fsync(fd)
    equal("a sparse file grows beyond 4 GiB", at + 12, os.stat(BACKING / "sparse").st_size)
    equal("... with its data there", b"beyond 4 GiB", os.pread(fd, 100, at))
    equal("... and zeros before", b"\0" * 64, os.pread(fd, 64, (4 << 30) - 32))
    os.pwrite(fd, b"at the edge", (1 << 32) - 5)
    os.fsync(fd)
    with open(BACKING / "sparse", "rb") as other:
        other.seek((1 << 32) - 5)
        equal("a write across the 4 GiB edge arrives", b"at the edge", other.read(11))
    os.ftruncate(fd, 6)
    equal("it is truncated", 6, os.stat(BACKING / "sparse").st_size)
    true("a sparse file used little space", os.fstat(fd).st_blocks < 1000)
    os.close(fd)


def names():
    longest = "n" * 255
    with open(longest, "w", encoding="utf-8") as f:
        f.write("long")
    equal("a name of 255 bytes works", b"long", on_server(longest))
    raises("a name of 256 bytes is ENAMETOOLONG", errno.ENAMETOOLONG, open, "n" * 256, "w")
    for name in (b"\xff\xfe", "umlaut-\u00fc".encode(), b"with\nnewline", b" ", b"-r"):
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        if os.listdir(b".").count(name) != 1:
            true("any bytes make a name", False, name)
        os.unlink(name)
    true("any bytes make a name", True)
    os.mkdir("full")
    wanted = {f"entry-{n:05}-{'x' * (n % 40)}" for n in range(10_000)}
    for name in wanted:
        os.close(os.open(BACKING / "full" / name, os.O_CREAT | os.O_WRONLY, 0o644))
    listed = os.listdir("full")
    true("a listing of 10,000 entries is complete and has no name twice",
         len(listed) == 10_000 and set(listed) == wanted, f"{len(listed)} names, {len(set(listed))} different")
    with os.scandir("full") as entries:
        equal("... also a listing with the attributes of each entry", 10_000, sum(e.is_file() for e in map(touch, entries)))
    positions("full", wanted)


def touch(entry):
    entry.stat(follow_symlinks=False)
    return entry


def positions(path, wanted):
    """telldir and seekdir, through the C library."""
    import ctypes

    class Dirent(ctypes.Structure):
        _fields_ = [("ino", ctypes.c_uint64), ("off", ctypes.c_int64), ("reclen", ctypes.c_ushort),
                    ("type", ctypes.c_ubyte), ("name", ctypes.c_char * 256)]
    libc.opendir.restype = ctypes.c_void_p
    libc.readdir.restype = ctypes.POINTER(Dirent)
    libc.telldir.restype = ctypes.c_long
    d = ctypes.c_void_p(libc.opendir(path.encode()))
    seen = []  # (position before, name)
    while True:
        at = libc.telldir(d)
        entry = libc.readdir(d)
        if not entry:
            break
        seen.append((at, entry.contents.name.decode()))
    equal("telldir works for all entries", wanted | {".", ".."}, {name for _, name in seen})
    wrong = []
    for at, name in rng.sample(seen, 50):
        libc.seekdir(d, ctypes.c_long(at))
        entry = libc.readdir(d)
        if not entry or entry.contents.name.decode() != name:
            wrong.append(name)
    equal("seekdir comes back to the entry at each position", [], wrong)
    libc.rewinddir(d)
    count = 0
    while libc.readdir(d):
        count += 1
    equal("rewinddir starts again", len(seen), count)
    libc.closedir(d)


def kinds():
    os.mkfifo("fifo", 0o620)
    true("a fifo is made", stat.S_ISFIFO(os.lstat(BACKING / "fifo").st_mode))
    got = []
    reader = threading.Thread(target=lambda: got.append(open("fifo", "rb").read()))
    reader.start()
    with open("fifo", "wb") as f:
        f.write(b"through")
    reader.join()
    equal("... and carries data", [b"through"], got)
    os.mknod("zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    equal("a device keeps its numbers", (1, 5), (os.major(os.stat("zero").st_rdev), os.minor(os.stat("zero").st_rdev)))
    with open("zero", "rb") as f:
        equal("... and works", b"\0\0\0", f.read(3))
    target = "a/" * 500 + "target"
    os.symlink(target, "symlink")
    equal("a symbolic link keeps its target", target, os.readlink("symlink"))
    equal("... on the server, too", target, os.readlink(BACKING / "symlink"))
    with open("linked", "w", encoding="utf-8") as f:
        f.write("one file")
    os.link("linked", "linked2")
    true("a hard link is the same file", os.path.samefile("linked", "linked2") and os.stat("linked").st_nlink == 2)
    os.unlink("linked")
    equal("... that stays when the other name is removed", (b"one file", 1), (on_server("linked2"), os.stat("linked2").st_nlink))
    os.mkdir("dir")
    raises("a directory that is not empty is not removed", (errno.ENOTEMPTY, errno.EEXIST), lambda: (
        open("dir/file", "w").close(), os.rmdir("dir")))
    os.unlink("dir/file")
    os.rmdir("dir")
    raises("a missing name is ENOENT", errno.ENOENT, os.stat, "dir")
    raises("a file is no directory", errno.ENOTDIR, os.stat, "linked2/x")


def removed_while_open():
    for how in ("unlink", "rename"):
        fd = os.open("victim", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        os.write(fd, b"before")
        if how == "unlink":
            os.unlink("victim")
        else:
            with open("other", "w", encoding="utf-8") as f:
                f.write("new")
            os.rename("other", "victim")
        os.write(fd, b" after")
        os.fsync(fd)
        equal(f"a file still works after {how} while it is open", b"before after", os.pread(fd, 100, 0))
        os.ftruncate(fd, 3)
        os.fchmod(fd, 0o600)
        state = os.fstat(fd)
        equal("... with its attributes", (3, 0o600), (state.st_size, stat.S_IMODE(state.st_mode)))
        equal("... under a .nfs name on the server", 1, len(silly_names()))
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
        equal("... and can be opened again", b"bef", os.read(again, 10))
        os.close(again)
        os.close(fd)
        true("... the .nfs name is gone after the last close", wait_for(lambda: not silly_names(), 5), silly_names())
        if how == "rename":
            equal("the new file has the name", b"new", on_server("victim"))
            os.unlink("victim")


def directory_of_removed_files():
    """The last closes of removed files remove .nfs names in the background; the caller of rmdir cannot know of them."""
    failed = 0
    os.mkdir("outer")
    for n in range(150):
        folder = f"outer/{n}"
        os.mkdir(folder)
        opened = [os.open(f"{folder}/{m}", os.O_CREAT | os.O_RDWR) for m in range(20)]
        for m in range(20):
            os.unlink(f"{folder}/{m}")
        for fd in opened:
            os.close(fd)
        try:
            os.rmdir(folder)
        except OSError:
            failed += 1
    equal("a directory can be removed as soon as removed files in it are closed", 0, failed)
    os.mkdir("holding")
    fd = os.open("holding/open", os.O_CREAT | os.O_RDWR)
    os.unlink("holding/open")
    raises("... and not while one of them is open", errno.ENOTEMPTY, os.rmdir, "holding")
    os.close(fd)
    os.rmdir("holding")


def attributes():
    state, server = os.statvfs("."), os.statvfs(BACKING)
    equal("statfs tells the server's size", server.f_blocks * server.f_frsize, state.f_blocks * state.f_frsize)
    true("... and free space", abs(server.f_bavail * server.f_frsize - state.f_bavail * state.f_frsize) < 16 << 20)
    equal("... and the longest name", 255, state.f_namemax)
    open("times", "w").close()
    os.utime("times", ns=(1_234_567_890_123_456_789, 1_600_000_000_987_654_321))
    equal("utimens keeps nanoseconds", (1_234_567_890_123_456_789, 1_600_000_000_987_654_321),
          (os.stat("times").st_atime_ns, os.stat("times").st_mtime_ns))
    equal("... on the server, too", 1_600_000_000_987_654_321, os.stat(BACKING / "times").st_mtime_ns)
    before = time.time()
    os.utime("times")
    true("utime to now is now", abs(os.stat("times").st_mtime - before) < 5)
    os.chmod("times", 0o7654)
    equal("chmod keeps all twelve mode bits", 0o7654, stat.S_IMODE(os.stat(BACKING / "times").st_mode))
    os.chown("times", 1000, 2000)
    state = os.stat(BACKING / "times")
    equal("chown arrives", (1000, 2000), (state.st_uid, state.st_gid))
    equal("... and clears set-id bits where it must", 0, state.st_mode & 0o6000)


def sticky():
    os.mkdir("sticky")
    os.chmod("sticky", 0o1777)
    open("sticky/roots", "w").close()
    child = os.fork()
    if child == 0:
        from lib import become
        become(12345, 12345)
        code = 0
        try:
            os.close(os.open("sticky/own", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink("sticky/own")
        except OSError:
            code |= 1
        try:
            os.unlink("sticky/roots")
            code |= 2
        except PermissionError:
            pass
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    true("in a sticky directory a user makes and removes own files", code & 1 == 0)
    true("... and cannot remove another's", code & 2 == 0)


for part in (contents, mapping, appending, sizes, names, kinds, removed_while_open, directory_of_removed_files, attributes,
             sticky):
    part()
finish()
