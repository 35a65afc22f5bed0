"""Cases for test-parity: a file, callers, and their steps on the file; made from a seed, run in any directory."""
import ctypes
import errno
import fcntl
import mmap
import os
import random
import re
import struct
from dataclasses import dataclass, field

from lib import Mapping, User, wait_for

UIDS = (0, 1001, 1002, 1003, 65534)
GIDS = (0, 2001, 2002, 2003, 65534)
MODES = (0o644, 0o600, 0o640, 0o664, 0o666, 0o444, 0o400, 0o000, 0o755, 0o711, 0o700, 0o550, 0o111, 0o220, 0o622, 0o060,
         0o006, 0o070, 0o007, 0o777)
SET_ID = (0o4755, 0o2755, 0o6711, 0o2644, 0o4644, 0o6777, 0o2664, 0o1644)
DIRECTORY_MODES = (0o777, 0o777, 0o755, 0o775, 0o1777, 0o700, 0o711, 0o733, 0o3777, 0o2775, 0o555)
CONTENT = b"#!/bin/true\n" + bytes(range(256)) * 17
FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, IMMUTABLE, APPEND = 0x80086601, 0x40086602, 0x10, 0x20
ACL = "system.posix_acl_access"
OPENS = {"open r": os.O_RDONLY, "open w": os.O_WRONLY, "open rw": os.O_RDWR, "open append": os.O_WRONLY | os.O_APPEND,
         "open trunc": os.O_RDWR | os.O_TRUNC}
ON_OPEN = ("read", "write", "mmap read", "mmap write", "ftruncate", "fchmod", "fsync", "fstat")
ON_PATH = ("create", "exec", "truncate", "utimes now", "utimes", "rename", "rename over", "unlink", "link", "chmod",
           "chown", "access", "stat")
OPERATIONS = (*OPENS, *ON_OPEN, *ON_PATH)
NAMES = ("f", "other", "new", "moved", "linked")


@dataclass
class Case:
    """A case as numbers only: the same seed makes the same case."""
    owner: tuple
    mode: int
    acl: list          # (tag, permissions, id)
    flags: int         # attributes i and a
    directory: tuple   # uid, gid, mode
    callers: list      # (uid, gid, groups)
    steps: list = field(default_factory=list)  # (caller, operation, argument)

    def __str__(self):
        uid, gid = self.owner
        lines = [f"f is {uid}:{gid} {self.mode:04o}{' ACL ' + repr(self.acl) if self.acl else ''}"
                 f"{' immutable' if self.flags & IMMUTABLE else ''}{' append-only' if self.flags & APPEND else ''}, in "
                 f"{self.directory[0]}:{self.directory[1]} {self.directory[2]:04o}"]
        lines += [f"caller {n} is {who[0]}:{who[1]} groups {who[2]}" for n, who in enumerate(self.callers)]
        return "\n".join(lines)


def make(seed):
    rng = random.Random(seed)
    owner = rng.choice(UIDS), rng.choice(GIDS)
    mode = rng.choice(SET_ID if rng.random() < 0.15 else MODES)
    acl = []
    if rng.random() < 0.15:
        acl = [(0x01, rng.randrange(8), 0), *((0x02, rng.randrange(8), uid) for uid in sorted(rng.sample(UIDS, 2))),
               (0x04, rng.randrange(8), 0), *((0x08, rng.randrange(8), gid) for gid in sorted(rng.sample(GIDS, 1))),
               (0x10, rng.randrange(8), 0), (0x20, rng.randrange(8), 0)]
    flags = rng.choice((IMMUTABLE, APPEND)) if rng.random() < 0.06 else 0
    directory = rng.choice(UIDS), rng.choice(GIDS), rng.choice(DIRECTORY_MODES)
    callers = [make_caller(rng, owner) for _ in range(rng.choice((1, 1, 2)))]
    case = Case(owner, mode, acl, flags, directory, callers)
    opened = 0
    # The content of pages after their failed write is not defined, neither for localiofs nor for the kernel's client.
    on_open = [operation for operation in ON_OPEN if not flags or operation not in ("read", "mmap read", "mmap write")]
    for _ in range(rng.randint(1, 7)):
        who = rng.randrange(len(callers))
        if opened and rng.random() < 0.55:
            operation, argument = rng.choice(on_open), (rng.randrange(opened), rng.choice((0, 1, 100, 4095, 4096, 5000)),
                                                        rng.choice(MODES + SET_ID))
        elif rng.random() < 0.6:
            operation, argument = rng.choice(tuple(OPENS)), None
            opened += 1
        else:
            operation = rng.choice(ON_PATH)
            argument = (rng.choice((0, 1, 100, 4096, 9000)), rng.choice(MODES + SET_ID), rng.choice((*UIDS, -1)),
                        rng.choice((*GIDS, -1)))
            opened += operation == "create"
        case.steps.append((who, operation, argument))
    return case


