"""The last boot followed a clean shutdown."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.last_boot import LastBoot, last_boot
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _
from clusterwright.units import human_duration

_RECENT_S = 24 * 3600  # ours: older crashes are known


def _in_lab(spec: HostSpec) -> str:
    return _("not checked in a lab: its hosts are killed on purpose") if spec.cluster.lab else ""


@check(
    last_boot,
    unless=_in_lab,
    fix="find the cause in `journalctl -b -1 -e` (last kernel lines) and `ipmitool sel elist` (power, heat, memory)",
    in_jobs=True,
)
def reboot_expected(_spec: HostSpec, have: LastBoot) -> Verdict:
    """A host that booted within the last day had a clean shutdown before.

    Otherwise a warning; skipped without the journal of the previous boot.
    """
    if have.orderly is None:
        return skip(_("the journal of the previous boot is not stored"))
    recent = have.up_s < _RECENT_S
    uptime = human_duration(have.up_s)
    return expect(
        have.orderly or not recent,
        observed=_("up for {time}", time=uptime)
        if have.orderly or not recent
        else _("the host booted {time} ago without a clean shutdown before", time=uptime),
        expected=_("a clean shutdown before the last boot"),
        otherwise=Status.WARN,
    )
