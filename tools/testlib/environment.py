"""Inside the namespaces of tools/testenv: the filesystem, the server, the sidecar, the mount, and COMMAND.

Everything lies below /run/testenv, on a tmpfs that exists in these namespaces only.
"""
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

from . import loopdev, parts
from .namespaces import MS_BIND, MS_REC, Terminated, check, libc, terminate_on_signals
from .parts import BIN, DIR, EXPORT, PartError

MNT = DIR / "mnt"
SANITIZER = DIR / "sanitizer"
PROGRAMS = ("localiofs", "localiofs-sidecar", "localioctl")
MKFS = {"ext4": ["mkfs.ext4", "-q", "-E", "lazy_itable_init=1,nodiscard"]}
TEST_UID = 12345
FAILED = 125  # exit status when the environment, not COMMAND, failed


def run(argv):
    """Run a helper program; PartError with what it said when it fails."""
    result = subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        raise PartError(f"{argv[0]} failed ({result.returncode}): {result.stdout.strip()}")
    return result.stdout


def private_tmpfs(path, keep):
    """A fresh tmpfs on path. The entries that keep(name) names stay what they were."""
    old = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    names = [name for name in os.listdir(old) if keep(name)]
    run(["mount", "-t", "tmpfs", "-o", f"mode={stat.S_IMODE(os.fstat(old).st_mode):o}", "testenv", path])
    for name in names:
        mode = os.stat(name, dir_fd=old, follow_symlinks=False).st_mode
        new = Path(path, name)
        if stat.S_ISLNK(mode):
            new.symlink_to(os.readlink(name, dir_fd=old))
            continue
        new.mkdir() if stat.S_ISDIR(mode) else new.touch()
        # Not mount(8): it would resolve the path, and that leads to the new tmpfs.
        check(libc.mount(f"/proc/self/fd/{old}/{name}".encode(), bytes(new), None, MS_BIND | MS_REC, None), str(new))
    os.close(old)


def overlay(path):
    """Make changes below path private."""
    scratch = DIR / "overlay" / path.strip("/").replace("/", "-")
    (scratch / "upper").mkdir(parents=True)
    (scratch / "work").mkdir()
    shutil.copymode(path, scratch / "upper")
    run(["mount", "-t", "overlay", "-o", f"lowerdir={path},upperdir={scratch}/upper,workdir={scratch}/work",
         "testenv", path])


