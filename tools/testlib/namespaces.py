"""Run a function as pid 1 of private mount, network, pid and IPC namespaces.

All processes below pid 1 end with pid 1, and pid 1 ends with the process that called run(), even if that process gets
SIGKILL. Nothing is left then: mounts, loop devices and sockets exist only in the namespaces.
"""
import ctypes
import os
import signal

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 1 << 18
PR_SET_PDEATHSIG = 1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def run(function):
    """Call function() as pid 1 of new namespaces; return its status as a shell would (128 + N for a signal).

    INT, TERM and HUP that reach the caller go on to pid 1, where they wait for handle_signals.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # pid 1 loses signals that come before it has a handler
    check(libc.unshare(CLONE_NEWPID), "unshare(CLONE_NEWPID)")  # for the child, not for this process
    alive_read, alive_write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(alive_write)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.read(alive_read, 1) != b"x":  # the caller died before prctl
            os._exit(125)
        os.close(alive_read)
        check(libc.unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC), "unshare")
        check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount --make-rprivate /")
        check(libc.mount(b"proc", b"/proc", b"proc", 0, None), "mount /proc")
        return_status = function()
        os._exit(return_status)
    os.close(alive_read)
    handle_signals(lambda number, _: os.kill(child, number))
    os.write(alive_write, b"x")
    os.close(alive_write)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


class Terminated(BaseException):
    """INT, TERM or HUP arrived at pid 1."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def handle_signals(handler):
    """Let handler have INT, TERM and HUP, also those that waited."""
    for number in SIGNALS:
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def terminate_on_signals():
    """Raise Terminated for INT, TERM and HUP."""
    def handler(number, _):
        for other in SIGNALS:
            signal.signal(other, signal.SIG_IGN)  # once is enough: further signals do not disturb the take-down
        raise Terminated(number)
    handle_signals(handler)
