"""The shared folders are mounted and writable."""

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
_IN_LAB = {
    "nfs": ("fuse.nfs4",)
}  # mounted in user space: the kernel of the machine that runs the lab may lack NFS


def _mounts_some(spec: HostSpec) -> bool:
    return any(
        _is_mounted(spec, folder.kind, getattr(folder, "server", ""))
        for folder in spec.cluster.storage.values()
    )


def _is_mounted(spec: HostSpec, kind: str, server: str) -> bool:
    """True for a shared folder that the host must mount: not a local one, nor one that it exports by NFS itself."""
    return kind in _KINDS and server != spec.host.name


@check(
    mounts,
    when=_mounts_some,
    on=("deploy", "periodic", "boot"),
    fix="run `mount PATH` on the host and read its error; then check the file server",
)
def mounted(spec: HostSpec, have: dict[str, Mount]) -> Iterator[Verdict]:
    """Every shared folder is mounted with the declared file system type, and read-write.

    Local folders, and those that the host exports itself, are left out.
    """
    for name, folder in spec.cluster.storage.items():
        if not _is_mounted(spec, folder.kind, getattr(folder, "server", "")):
            continue
        mount = have.get(folder.path)
        text = (
            _("{path} is not mounted")
            if mount is None
            else _("{path} is mounted read-only as {kind}")
            if mount.read_only
            else _("{path} is mounted as {kind}")
        )
        observed = text.format(path=folder.path, kind=mount.kind if mount else "")
        kinds = _KINDS[folder.kind] + (_IN_LAB.get(folder.kind, ()) if spec.cluster.lab else ())
        is_ok = mount is not None and mount.kind in kinds and not mount.read_only
        expected = _(
            "{path} mounted read-write as {kind} (storage.{name})",
            path=folder.path,
            kind=folder.kind,
            name=name,
        )
        yield expect(is_ok, observed=observed, expected=expected, part=folder.path)
