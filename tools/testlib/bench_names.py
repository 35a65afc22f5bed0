"""tools/bench names: operations on names and small files, beside the server's own directory and the floor of FUSE."""
import contextlib
import itertools
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from . import bench_picture
from .bench_local import LOCALIO, Local, number, run
from .bench_names_cells import GUEST_GOALS, GUEST_OTHER, all_cells

OURS = {"passthrough": "local=passthrough,commit=fsync", "commit=close": "local=passthrough,commit=close",
        "remote": "local=off"}
SOCKETS = {"sidecar": "/run/testenv/sidecar-metrics.sock", "mount": "/run/testenv/mount-metrics.sock"}
WITH_METRICS = {"passthrough": OURS["passthrough"], "metrics": f"{OURS['passthrough']},metrics={SOCKETS['mount']}"}
QUIET_LOOK, QUIET_WORK, QUIET_MOST = 0.12, 0.001, 3  # seconds; a look must be longer than MEMORY_TICK_MS
READ_EVERY = 1       # seconds; Prometheus' own default is 60
METRICS_GOAL = 0.98  # of the speed without
# The export has fsid=0: it is NFSv4's root.
KERNEL = {"nfs3": ("nfs", "vers=3,nolock,proto=tcp,mountproto=tcp,addr=127.0.0.1", "{}"),
          "nfs4.2": ("nfs4", "vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1", "/")}
MEANING = {"native": "the server's own directory", "floor": "FUSE with names in memory and data passed through",
           **{name: f"localiofs, {options}" for name, options in {**OURS, **WITH_METRICS}.items()},
           "nfs3": "the kernel's NFSv3 client with LOCALIO", "nfs4.2": "the kernel's NFSv4.2 client with LOCALIO"}


def work():
    """Seconds of the CPUs that the other processes of the environment have used."""
    seconds = 0
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):  # it has ended
            seconds += 0 if pid == os.getpid() else time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)
    return seconds


def wait_until_quiet():
    """What was done before has come to an end, such as the looks of a server that remembers. Returns its seconds of CPU."""
    first, end = work(), time.monotonic() + QUIET_MOST
    last = first
    while time.monotonic() < end:
        time.sleep(QUIET_LOOK)
        now = work()
        if now - last < QUIET_WORK:
            return now - first
        last = now
    return last - first


