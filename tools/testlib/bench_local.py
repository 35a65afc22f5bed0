"""tools/bench local: the data paths of one export, beside its own filesystem and the least cost of FUSE."""
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import time
from pathlib import Path

MIB = 1 << 20
JOBS = 16
SMALL = 4000           # small files
SMALL_THREADS = (1, 8)
TREE_FILES = 2000
LOCALIO = Path("/sys/module/nfs/parameters/localio_enabled")
OURS = {"passthrough": "local=passthrough", "commit=fsync": "local=passthrough,commit=fsync", "uring": "local=uring",
        "remote": "local=off"}
NAMES = {"native": "the server's own directory", "floor": "FUSE requests that do nothing",
         **{name: f"localiofs, {options}" for name, options in OURS.items()},
         "nfs+localio": "the kernel's NFSv3 client with LOCALIO", "nfs": "the kernel's NFSv3 client without"}


def run(*argv, **more):
    result = subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, argv))} failed ({result.returncode}): {result.stderr.strip()}")
    return result.stdout


def timed(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def number(value):
    return f"{value:.1f}" if value >= 10 else f"{value:.3f}"


class Cell:
    """
    One line of the table: its measurement in a directory, and its paths. Each measurement begins in the same state on
    each path, and the name says which: cold after all of the kernel's caches were dropped, or hot after the same
    measurement in the same directory.
    """

    def __init__(self, group, name, unit, measure, paths=None, opens=True, hot=False):
        self.group, self.unit, self.measure, self.paths = group, unit, measure, paths
        self.name = f"{name}, {'hot' if hot else 'cold'}"
        self.opens = opens  # True if the measurement opens files, so that counters show the path
        self.hot = hot

    def ratio(self, ours, other):
        return other / ours if self.unit == "s" else ours / other


class Local:
    """Inside tools/testenv without a mount."""
    ours = OURS

    def __init__(self, options):
        self.options = options
        self.backing = Path(os.environ["LOCALIOFS_BACKING"])
        self.top = Path("/run/testenv/bench")
        self.programs = Path(os.environ["LOCALIOFS_BUILD"]) / "tests/bench"
        self.paths = {}
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests/integration/helpers"))
        import lib
        self.lib = lib

    # ---- the paths ----

    def mount_ours(self):
        for name, how in self.ours.items():
            where = self.top / name
            where.mkdir(parents=True)
            options = [os.environ["LOCALIOFS_OPTS"], how, self.options.mount_opts]
            self.lib.mount(where, ",".join(filter(None, options)))
            self.lib.wait_state("remote" if name == "remote" else "local", where)
            self.paths[name] = where

    def mount_all(self):
        self.paths["native"] = self.backing
        self.mount_ours()
        if self.options.server == "knfsd" and LOCALIO.exists():
            where = self.top / "nfs"
            where.mkdir()
            # Without mount.nfs(8), which may be missing: the kernel gets the address.
            run("mount", "-i", "-t", "nfs", "-o", "vers=3,nolock,proto=tcp,mountproto=tcp,addr=127.0.0.1",
                f"127.0.0.1:{self.backing}", where)
            self.paths["nfs+localio"] = self.paths["nfs"] = where
        where = self.top / "floor"
        where.mkdir()
        rings = {"FUSE_URING_ENABLE": "1"} if self.options.transport == "uring" else {}
        self.floor = subprocess.Popen([self.programs / "fuse-floor", where, str(self.options.mib * MIB)],
                                      env={**os.environ, **rings})
        if not self.lib.wait_for(lambda: os.path.ismount(where)):
            sys.exit("bench: the FUSE floor does not mount")
        self.paths["floor"] = where

    def proof(self, path, cell, before):
        """A sentence if the counters show another path than the measured one; else None."""
        after = self.lib.status(self.paths[path])
        grew = {key: after.get(key, 0) - before.get(key, 0) for key in (
            "requests.read", "requests.write", "opens.passthrough", "opens.uring", "opens.remote", "server.calls.READ",
            "server.calls.WRITE")}
        needed, *wrong = {
            "passthrough": ["opens.passthrough", "requests.read", "requests.write", "opens.uring", "opens.remote"],
            "uring": ["opens.uring", "opens.passthrough", "opens.remote", "server.calls.READ", "server.calls.WRITE"],
            "remote": ["opens.remote", "opens.passthrough", "opens.uring"],
        }["passthrough" if path == "commit=fsync" else path]
        if any(grew[key] for key in wrong) or not grew[needed]:
            return f"{path}, {cell.name}: another path served it: {grew}"
        return None

    def one(self, path, cell):
        directory = self.paths[path]
        if path.startswith("nfs"):
            LOCALIO.write_text("Y" if path == "nfs+localio" else "N")
        if cell.hot:
            cell.measure(directory)
        else:
            os.sync()
            Path("/proc/sys/vm/drop_caches").write_text("3")
        before = self.lib.status(directory) if path in OURS else None
        value = cell.measure(directory)
        if before and cell.opens and (wrong := self.proof(path, cell, before)):
            sys.exit(f"bench: {wrong}")
        return value

    # ---- the cells ----

    def fio(self, directory, rw, block, depth, jobs, *more, engine="libaio", direct=1, key="iops", one_file=False):
        name = ["--filename=data.0"] if one_file else ["--filename_format=data.$jobnum"]
        # fio itself can invalidate only the pages of the native side. close() keeps NFS's promise, and the others must do
        # as much in the time.
        more = ["--invalidate=0", *more, *(["--end_fsync=1"] if rw in ("write", "randwrite", "randrw") else [])]
        said = json.loads(run("fio", "--name=bench", f"--directory={directory}", *name, f"--rw={rw}", f"--bs={block}",
                              f"--iodepth={depth}", f"--numjobs={jobs}", f"--size={self.options.mib}m", "--overwrite=1",
                              f"--ioengine={engine}", f"--direct={direct}", "--time_based", "--group_reporting",
                              "--fallocate=none", f"--runtime={self.options.seconds}", "--output-format=json", *more))
        return sum(said["jobs"][0][side][key] for side in ("read", "write"))

    def cached_reads(self, directory, jobs):
        """Reads from the server's memory, which the direct cells of the other paths have emptied."""
        for n in range(jobs):
            (self.backing / f"data.{n}").read_bytes()
        return self.fio(directory, "randread", 4096, 8, jobs, direct=int(directory != self.backing))

    @staticmethod
    def read_once(directory):
        """Reads a whole file, from its beginning to its end."""
        def read():
            with open(directory / "data.0", "rb", buffering=0) as f:
                while f.read(MIB):
                    pass
        seconds = timed(read)
        return (directory / "data.0").stat().st_size / MIB / seconds

    def small_ops(self, what, threads, hot):
        def measure(directory):
            count, seconds = (100 * threads, self.options.seconds) if hot else (SMALL, 0)
            return float(run(self.programs / "small-ops", what, f"{directory}/small/", 0, count, threads, seconds))
        return measure

    @staticmethod
    def create(directory, count, synced):
        folder = directory / "created"
        folder.mkdir()

        def make():
            for n in range(count):
                with open(folder / str(n), "wb") as f:
                    f.write(b"x" * 1000)
                    if synced:
                        f.flush()
                        os.fsync(f.fileno())
        seconds = timed(make)
        shutil.rmtree(folder)
        return count / seconds

    def unlink(self, directory):
        folder = directory / "doomed"
        folder.mkdir()
        for n in range(1000):
            (folder / str(n)).touch()
        seconds = timed(lambda: [os.unlink(folder / str(n)) for n in range(1000)])
        folder.rmdir()
        return 1000 / seconds

    def untar(self, directory):
        seconds = timed(lambda: run("tar", "-xf", self.tar, "-C", directory))
        run("rm", "-r", directory / "tree")
        return seconds

    @staticmethod
    def in_source(*argv):
        return lambda directory: timed(lambda: run(*argv, cwd=directory / "source"))

    @staticmethod
    def fsync_each(directory):
        with open(directory / "fsynced", "wb") as f:
            seconds = timed(lambda: [(os.write(f.fileno(), b"x" * 4096), os.fsync(f.fileno())) for _ in range(300)])
        (directory / "fsynced").unlink()
        return 300 / seconds

    @staticmethod
    def dd(directory):
        seconds = timed(lambda: run("dd", "if=/dev/zero", f"of={directory / 'dd'}", "bs=512", "count=40000", "conv=fsync"))
        (directory / "dd").unlink()
        return 512 * 40000 / seconds / MIB

    def cells(self):
        creating = [path for path in self.paths if path != "floor"]
        data = [path for path in creating if path != "commit=fsync"]  # which differs only where many files are closed
        reading = [*data, "floor"]
        for jobs in (1, JOBS):
            word = f"{jobs} job{'s' * (jobs > 1)}"
            for block, size in ((4096, "4K"), (131072, "128K")):
                for rw, what in (("randread", "reads"), ("randwrite", "writes")):
                    yield Cell("data", f"{size} {what}, direct, depth 8, {word}", "IOPS",
                               lambda d, a=(rw, block, 8, jobs): self.fio(d, *a), reading)
        for jobs in (1, JOBS):
            yield Cell("data", f"4K reads of its memory, {jobs} job{'s' * (jobs > 1)}", "IOPS",
                       lambda d, jobs=jobs: self.cached_reads(d, jobs), ["native", "uring", "remote", "floor"], hot=True)
        yield Cell("data", "4K mixed 75/25, direct, depth 64", "IOPS",
                   lambda d: self.fio(d, "randrw", 4096, 64, 1, "--rwmixread=75"), data)
        yield Cell("data", f"4K writes to one file, {JOBS} synchronous", "IOPS",
                   lambda d: self.fio(d, "randwrite", 4096, 1, JOBS, engine="psync", one_file=True), data)
        for hot in (False, True):
            yield Cell("data", "read of a file, 1M at a time", "MiB/s", self.read_once, data, hot=hot)
        yield Cell("data", "1M writes in sequence, buffered", "MiB/s", lambda d: self.fio(
            d, "write", MIB, 1, 1, engine="psync", direct=0, key="bw") / 1024, data)
        yield Cell("data", "4K reads of a mapping", "IOPS",
                   lambda d: self.fio(d, "randread", 4096, 1, 1, engine="mmap", direct=0), data, hot=True)
        yield Cell("data", "4K writes, fsync after each", "ops/s", self.fsync_each, data)
        yield Cell("data", "512-byte writes by dd", "MiB/s", self.dd, data)
        for threads in SMALL_THREADS:
            word = f"{threads} thread{'s' * (threads > 1)}"
            for hot in (True, False):
                yield Cell("opens", f"open, read 4K, close, {word}", "ops/s", self.small_ops("open", threads, hot),
                           reading if hot else data, hot=hot)
        for hot in (True, False):
            yield Cell("names", "stat", "ops/s", self.small_ops("stat", 1, hot), reading if hot else data, False, hot)
        yield Cell("names", "create and write small files", "ops/s", lambda d: self.create(d, 1000, False), creating)
        yield Cell("names", "create and fsync small files", "ops/s", lambda d: self.create(d, 200, True), creating)
        yield Cell("names", "unlink", "ops/s", self.unlink, data)
        yield Cell("names", f"untar {TREE_FILES} files", "s", self.untar, creating)
        if shutil.which("git"):
            yield Cell("names", "git status", "s", self.in_source("git", "status", "--short"), data, hot=True)
        yield Cell("names", "compile", "s",
                   self.in_source("sh", "-c", "for f in *.c; do cc -O0 -c -o /dev/null $f; done"), data, hot=True)

    def prepare(self):
        block = os.urandom(MIB)
        for job in range(JOBS):
            with open(self.backing / f"data.{job}", "wb") as f:
                for _ in range(self.options.mib):
                    f.write(block)
                os.fsync(f.fileno())
        (self.backing / "small").mkdir()
        for n in range(SMALL):
            (self.backing / "small" / str(n)).write_bytes(block[:4096])
        self.tar = Path("/run/testenv/tree.tar")
        with tarfile.open(self.tar, "w") as tar, open("/dev/zero", "rb") as zero:
            for n in range(TREE_FILES):
                info = tarfile.TarInfo(f"tree/{n % 100}/file{n}")
                info.size = n % 5000
                tar.addfile(info, zero)
        source = self.backing / "source"
        source.mkdir()
        for n in range(40):
            (source / f"unit{n}.c").write_text("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                                               f"int unit{n}(int a) {{ return printf(\"%d\", a + {n}); }}\n")
        if shutil.which("git"):
            for argv in (["init", "-q"], ["add", "."], ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "x"]):
                run("git", *argv, cwd=source)
            run("git", "config", "--global", "--add", "safe.directory", "*")

    # ---- the table ----

    def measure(self):
        os.environ["HOME"] = "/run/testenv"
        self.top.mkdir()
        self.prepare()
        self.mount_all()
        table = []
        try:
            print(f"# {self.context()}", flush=True)
            print(f"{'':46} {'native':>11} " + " ".join(f"{name:>19}" for name in self.paths if name != "native"), flush=True)
            for cell in self.cells():
                if self.options.only and not any(word in cell.name for word in self.options.only):
                    continue
                table.append(self.measure_cell(cell))
        finally:
            self.floor.terminate()
            self.floor.wait()
        result = {"context": self.context(), "paths": {name: NAMES[name] for name in self.paths}, "cells": table}
        if self.options.json:
            Path(self.options.json).write_text(json.dumps(result, indent=1) + "\n")
        if self.options.svg:
            from . import bench_picture
            Path(self.options.svg).write_text(bench_picture.draw(result))
        return 0

    def measure_cell(self, cell):
        paths = [path for path in self.paths if cell.paths is None or path in cell.paths]
        values = {path: [] for path in paths}
        for _ in range(self.options.rounds):
            for path in paths:
                values[path].append(self.one(path, cell))
        middle = {path: statistics.median(some) for path, some in values.items()}
        columns = []
        for path in self.paths:
            if path == "native":
                continue
            columns.append(f"{number(middle[path]):>12} ({cell.ratio(middle[path], middle['native']):.2f})"
                           if path in middle else "")
        print(f"{cell.name:46} {number(middle['native']):>11} " + " ".join(f"{column:>19}" for column in columns) + f" {cell.unit}",
              flush=True)
        return {"group": cell.group, "name": cell.name, "unit": cell.unit, "values": values, "median": middle,
                "ratio": {path: cell.ratio(value, middle["native"]) for path, value in middle.items()}}

    def context(self):
        model = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine())
        filesystem = run("stat", "-f", "-c", "%T", self.backing).strip()
        guest = self.options.server == "knfsd"
        where = "a ramdisk" if guest else "memory" if self.options.memory else "disk"
        return (f"Linux {platform.release()}, {os.cpu_count()} x {model}, {filesystem} on {where}, {self.options.server}, "
                f"medians of {self.options.rounds}")
