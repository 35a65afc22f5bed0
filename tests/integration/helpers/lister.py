"""A process that holds the lock of a directory for ever, as any user who may list the directory can."""
import ctypes
import os
import signal

from lib import true, wait_for
from wire import RawFuse, libc


class Lister:
    """A process that lists a directory into a page that never arrives, and so holds the directory's lock."""
    pages = []  # of the listers that have not ended

    def __init__(self, page, directory):
        self.page = RawFuse(page)
        self.page.hold_reads = True
        self.pages.append(self.page)
        path = self.page.path("file")
        self.pid = os.fork()
        if self.pid == 0:
            for mine in self.pages:  # a copy would keep the filesystem alive, and a lister waits for its end
                os.close(mine.fd)
            libc.mmap.restype = ctypes.c_void_p
            libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
            # Not in the process that answers for the file: when killed, it would wait for its own answer to the close.
            fd = os.open(path, os.O_RDONLY)
            address = libc.mmap(None, 4096, 3, 2, fd, 0)  # PROT_READ|PROT_WRITE, MAP_PRIVATE
            listed = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            libc.syscall(217, listed, ctypes.c_void_p(address), 4096)  # getdents64
            os._exit(0)
        true(f"a process lists {directory} into a page that never arrives", wait_for(lambda: self.page.held, 10))

    def end(self):
        self.pages.remove(self.page)
        self.page.die()
        self.page.unmount()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
