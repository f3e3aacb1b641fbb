"""The clock is kept."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, fault
from clusterwright.check.fact import Want
from clusterwright.check.facts.clock_tracking import Tracking, clock_tracking
from clusterwright.check.verdict import Status, Verdict

WARN_S = 0.05  # awesome-prometheus-alerts' limit for clock skew
_WANT = "chronyd running, synchronised, less than 0.05 s off"


@check(clock_tracking, mend="systemctl restart chrony, then `chronyc sources -v` for a source with a `*`")
def clock_synchronised(_want: Want, have: Tracking) -> Verdict:
    """Chronyd runs and has set the clock; munge refuses credentials of a host that is 5 minutes off."""
    if not have.synchronised:
        return fault(saw="not synchronised" if have.running else "chronyd does not answer", want=_WANT)
    saw = f"follows {have.source or 'its own clock'}"
    close = abs(have.offset_s) < WARN_S
    return expect(
        close, saw=saw if close else f"{saw}, {have.offset_s:+.3f} s off", want=_WANT, otherwise=Status.WARN
    )
