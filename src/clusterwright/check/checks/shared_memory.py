"""Shared memory is large enough for the ranks of a host."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, unknown
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.disks import Space, disks
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import GiB, human_size


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts share the memory of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    disks,
    when=has_gpus,
    unless=_in_lab,
    fix="run `mount -o remount,size=SIZE /dev/shm` and set the size in /etc/fstab; for containers use --shm-size",
    in_jobs=True,
)
def shared_memory(spec: HostSpec, have: dict[str, Space]) -> Verdict:
    """The file system on /dev/shm has at least 1 GiB per GPU: processes die with `Bus error` when it is full.

    Otherwise a warning; unknown if it is not mounted.
    """
    gpus = spec.host.group.gpus
    # Ours: NCCL takes some 100 MiB per rank, data loaders the rest.
    expected_bytes = (gpus.count if gpus else 0) * GiB
    if "/dev/shm" not in have:  # nosec B108 # noqa: S108 (read only)
        return unknown(_("shared memory (/dev/shm) is not mounted"))
    size = have["/dev/shm"].size_bytes  # nosec B108 # noqa: S108 (read only)
    return expect(
        size >= expected_bytes,
        observed=_("{size} of shared memory (/dev/shm)", size=human_size(size)),
        expected=_("at least {size}: 1 GiB per GPU", size=human_size(expected_bytes)),
        otherwise=Status.WARN,
    )
