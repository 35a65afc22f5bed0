"""The common mount point of the tests of mounting, and checks that a failed or ended mount leaves nothing behind."""
import os
import re
import socket
import subprocess
from pathlib import Path

import lib
from lib import equal, eventually, fail, must, ok, run, true


def enter():
    """Goes on inside tools/testenv without a mount. Returns the test's folder and the mount point in it."""
    lib.in_testenv("--no-mount", "--size=64", passthrough=False)
    folder = lib.scratch()
    mnt = folder / "mnt"
    mnt.mkdir()
    # As if localiofs were installed: mount.fuse3 looks only in the system's directories.
    must("ln", "-sf", os.environ["LOCALIOFS_BIN"] + "/localiofs", "/sbin/localiofs")
    return folder, mnt


def our_mounts():
    """Our lines of /proc/self/mounts, split into words."""
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="surrogateescape").split("\n")
    return [words for words in (line.split(" ") for line in lines) if words[2:3] == ["fuse.localiofs"]]


def mounts():
    """The number of our mounts."""
    return len(our_mounts())


def mounted(where):
    """True if one of our mounts is on the directory."""
    return any(words[1] == str(where) for words in our_mounts())


def nothing_left():
    """True if there is neither a mount nor a daemon."""
    return mounts() == 0 and run("pgrep", "-x", "localiofs|mount.localiofs").returncode != 0


def nothing(sentence):
    eventually(f"{sentence}: nothing is left", nothing_left, 10)


def flags(where):
    """The options of the uppermost mount on the directory, as the kernel shows them."""
    lines = run("findmnt", "-n", "-o", "OPTIONS", "--mountpoint", where).stdout.splitlines()
    return lines[-1].split(",") if lines else []


def source(where):
    return run("findmnt", "-n", "-o", "SOURCE", "--mountpoint", where).stdout.rstrip("\n")


def says(argv, seconds):
    """(exit status, output without the newline at its end) of a command; the status is None if its time is over."""
    process = subprocess.Popen(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
    try:
        output, _ = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        code, output = None, process.communicate()[0]
    return code, output.decode(errors="replace").rstrip("\n")


def wrong(sentence, status, pattern, *argv):
    """Checks that the command fails with this status and one line that matches, and leaves nothing new behind."""
    before = mounts()
    code, said = says(argv, 20)
    if code != status:
        fail(f"{sentence}: exit status {status}", f"status {code}: {said}")
    elif "\n" in said or not re.search(pattern, said):
        fail(f"{sentence}: one line that names the fault", f"expected one line with: {pattern}\ngot: {said}")
    else:
        ok(f"{sentence}: exit status {status} and one line: {said[:150]}")
    if before == 0:
        nothing(sentence)
    else:
        equal(f"{sentence}: nothing more is mounted", before, mounts())


def silent(port):
    """A port of 127.0.0.1 that takes connections and never answers, until the returned socket is closed."""
    listener = socket.create_server(("127.0.0.1", port), backlog=99)
    true(f"port {port} takes connections, and does not answer", run("ss", "-Hltn", f"sport = :{port}").stdout)
    return listener
