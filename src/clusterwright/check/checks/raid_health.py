"""Software RAID arrays are complete."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.raid import Array, raid
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("every RAID array active with all its disks")


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts show the disks of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    raid,
    unless=_in_lab,
    fix="run `mdadm --detail /dev/MD`, replace the failed disk, run `mdadm /dev/MD --add DISK`",
    in_jobs=True,
)
def raid_health(_spec: HostSpec, have: tuple[Array, ...]) -> Iterator[Verdict]:
    """Every software RAID array is active and has all its disks."""
    if not have:
        yield skip(_("no software RAID"))
        return
    faults = [
        _fault(array) for array in have if array.failed or not array.active or array.working < array.disks
    ]
    yield from faults or [fine(observed=", ".join(array.name for array in have), expected=_(_EXPECTED))]


def _fault(array: Array) -> Verdict:
    state = [
        _(
            "RAID array {array}: {count} of {total} disks are active",
            array=array.name,
            count=array.working,
            total=array.disks,
        )
        if array.active
        else _("{array}: inactive", array=array.name)
    ]
    state += [_("failed: {disks}", disks=", ".join(array.failed))] if array.failed else []
    is_recovering = array.active and array.doing.startswith("recovery")
    return fault(
        observed=", ".join([*state, *([array.doing] if array.doing else [])]),
        expected=_(_EXPECTED),
        part=f"/dev/{array.name}",
        otherwise=Status.WARN if is_recovering else Status.FAIL,
    )
