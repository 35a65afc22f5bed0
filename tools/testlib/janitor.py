"""A directory on the machine that is removed with the process that made it, even if the process is killed."""
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from .namespaces import SIGNALS

TIMEOUT = 10  # seconds; remaining writers end soon


class Directory:
    """A separate process removes it when no process holds the other end of a pipe: this process and its forks."""

    def __init__(self):
        self.path = Path(tempfile.mkdtemp(prefix="testenv.", dir=os.environ.get("TMPDIR") or "/var/tmp"))
        end, self.pipe = os.pipe()
        self.janitor = os.fork()
        if self.janitor == 0:
            os.close(self.pipe)
            os.setsid()
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.chdir("/")
            os.read(end, 1)
            deadline = time.monotonic() + TIMEOUT
            while self.path.exists() and time.monotonic() < deadline:
                shutil.rmtree(self.path, ignore_errors=True)
            os._exit(0)
        os.close(end)
        self.path.chmod(0o711)

    def make(self, name, mode):
        path = self.path / name
        path.mkdir()
        path.chmod(mode)
        return path

    def remove(self):
        os.close(self.pipe)
        os.waitpid(self.janitor, 0)
