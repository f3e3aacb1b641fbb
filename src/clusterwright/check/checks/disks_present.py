"""The declared disks are present."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.block_devices import BlockDevice, block_devices
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import TB

# Ours: disks of one nominal size differ by less than 10% between vendors; the next size is a third larger.
_SIZE_TOLERANCE = 0.1


def _has_disks(spec: HostSpec) -> bool:
    return bool(spec.host.group.disks)


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts show the disks of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    block_devices,
    when=_has_disks,
    unless=_in_lab,
    field="nodes.{group}.disks",
    fix="run `dmesg | grep -i nvme`; reseat or replace the missing disk",
)
def disks_present(spec: HostSpec, have: tuple[BlockDevice, ...]) -> Iterator[Verdict]:
    """The host has at least the declared number of disks of each kind and size.

    A size may differ by 10%.
    """
    for disk in spec.host.group.disks:
        like = [
            device
            for device in have
            if device.kind == disk.kind and abs(device.size_bytes - disk.size) <= _SIZE_TOLERANCE * disk.size
        ]
        size = disk.size / TB
        yield expect(
            len(like) >= disk.count,
            observed=_(
                "{kind} disks of about {size:.3g} TB: {count}", kind=disk.kind, size=size, count=len(like)
            ),
            expected=_(
                "at least {count} such disks (nodes.{group}.disks)",
                count=disk.count,
                group=spec.host.group_name,
            ),
            part=disk.mount or "",
        )
