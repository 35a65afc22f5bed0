"""The fuse module's parameter enable_uring, which mounts over io_uring need: the only setting of the machine that tests
change. Users of Y share it, a user of N has it alone, and the last user restores the old value. A separate process does
this, so that it happens even if the user is killed. The kernel reads the parameter when it makes a mount.
"""
import fcntl
import os
import signal
from pathlib import Path

from .namespaces import SIGNALS

PARAMETER = Path("/sys/module/fuse/parameters/enable_uring")
FOLDER = Path("/run/localiofs-enable-uring")  # users: each user locks it; change: locked for a moment; before: the old value


def offered():
    """True if this kernel has the parameter."""
    return PARAMETER.exists()


class Setting:
    """Sets the parameter to Y or N while a process has the other end of a pipe: this process and its forks."""

    def __init__(self, value, alone=False):
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        self.users = os.open(FOLDER / "users", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self.users, fcntl.LOCK_EX if alone or value != "Y" else fcntl.LOCK_SH)
        end, self.pipe = os.pipe()
        ready, told = os.pipe()
        self.keeper = os.fork()
        if self.keeper == 0:
            self.keep(value, end, told)
        for fd in (end, told, self.users):  # the lock stays with the keeper
            os.close(fd)
        if os.read(ready, 1) != b"x":
            raise OSError(f"{PARAMETER} cannot be set to {value}")
        os.close(ready)

    def keep(self, value, end, told):
        status = 1
        try:
            os.close(self.pipe)
            os.setsid()
            for number in SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            null = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            os.chdir("/")
            before = FOLDER / "before"
            with self.changing():
                if not before.exists():  # a killed keeper leaves it, too
                    before.with_suffix(".new").write_text(PARAMETER.read_text())
                    before.with_suffix(".new").rename(before)
                PARAMETER.write_text(value)
            os.write(told, b"x")
            os.close(told)
            os.read(end, 1)
            with self.changing():
                try:
                    fcntl.flock(self.users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    PARAMETER.write_text(before.read_text())
                    before.unlink()
                except BlockingIOError:
                    pass  # other users remain, and the last of them restores it
            status = 0
        finally:
            os._exit(status)

    @staticmethod
    def changing():
        change = open(FOLDER / "change", "w", encoding="ascii")
        fcntl.flock(change, fcntl.LOCK_EX)
        return change

    def restore(self):
        os.close(self.pipe)
        os.waitpid(self.keeper, 0)
