"""The declared disks are there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.block_devices import BlockDevice, block_devices
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _
from clusterwright.units import TB

# Ours: disks of one label differ by less than a tenth between makers; the next size is a third larger.
_SIZE_TOLERANCE = 0.1


def _has_disks(spec: HostSpec) -> bool:
    return bool(spec.host.group.disks)


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts have the disks of the machine beneath") if spec.cluster.lab else ""


@check(
    block_devices,
    when=_has_disks,
    unless=_in_lab,
    field="nodes.{group}.disks",
    fix="`dmesg | grep -i nvme`; reseat or replace the missing disk",
)
def disks_present(spec: HostSpec, have: tuple[BlockDevice, ...]) -> Iterator[Verdict]:
    """The host has as many disks of each declared kind and size as the file says, or more."""
    for disk in spec.host.group.disks:
        like = [
            device
            for device in have
            if device.kind == disk.kind and abs(device.size_bytes - disk.size) <= _SIZE_TOLERANCE * disk.size
        ]
        yield expect(
            len(like) >= disk.count,
            observed=_(
                "{count} of kind {kind} and about {size:.3g} TB",
                count=len(like),
                kind=disk.kind,
                size=disk.size / TB,
            ),
            expected=_(
                "{count} (nodes.{group_name}.disks)", count=disk.count, group_name=spec.host.group_name
            ),
            part=disk.mount or "",
        )
