"""The RAID arrays have all their disks."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine, skip
from clusterwright.check.fact import Want
from clusterwright.check.facts.raid import Array, raid
from clusterwright.check.verdict import Status, Verdict

_WANT = "every array active with all its disks"


def _in_lab(want: Want) -> str:
    return "a lab's hosts have the disks of the machine beneath" if want.cluster.lab else ""


@check(raid, unless=_in_lab, mend="`mdadm --detail /dev/MD`; replace the disk and `mdadm /dev/MD --add DISK`")
def raid_whole(_want: Want, have: tuple[Array, ...]) -> Iterator[Verdict]:
    """Every array of software RAID is active and has all its disks."""
    if not have:
        yield skip("no software RAID")
        return
    faults = [_fault(each) for each in have if each.failed or not each.active or each.working < each.disks]
    yield from faults or [fine(saw=", ".join(each.name for each in have), want=_WANT)]


def _fault(each: Array) -> Verdict:
    lost = f", {', '.join(each.failed)} failed" if each.failed else ""
    doing = f", {each.doing}" if each.doing else ""
    state = f"{each.working} of {each.disks} disks" if each.active else "inactive"
    mending = each.active and each.doing.startswith("recovery")
    return fault(
        saw=f"{each.name}: {state}{lost}{doing}",
        want=_WANT,
        part=f"/dev/{each.name}",
        otherwise=Status.WARN if mending else Status.FAIL,
    )
