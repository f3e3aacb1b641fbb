"""Build the program that mount(8) runs for NFS on a lab's host.

The hosts share the machine's kernel, which may lack NFS; the program uses libnfs and FUSE instead. Both libraries
are linked statically, so that it runs on every `os` of a lab's hosts.
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
    """Install the compiled NFS client into the root of a host, in place of the kernel's mount.nfs4."""
    write_file_atomic(root / INSIDE, (folder / NAME).read_bytes(), mode=0o755)


def build(folder: Path) -> str:
    """Compile mount.nfs4, the NFS client of lab hosts, into the folder; return "" on success, else the error."""
    if compiler() and not DEVICE.exists():
        return f"this machine has no {DEVICE} (modprobe fuse; in a container, pass it)"
    source = str(Path(__file__).with_name("mount.c"))
    return compiled(*_FLAGS, "-o", str(folder / NAME), source, *_LIBRARIES, packages=PACKAGES)
