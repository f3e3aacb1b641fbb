"""The clock is kept."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.clock_tracking import Tracking, clock_tracking
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _

WARN_S = 0.05  # awesome-prometheus-alerts' limit for clock skew
_EXPECTED = N_("chronyd running, synchronised, less than 0.05 s off")


@check(clock_tracking, fix="systemctl restart chrony, then `chronyc sources -v` for a source with a `*`")
def clock_synchronized(_spec: HostSpec, have: Tracking) -> Verdict:
    """Chronyd runs and has set the clock; munge refuses credentials of a host that is 5 minutes off."""
    if not have.synchronised:
        return fault(
            observed=_("not synchronised") if have.running else _("chronyd does not answer"),
            expected=_EXPECTED,
        )
    observed = _("follows {source}", source=have.source or "its own clock")
    close = abs(have.offset_s) < WARN_S
    return expect(
        close,
        observed=observed
        if close
        else _("{observed}, {offset_s:+.3f} s off", observed=observed, offset_s=have.offset_s),
        expected=_EXPECTED,
        otherwise=Status.WARN,
    )
