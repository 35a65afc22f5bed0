"""The library of the integration tests. A test starts with

    import sys
    sys.dont_write_bytecode = True
    sys.path.insert(0, f"{sys.path[0]}/../helpers")
    import lib
    lib.in_testenv("--export=root_squash")

and ends with finish(). A test is one program with one purpose. The program prints a line per check ("ok - SENTENCE",
"not ok - SENTENCE", "skip - SENTENCE"), which tools/test counts, and goes on after a failure. Run alone, a test is its own
command.

The first lines of a test have its marks: "# build: plain" (not the sanitizer build), "# needs: passthrough server" (the parts
that LOCALIOFS_REQUIRE forbids to skip for), "# timeout: SECONDS", "# alone: WHY" (with no other test beside it),
"# waits: yes" (needs no CPU of its own), "# on: ext4 xfs btrfs overlay knfsd io_uring", the filesystems, servers and
transport that tools/test runs the test on, and "# long: knfsd", those of them that only the long run has.
LOCALIOFS_FS, LOCALIOFS_SERVER and LOCALIOFS_TRANSPORT=uring choose one of them:
LOCALIOFS_SERVER=knfsd tests/integration/mount/test-mount-helper.
"""
import atexit
import concurrent.futures
import contextlib
import ctypes
import fcntl
import itertools
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from testlib import guest  # noqa: E402
TEST_UID = 12345  # the ordinary user, who has a name in tools/testenv's /etc/passwd
REGISTRY_UID = 64207  # the owner of the environment's registry (testlib.places)
LONG = os.environ.get("LOCALIOFS_LONG") == "1"
os.environ["LOCALIOFS_SEED"] = os.environ.get("LOCALIOFS_SEED") or str(int.from_bytes(os.urandom(3), "big"))
SERVER = os.environ.get("LOCALIOFS_SERVER") or "ganesha"
FS = os.environ.get("LOCALIOFS_FS") or "ext4"
TRANSPORT = os.environ.get("LOCALIOFS_TRANSPORT") or "dev"
# For filesystem_checks(), in MiB. On a small btrfs the data chunk takes all the room, and fsync fails because metadata has
# no room; the guest has little memory.
CHECKS_SIZE = 1024 if SERVER == "knfsd" else 6144
failures = 0
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p


def in_testenv(*options, passthrough=True):
    """Goes on inside tools/testenv with these options, on the chosen server and filesystem."""
    if os.environ.get("LOCALIOFS_IN_TESTENV"):
        return
    need_root(passthrough)
    os.environ["LOCALIOFS_IN_TESTENV"] = "1"
    argv = [str(ROOT / "tools/testenv"), f"--server={SERVER}", f"--fs={FS}", *options, "--", sys.executable,
            str(Path(sys.argv[0]).resolve()), *sys.argv[1:]]
    os.execv(argv[0], argv)


def need_root(passthrough=True):
    """Skips the whole test without root, the server, the filesystem, or (if the test is about it) FUSE passthrough."""
    if os.geteuid() != 0:
        skip_all("needs root")
    packages = Path(os.environ.get("LOCALIOFS_CACHE") or ROOT / ".cache") / "server"
    if SERVER == "knfsd":
        if not any(os.path.exists(p) for p in (packages / "usr/sbin/exportfs", "/usr/sbin/exportfs")):
            skip_all("needs the tools of the kernel's NFS server: run tools/deps")
        if lacking := guest.missing():
            skip_all(f"needs the knfsd guest: {lacking}")
        return  # the guest's kernel has everything else
    if not os.path.exists("/dev/fuse"):
        skip_all("needs /dev/fuse")
    release = os.uname().release
    if passthrough and tuple(map(int, release.split("-")[0].split(".")[:2])) < (6, 9):
        skip_all(f"needs Linux 6.9 for FUSE passthrough, this is {release}")
    if not (packages / "usr/bin/ganesha.nfsd").exists():
        skip_all("needs NFS-Ganesha: run tools/deps")
    if TRANSPORT == "uring" and not os.path.exists("/sys/module/fuse/parameters/enable_uring"):
        skip_all("needs a kernel with FUSE over io_uring")
    known = Path("/proc/filesystems").read_text().split()
    if FS != "dir" and FS not in known and run("modprobe", "-q", FS).returncode != 0:
        skip_all(f"needs a kernel with {FS}")


def say(line):
    print(line, flush=True)


def ok(sentence):
    say(f"ok - {sentence}")


