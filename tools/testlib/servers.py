"""The NFS servers that tools/testenv --server can run."""
from . import ganesha, knfsd
from .parts import DIR

MODULES = {"ganesha": ganesha, "knfsd": knfsd}
CLASSES = {"ganesha": ganesha.Ganesha, "knfsd": knfsd.Knfsd}
KIND = DIR / "server.kind"  # for tools/testctl


def make(kind, packages):
    return CLASSES[kind](packages)
