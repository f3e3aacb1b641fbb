"""The shared folders are mounted."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.mounts import Mount, mounts
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

_KINDS = {
    "nfs": ("nfs", "nfs4"),
    "lustre": ("lustre",),
    "ceph": ("ceph", "fuse.ceph-fuse"),
    "gpfs": ("gpfs",),
    "beegfs": ("beegfs",),
}
_IN_LAB = {"nfs": ("fuse.nfs4",)}  # mounted in user space: the kernel of the machine beneath may know no NFS


def _mounts_some(spec: HostSpec) -> bool:
    return any(
        _is_mounted(spec, folder.kind, getattr(folder, "server", ""))
        for folder in spec.cluster.storage.values()
    )


def _is_mounted(spec: HostSpec, kind: str, server: str) -> bool:
    """A local folder is just there, and an NFS server serves a folder of its own."""
    return kind in _KINDS and server != spec.host.name


@check(
    mounts,
    when=_mounts_some,
    on=("deploy", "periodic", "boot"),
    fix="`mount PATH` on the host and read what it says; then see the server",
)
def mounted(spec: HostSpec, have: dict[str, Mount]) -> Iterator[Verdict]:
    """Every shared folder is mounted from a file system of the declared kind, and can be written."""
    for name, folder in spec.cluster.storage.items():
        if not _is_mounted(spec, folder.kind, getattr(folder, "server", "")):
            continue
        mount = have.get(folder.path)
        observed = (
            _(
                "{path} is {kind}{ending}",
                path=folder.path,
                kind=mount.kind,
                ending=", read-only" if mount.read_only else "",
            )
            if mount
            else _("{path} is not mounted", path=folder.path)
        )
        kinds = _KINDS[folder.kind] + (_IN_LAB.get(folder.kind, ()) if spec.cluster.lab else ())
        is_ok = mount is not None and mount.kind in kinds and not mount.read_only
        expected = _(
            "{path} mounted as {kind}, writable (storage.{name})",
            path=folder.path,
            kind=folder.kind,
            name=name,
        )
        yield expect(is_ok, observed=observed, expected=expected, part=folder.path)