def fail(sentence, detail=""):
    global failures
    failures += 1
    say(f"not ok - {sentence}")
    for line in str(detail).splitlines()[:40]:
        say(f"  # {line}")


def skip(sentence):
    say(f"skip - {sentence}")


def skip_all(sentence):
    skip(sentence)
    sys.exit(77)


def finish():
    sys.exit(1 if failures else 0)


def true(sentence, condition, detail=""):
    ok(sentence) if condition else fail(sentence, detail)
    return bool(condition)


def equal(sentence, expected, actual):
    return true(sentence, expected == actual, f"expected: {shorten(expected)}\ngot:      {shorten(actual)}")


def shorten(value):
    text = repr(value)
    return text if len(text) < 300 else f"{text[:200]}... ({len(text)} characters)"


def raises(sentence, number, function, *args):
    """Checks that the call fails with this errno, or with one of a tuple of errnos."""
    wanted = number if isinstance(number, tuple) else (number,)
    names = " or ".join(errno_name(n) for n in wanted)
    try:
        result = function(*args)
    except OSError as error:
        return true(sentence, error.errno in wanted, f"expected {names}, got {errno_name(error.errno)}")
    return true(sentence, False, f"expected {names}, it returned {shorten(result)}")


def errno_name(number):
    import errno
    return errno.errorcode.get(number, str(number))


def wait_for(condition, seconds=15):
    """True if the condition holds in time. After the time is over the condition is asked once more, however long the
    machine did not run this process."""
    end = time.monotonic() + seconds
    while True:
        over = time.monotonic() >= end
        try:
            if condition():
                return True
        except OSError:
            pass
        if over:
            return False
        time.sleep(0.01)


def eventually(sentence, condition, seconds=15):
    return true(sentence, wait_for(condition, seconds), f"not within {seconds} s")


class Stopwatch:
    """with Stopwatch() as watch: watch.ran is the time since then in seconds, without the pauses in which the machine did
    not run this process, if they were longer than on a busy machine. A test bounds the time of an immediate action by
    watch.ran. watch.seconds is the whole time."""
    TICK, BUSY = 0.01, 0.1

    def __enter__(self):
        self.begin, self.lost, self.over = time.monotonic(), 0.0, threading.Event()
        self.ticker = threading.Thread(target=self.tick, daemon=True)
        self.ticker.start()
        return self

    def tick(self):
        last = time.monotonic()
        while not self.over.wait(self.TICK):
            now = time.monotonic()
            late = now - last - self.TICK
            self.lost += late if late > self.BUSY else 0
            last = now

    @property
    def seconds(self):
        return time.monotonic() - self.begin

    @property
    def ran(self):
        time.sleep(2 * self.TICK)  # the last tick may be late, too
        return self.seconds - self.lost

    def __exit__(self, *_):
        self.over.set()
        self.ticker.join()


@contextlib.contextmanager
def stopped(pid):
    """with stopped(pid): the process is stopped (SIGSTOP). Its threads run on for a moment after kill(2) has returned, and
    this waits for their stop."""
    def stands_still():
        return all(stat.read_text().rpartition(")")[2].split()[0] == "T"
                   for stat in Path(f"/proc/{pid}/task").glob("*/stat"))

    os.kill(pid, signal.SIGSTOP)
    try:
        if not wait_for(stands_still):
            raise RuntimeError(f"process {pid} does not stop")
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # the process has ended meanwhile
            os.kill(pid, signal.SIGCONT)


def run(*argv, **more):
    return subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **more)


def check(sentence, *argv, **more):
    """Checks that the command succeeds."""
    result = run(*argv, **more)
    return true(sentence, result.returncode == 0, f"status {result.returncode}: {result.stdout}")


def refused(sentence, *argv, **more):
    """Checks that the command fails."""
    result = run(*argv, **more)
    return true(sentence, result.returncode != 0, f"the command succeeded: {result.stdout}")


def works(sentence, function, *args):
    """Checks that the function raises nothing."""
    try:
        function(*args)
    except (OSError, AssertionError):
        return true(sentence, False, traceback.format_exc())
    return true(sentence, True)


def by_user(uid, *argv):
    """The command, run by an ordinary user."""
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all", "--", *argv]


def must(*argv):
    """Runs a step that is no check, and without which the test cannot go on. Returns its output."""
    result = run(*argv)
    if result.returncode != 0:
        fail(f"{' '.join(map(str, argv))} works", result.stdout)
        sys.exit(1)
    return result.stdout