class Names(Local):
    """Inside tools/testenv without a mount, pinned to the CPUs of --cpus. Each path has a folder of its own on the same
    filesystem, so that no path ends what another path knows: it stays, as the export's root would change else."""

    def __init__(self, options):
        super().__init__(options)
        self.ours = WITH_METRICS if options.metrics else OURS
        self.numbers = itertools.count()
        self.readings = 0  # of the metrics

    def mount_all(self):
        self.paths["native"] = self.backing
        self.mount_ours()
        if self.options.metrics:
            threading.Thread(target=self.read_metrics, daemon=True).start()
        if self.options.server == "knfsd" and LOCALIO.exists():
            LOCALIO.write_text("Y")
            # nfsd marks a client whose lease is over by the time 0 (fs/nfsd/nfs4state.c is_client_expired), which is the
            # present time in a kernel's first second: an NFSv4 client that comes then tries for ever.
            self.lib.wait_for(lambda: time.clock_gettime(time.CLOCK_BOOTTIME) >= 1)
            for name, (kind, options, path) in KERNEL.items():
                where = self.top / name
                where.mkdir()
                # Without mount.nfs(8), which may be missing: the kernel gets the address.
                run("mount", "-i", "-t", kind, "-o", options, f"127.0.0.1:{path.format(self.backing)}", where)
                self.paths[name] = where
        where, store = self.top / "floor", self.backing / "floor-store"
        where.mkdir()
        store.mkdir()
        self.floor = subprocess.Popen([self.programs / "names-floor", where, store])
        if not self.lib.wait_for(lambda: os.path.ismount(where)):
            sys.exit("bench: the FUSE floor does not mount")
        self.paths["floor"] = where

    def read_metrics(self):
        """What a monitor does, but more often: reads the mount's and the sidecar's metrics."""
        while True:
            for where in SOCKETS.values():
                with socket.socket(socket.AF_UNIX) as reader:
                    reader.connect(where)
                    reader.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                    while reader.recv(1 << 16):
                        pass
            self.readings += 1
            time.sleep(READ_EVERY)

    # ---- one measurement ----

    def wrong_path(self, path, before, after):
        """The counters that show that another path than the measured one served requests."""
        never = {"remote": ("opens.passthrough", "opens.uring")}.get(
            path, ("opens.uring", "opens.remote", "requests.read", "requests.write"))
        return {key: after[key] - before[key] for key in never if after[key] != before[key]}

    def one(self, path, cell):
        """Per item: microseconds, RPCs, and microseconds of the CPUs that the mount, the sidecar and the server worked later."""
        folder = self.paths[path] / f"of-{path.replace('=', '-')}" / str(next(self.numbers))
        folder.mkdir(parents=True)
        cell.prepare(folder)
        if cell.cold:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
        wait_until_quiet()
        before = self.lib.status(self.paths[path]) if path in self.ours else None
        begin = time.perf_counter()
        told = cell.measure(folder)
        seconds = told if isinstance(told, float) else time.perf_counter() - begin
        later = wait_until_quiet() if before else None
        rpcs = None
        if before:
            after = self.lib.status(self.paths[path])
            if wrong := self.wrong_path(path, before, after):
                sys.exit(f"bench: {path}, {cell.name}: another path served requests: {wrong}")
            calls = [sum(value for key, value in status.items() if key.startswith("server.calls."))
                     for status in (before, after)]
            rpcs = (calls[1] - calls[0]) / cell.items
        shutil.rmtree(folder)
        return seconds / cell.items * 1e6, rpcs, later and later / cell.items * 1e6

    # ---- the table ----

    def goals(self, cell):
        """(path, other path, ratio) per goal: so fast is the path, beside the other."""
        if self.options.metrics:
            return []  # one goal, of all lines together
        if self.options.server == "knfsd":
            return [("passthrough", GUEST_OTHER, GUEST_GOALS[cell.name])] if cell.name in GUEST_GOALS else []
        return cell.goals

    def measure(self):
        os.environ["HOME"] = "/run/testenv"
        self.top.mkdir()
        self.cells = all_cells(self.programs / "small-ops", Path("/run/testenv"), self.options.server == "knfsd")
        self.mount_all()
        baseline = {}
        if self.options.baseline:
            baseline = {cell["name"]: cell["median"] for cell in json.loads(Path(self.options.baseline).read_text())["cells"]}
        table = []
        try:
            print(f"# {self.context()}, pinned to {self.options.cpus} CPU{'s' * (self.options.cpus > 1)}; microseconds per "
                  "item (speed beside native); of passthrough RPCs per item, and microseconds of the CPU per item afterwards",
                  flush=True)
            print(f"{'':32} {'native':>9} " + " ".join(f"{name:>16}" for name in self.paths if name != "native"), flush=True)
            for cell in self.cells:
                if not self.options.only or any(word in cell.name for word in self.options.only):
                    table.append(self.measure_cell(cell, baseline.get(cell.name)))
        finally:
            self.floor.terminate()
            self.floor.wait()
        if self.options.metrics:
            if self.readings < self.options.rounds:
                sys.exit(f"bench: the metrics were read {self.readings} times only")
            mean = statistics.geometric_mean(cell["median"]["passthrough"] / cell["median"]["metrics"] for cell in table)
            print(f"metrics: {mean:.3f} of passthrough (geometric mean of all lines), goal {METRICS_GOAL}: "
                  f"{'met' if mean >= METRICS_GOAL else 'missed'}")
        result = {"context": f"{self.context()}, {self.options.cpus} CPU", "paths": {name: MEANING[name] for name in self.paths},
                  "cells": table}
        if self.options.json:
            Path(self.options.json).write_text(json.dumps(result, indent=1) + "\n")
        if self.options.svg:
            Path(self.options.svg).write_text(bench_picture.draw(result, [["one operation"], ["many"]]))
        return 0

    def measure_cell(self, cell, before):
        values = {path: [] for path in self.paths}
        rpcs, later = ({path: [] for path in self.ours} for _ in range(2))
        for _ in range(self.options.rounds):
            for path in self.paths:
                microseconds, calls, work_later = self.one(path, cell)
                values[path].append(microseconds)
                if calls is not None:
                    rpcs[path].append(calls)
                    later[path].append(work_later)
        middle = {path: statistics.median(some) for path, some in values.items()}
        calls, later = ({path: statistics.median(some) for path, some in all_of.items()} for all_of in (rpcs, later))
        ratio = {path: middle["native"] / value for path, value in middle.items()}
        columns = [f"{number(middle[path])} ({ratio[path]:.2f})" for path in self.paths if path != "native"]
        line = (f"{cell.name:32} {number(middle['native']):>9} " + " ".join(f"{column:>16}" for column in columns) +
                f"  {calls['passthrough']:.2f} RPCs, {later['passthrough']:.1f} later")
        reached = []
        for path, other, goal in self.goals(cell):
            got, floor = (middle[other] / middle[mine] for mine in (path, "floor"))
            reached.append({"path": path, "beside": other, "goal": goal, "ratio": got, "floor": floor})
            line += f"; {path} {got:.2f} of {other}, goal {goal:g}: " + ("met" if got >= goal else f"missed, floor {floor:.2f}")
        if before:
            line += "; before: " + ", ".join(f"{path} x{before[path] / middle[path]:.2f}" for path in self.ours if path in before)
        print(line, flush=True)
        return {"group": cell.group, "name": cell.name, "unit": "us", "values": values, "median": middle, "ratio": ratio,
                "rpcs": calls, "later": later, "goals": reached}
