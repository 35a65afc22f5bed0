"""tools/bench scale: what a mount, a probe and a grant cost, and what a million mounts mean for a server."""
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

MOUNTS = 30
PROBES = 300
STORMS = [  # mounts, percent on the server's host, seconds without the server, reprobe=
    (1_000, 100, 30, 60), (10_000, 1, 30, 60), (100_000, 1, 30, 60), (100_000, 1, 300, 60), (100_000, 1, 30, 3600),
]


class Scale:
    """Inside tools/testenv without a mount."""

    def __init__(self, options):
        self.options = options
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/integration/helpers"))
        import lib
        import wire
        self.lib, self.wire = lib, wire
        self.sidecar = lib.sidecar_process()
        self.backing = Path(os.environ["LOCALIOFS_BACKING"])
        self.programs = Path(os.environ["LOCALIOFS_BUILD"]) / "tests/bench"

    @staticmethod
    def cpu(process):
        """The process's CPU time in microseconds, with that of threads that have ended: clock_getcpuclockid(3)."""
        return time.clock_gettime((~int(process.name) << 3) | 2) * 1e6

    @staticmethod
    def pss(process):
        """KiB of memory, of which shared pages count in shares."""
        return int((process / "smaps_rollup").read_text().split("\nPss:")[1].split()[0])

    def mounts(self):
        """Mounts that become local, one after the other: their times, and the memory per daemon and per session."""
        where = Path("/run/testenv/scale")
        before, cpu = self.pss(self.sidecar), self.cpu(self.sidecar)
        mounting, local, made = [], [], []
        for n in range(MOUNTS):
            made.append(where / str(n))
            made[-1].mkdir(parents=True)
            begin = time.perf_counter()
            self.lib.mount(made[-1])
            mounting.append(time.perf_counter() - begin)
            while self.lib.status(made[-1])["state"] != "local":
                time.sleep(0.001)
            local.append(time.perf_counter() - begin)
        daemons = [Path("/proc") / str(self.lib.status(mnt)["pid"]) for mnt in made]
        yield "mount(8), until it returns", f"{statistics.median(mounting) * 1e3:.1f} ms", "30 ms"
        yield "mount(8), until the mount is local", f"{statistics.median(local) * 1e3:.1f} ms", ""
        yield "sidecar's CPU per mount", f"{(self.cpu(self.sidecar) - cpu) / MOUNTS:.0f} us", ""
        yield "sidecar's memory per session", f"{(self.pss(self.sidecar) - before) / MOUNTS:.0f} KiB", "120 KiB"
        yield "memory per daemon", f"{statistics.median(map(self.pss, daemons)):.0f} KiB", "2560 KiB"
        for mnt in made:
            self.lib.must("umount", mnt)

    def probes(self):
        nfs = self.wire.connect("127.0.0.1", self.wire.NFS_PORT)
        cpu = self.cpu(self.sidecar)
        for _ in range(PROBES):
            broker = self.wire.Broker()
            broker.match()
            broker.close()
        yield "sidecar's CPU per probe that matches", f"{(self.cpu(self.sidecar) - cpu) / PROBES:.0f} us", ""
        cpu = self.cpu(self.sidecar)
        for _ in range(PROBES):
            self.wire.ask_local(os.urandom(16))
        yield "sidecar's CPU per probe of another host", f"{(self.cpu(self.sidecar) - cpu) / PROBES:.0f} us", ""
        nfs.close()

    def storms(self):
        print("\nOne server, by simulation with the daemon's own rules: per second, and the most in 1 s and in 10 s after a restart\n"
              f"{'mounts':>9} {'local':>6} {'down':>6} {'reprobe':>8}  {'probes':>7} {'in 1 s':>8} {'in 10 s':>8}  "
              f"{'connections in 1 s':>19} {'in 10 s':>8}  {'99 % back':>10}")
        for storm in STORMS:
            said = subprocess.run([self.programs / "probe-storm", *map(str, storm)], stdout=subprocess.PIPE, check=True, text=True)
            _, one, ten, probes, probes_one, probes_ten, _, settled = said.stdout.split()
            print(f"{storm[0]:9} {storm[1]:5}% {storm[2]:4} s {storm[3]:6} s  {probes:>7} {probes_one:>8} {probes_ten:>8}  {one:>19} "
                  f"{ten:>8}  {settled:>8} s")

    def measure(self):
        for what, value, goal in (*self.mounts(), *self.probes()):
            print(f"{what:44} {value:>10}" + (f"   goal: under {goal}" if goal else ""), flush=True)
        self.storms()
        return 0
