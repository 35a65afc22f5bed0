"""The library of the tests in which the NFS server is stopped, slow or another server: mounts with a log, and the server's
pid."""
import os
import subprocess
from pathlib import Path

import lib

NFS_PORT = 2049


def server_pid():
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().startswith("ganesha.nfsd"):
                return int(path.parent.name)
        except OSError:
            continue
    lib.fail("the NFS server runs")
    raise SystemExit(1)


class Mount:
    """A mount in the foreground. self.log() returns its log."""

    def __init__(self, directory, options="", spec=None):
        self.path = Path(directory)
        self.path.mkdir()
        self.logfile = Path(f"{directory}.log")
        extra = f",{options}" if options else ""
        with open(self.logfile, "wb") as log:
            self.process = subprocess.Popen(
                ["localiofs", spec or os.environ["LOCALIOFS_SPEC"], str(self.path), "-f", "-o",
                 os.environ["LOCALIOFS_OPTS"] + ",local=off" + extra],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if not lib.wait_for(lambda: os.path.ismount(self.path) or self.process.poll() is not None, 30) or \
                self.process.poll() is not None:
            lib.fail(f"the mount with {options or 'no options'} comes up", self.log())
            raise SystemExit(1)
        lib.check_transport(self.path)

    def log(self):
        return self.logfile.read_text(errors="replace")

    def said(self, text):
        return self.log().count(text)

    def status(self):
        return lib.status(self.path)

    def end(self):
        subprocess.run(["umount", "-l", self.path], check=True)
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "the daemon did not end"

    def context_switches(self):
        """The number of times that the daemon's threads went to sleep by themselves: each sleep ends in a wakeup."""
        total = 0
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/status"):
            text = path.read_text()
            total += int(text.split("\nvoluntary_ctxt_switches:")[1].split()[0])
        return total


def stopped_server():
    """with stopped_server(): the server takes connections and answers nothing."""
    return lib.stopped(server_pid())


def in_child(function, *args):
    """Runs the function in a child and returns the pid. The child's exit status is 0, or the errno of the OSError."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        function(*args)
        code = 0
    except OSError as error:
        code = error.errno
    finally:
        os._exit(code)


def ended(child, seconds):
    """The wait status of a child that ends in time, or None."""
    status = None

    def has_ended():
        nonlocal status
        pid, status = os.waitpid(child, os.WNOHANG)
        return pid != 0
    return status if lib.wait_for(has_ended, seconds) else None
