"""The NVMe disks are sound."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.check.expectation import check, fault, fine
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.nvme import Nvme, nvme
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

# NVM Express base specification, SMART log, critical warning.
_BITS = {
    1: N_("spare below its limit"),
    2: N_("too hot"),
    4: "unreliable",
    8: "read-only",
    16: N_("its buffer has lost its power backup"),
}
_WORN = 100  # percent of the writes that it was made for; it goes on, but was not made to
_EXPECTED = N_("no warning of its own, no error of the medium, less than 100 % of its life used")


def _has_nvme(spec: HostSpec) -> bool:
    return any(disk.kind == "nvme" for disk in spec.host.group.disks)


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts have the disks of the machine beneath") if spec.cluster.lab else ""


@check(
    nvme,
    when=_has_nvme,
    unless=_in_lab,
    fix="save what is on it, drain the host, replace the disk; `nvme smart-log DEVICE` and `nvme error-log DEVICE`",
)
def nvme_health(_spec: HostSpec, have: dict[str, Nvme]) -> Iterator[Verdict]:
    """No NVMe disk warns of itself, has errors of its medium, or is worn out."""
    faults = [verdict for name, disk in have.items() for verdict in _faults(name, disk)]
    yield from faults or [fine(observed=_("{count} disks", count=len(have)), expected=_EXPECTED)]


def _faults(name: str, disk: Nvme) -> Iterator[Verdict]:
    warned = [message for bit, message in _BITS.items() if disk.warning & bit]
    if warned:
        yield fault(observed=f"{name}: {', '.join(warned)}", expected=_EXPECTED, part=name)
    if disk.media_errors:
        observed = _("{name}: {media_errors} errors of its medium", name=name, media_errors=disk.media_errors)
        yield fault(observed=observed, expected=_EXPECTED, part=name, otherwise=Status.WARN)
    if disk.used_percent >= _WORN:
        observed = _("{name}: {used_percent} % of its life used", name=name, used_percent=disk.used_percent)
        yield fault(observed=observed, expected=_EXPECTED, part=name, otherwise=Status.WARN)
