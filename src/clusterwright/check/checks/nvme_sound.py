"""The NVMe disks are sound."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import Want
from clusterwright.check.facts.nvme import Nvme, nvme
from clusterwright.check.verdict import Status, Verdict

# NVM Express base specification, SMART log, critical warning.
_BITS = {
    1: "spare below its limit",
    2: "too hot",
    4: "unreliable",
    8: "read-only",
    16: "its buffer has lost its power backup",
}
_WORN = 100  # percent of the writes that it was made for; it goes on, but was not made to
_WANT = "no warning of its own, no error of the medium, less than 100 % of its life used"


def _has_nvme(want: Want) -> bool:
    return any(disk.kind == "nvme" for disk in want.host.group.disks)


def _in_lab(want: Want) -> str:
    return "a lab's hosts have the disks of the machine beneath" if want.cluster.lab else ""


@check(
    nvme,
    when=_has_nvme,
    unless=_in_lab,
    mend="save what is on it, drain the host, replace the disk; `nvme smart-log DEVICE` and `nvme error-log DEVICE`",
)
def nvme_sound(_want: Want, have: dict[str, Nvme]) -> Iterator[Verdict]:
    """No NVMe disk warns of itself, has errors of its medium, or is worn out."""
    found = [verdict for name, disk in have.items() for verdict in _faults(name, disk)]
    yield from found or [fine(saw=f"{len(have)} disks", want=_WANT)]


def _faults(name: str, disk: Nvme) -> Iterator[Verdict]:
    warned = [words for bit, words in _BITS.items() if disk.warning & bit]
    if warned:
        yield fault(saw=f"{name}: {', '.join(warned)}", want=_WANT, part=name)
    if disk.media_errors:
        saw = f"{name}: {disk.media_errors} errors of its medium"
        yield fault(saw=saw, want=_WANT, part=name, otherwise=Status.WARN)
    if disk.used_percent >= _WORN:
        saw = f"{name}: {disk.used_percent} % of its life used"
        yield fault(saw=saw, want=_WANT, part=name, otherwise=Status.WARN)
