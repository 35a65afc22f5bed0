"""The fuse module's parameter enable_uring, which mounts over io_uring need: the one thing of the machine's that tests
change. Whoever wants Y shares it, whoever wants N has it alone, and the last one restores what was there: a process of
its own does, so also for one that is killed. It counts when the kernel makes a mount, and stays with that.
"""
import fcntl
import os
import signal
from pathlib import Path

from .namespaces import SIGNALS

PARAMETER = Path("/sys/module/fuse/parameters/enable_uring")
FOLDER = Path("/run/localiofs-enable-uring")  # users: locked by each; change: locked for a moment; before: its value


def offered():
    """Whether this kernel has it at all."""
    return PARAMETER.exists()


class Setting:
    """Set to Y or N while anybody has the other end of a pipe: this process and its forks do."""

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
                if not before.exists():  # it does after a keeper that was killed, too
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
                    pass  # others have it still; it is theirs to restore
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
