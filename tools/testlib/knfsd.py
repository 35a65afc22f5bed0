"""The kernel's NFS server, in the guest, with its tools from the packages that tools/deps unpacked."""
import subprocess
from pathlib import Path

from .parts import DIR, START_TIMEOUT, Unpacked, tcp_answers, wait_until
from .places import PartError, run

DEFAULT_EXPORT = "rw,no_root_squash,insecure,sync,no_subtree_check"
FILESYSTEMS = ("ext4", "tmpfs")
NFS_PORT = 2049
MOUNT_PORT = 20048
THREADS = 8
STATE = Path("/var/lib/nfs")
PIPES = Path("/run/rpc_pipefs")
NFSD = Path("/proc/fs/nfsd")


def parse_export(words, filesystem):
    """exports(5) options as they are; exportfs says what is wrong with them."""
    wanted = [DEFAULT_EXPORT, words]
    if filesystem == "tmpfs" and "fsid=" not in words:
        wanted.append("fsid=1")  # a tmpfs has no device and no uuid for handles
    return ",".join(filter(None, wanted))


class Mountd(Unpacked):
    """Answers MOUNT, and the kernel's questions about exports and clients."""
    name = "mountd"

    def argv(self):
        return [self.program("rpc.mountd"), "--foreground", "--port", str(MOUNT_PORT)]

    def ready(self):
        return tcp_answers(MOUNT_PORT)


class Nfsdcld(Unpacked):
    """Remembers NFSv4 clients. The kernel's server waits for it at its start."""
    name = "nfsdcld"

    def argv(self):
        return [self.program("nfsdcld"), "--foreground", f"--pipefsdir={PIPES}",
                f"--storagedir={STATE}/nfsdcld"]

    def ready(self):
        return (STATE / "nfsdcld/main.sqlite").exists()


class Knfsd(Unpacked):
    name = "server"

    def __init__(self, packages):
        super().__init__(packages)
        self.mountd = Mountd(packages)
        self.nfsdcld = Nfsdcld(packages)

    def write_config(self, path, export):
        for folder in ("nfsdcld", "sm", "v4recovery"):
            (STATE / folder).mkdir()
        PIPES.mkdir()
        run(["mount", "-t", "rpc_pipefs", "testenv", PIPES])
        run(["mount", "-t", "nfsd", "testenv", NFSD])
        exportfs = DIR / "path/exportfs"  # for tests that change their exports
        exportfs.write_text(f"#!/bin/sh\nLD_LIBRARY_PATH={self.environment()['LD_LIBRARY_PATH']} "
                            f"exec {self.program('exportfs')} \"$@\"\n")
        exportfs.chmod(0o755)
        Path("/etc/exports").write_text(f"{path} *({export})\n")

    def sidecar_arguments(self):
        return ["--server=knfsd", f"--config={STATE}/etab"]

    def tool(self, *argv):
        """One of the server's own programs."""
        done = subprocess.run([self.program(argv[0]), *argv[1:]], env=self.environment(),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise PartError(f"{' '.join(argv)} failed ({done.returncode}): {done.stdout.strip()}")

    def export(self, lines):
        """Makes these lines of exports(5) the only exports, and makes the kernel ask again."""
        Path("/etc/exports").write_text("".join(f"{line}\n" for line in lines))
        self.tool("exportfs", "-ra")
        self.tool("exportfs", "-f")

    def running(self):
        try:
            return int((NFSD / "threads").read_text()) > 0
        except FileNotFoundError:
            return False

    def start(self):
        if self.running():
            raise PartError("the server runs already")
        self.tool("exportfs", "-ra")
        if not self.nfsdcld.running():
            self.nfsdcld.start()
        self.mountd.start()
        self.tool("rpc.nfsd", "--no-udp", f"--port={NFS_PORT}", str(THREADS))
        wait_until(lambda: tcp_answers(NFS_PORT), START_TIMEOUT, "knfsd answers")

    def stop(self):
        """Stops the server as an administrator does."""
        self.demand_running()
        self.tool("rpc.nfsd", "0")
        self.tool("exportfs", "-au")
        self.tool("exportfs", "-f")
        self.mountd.stop()

    def kill(self):
        """The most abrupt end that the kernel allows: its connections end, and it forgets mountd's answers."""
        self.demand_running()
        (NFSD / "threads").write_text("0\n")
        self.mountd.kill()
        self.tool("exportfs", "-f")

    def demand_running(self):
        if not self.running():
            raise PartError("the server does not run")
