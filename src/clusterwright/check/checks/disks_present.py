"""The declared disks are there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.block_devices import BlockDevice, block_devices
from clusterwright.check.verdict import Verdict
from clusterwright.units import TB

_NEAR = 0.1  # ours: disks of one label differ by less than a tenth between makers; the next size is a third larger


def _has_disks(want: Want) -> bool:
    return bool(want.host.group.disks)


def _in_lab(want: Want) -> str:
    return "a lab's hosts have the disks of the machine beneath" if want.cluster.lab else ""


@check(
    block_devices,
    when=_has_disks,
    unless=_in_lab,
    field="nodes.{group}.disks",
    mend="`dmesg | grep -i nvme`; reseat or replace the missing disk",
)
def disks_present(want: Want, have: tuple[BlockDevice, ...]) -> Iterator[Verdict]:
    """The host has as many disks of each declared kind and size as the file says, or more."""
    for disk in want.host.group.disks:
        like = [
            each
            for each in have
            if each.kind == disk.kind and abs(each.size_bytes - disk.size) <= _NEAR * disk.size
        ]
        yield expect(
            len(like) >= disk.count,
            saw=f"{len(like)} of kind {disk.kind} and about {disk.size / TB:.3g} TB",
            want=f"{disk.count} (nodes.{want.host.group_name}.disks)",
            part=disk.mount or "",
        )