class Environment:
    def __init__(self, options, build, packages):
        self.options = options
        self.build = Path(build)
        self.packages = Path(packages)
        self.server = self.sidecar = None

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
        for folder in (DIR, EXPORT, BIN, DIR / "path"):
            folder.mkdir(mode=0o755)
        SANITIZER.mkdir()
        SANITIZER.chmod(0o1777)
        (DIR / "packages").symlink_to(self.packages)
        (DIR / "path/testctl").symlink_to(Path(__file__).resolve().parent.parent / "testctl")
        os.chdir(here)  # the same directory, where a bind mount took its place

        device = DIR / "fuse"
        os.mknod(device, stat.S_IFCHR, os.stat("/dev/fuse").st_rdev)
        device.chmod(0o666)
        run(["mount", "--bind", device, "/dev/fuse"])
        run(["ip", "link", "set", "lo", "up"])

    def make_etc(self):
        """What the servers look for in /etc, /usr/sbin, and mount(8) in /sbin."""
        overlay("/etc")
        if not os.path.lexists("/etc/mtab"):
            os.symlink("/proc/self/mounts", "/etc/mtab")
        for name in ("netconfig", "rpc"):
            if not os.path.exists(f"/etc/{name}") and (self.packages / "etc" / name).exists():
                shutil.copy(self.packages / "etc" / name, f"/etc/{name}")
        with open("/etc/passwd", "r+", encoding="utf-8") as passwd:
            if not any(line.startswith("_rpc:") for line in passwd):
                passwd.write("_rpc:x:65533:65534::/run/rpcbind:/usr/sbin/nologin\n")
            # An ordinary user for tests: fusermount3 serves nobody without a name.
            passwd.write(f"testenv:x:{TEST_UID}:{TEST_UID}::/:/bin/sh\n")
        sbin = os.path.realpath("/sbin")
        overlay(sbin)
        link = Path(sbin, "mount.localiofs")
        link.unlink(missing_ok=True)
        link.symlink_to(BIN / "mount.localiofs")

    def make_filesystem(self):
        backing = loopdev.unnamed_file(self.options.size << 20)
        path, device = loopdev.attach(backing)
        os.close(backing)
        run([*MKFS[self.options.fs], path])
        run(["mount", "-t", self.options.fs, path, EXPORT])
        os.close(device)  # the mount holds it now
        EXPORT.chmod(0o755)
        shutil.rmtree(EXPORT / "lost+found", ignore_errors=True)

    def install_programs(self):
        """The build may lie where only root can go: bind mounts of the programs do not mind."""
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
        self.server = parts.Ganesha(self.packages)
        self.server.write_config(self.options.export)
        self.server.start()

    def mount(self):
        MNT.mkdir()
        run(["mount", "-t", "localiofs", "-o", self.mount_options(), self.spec(), MNT])
        if self.sidecar and self.options.local == "auto":
            parts.wait_until(lambda: self.state() != "probing", parts.START_TIMEOUT, "the first probe ends")

    def state(self):
        return json.loads(run([BIN / "localioctl", "status", "--json", MNT]))["state"]

    def spec(self):
        return f"localhost:{EXPORT}"

    def mount_options(self):
        own = f"local={self.options.local},registry={parts.REGISTRY},probeport={parts.PROBE_PORT}"
        return ",".join(filter(None, [own, self.options.mount_opts]))

    def make(self):
        os.umask(0o022)
        steps = [(self.make_places, "private /run, /dev/shm, /dev/fuse, network"),
                 (self.make_etc, "private /etc and /sbin"),
                 (self.make_filesystem, f"{self.options.fs}, {self.options.size} MB"),
                 (self.install_programs, f"programs of {self.build}"),
                 (self.set_variables, "variables"),
                 (self.start_server, "rpcbind and NFS-Ganesha")]
        if self.options.sidecar:
            self.sidecar = parts.Sidecar()
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
            "LOCALIOFS_BACKING": str(EXPORT),
            "LOCALIOFS_SPEC": self.spec(),
            "LOCALIOFS_OPTS": self.mount_options(),
            "LOCALIOFS_BIN": str(BIN),
        })
        os.environ.pop("LOCALIOFS_MNT", None)
        if self.options.mount:
            os.environ["LOCALIOFS_MNT"] = str(MNT)
        # What a sanitizer finds in a daemon goes to a file, and is looked for at the end.
        for name, extra in (("ASAN", ""), ("UBSAN", ":print_stacktrace=1:halt_on_error=1"), ("TSAN", "")):
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
            while True:  # as pid 1, for all children that nobody else waits for
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
        """Unmount, ask everything to end, so that sanitizers report; what stays is killed with pid 1."""
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            _, where, kind, *_ = line.split()
            if kind.startswith("fuse.localiofs"):
                subprocess.run(["umount", "-l", where.encode().decode("unicode_escape")], stderr=subprocess.DEVNULL)
        if self.server and self.server.pid():
            os.kill(self.server.pid(), signal.SIGKILL)
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
        subprocess.run(["umount", EXPORT], stderr=subprocess.DEVNULL)

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
        return "".join(path.read_text(errors="replace") for path in sorted(SANITIZER.iterdir()))

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
                print(f"testenv: a sanitizer found something in a program of ours:\n{report}", file=sys.stderr)
                status = status or FAILED
        except Terminated:
            pass
        return status
