"""There is shared memory for the ranks of a host."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.disks import Space, disks
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import GiB


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts share the machine's memory") if spec.cluster.lab else ""


@check(
    disks,
    when=has_gpus,
    unless=_in_lab,
    fix="`mount -o remount,size=SIZE /dev/shm`, and the same in /etc/fstab; containers need --shm-size",
)
def shared_memory(spec: HostSpec, have: dict[str, Space]) -> Verdict:
    """Shared memory holds 1 GiB per GPU: NCCL and data loaders die with `Bus error` when it is full."""
    gpus = spec.host.group.gpus
    expected_bytes = (
        gpus.count if gpus else 0
    ) * GiB  # ours: NCCL takes some 100 MiB a rank, data loaders the rest
    if "/dev/shm" not in have:  # noqa: S108 (looked at, not used)
        return unknown(_("there is no /dev/shm"))
    size = have["/dev/shm"].size_bytes  # noqa: S108 (looked at, not used)
    return expect(
        size >= expected_bytes,
        observed=_("{size:.3g} GiB", size=size / GiB),
        expected=_("{expected_bytes:g} GiB, 1 GiB per GPU", expected_bytes=expected_bytes / GiB),
        otherwise=Status.WARN,
    )
