"""Inside the namespaces of tools/testenv: the filesystem, the server, the sidecar, the mount, and COMMAND.

Everything lies below /run/testenv, on a tmpfs that exists in these namespaces only.
"""
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from . import filesystems, parts, servers
from .namespaces import Terminated, terminate_on_signals
from .parts import BIN, DIR
from .places import PartError, make_etc, private_tmpfs, run

MNT = DIR / "mnt"
SANITIZER = DIR / "sanitizer"
# The leak sanitizer says so of a process that is killed while it looks for leaks. The line is no finding.
LEAK_CHECK_WAS_KILLED = re.compile(r"==\d+==Unable to get registers from thread \d+\.")
PROGRAMS = ("localiofs", "localiofs-mounter", "localiofs-sidecar", "localioctl")
# A process in the guest is a process of the machine, and each of its pages without a neighbour is a mapping. With
# vm.max_map_count mappings, 65530, its page faults never end. ASan's usual 256 MB of freed memory are too many.
GUEST_ASAN = ":quarantine_size_mb=8"
FAILED = 125  # exit status when the environment, not COMMAND, failed


class Environment:
    def __init__(self, options, build, packages):
        self.options = options
        self.build = Path(build)
        self.packages = Path(packages)
        self.server = servers.make(options.server, packages)
        self.sidecar = None
        self.export = DIR / ("machine/export" if options.fs == "dir" else "export")
        self.in_guest = options.server == "knfsd"

    def say(self, text):
        if self.options.verbose:
            print(f"testenv: {text}", file=sys.stderr, flush=True)

    # ---- making it ----

    def make_places(self):
        here = os.getcwd()
        private_tmpfs("/run", lambda name: name == "user" or here.startswith(f"/run/{name}/"))
        private_tmpfs("/dev/shm", lambda name: name != "localiofs")
        if os.path.isdir("/var/lib/nfs"):
            private_tmpfs("/var/lib/nfs", lambda name: False)
        for folder in (DIR, BIN, DIR / "path"):
            folder.mkdir(mode=0o755)
        SANITIZER.mkdir()
        SANITIZER.chmod(0o1777)
        (DIR / "packages").symlink_to(self.packages)
        (DIR / "path/testctl").symlink_to(Path(__file__).resolve().parent.parent / "testctl")
        os.chdir(here)  # the same directory again, after a bind mount on it

        device = DIR / "fuse"
        os.mknod(device, stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
        device.chmod(0o666)
        run(["mount", "--bind", device, "/dev/fuse"])
        run(["ip", "link", "set", "lo", "up"])

    def make_etc(self):
        make_etc(self.packages, DIR / "overlays", BIN / "mount.localiofs")

    def make_filesystem(self):
        filesystems.make(self.options, self.export, self.in_guest)

    def install_programs(self):
        """Bind mounts of the programs: the build's own directory may be closed to all but root."""
        for name in PROGRAMS:
            found = [p for p in self.build.glob(f"**/{name}")
                     if p.is_file() and os.access(p, os.X_OK) and "subprojects" not in p.parts]
            if not found:
                continue
            (BIN / name).touch()
            run(["mount", "--bind", found[0], BIN / name])
        (BIN / "mount.localiofs").symlink_to("localiofs")

    def start_server(self):
        parts.Rpcbind(self.packages).start()
        servers.KIND.write_text(self.options.server)
        self.server.write_config(self.export, self.options.export)
        self.server.start()

    def mount(self):
        MNT.mkdir()
        run(["mount", "-t", "localiofs", "-o", self.mount_options(), self.spec(), MNT])
        status = self.status()
        if self.options.transport == "uring" and self.options.enable_uring == "Y" and status["transport"] != "io_uring":
            raise PartError(f"--transport=uring: requests come through /dev/fuse: {status['transport_detail']}")
        if self.sidecar and self.options.local == "auto":
            parts.wait_until(lambda: self.status()["state"] != "probing", parts.START_TIMEOUT, "the first probe ends")

    def status(self):
        return json.loads(run([BIN / "localioctl", "status", "--json", MNT]))

    def spec(self):
        return f"localhost:{self.export}"

    def mount_options(self):
        own = f"local={self.options.local},transport={self.options.transport},registry={parts.REGISTRY}"
        return ",".join(filter(None, [own, self.options.mount_opts]))

    def make(self):
        os.umask(0o022)
        steps = [(self.make_places, "private /run, /dev/shm, /dev/fuse, network")]
        if not self.in_guest:  # the guest has them from testlib.guest
            steps.append((self.make_etc, "private /etc and /sbin"))
        steps += [(self.make_filesystem, f"filesystem: {self.options.fs}, {self.options.size} MB"),
                  (self.install_programs, f"programs of {self.build}"),
                  (self.set_variables, "variables"),
                  (self.start_server, f"rpcbind and {self.options.server}")]
        if self.options.sidecar:
            self.sidecar = parts.Sidecar(self.server)
            steps.append((self.sidecar.start, "localiofs-sidecar"))
        if self.options.mount:
            steps.append((self.mount, f"mount -t localiofs -o {self.mount_options()} {self.spec()} {MNT}"))
        for step, what in steps:
            begin = time.monotonic()
            step()
            self.say(f"{what} ({(time.monotonic() - begin) * 1000:.0f} ms)")

    def set_variables(self):
        os.environ.update({
            "PATH": f"{DIR}/path:{BIN}:{os.environ.get('PATH', '/usr/sbin:/usr/bin:/sbin:/bin')}",
            "LOCALIOFS_BACKING": str(self.export),
            "LOCALIOFS_SPEC": self.spec(),
            "LOCALIOFS_OPTS": self.mount_options(),
            "LOCALIOFS_BIN": str(BIN),
            "LOCALIOFS_SERVER": self.options.server,
            "LOCALIOFS_FS": self.options.fs,
            "LOCALIOFS_TRANSPORT": self.options.transport,
        })
        os.environ.pop("LOCALIOFS_MNT", None)
        if self.options.mount:
            os.environ["LOCALIOFS_MNT"] = str(MNT)
        # A sanitizer's findings in a daemon go to a file, which is read at the end.
        for name, extra in (("ASAN", GUEST_ASAN if self.in_guest else ""), ("UBSAN", ":print_stacktrace=1:halt_on_error=1"), ("TSAN", "")):
            own = f"log_path={SANITIZER}/{name.lower()}{extra}"
            os.environ[f"{name}_OPTIONS"] = ":".join(filter(None, [os.environ.get(f"{name}_OPTIONS"), own]))

    # ---- using it ----

    def run_command(self):
        umask = self.options.umask
        try:
            command = subprocess.Popen(self.options.command, umask=umask)
        except OSError as error:
            print(f"testenv: {self.options.command[0]}: {error.strerror}", file=sys.stderr)
            return 127 if isinstance(error, FileNotFoundError) else 126
        try:
            while True:  # pid 1 waits for all children without a parent
                pid, status = os.wait()
                if pid == command.pid:
                    code = os.waitstatus_to_exitcode(status)
                    return code if code >= 0 else 128 - code
        except Terminated as stop:
            try:
                os.kill(command.pid, stop.number)
            except ProcessLookupError:
                pass
            return 128 + stop.number

    # ---- ending it ----

    def take_down(self):
        """Unmount and ask all processes to end, so that sanitizers report; the rest is killed with pid 1."""
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            _, where, kind, *_ = line.split()
            if kind.startswith("fuse.localiofs"):
                subprocess.run(["umount", "-l", where.encode().decode("unicode_escape")], stderr=subprocess.DEVNULL)
        try:
            self.server.kill()
        except PartError:
            pass  # it has ended, or never started
        try:
            os.kill(-1, signal.SIGTERM)
        except ProcessLookupError:
            pass
        if not self.reap(5):
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.reap(5)
        subprocess.run(["umount", self.export], stderr=subprocess.DEVNULL)

    @staticmethod
    def reap(seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    time.sleep(0.005)
            except ChildProcessError:
                return True
        return False

    def sanitizer_reports(self):
        if not SANITIZER.is_dir():
            return ""
        lines = [line for path in sorted(SANITIZER.iterdir())
                 for line in path.read_text(errors="replace").splitlines(keepends=True)]
        return "".join(line for line in lines if not LEAK_CHECK_WAS_KILLED.match(line))

    def print_logs(self):
        for path in sorted(DIR.glob("*.log")):
            lines = [line for line in path.read_text(errors="replace").splitlines() if " :EVENT :" not in line][-40:]
            if lines:
                print(f"--- {path.name}, last {len(lines)} lines", *lines, sep="\n", file=sys.stderr)

    def live(self):
        """As pid 1: the whole life of an environment. Returns the exit status."""
        terminate_on_signals()
        status = FAILED
        try:
            self.make()
            self.say(f"running {' '.join(self.options.command)}")
            status = self.run_command()
        except (PartError, OSError, StopIteration) as error:
            print(f"testenv: {error}", file=sys.stderr)
            self.print_logs()
        except Terminated as stop:
            status = 128 + stop.number
        try:
            if status != 0 and self.options.verbose:
                self.print_logs()
            self.take_down()
            report = self.sanitizer_reports()
            if report:
                print(f"testenv: a sanitizer found a fault in a program of localiofs:\n{report}", file=sys.stderr)
                status = status or FAILED
        except Terminated:
            pass
        return status