def make_caller(rng, owner):
    """A random caller. Most callers are owner or group of the file."""
    uid = owner[0] if rng.random() < 0.35 else rng.choice(UIDS)
    gid = owner[1] if rng.random() < 0.25 else rng.choice(GIDS)
    count = rng.choice((0, 0, 1, 2, 3, 16, 17, 20))
    groups = [rng.choice((*GIDS, *range(3000, 3020))) for _ in range(count)]
    return uid, gid, tuple(groups)


def pack_acl(acl):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, who if tag in (2, 8) else 0xffffffff)
                                           for tag, bits, who in acl)


def set_flags(path, flags):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        now = struct.unpack("l", fcntl.ioctl(fd, FS_IOC_GETFLAGS, b"\0" * 8))[0]
        fcntl.ioctl(fd, FS_IOC_SETFLAGS, struct.pack("l", now & ~(IMMUTABLE | APPEND) | flags))
    finally:
        os.close(fd)


def prepare(case, directory):
    """Makes the case's files, on the server's side."""
    os.mkdir(directory)
    for name, (uid, gid) in (("f", case.owner), ("other", (case.directory[0], case.directory[1]))):
        path = directory / name
        path.write_bytes(CONTENT)
        os.chown(path, uid, gid)
        os.chmod(path, case.mode if name == "f" else 0o666)
    if case.acl:
        os.setxattr(directory / "f", ACL, pack_acl(case.acl))
    if case.flags:
        set_flags(directory / "f", case.flags)
    os.chown(directory, *case.directory[:2])
    os.chmod(directory, case.directory[2])


def leftover(case, directory):
    """Returns the state of all files after the case, on the server's side, and removes the files."""
    found = {}
    # Last closes remove .nfs names in the background.
    wait_for(lambda: not any(name.startswith(".nfs") for name in os.listdir(directory)), 5)
    for name in sorted(os.listdir(directory)):
        path = directory / name
        if case.flags and name in ("f", "linked", "moved"):
            set_flags(path, 0)
        s = os.lstat(path)
        try:
            acl = os.getxattr(path, ACL)
        except OSError:
            acl = b""
        mtime = s.st_mtime_ns if s.st_mtime_ns < 10**18 else "now"  # a time that no step has set is the time of the run
        found[name] = (f"{s.st_mode:o}", s.st_uid, s.st_gid, s.st_size, s.st_nlink,
                                                              mtime, acl.hex(), hash(path.read_bytes()))
        os.unlink(path)
    s = os.stat(directory)
    os.rmdir(directory)
    return found, (s.st_uid, s.st_gid, s.st_mode)


