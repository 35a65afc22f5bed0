"""Containers of podman and crun for tests, under the default seccomp profile, from a root filesystem of our own. A test that
uses them runs inside tools/testenv, which is "the host"."""
import os
import shutil
import subprocess
from pathlib import Path

import lib
from lib import ROOT, run, wait_for

BIN = Path(os.environ["LOCALIOFS_BIN"])
HOME = lib.scratch()
HOME.chmod(0o755)
TOOLS = ("/usr/bin/unshare", "/bin/cat", "/bin/cp", "/bin/mkdir", "/bin/sleep", "/bin/dash=/bin/sh")
# podman wants cgroup2 alone, and may not raise limits here.
ENGINE = ["unshare", "-m", "--propagation=unchanged", "sh", "-c",
          'umount -l -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec "$@"', "sh",
          "podman", f"--root={HOME}/podman", "--runroot=/run/localiofs-podman", "--cgroup-manager=cgroupfs",
          "--events-backend=none", "--storage-driver=vfs"]
COMMON = ["--rm", "--cgroups=disabled", "--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096", "--cap-drop=ALL",
          "--read-only", "--init=false", "--pull=never"]
SIDECAR_CAPABILITIES = [f"--cap-add={name}" for name in ("SYS_ADMIN", "DAC_READ_SEARCH", "DAC_OVERRIDE", "SETUID", "SETGID")]
running = []


def missing():
    """The programs that are not there."""
    return [name for name in ("podman", "crun", "slirp4netns") if not shutil.which(name)]


def make_image(where, *files, libraries=None):
    """A root filesystem with these files, and the libraries that they load. FILE=PLACE puts a file elsewhere."""
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries} if libraries else None
    made = run(ROOT / "tools/deploy/containers/image-root", where, *files, *TOOLS, env=environment)
    if made.returncode != 0:
        lib.fail("image-root makes the image", made.stdout)
        lib.finish()
    return where


def programs():
    """The image with localiofs and its own namespace."""
    places = (("localiofs", "/usr/sbin"), ("localiofs-sidecar", "/usr/sbin"), ("localiofs-mounter", "/usr/sbin"),
              ("localioctl", "/usr/bin"))
    return make_image(HOME / "image", *(f"{BIN / name}={place}/{name}" for name, place in places),
                      f"{ROOT}/tools/deploy/containers/own-namespace=/usr/lib/localiofs/own-namespace")


class Container:
    """A running container, of a root filesystem (Path), or of an image in podman's store (a name) instead of whose entry point
    the words run."""

    def __init__(self, image, *words, switches=(), network="host"):
        self.name = f"localiofs-test-{os.getpid()}-{len(running)}"
        self.log = HOME / f"{self.name}.log"
        program = ["--rootfs", image, *words] if isinstance(image, Path) else [f"--entrypoint={words[0]}", image, *words[1:]]
        argv = [*ENGINE, "run", *COMMON, f"--name={self.name}", f"--network={network}", *switches, *program]
        self.process = subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=self.log.open("w"),
                                        stderr=subprocess.STDOUT)
        running.append(self)

    def said(self):
        return self.log.read_text(errors="replace")

    def ended(self, seconds=60):
        """The exit status, or None if the container has not ended in time."""
        wait_for(lambda: self.process.poll() is not None, seconds)
        return self.process.poll()

    def kill(self):
        """As a crash: SIGKILL for the container's processes."""
        run(*ENGINE, "kill", self.name)
        self.ended()

    def stop(self):
        """SIGTERM, as by an orderly end of a pod."""
        run(*ENGINE, "stop", "--time=20", self.name)
        self.ended()


lib.atexit.register(lambda: [container.kill() for container in running if container.process.poll() is None])


def sidecar(image, config, export, *words, registry, network="host"):
    """A sidecar with five capabilities, which sees this configuration and this export. Waits for its socket."""
    socket = Path(registry, "broker.sock")
    before = socket.stat().st_ino if socket.exists() else None
    container = Container(image, "/usr/sbin/localiofs-sidecar", "--server=ganesha", f"--config={config}",
                          f"--registry={registry}", *words, network=network,
                          switches=[*SIDECAR_CAPABILITIES, "--volume=/dev/shm:/dev/shm", f"--volume={config}:{config}:ro",
                                    f"--volume={export}:{export}"])
    if not wait_for(lambda: socket.exists() and socket.stat().st_ino != before or container.process.poll() is not None, 30) or \
            container.process.poll() is not None:
        lib.fail("the sidecar's container starts", container.said())
    return container
