"""The server processes of a test environment: each can be started, stopped (asked to end) and killed.

A part's pid is in DIR/NAME.pid and its output in DIR/NAME.log, so that tools/testctl, another process, can drive parts
that tools/testenv started. start() returns when the part answers.
"""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from .places import PartError

DIR = Path("/run/testenv")
BIN = DIR / "bin"
REGISTRY = "/dev/shm/localiofs"
PROBE_PORT = 20122
START_TIMEOUT = 30  # seconds; a sanitizer build on a busy machine is slow
STOP_TIMEOUT = 15


def tcp_answers(port, address="127.0.0.1"):
    try:
        socket.create_connection((address, port), timeout=1).close()
        return True
    except OSError:
        return False


def wait_until(condition, timeout, what):
    """Poll condition() until it is true; PartError after the timeout."""
    deadline = time.monotonic() + timeout
    while True:
        over = time.monotonic() >= deadline
        if condition():
            return
        if over:
            raise PartError(f"{what}: not within {timeout} s")
        time.sleep(0.005)


class Part:
    name: str

    def __init__(self):
        self.pidfile = DIR / f"{self.name}.pid"
        self.log = DIR / f"{self.name}.log"

    def argv(self):
        raise NotImplementedError

    def environment(self):
        return dict(os.environ)

    def ready(self):
        """True if the part answers."""
        raise NotImplementedError

    def pid(self):
        """The running process, or None."""
        try:
            pid = int(self.pidfile.read_text())
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            # The first thread of a killed process may end before the others, which hold its locks.
            threads = len(os.listdir(f"/proc/{pid}/task"))
        except (OSError, ValueError):
            return None
        return pid if state not in "ZX" or threads > 1 else None

    def running(self):
        return self.pid() is not None

    def start(self):
        if self.running():
            raise PartError(f"{self.name} runs already")
        with open(self.log, "ab") as log:
            process = subprocess.Popen(self.argv(), env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=log, cwd="/", start_new_session=True)
        self.pidfile.write_text(f"{process.pid}\n")

        def ready_or_dead():
            if process.poll() is not None:
                raise PartError(f"{self.name} ended with status {process.returncode} at its start, see {self.log}")
            return self.ready()
        wait_until(ready_or_dead, START_TIMEOUT, f"{self.name} answers")

    def end(self, number):
        pid = self.pid()
        if pid is None:
            raise PartError(f"{self.name} does not run")
        os.kill(pid, number)
        wait_until(lambda: self.pid() is None, STOP_TIMEOUT, f"{self.name} ends")

    def stop(self):
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)


class Unpacked(Part):
    """A program of a server package, from where tools/deps unpacked it, else as the machine has it installed."""

    def __init__(self, packages):
        super().__init__()
        self.packages = Path(packages)

    def program(self, name):
        unpacked = [self.packages / folder / name for folder in ("usr/sbin", "sbin", "usr/bin")]
        found = next(filter(os.path.exists, unpacked), None) or shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
        if not found:
            raise PartError(f"{name}: neither unpacked below {self.packages} (tools/deps does that) nor installed")
        return found

    def environment(self):
        folders = [*self.packages.glob("usr/lib/*-linux-gnu*"), *self.packages.glob("lib/*-linux-gnu*"),
                   self.packages / "usr/lib/ganesha"]
        return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))}


class Rpcbind(Unpacked):
    name = "rpcbind"

    def argv(self):
        return [self.program("rpcbind"), "-f", "-w"]

    def ready(self):
        return tcp_answers(111) and os.path.exists("/run/rpcbind.sock")


class Sidecar(Part):
    name = "sidecar"

    def __init__(self, server):
        super().__init__()
        self.server = server

    def argv(self):
        return [BIN / "localiofs-sidecar", *self.server.sidecar_arguments(), f"--registry={REGISTRY}",
                f"--probeport={PROBE_PORT}", *os.environ.get("LOCALIOFS_SIDECAR_OPTIONS", "").split()]

    def environment(self):
        return {**os.environ, "NOTIFY_SOCKET": str(self.notify_path)}

    def start(self):
        self.notify_path = DIR / "sidecar.notify"
        self.notify_path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as self.notify:
            self.notify.bind(str(self.notify_path))
            self.notify.setblocking(False)
            self.notified = False
            super().start()

    def ready(self):
        try:
            self.notified |= b"READY=1" in self.notify.recv(4096).split(b"\n")
        except BlockingIOError:
            pass
        return self.notified and tcp_answers(PROBE_PORT)
