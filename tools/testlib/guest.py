"""The machine's side of the knfsd guest: User Mode Linux, a kernel that is a process, with the real NFS server.

The guest's root directory is the machine's, as the namespaces around the guest show it. So COMMAND finds the same files
as on the machine. Directories that must differ for the servers (/etc, /sbin, /var/lib/nfs) differ already in the
namespaces, because the guest's kernel has no overlayfs. Files for the guest lie in /sys, where the guest mounts a sysfs
of its own. guest_init.py is the inner side, and frames.py is the language between them.
"""
import fcntl
import json
import os
import queue
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import tty
from pathlib import Path

from . import frames, places
from .namespaces import handle_signals
from .parts import BIN
from .places import PartError

ROOT = Path(__file__).resolve().parent.parent.parent
PLACE = Path("/sys")
MEMORY_MB = 1536       # beside the ramdisk; the machine's memory is used as the guest uses it
TAKE_DOWN_TIMEOUT = 30  # seconds from a signal to the guest's end
FAILED = 125

INIT = """\
#!/usr/bin/python3 -B
import sys
sys.path.insert(0, {tools!r})
from testlib import guest_init
guest_init.main()
"""


def folder():
    """The directory of the guest's kernel, from tools/guest-kernel --where."""
    said = subprocess.run([ROOT / "tools/guest-kernel", "--where"], check=True, stdout=subprocess.PIPE, text=True).stdout
    return Path(said.removesuffix("\n")).absolute()


def missing():
    """A sentence if the guest is missing, else None."""
    kernel = folder() / "linux.zst"
    if kernel.exists():
        return None
    return f"no {kernel} (tools/guest-kernel makes it; LOCALIOFS_KNFSD_GUEST says where it lies elsewhere)"


def prepare(options, build, packages):
    places.run(["mount", "-t", "tmpfs", "-o", "mode=755", "testenv", PLACE])
    overlays = PLACE / "overlays"
    overlays.mkdir()
    places.make_etc(packages, overlays, BIN / "mount.localiofs")
    if not os.path.isdir("/var/lib/nfs"):
        places.overlay("/var/lib", overlays)
        os.mkdir("/var/lib/nfs")
    places.run(["zstd", "-dq", folder() / "linux.zst", "-o", PLACE / "linux"])
    (PLACE / "linux").chmod(0o755)
    (PLACE / "init").write_text(INIT.format(tools=str(ROOT / "tools")))
    (PLACE / "init").chmod(0o755)
    terminal = all(os.isatty(fd) for fd in (0, 1))
    (PLACE / "guest.json").write_text(json.dumps({
        "options": vars(options), "build": str(build), "packages": str(packages), "directory": os.getcwd(),
        "host": socket.gethostname(), "environment": dict(os.environ), "terminal": terminal, "merged": terminal or same_file(1, 2)}))
    return terminal


def same_file(one, other):
    """True if both descriptors are one file: then the guest keeps the order between standard output and error."""
    try:
        return os.path.samestat(os.fstat(one), os.fstat(other))
    except OSError:
        return False


def make_disk(path, size):
    """The file of --disk, empty."""
    with open(path, "wb") as file:
        file.truncate(size << 20)


def kernel_arguments(options, line):
    return [PLACE / "linux", f"mem={options.size + MEMORY_MB}M", f"brd.rd_size={options.size << 10}",
            "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", f"init={PLACE}/init", f"uml_dir={PLACE}",
            "con=null", "con0=null,fd:1", "ssl=null", f"ssl0=fd:{line}", "quiet", "loglevel=4", "panic=-1", "noreboot",
            # Twice as many forks per second as with ptrace, but no protection against hostile programs.
            "seccomp=auto",
            # Half a second less to boot: no calibration of a delay loop that nothing needs, no network disks.
            "lpj=10000000", "nbd.nbds_max=0", *([f"ubd0={options.disk}"] if options.disk else [])]


class Conversation:
    """Carries standard streams and signals between this process and the guest."""

    def __init__(self, line):
        self.line = line
        self.outgoing = queue.SimpleQueue()
        self.ready = threading.Semaphore(0)  # counts the chunks of standard input that the guest has asked for
        self.status = None

    def run(self):
        """Returns when the guest closes the line."""
        started = False
        while frame := frames.receive(self.line):
            kind, data = frame
            if kind == frames.READY:
                if not started:  # the line echoes earlier data
                    started = True
                    for function in (self.send_queued, self.send_stdin):
                        threading.Thread(target=function, daemon=True).start()
                self.ready.release()
            elif kind == frames.STATUS:
                self.status = data[0]
            else:
                self.write(kind, data)

    def write(self, kind, data):
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(1 if kind == frames.OUT else 2, rest):]
        except OSError:  # EPIPE: COMMAND must get it, too
            self.outgoing.put((frames.CLOSED, kind))

    def send_queued(self):
        while True:
            try:
                frames.send(self.line, *self.outgoing.get())
            except OSError:
                return  # the guest has ended

    def send_stdin(self):
        while True:
            self.ready.acquire()
            try:
                data = os.read(0, frames.STDIN_CHUNK)
            except OSError:
                data = b""
            self.outgoing.put((frames.STDIN, data))
            if not data:
                return

    def resized(self, *_):
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))
        self.outgoing.put((frames.SIZE, struct.pack(">HH", rows, columns)))


def boot(options, build, packages):
    """As pid 1 of private namespaces: the whole life of a guest. Returns COMMAND's exit status."""
    ours, theirs = socket.socketpair()
    try:
        terminal = prepare(options, build, packages)
        if options.disk:
            make_disk(options.disk, options.size)
        console = open(PLACE / "console", "ab")
        kernel = subprocess.Popen(kernel_arguments(options, theirs.fileno()), cwd="/", stdin=subprocess.DEVNULL,
                                  stdout=console, stderr=console, pass_fds=[theirs.fileno()], start_new_session=True,
                                  env={**os.environ, "TMPDIR": str(PLACE)})
    except (PartError, OSError) as error:
        print(f"testenv: {error}", file=sys.stderr)
        return FAILED
    theirs.close()
    conversation = Conversation(ours.fileno())

    def signalled(number, _):
        conversation.outgoing.put((frames.SIGNAL, bytes([number])))
        threading.Timer(TAKE_DOWN_TIMEOUT, kernel.kill).start()
    handle_signals(signalled)
    saved = termios.tcgetattr(0) if terminal else None
    try:
        if terminal:
            tty.setraw(0, termios.TCSADRAIN)  # keeps what was typed before
            signal.signal(signal.SIGWINCH, conversation.resized)
            conversation.resized()
        conversation.run()
    finally:
        if terminal:
            termios.tcsetattr(0, termios.TCSADRAIN, saved)
    kernel.wait()
    if conversation.status is None:
        said = (PLACE / "console").read_text(errors="replace").replace("\r", "").splitlines()[-40:]
        print("testenv: the guest ended without an exit status; its console:", *said, sep="\n", file=sys.stderr)
        return FAILED
    return conversation.status