class Controller:
    """Runs commands from a process forked early. A child forked later would have copies of the test's descriptors,
    and their close at exec is a FLUSH of files that the test wants to keep just as they are."""

    def __init__(self):
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork() == 0:
            self.socket.close()
            while command := other.recv(4096):
                result = run(*command.decode().split())
                other.send(f"{result.returncode} {result.stdout[-2000:]}".encode())
            os._exit(0)
        other.close()

    def run(self, *argv):
        """Returns the status and the output of the command."""
        self.socket.send(" ".join(argv).encode())
        code, _, output = self.socket.recv(4096).decode().partition(" ")
        return int(code), output

    def must(self, *argv):
        code, output = self.run(*argv)
        if code != 0:
            fail(f"{' '.join(argv)} works", output)
            sys.exit(1)


controller = None


def start_controller():
    global controller
    controller = Controller()


def testctl(part, action):
    (controller.must if controller else must)("testctl", part, action)


CONTROL_OPEN_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_SYNC | os.O_CLOEXEC
CONTROL_GET_STATUS = 2 << 30 | 16000 << 16 | 0xF5 << 8 | 1  # include/localiofs/control.h


def status(mnt=None):
    """The status that `localioctl status --json` prints, without a child process. Dotted keys work, too:
    status()["opens.passthrough"]."""
    answer = bytearray(16000)
    fd = os.open(mnt or os.environ["LOCALIOFS_MNT"], CONTROL_OPEN_FLAGS)
    try:
        fcntl.ioctl(fd, CONTROL_GET_STATUS, answer)
    finally:
        os.close(fd)
    flat = {}

    def walk(prefix, node):
        for key, value in node.items():
            flat[prefix + key] = value
            if isinstance(value, dict):
                walk(prefix + key + ".", value)
    walk("", json.loads(bytes(answer).split(b"\0")[0]))
    return flat


def check_transport(mnt):
    """Checks that the mount's requests use the transport of the test's variant."""
    if TRANSPORT == "uring":
        equal(f"{Path(mnt).name}: requests come over io_uring", "io_uring", status(mnt)["transport"])


def wait_state(state, mnt=None, seconds=30):
    """Returns the status as soon as the mount has this state."""
    if not wait_for(lambda: status(mnt)["state"] == state, seconds):
        now = status(mnt)
        fail(f"the mount becomes {state}", f"{now['state']} ({now['reason']}: {now['detail']})")
        sys.exit(1)
    return status(mnt)


def mount(where, options=None, spec=None):
    where = Path(where)
    where.mkdir(exist_ok=True)
    must("mount", "-t", "localiofs", "-o", options or os.environ["LOCALIOFS_OPTS"],
         spec or os.environ["LOCALIOFS_SPEC"], where)
    return where


def noticed(path):
    """Makes the server see a change at a path on its own side. By itself Ganesha would not look for a minute, and a mount
    can only follow new answers."""
    if SERVER == "ganesha":
        import wire
        wire.nfs_look_again(os.environ["LOCALIOFS_BACKING"], path)


def names_are_local(mnt):
    """Waits until the sidecar answers for names: the daemon compares some with the server's answers first."""
    numbers = itertools.count()

    def proof():
        name = f"proof{next(numbers)}"
        Path(os.environ["LOCALIOFS_BACKING"], name).touch()
        (Path(mnt) / name).exists()
        return status(mnt)["names"]["local"]

    true("the sidecar looks names up", wait_for(proof), status(mnt)["names"])


def commits(mnt=None):
    """The number of COMMITs that the server answered. None of them only makes the server look at a file: that is GETACL."""
    return status(mnt).get("server.calls.COMMIT", 0)


def filesystem_checks():
    """Runs the checks of filesystem_checks.py in a process of their own."""
    global failures
    failures += subprocess.run([sys.executable, HERE / "filesystem_checks.py"], stdin=subprocess.DEVNULL).returncode != 0


def sidecar_command(*options):
    """A sidecar beside the environment's server, for tests that start a server of their own."""
    words = {"ganesha": ("--server=ganesha", "--config=/run/testenv/ganesha.conf"),
             "knfsd": ("--server=knfsd", "--config=/var/lib/nfs/etab")}
    return [os.environ["LOCALIOFS_BIN"] + "/localiofs-sidecar", *words[SERVER], *options]


