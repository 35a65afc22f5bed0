"""Private views of the machine's directories, and the helper programs that make them."""
import os
import shutil
import stat
import subprocess
from pathlib import Path

from .namespaces import MS_BIND, MS_REC, check, libc

TEST_UID = 12345
REGISTRY_UID = 64207  # of the account that a package of the sidecar would make


class PartError(Exception):
    """A part of the environment is missing; the sentence says which, and why."""


def run(argv):
    """Run a helper program; PartError has the output of a failed one."""
    result = subprocess.run(list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    if result.returncode != 0:
        raise PartError(f"{argv[0]} failed ({result.returncode}): {result.stdout.strip()}")
    return result.stdout


def private_tmpfs(path, keep):
    """A fresh tmpfs on path. Entries for which keep(name) is true stay as they were."""
    old = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    names = [name for name in os.listdir(old) if keep(name)]
    # Not mount(8), which would make /run/mount on the machine before a private /run exists.
    options = f"mode={stat.S_IMODE(os.fstat(old).st_mode):o}".encode()
    check(libc.mount(b"testenv", os.fsencode(path), b"tmpfs", 0, options), str(path))
    for name in names:
        mode = os.stat(name, dir_fd=old, follow_symlinks=False).st_mode
        new = Path(path, name)
        if stat.S_ISLNK(mode):
            new.symlink_to(os.readlink(name, dir_fd=old))
            continue
        new.mkdir() if stat.S_ISDIR(mode) else new.touch()
        # Not mount(8) either, which would resolve the path into the new tmpfs.
        check(libc.mount(f"/proc/self/fd/{old}/{name}".encode(), bytes(new), None, MS_BIND | MS_REC, None), str(new))
    os.close(old)


def overlay(path, scratch):
    """Make changes below path private; they go to scratch, on a tmpfs."""
    layers = scratch / path.strip("/").replace("/", "-")
    (layers / "upper").mkdir(parents=True)
    (layers / "work").mkdir()
    shutil.copymode(path, layers / "upper")
    run(["mount", "-t", "overlay", "-o", f"lowerdir={path},upperdir={layers}/upper,workdir={layers}/work",
         "testenv", path])


def make_etc(packages, scratch, helper):
    """The servers' files in /etc and /var/lib, and helper in /sbin for mount(8)."""
    overlay("/etc", scratch)
    Path("/etc/localiofs.conf").unlink(missing_ok=True)  # the machine's own defaults
    if not os.path.lexists("/etc/mtab"):
        os.symlink("/proc/self/mounts", "/etc/mtab")
    for name in ("netconfig", "rpc"):
        if not os.path.exists(f"/etc/{name}") and (packages / "etc" / name).exists():
            shutil.copy(packages / "etc" / name, f"/etc/{name}")
    with open("/etc/passwd", "r+", encoding="utf-8") as passwd:
        if not any([line.startswith("_rpc:") for line in passwd]):  # a list, which reads to the end of the file
            passwd.write("_rpc:x:65533:65534::/run/rpcbind:/usr/sbin/nologin\n")
        # An ordinary user for tests: fusermount3 serves no user without a name.
        passwd.write(f"localiofs:x:{REGISTRY_UID}:{REGISTRY_UID}::/:/usr/sbin/nologin\n")
        passwd.write(f"testenv:x:{TEST_UID}:{TEST_UID}::/:/bin/sh\n")
    sbin = os.path.realpath("/sbin")
    overlay(sbin, scratch)
    link = Path(sbin, helper.name)
    link.unlink(missing_ok=True)
    link.symlink_to(helper)