class Run:
    """A case in one directory of a mount. results: the result of each step; opens: the opens that the daemon saw."""

    def __init__(self, case, directory, users):
        self.case, self.directory, self.users = case, os.fsencode(directory), users
        self.slots, self.results, self.opens = [], [], 0
        for who, operation, argument in case.steps:
            self.results.append(self.step(users[case.callers[who]], operation, argument))
        for fd in self.slots:
            if fd is not None:
                self.results.append(self.close(fd))

    def step(self, user, operation, argument):
        name, _, how = operation.partition(" ")
        function = getattr(self, name)
        outcome = user(function, *([how] if how else []), *([argument] if argument is not None else []))
        return outcome if outcome is not None else "ok"

    @staticmethod
    def close(fd):
        try:
            os.close(fd)
        except OSError as error:
            return f"close {errno.errorcode[error.errno]}"
        return "closed"

    def path(self, name):
        return self.directory + b"/" + name.encode()

    def open(self, how, flags=None, name="f"):
        self.slots.append(None)
        fd = os.open(self.path(name), OPENS[f"open {how}"] if flags is None else flags, 0o640)
        self.slots[-1] = fd
        self.opens += 1
        return f"size {os.fstat(fd).st_size}"

    def create(self, argument):
        self.slots.append(None)
        fd = os.open(self.path("new"), os.O_RDWR | os.O_CREAT, argument[1] & 0o6777)
        self.slots[-1] = fd
        self.opens += 1
        s = os.fstat(fd)
        return f"{s.st_mode:o} {s.st_uid}:{s.st_gid}"

    def slot(self, argument):
        fd = self.slots[argument[0]]
        if fd is None:
            raise OSError(errno.EBADF, "it was not opened")
        return fd

    def read(self, argument):
        return hash(os.pread(self.slot(argument), 4096, argument[1]))

    def write(self, argument):
        # Behind pwrite(2) an O_APPEND file grows at its end.
        written = os.pwrite(self.slot(argument), b"written by a step" * 7, argument[1])
        if self.case.flags:  # refused after a while, and the amount written by then is chance
            return os.fsync(self.slot(argument))
        return written

    def mmap(self, how, argument):
        fd = self.slot(argument)
        if os.fstat(fd).st_size == 0:
            return "empty"
        m = Mapping(fd, 1, mmap.PROT_READ | (mmap.PROT_WRITE if how == "write" else 0))
        try:
            if how == "write":
                m.write(b"!")
                m.flush()
            return m.read(1)
        finally:
            m.close()

    def ftruncate(self, argument):
        return os.ftruncate(self.slot(argument), argument[1])

    def fchmod(self, argument):
        return os.fchmod(self.slot(argument), argument[2])

    def fsync(self, argument):
        return os.fsync(self.slot(argument))

    def fstat(self, argument):
        s = os.fstat(self.slot(argument))
        return f"{s.st_mode:o} {s.st_uid}:{s.st_gid} {s.st_size} {s.st_nlink}"

    def stat(self, _):
        s = os.stat(self.path("f"))
        return f"{s.st_mode:o} {s.st_uid}:{s.st_gid} {s.st_size} {s.st_nlink}"

    def exec(self, _):
        child = os.posix_spawn(self.path("f"), [b"f"], {})
        self.opens += 1
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def truncate(self, argument):
        return os.truncate(self.path("f"), argument[0])

    def utimes(self, *how):
        return os.utime(self.path("f")) if len(how) == 2 else os.utime(self.path("f"), ns=(10**17 + 5, 10**17 + 7))

    def rename(self, *how):
        return os.rename(self.path("f"), self.path("other" if len(how) == 2 else "moved"))

    def unlink(self, _):
        return os.unlink(self.path("f"))

    def link(self, _):
        return os.link(self.path("f"), self.path("linked"))

    def chmod(self, argument):
        return os.chmod(self.path("f"), argument[1])

    def chown(self, argument):
        return os.chown(self.path("f"), argument[2], argument[3])

    def access(self, argument):
        # By the C library: Python's own hides the errno.
        libc = ctypes.CDLL(None, use_errno=True)
        answers = []
        for mask in (os.R_OK, os.W_OK, os.X_OK):
            answers.append(0 if libc.access(self.path("f"), mask) == 0 else ctypes.get_errno())
        return answers


def users_of(case, known):
    """The callers on threads of their own, kept for the next cases."""
    if len(known) > 200:
        for user in known.values():
            user.pool.shutdown()
        known.clear()
    for who in case.callers:
        if who not in known:
            known[who] = User(*who)
    return known