def sidecar_process():
    """/proc/PID of the only sidecar in this environment."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().startswith("localiofs-sidec"):
                return process
        except (FileNotFoundError, ProcessLookupError):
            pass  # the process has ended meanwhile
    raise AssertionError("there is no sidecar")


def sidecar_held():
    """The number of the sidecar's threads, and of descriptors in all their tables: each session has a table of its own.
    They are counted while each thread sleeps: a thread at work has descriptors that it closes soon. A sidecar that is
    never at rest is counted as it is."""
    def states(tasks):
        lines = [(task / "status").read_text().splitlines() for task in tasks]
        return [line for of_one in lines for line in of_one if line.startswith(("State:", "voluntary_ctxt_switches:"))]

    for _ in range(1000):
        try:
            tasks = list((sidecar_process() / "task").iterdir())
            before = states(tasks)
            held = len(tasks), sum(len(os.listdir(task / "fd")) for task in tasks)
            if not any(line.startswith("State:") and "sleeping" not in line for line in before) and before == states(tasks):
                return held
        except (FileNotFoundError, ProcessLookupError):
            pass  # a session has ended meanwhile
        time.sleep(0.01)
    return held


def held_by_daemon(mnt, paths):
    """Of how many of these files of the server the mount's daemon has a descriptor."""
    wanted, found = [os.stat(path) for path in paths], 0
    for fd in os.scandir(f"/proc/{status(mnt)['pid']}/fd"):
        try:
            seen = os.stat(fd.path)
        except OSError:
            continue  # closed meanwhile
        found += any(os.path.samestat(seen, one) for one in wanted)
    return found


def sidecar_loads():
    """The number of times that the sidecar has read its exports."""
    return Path("/run/testenv/sidecar.log").read_text().count(" exports of ")


class Mapping:
    """A shared mapping that keeps no descriptor (mmap.mmap keeps a duplicate), and raises OSError instead of a SIGBUS."""

    def __init__(self, fd, length, prot=mmap.PROT_READ | mmap.PROT_WRITE):
        self.length = length
        self.at = libc.mmap(None, ctypes.c_size_t(length), prot, mmap.MAP_SHARED, fd, ctypes.c_long(0))
        if self.at == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "mmap")

    def _move(self, call, fd, length, at):
        moved = call(fd, ctypes.c_void_p(self.at + at), ctypes.c_size_t(length), ctypes.c_long(0))
        if moved != length:
            raise OSError(ctypes.get_errno(), "mapped access")

    def read(self, length, at=0):
        with open(os.memfd_create("read"), "r+b", buffering=0) as f:
            self._move(libc.pwrite, f.fileno(), length, at)
            return f.read(length)

    def write(self, data, at=0):
        with open(os.memfd_create("written"), "r+b", buffering=0) as f:
            f.write(data)
            self._move(libc.pread, f.fileno(), len(data), at)

    def flush(self):
        if libc.msync(ctypes.c_void_p(self.at), ctypes.c_size_t(self.length), 4) < 0:  # MS_SYNC
            raise OSError(ctypes.get_errno(), "msync")

    def close(self):
        libc.munmap(ctypes.c_void_p(self.at), ctypes.c_size_t(self.length))


def become(uid, gid, groups=()):
    """Gives this process, a child, another credential, without capabilities unless uid is 0."""
    os.setgroups(groups)
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


class User:
    """Another user, on a thread of its own: user(os.open, path, os.O_RDONLY) returns the result or the errno's name."""

    def __init__(self, uid, gid, groups=()):
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.pool.submit(self.become, uid, gid, groups).result()

    @staticmethod
    def become(uid, gid, groups):
        # The C library would change all threads of the process.
        array = (ctypes.c_uint32 * len(groups))(*groups)
        for call in ((116, len(groups), array), (119, gid, gid, gid), (117, uid, uid, uid)):
            if libc.syscall(*call) < 0:
                raise OSError(ctypes.get_errno(), "cannot change the credential")

    def __call__(self, function, *args):
        try:
            return self.pool.submit(function, *args).result()
        except OSError as error:
            return errno_name(error.errno)


def scratch():
    # In the knfsd guest /tmp is the machine's, seen through a filesystem that fusermount3 does not mount on.
    folder = "/run/testenv" if SERVER == "knfsd" and os.environ.get("LOCALIOFS_IN_TESTENV") else None
    path = Path(tempfile.mkdtemp(prefix="localiofs-test.", dir=folder))
    path.chmod(0o711)
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(path, ignore_errors=True) if os.getpid() == owner else None)
    return path


def environment_paths():
    return Path(os.environ.get("LOCALIOFS_MNT", "/nonexistent")), Path(os.environ["LOCALIOFS_BACKING"])
