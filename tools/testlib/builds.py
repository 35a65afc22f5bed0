"""The builds of tools/test, each made when a test needs it."""
import os
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class BuildError(Exception):
    pass


class Build:
    """One build directory: its meson options and environment, and the targets that tests need (none: all)."""

    one_at_a_time = threading.Lock()  # each uses all CPUs

    def __init__(self, name, *options, targets=(), **environment):
        self.directory = ROOT / name
        self.targets = targets
        self.options = options
        self.environment = {**os.environ, **environment}
        self.done = False

    def make(self):
        """Bring the build up to date, once per run. BuildError has the output of a failed build."""
        with self.one_at_a_time:
            if not self.done:
                print(f"building {self.directory.name}", file=sys.stderr, flush=True)
                if not (self.directory / "build.ninja").exists():
                    self.run("meson", "setup", *self.options, self.directory, ROOT)
                self.run("ninja", "-C", self.directory, *self.targets)
                self.done = True
        return self.directory

    def run(self, *argv):
        result = subprocess.run(argv, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace")
        if result.returncode != 0:
            said = result.stdout[max(0, result.stdout.find("FAILED: ")):]
            raise BuildError("\n".join(line for line in said.splitlines() if not line.startswith("[")))


def builds(werror=True):
    """Warnings are errors in plain and asan; with sanitizers gcc warns without a reason, clang does not.

    clang makes asan: gcc's UBSan writes only to stderr, which a daemon does not have, so its findings would be lost.
    """
    strict = f"-Dwerror={'true' if werror else 'false'}"
    fuzz = [f"tests/fuzz/{path.stem}" for path in sorted((ROOT / "tests/fuzz").glob("fuzz_*.c"))]
    return {
        "plain": Build("build-plain", strict),
        "asan": Build("build-asan", strict, "-Db_sanitize=address,undefined", "-Db_lundef=false", CC="clang"),
        "fuzz": Build("build-fuzz", "-Dfuzz=true", "-Db_sanitize=address,undefined", "-Db_lundef=false", targets=fuzz,
                      CC="clang"),
        "tsan": Build("build-tsan", "-Db_sanitize=thread", targets=["meson-test-prereq"]),
    }


def ensure_dependencies():
    if subprocess.run([ROOT / "tools/deps"], stdin=subprocess.DEVNULL).returncode != 0:
        sys.exit(2)
