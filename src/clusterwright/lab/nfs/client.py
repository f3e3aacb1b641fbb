"""What mount(8) of a lab's host runs for NFS, made from the source beside this file.

The hosts have the kernel of the machine, which may know no NFS; libnfs speaks it and FUSE shows it. Both libraries
are linked in, so that it runs on every `os` that a lab's hosts may have.
"""

from __future__ import annotations

from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.lab.compiling import compiled, compiler

NAME = "mount.nfs4"
INSIDE = f"usr/sbin/{NAME}"
DEVICE = Path("/dev/fuse")
PACKAGES = "gcc libc6-dev libnfs-dev libfuse3-dev"
_FLAGS = (
    "-std=c11",
    "-D_GNU_SOURCE",
    "-D_FILE_OFFSET_BITS=64",
    "-I/usr/include/fuse3",
    "-O1",
    "-Wall",
    "-Wextra",
)
_LIBRARIES = ("-Wl,-Bstatic", "-lfuse3", "-lnfs", "-Wl,-Bdynamic", "-lpthread", "-ldl")


def install(folder: Path, root: Path) -> None:
    """A host has it, in place of the kernel's own."""
    write_file_atomic(root / INSIDE, (folder / NAME).read_bytes(), mode=0o755)


def build(folder: Path) -> str:
    """The program lies in the folder; returns why not, or "" when it does."""
    if compiler() and not DEVICE.exists():
        return f"this machine has no {DEVICE} (modprobe fuse; in a container, pass it)"
    source = str(Path(__file__).with_name("mount.c"))
    return compiled(*_FLAGS, "-o", str(folder / NAME), source, *_LIBRARIES, packages=PACKAGES)
