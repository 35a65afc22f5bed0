"""Process 1 of the knfsd guest: makes the guest like the namespaces of tools/testenv, runs an Environment, powers off."""
import argparse
import ctypes
import fcntl
import json
import os
import queue
import signal
import socket
import struct
import termios
import threading
import traceback
import tty

from . import frames
from .environment import Environment
from .namespaces import check, libc

RB_POWER_OFF = 0x4321FEDC


def mount(kind, where, data=""):
    os.makedirs(where, exist_ok=True)
    check(libc.mount(b"testenv", os.fsencode(where), kind.encode(), 0, data.encode()), where)


class Streams:
    """The standard streams of this process and its children, carried over the line."""

    def __init__(self, terminal, merged):
        self.line = os.open("/dev/ttyS0", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        tty.setraw(self.line)
        self.sending = threading.Lock()
        self.closed = set()
        self.input = queue.SimpleQueue()
        self.terminal = None
        if terminal:
            os.setsid()
            self.terminal, slave = os.openpty()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            self.use(slave, slave, slave)
            sources = {frames.OUT: self.terminal}
            self.to_input = self.terminal
        else:
            stdin, self.to_input = os.pipe()
            out_read, out = os.pipe()
            sources = {frames.OUT: out_read}
            err = out
            if not merged:
                sources[frames.ERR], err = os.pipe()
            self.use(stdin, out, err)
        self.pumps = [self.start(self.pump, kind, fd) for kind, fd in sources.items()]
        self.start(self.feed)
        self.start(self.listen)
        self.send(frames.READY)

    @staticmethod
    def use(stdin, out, err):
        for fd, wanted in ((stdin, 0), (out, 1), (err, 2)):
            os.dup2(fd, wanted)
        for fd in {stdin, out, err}:
            os.close(fd)

    @staticmethod
    def start(function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        thread.start()
        return thread

    def send(self, kind, data=b""):
        with self.sending:
            frames.send(self.line, kind, data)

    def pump(self, kind, fd):
        while True:
            try:
                data = os.read(fd, frames.OUT_CHUNK)
            except OSError:  # EIO: no process has the terminal open any more
                break
            if not data or kind in self.closed:
                break
            self.send(kind, data)
        os.close(fd)

    def feed(self):
        """Standard input, at the pace of its reader."""
        while data := self.input.get():
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(self.to_input, rest):]
            except OSError:  # it has no reader
                return
            self.send(frames.READY)
        if self.terminal is None:
            os.close(self.to_input)

    def listen(self):
        while frame := frames.receive(self.line):
            kind, data = frame
            if kind == frames.STDIN:
                self.input.put(data)
            elif kind == frames.SIGNAL:
                signal.pthread_kill(threading.main_thread().ident, data[0])  # so that its wait() returns
            elif kind == frames.CLOSED:
                self.closed.add(data)
            elif kind == frames.SIZE and self.terminal is not None:
                rows, columns = struct.unpack(">HH", data)
                fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def finish(self, status):
        """Called when everything else has ended: sends the rest of the output, then the status."""
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # the terminal has no other process
        null = os.open("/dev/null", os.O_RDWR)
        self.use(null, os.dup(null), os.dup(null))
        for pump in self.pumps:
            pump.join(10)
        self.send(frames.STATUS, bytes([status]))
        termios.tcdrain(self.line)


def sync_files():
    """Syncs the machine's files, not the ramdisk."""
    for line in open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape").readlines():
        _, where, kind, *_ = line.split()
        if kind == "hostfs":
            fd = os.open(os.fsencode(where).decode("unicode_escape").encode("latin-1"), os.O_RDONLY)
            libc.syncfs(fd)
            os.close(fd)


def live():
    with open("/sys/guest.json", encoding="utf-8") as file:
        settings = json.load(file)
    os.environ.clear()
    os.environ.update(settings["environment"])
    mount("proc", "/proc")
    mount("sysfs", "/sys")
    mount("devpts", "/dev/pts", "mode=620,ptmxmode=666")
    mount("hostfs", "/dev/shm", "/dev/shm")
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"/dev/{name}")
    socket.sethostname(settings["host"])
    os.chdir(settings["directory"])
    streams = Streams(settings["terminal"], settings["merged"])
    options = argparse.Namespace(**settings["options"])
    environment = Environment(options, settings["build"], settings["packages"])
    streams.finish(environment.live())


def main():
    try:
        live()
    except BaseException:
        with open("/dev/console", "w", encoding="utf-8") as console:
            traceback.print_exc(file=console)
    sync_files()
    libc.reboot(ctypes.c_int(RB_POWER_OFF))
