"""The RAID arrays have all their disks."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.raid import Array, raid
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

_EXPECTED = N_("every array active with all its disks")


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts have the disks of the machine beneath") if spec.cluster.lab else ""


@check(raid, unless=_in_lab, fix="`mdadm --detail /dev/MD`; replace the disk and `mdadm /dev/MD --add DISK`")
def raid_health(_spec: HostSpec, have: tuple[Array, ...]) -> Iterator[Verdict]:
    """Every array of software RAID is active and has all its disks."""
    if not have:
        yield skip(_("no software RAID"))
        return
    faults = [
        _fault(array) for array in have if array.failed or not array.active or array.working < array.disks
    ]
    yield from faults or [fine(observed=", ".join(array.name for array in have), expected=_EXPECTED)]


def _fault(array: Array) -> Verdict:
    failures = _(", {failed} failed", failed=", ".join(array.failed)) if array.failed else ""
    doing = f", {array.doing}" if array.doing else ""
    state = (
        _("{working} of {disks} disks", working=array.working, disks=array.disks)
        if array.active
        else _("inactive")
    )
    is_recovering = array.active and array.doing.startswith("recovery")
    return fault(
        observed=f"{array.name}: {state}{failures}{doing}",
        expected=_EXPECTED,
        part=f"/dev/{array.name}",
        otherwise=Status.WARN if is_recovering else Status.FAIL,
    )
