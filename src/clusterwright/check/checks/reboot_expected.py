"""The host did not go down by itself."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.last_boot import LastBoot, last_boot
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S  # ours: a crash of yesterday is looked at, one of last week was


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts are killed on purpose") if spec.cluster.lab else ""


@check(
    last_boot,
    unless=_in_lab,
    fix="`journalctl -b -1 -e` shows its last words, `ipmitool sel elist` what the board saw: power, heat, memory",
)
def reboot_expected(_spec: HostSpec, have: LastBoot) -> Verdict:
    """A host that was booted within a day had been shut down in order."""
    if have.orderly is None:
        return skip(_("no journal of the boot before is kept"))
    recent = have.up_s < _DAY_S
    hours = have.up_s / _HOUR_S
    return expect(
        have.orderly or not recent,
        observed=_("up {hours:.1f} h", hours=hours)
        if have.orderly or not recent
        else _("went down by itself {hours:.1f} h ago", hours=hours),
        expected=_("shut down in order before it was booted"),
        otherwise=Status.WARN,
    )
