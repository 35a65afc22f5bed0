"""The lines of tools/bench names. Each measures COUNT items in a fresh folder; its name says what the caches know."""
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

COUNT = 1000
MAILS = 200
TREE_FILES, TREE_FOLDERS = 1000, 50
UNITS = 12           # C files of the build
GUEST_SLOWER = 5     # fewer items in the guest, whose CPU is emulated
IMPORTS = "json, email.message, http.client, logging.handlers, xml.dom.minidom, unittest, argparse, tarfile"

# Of the kernel's client with LOCALIO, in the guest.
GUEST_OTHER = "nfs3"
GUEST_GOALS = {"create, write 4K, close": 1, "untar": 1, "rm -r": 2, "unlink": 1.2, "stat, hot": 1}


def run(*argv, **more):
    result = subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, errors="replace", **more)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, argv))} failed ({result.returncode}): {result.stderr.strip()}")
    return result.stdout


class Cell:
    """One line: prepare(folder) is not measured, measure(folder) is; if it returns a number, that is its time in seconds.
    Cold: the kernel's caches are dropped between."""

    def __init__(self, group, name, items, measure, prepare=(), cold=False, goals=()):
        self.group, self.name, self.items, self.measure, self.cold = group, name, items, measure, cold
        self.steps = prepare
        self.goals = [(goal[0], goal[1] if len(goal) > 2 else "native", goal[-1]) for goal in goals]

    def prepare(self, folder):
        for step in self.steps:
            step(folder)


def operation(program, what, count):
    """Its result is the time in seconds without the start of the program."""
    return lambda folder: count / float(run(program, what, f"{folder}/d/f", 0, count, 1, 0))


def directory(folder):
    (folder / "d").mkdir()


def single_cells(program, count, mails):
    """One operation per item, on files in one directory."""
    def op(what):
        return operation(program, what, count)

    files = (directory, op("create"))

    def cell(name, what, prepare, goal=None, **more):
        goals = more.pop("goals", [("passthrough", goal)] if goal else [])
        return Cell("one operation", name, more.pop("items", count), op(what), prepare, goals=goals, **more)

    yield cell("create, write 4K, close", "create", (directory,), 0.33)
    yield cell("create, write 4K, fsync, close", "create-fsync", (directory,), goals=[("commit=close", 0.7)])
    yield cell("create with O_EXCL", "create-excl", (directory,))
    yield cell("stat, hot", "stat", (*files, op("stat")), 0.9)
    yield cell("stat, cold", "stat", files, cold=True)
    yield cell("absent name, first", "absent", (directory,))
    yield cell("absent name, again", "absent", (directory, op("absent")), 0.9)
    yield cell("open, read, close, first", "open", (*files, op("stat")), goals=[("passthrough", "floor", 0.9)])
    yield cell("open, read, close, again", "open", (*files, op("open")), goals=[("passthrough", "floor", 1)])
    yield cell("open, read, close, cold", "open", files, 0.6, cold=True)
    yield cell("chmod", "chmod", files)
    yield cell("rename", "rename", files, 0.4)
    yield cell("unlink", "unlink", files, 0.6)
    yield cell("mkdir", "mkdir", (directory,), 0.4)
    yield cell("rmdir", "rmdir", (directory, op("mkdir")))
    yield Cell("one operation", "mail: create, fsync, rename, unlink", mails, operation(program, "mail", mails), (directory,))


class Trees:
    """Trees of files, whose sources lie outside all measured paths."""

    def __init__(self, where, files):
        self.files = files
        self.tar, self.repository, self.library = where / "names.tar", where / "names.git", where / "python"
        zeros = b"x" * 5000
        source = where / "names-tree"
        for n in range(files):
            path = source / f"{n % TREE_FOLDERS}" / f"file{n}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(zeros[:n % 5000])
        with tarfile.open(self.tar, "w") as tar:
            tar.add(source, "tree")
        for argv in (["init", "-q"], ["add", "."], ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "x"],
                     ["config", "--global", "--add", "safe.directory", "*"]):
            run("git", *argv, cwd=source)
        source.rename(self.repository)
        standard = Path(os.__file__).parent
        shutil.copytree(standard, self.library, ignore=lambda folder, names: [
            name for name in names if name in ("test", "tests", "__pycache__", "site-packages", "dist-packages") or
            name.startswith("config-") or name.endswith(".so")])

    def untar(self, folder):
        run("tar", "-xf", self.tar, "-C", folder)

    def clone(self, folder):
        run("git", "clone", "-q", f"file://{self.repository}", folder / "clone")

    @staticmethod
    def in_folder(*argv, sub="."):
        return lambda folder: run(*argv, cwd=folder / sub)

    @staticmethod
    def sources(folder):
        objects = [f"unit{n}.o" for n in range(UNITS)]
        for n in range(UNITS):
            (folder / f"unit{n}.c").write_text(f"#include \"unit.h\"\nint unit{n}(int a) {{ return a + {n}; }}\n")
        (folder / "unit.h").write_text("".join(f"int unit{n}(int a);\n" for n in range(UNITS)))
        (folder / "Makefile").write_text(f"all.a: {' '.join(objects)}\n\tar rc $@ $^\n%.o: %.c unit.h\n\tcc -O0 -c -o $@ $<\n")

    def copy_library(self, folder):
        shutil.copytree(self.library, folder / "lib")

    @staticmethod
    def start_python(folder):
        run(sys.executable, "-I", "-S", "-B", "-c", f"import sys; sys.path.insert(0, {str(folder / 'lib')!r}); import {IMPORTS}")

    def cells(self):
        find = self.in_folder("find", "tree", "-ls")
        grep = self.in_folder("sh", "-c", "grep -r nowhere tree; test $? = 1")
        status = self.in_folder("git", "status", "--short", sub="clone")

        def cell(name, measure, *prepare, goal=None, items=None, **more):
            goals = more.pop("goals", [("passthrough", goal)] if goal else [])
            return Cell("many", name, items or self.files, measure, prepare, goals=goals, **more)

        yield cell("untar", self.untar, goal=0.23)
        yield cell("cp -a", self.in_folder("cp", "-a", "tree", "copy"), self.untar)
        yield cell("find -ls, warm", find, self.untar, find, goal=0.9)
        yield cell("find -ls, cold", find, self.untar, cold=True)
        yield cell("grep -r, first", grep, self.untar)
        yield cell("grep -r, again", grep, self.untar, grep)
        yield cell("rm -r", self.in_folder("rm", "-r", "tree"), self.untar, goal=0.9)
        yield cell("git clone", self.clone, goal=0.75)
        # After a clone git reads each file again, and a read makes FUSE ask for the file's attributes once more.
        yield cell("git status, warm", status, self.clone, status, goal=0.9)
        yield cell("git status, hot", status, self.clone, status, status, goal=0.9)
        yield cell("make, per unit", self.in_folder("make", "-s", "all.a"), self.sources, items=UNITS)
        yield cell("python start-up, per start", self.start_python, self.copy_library, self.start_python, items=1)


def all_cells(program, where, guest):
    slower = GUEST_SLOWER if guest else 1
    yield from single_cells(program, COUNT // slower, MAILS // slower)
    yield from Trees(where, TREE_FILES // slower).cells()
