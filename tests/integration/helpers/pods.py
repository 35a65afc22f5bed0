"""Pods for tests: an NFS server's container and a sidecar's container in one network namespace. A test that uses them runs
inside tools/testenv without a server's sidecar, on "the host"."""
import os

import containers
import lib
from containers import HOME, Container
from lib import environment_paths, status, wait_for
from testlib import ganesha, parts
from testlib.ganesha import MOUNT_PORT, NFS_PORT
from wire import PROBE_PORT  # noqa: F401

if containers.missing():
    lib.skip_all(f"needs {', '.join(containers.missing())}: run tools/deps")
BACKING = environment_paths()[1]
OPTS = ",".join(option for option in os.environ["LOCALIOFS_OPTS"].split(",") if not option.startswith("registry="))
UID = 1000
# ldd(1) separates paths by blanks, which the checkout's path may have. Read-only: HOME is removed with all that it has.
PACKAGES = HOME / "packages"
PACKAGES.mkdir()
lib.must("mount", "-o", "bind,ro", parts.DIR / "packages", PACKAGES)
lib.atexit.register(lambda: lib.run("umount", "-l", PACKAGES))
LIBRARIES = ganesha.Ganesha(PACKAGES).environment()["LD_LIBRARY_PATH"]
IMAGE = containers.programs()
PLUGINS = next(PACKAGES.glob("usr/lib/*/ganesha/libfsalvfs.so")).parent
RPCBIND = parts.Rpcbind(PACKAGES).program("rpcbind")
SERVER_IMAGE = containers.make_image(HOME / "server", PACKAGES / "usr/bin/ganesha.nfsd", RPCBIND, *PLUGINS.glob("*.so*"),
                                     *PACKAGES.glob("usr/lib/*-linux-gnu/libntirpc.so*"), libraries=LIBRARIES)
for name in (".", "own"):
    (BACKING / name).mkdir(exist_ok=True)
os.chown(BACKING / "own", UID, UID)
(BACKING / "own/file").write_bytes(b"content")
os.chown(BACKING / "own/file", UID, UID)
user = lib.User(UID, UID)


class Pod:
    """A server's container and a sidecar's container in one network namespace, with a registry of their own."""

    def __init__(self, number):
        self.name, self.address = f"pod{number}", f"192.168.{80 + number}.2"
        self.registry = f"/dev/shm/localiofs-{self.name}"
        self.network = f"ns:/run/netns/{self.name}"
        self.export = BACKING
        lib.must("ip", "netns", "add", self.name)
        lib.must("ip", "link", "add", f"host{number}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        lib.must("ip", "addr", "add", f"192.168.{80 + number}.1/24", "dev", f"host{number}")
        lib.must("ip", "link", "set", f"host{number}", "up")
        for words in (("addr", "add", f"{self.address}/24", "dev", "eth0"), ("link", "set", "eth0", "up"),
                      ("link", "set", "lo", "up"), ("route", "add", "default", "via", f"192.168.{80 + number}.1")):
            lib.must("ip", "-n", self.name, *words)
        self.options = f"{OPTS},registry={self.registry},port={NFS_PORT},mountport={MOUNT_PORT}"
        self.states = 0
        self.new_state()
        self.port_mapper = self.server_container(("NET_BIND_SERVICE", "SETUID", "SETGID"), RPCBIND, "-f", "-w")
        self.answers(self.port_mapper, 111)
        self.start_server()
        self.start_sidecar()

    def new_state(self):
        """The next server begins without the files that the servers before it have left."""
        self.states += 1
        self.state = HOME / f"{self.name}.state{self.states}"
        (self.state / "rpcbind").mkdir(parents=True)
        self.config = HOME / f"{self.name}.conf"
        settings = ganesha.parse_export("no_root_squash,insecure", "ext4")
        self.config.write_text(ganesha.configuration(settings, self.export, PACKAGES, self.state))

    def server_container(self, capabilities, *words):
        """A container with the server's image; the containers of the pod share /run."""
        files = [f"--volume=/etc/{name}:/etc/{name}:ro"
                 for name in ("group", "hosts", "netconfig", "passwd", "protocols", "rpc", "services")]
        return Container(SERVER_IMAGE, *words, network=self.network, switches=[
            *(f"--cap-add={name}" for name in capabilities), *files, f"--env=LD_LIBRARY_PATH={LIBRARIES}",
            f"--volume={self.config}:{self.config}:ro", f"--volume={self.state}:/run", f"--volume={self.state}:{self.state}",
            f"--volume={self.export}:{self.export}"])

    def answers(self, container, port):
        if not wait_for(lambda: parts.tcp_answers(port, self.address) or container.process.poll() is not None, 60) or \
                container.process.poll() is not None:
            lib.fail(f"{self.name}: port {port} answers", f"{container.process.poll()} {container.said()[-700:]}")
            finish()

    def start_server(self):
        self.server = self.server_container(
            ("SYS_ADMIN", "DAC_READ_SEARCH", "DAC_OVERRIDE", "SETUID", "SETGID", "CHOWN", "FOWNER", "FSETID",
             "SYS_RESOURCE"),
            PACKAGES / "usr/bin/ganesha.nfsd", "-F", "-f", self.config, "-L", "/dev/stderr", "-p", "/run/ganesha.pid")
        self.answers(self.server, NFS_PORT)

    def start_sidecar(self):
        self.sidecar = containers.sidecar(IMAGE, self.config, self.export, registry=self.registry, network=self.network)

    def mount(self, name):
        return lib.mount(HOME / name, self.options, f"{self.address}:{self.export}")


def by_passthrough(where):
    """True if the mount is local, and a program of the user reads a file by passthrough."""
    before = status(where)
    content = user((where / "own/file").read_bytes)
    after = status(where)
    return before["state"] == after["state"] == "local" and content == b"content" and \
        after["opens.passthrough"] > before["opens.passthrough"] and after["requests.read"] == before["requests.read"]


def check(what, where):
    if not wait_for(lambda: by_passthrough(where), 30):
        lib.fail(f"{what}: the mount becomes local, and reads by passthrough", status(where))
        return
    lib.ok(f"{what}: the mount is local, and reads by passthrough")
