"""NVMe disks are healthy."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.nvme import Nvme, nvme
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _, _n

# NVM Express base specification, SMART log, bits of Critical Warning.
_BITS = {
    1: N_("spare capacity below its threshold"),
    2: N_("temperature outside its limits"),
    4: N_("reliability degraded"),
    8: N_("read-only"),
    16: N_("power backup of the volatile memory failed"),
}
_WORN = 100  # percent of its rated writes
_EXPECTED = N_("no critical warning, no media errors, less than 100% of rated life used")


def _has_nvme(spec: HostSpec) -> bool:
    return any(disk.kind == "nvme" for disk in spec.host.group.disks)


def _in_lab(spec: HostSpec) -> str:
    return (
        _("not checked in a lab: its hosts show the disks of the lab's machine") if spec.cluster.lab else ""
    )


@check(
    nvme,
    when=_has_nvme,
    unless=_in_lab,
    fix="drain the host, save the data and replace the disk; see `nvme smart-log DEVICE` and `nvme error-log DEVICE`",
)
def nvme_health(_spec: HostSpec, have: dict[str, Nvme]) -> Iterator[Verdict]:
    """No NVMe disk has a critical warning, media errors, or used up its rated life."""
    faults = [verdict for name, disk in have.items() for verdict in _faults(name, disk)]
    yield from faults or [
        fine(observed=_n("{count} disk healthy", "{count} disks healthy", len(have)), expected=_(_EXPECTED))
    ]


def _faults(name: str, disk: Nvme) -> Iterator[Verdict]:
    warned = [_(message) for bit, message in _BITS.items() if disk.warning & bit]
    if warned:
        yield fault(observed=f"{name}: {', '.join(warned)}", expected=_(_EXPECTED), part=name)
    if disk.media_errors:
        observed = _("{disk}: media errors: {count}", disk=name, count=disk.media_errors)
        yield fault(observed=observed, expected=_(_EXPECTED), part=name, otherwise=Status.WARN)
    if disk.used_percent >= _WORN:
        observed = _("{disk}: {percent}% of rated life used", disk=name, percent=disk.used_percent)
        yield fault(observed=observed, expected=_(_EXPECTED), part=name, otherwise=Status.WARN)