def kinds_of(case, results):
    """A list with (operation, errno or ok) for each step."""
    for (_, operation, _), result in zip(case.steps, results):
        yield operation, result if isinstance(result, str) and result.isupper() and result.startswith("E") else "ok"


def modes_of(case):
    """All modes that the case gives the file."""
    yield case.mode
    for _, operation, argument in case.steps:
        if operation in ("create", "chmod"):
            yield argument[1]
        elif operation == "fchmod":
            yield argument[2]


def may_be_local(case, anonymous):
    """True if every caller may open the file: a user who may be claimed to be the owner may read and write. anonymous: the
    id to which all users are squashed."""
    if case.flags or case.acl or any(mode & 0o6600 != 0o600 for mode in modes_of(case)):
        return False
    owners = {case.owner[0], *(argument[2] for _, operation, argument in case.steps
                               if operation == "chown" and argument[2] >= 0)}
    return 0 not in owners if anonymous is None else owners == {anonymous}


# The differences that localiofs(8) documents, each with a case that shows it.
SET_ID_WHILE_OPEN = "set-id-while-open"  # bits that a file gets while it is open
SHUT_WHILE_OPEN = "shut-while-open"      # permission that is taken away while it is open
CALLERS = (1001, 2001, ()), (1002, 2002, ())
OPENED = 0, 0, 0o6755  # an operation on the first opened file: its offset and mode
DOCUMENTED = {
    SET_ID_WHILE_OPEN: Case((1001, 2001), 0o644, [], 0, (0, 0, 0o777), CALLERS,
                            [(0, "open rw", None), (0, "fchmod", OPENED), (0, "mmap write", OPENED)]),
    SHUT_WHILE_OPEN: Case((1001, 2001), 0o644, [], 0, (0, 0, 0o777), CALLERS,
                          [(1, "open r", None), (0, "chmod", (0, 0o600, 0, 0)), (1, "read", OPENED)]),
}
# What root does by a path, where root is not squashed, beside an open file, which says whether the mount is local.
SUCCESSES = {f"root may {operation}": Case((1001, 2001), 0o755, [], 0, (0, 0, 0o777), [(0, 0, ())],
                                           [(0, "open r", None), (0, operation, (100, 0o640, 1002, 2002))])
             for operation in ON_PATH}
NAMED = {**DOCUMENTED, **SUCCESSES}


def refused(results):
    """True if a READ or WRITE was refused: the caller sees EACCES, EFAULT in a mapping, and EIO for Linux 7's page cache."""
    newer = int(os.uname().release.split(".")[0]) >= 7
    words = {result.split()[-1] for result in results if isinstance(result, str)}  # and for "close EACCES" the last word
    return bool(words & {"EACCES", "EFAULT", *(["EIO"] if newer else [])})


def differences(case):
    """The documented differences that this case may show."""
    found, opened, open_to, shut = set(), 0, set(), False
    for who, operation, argument in case.steps:
        shut = shut or (operation in ("chmod", "fchmod", "chown") and bool(open_to))
        if operation.startswith("open"):
            open_to.add(who)
        elif shut and operation in ("read", "write", "mmap read", "mmap write", "ftruncate"):
            found.add(SHUT_WHILE_OPEN)
        opened += operation.startswith("open") or operation == "create"
        if opened and operation in ("chmod", "fchmod") and argument[1 if operation == "chmod" else 2] & 0o6000:
            found.add(SET_ID_WHILE_OPEN)
    return found


def without_set_id(results, left):
    """The results to compare when those bits may differ."""
    masked = [re.sub("^[0-7]+(?= [0-9]+:)", lambda m: f"{int(m[0], 8) & ~0o6000:o}", result) if isinstance(result, str)
              else result for result in results]
    files = {name: (f"{int(state[0], 8) & ~0o6000:o}", *state[1:]) for name, state in left[0].items()}
    return masked, (files, left[1])
