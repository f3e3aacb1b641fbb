"""The shared folders are mounted."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.mounts import Mount, mounts
from clusterwright.check.verdict import Verdict

_KINDS = {
    "nfs": ("nfs", "nfs4"),
    "lustre": ("lustre",),
    "ceph": ("ceph", "fuse.ceph-fuse"),
    "gpfs": ("gpfs",),
    "beegfs": ("beegfs",),
}
_IN_LAB = {"nfs": ("fuse.nfs4",)}  # mounted in user space: the kernel of the machine beneath may know no NFS


def _mounts_some(want: Want) -> bool:
    return any(
        _is_mounted(want, folder.kind, getattr(folder, "server", ""))
        for folder in want.cluster.storage.values()
    )


def _is_mounted(want: Want, kind: str, server: str) -> bool:
    """A local folder is just there, and an NFS server serves a folder of its own."""
    return kind in _KINDS and server != want.host.name


@check(
    mounts,
    when=_mounts_some,
    on=("deploy", "periodic", "boot"),
    mend="`mount PATH` on the host and read what it says; then see the server",
)
def mounted(want: Want, have: dict[str, Mount]) -> Iterator[Verdict]:
    """Every shared folder is mounted from a file system of the declared kind, and can be written."""
    for name, folder in want.cluster.storage.items():
        if not _is_mounted(want, folder.kind, getattr(folder, "server", "")):
            continue
        found = have.get(folder.path)
        saw = (
            f"{folder.path} is {found.kind}{', read-only' if found.read_only else ''}"
            if found
            else f"{folder.path} is not mounted"
        )
        kinds = _KINDS[folder.kind] + (_IN_LAB.get(folder.kind, ()) if want.cluster.lab else ())
        holds = found is not None and found.kind in kinds and not found.read_only
        wanted = f"{folder.path} mounted as {folder.kind}, writable (storage.{name})"
        yield expect(holds, saw=saw, want=wanted, part=folder.path)
