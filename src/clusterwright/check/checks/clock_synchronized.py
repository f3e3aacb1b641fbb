"""Chronyd keeps the clock synchronized."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect, fault, unmanaged
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.clock_tracking import Tracking, clock_tracking
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import N_, _
from clusterwright.units import human_duration

WARN_S = 0.05  # awesome-prometheus-alerts' limit for clock skew
_EXPECTED = N_("chronyd running and synchronized, offset below 50 ms")


@check(
    clock_tracking,
    unless=unmanaged("clock"),
    fix="run `systemctl restart chrony`; `chronyc sources -v` must show a source with `*`",
)
def clock_synchronized(_spec: HostSpec, have: Tracking) -> Verdict:
    """Chronyd runs and is synchronized; munge rejects credentials of a host whose clock is 5 minutes off.

    An offset of 50 ms or more is a warning.
    """
    if not have.synchronized:
        return fault(
            observed=_("chronyd is not synchronized") if have.running else _("chronyd does not answer"),
            expected=_(_EXPECTED),
        )
    source, offset = have.source or _("the local clock"), human_duration(have.offset_s)
    is_close = abs(have.offset_s) < WARN_S
    return expect(
        is_close,
        observed=_("synchronized to {source}", source=source)
        if is_close
        else _("synchronized to {source}, offset {offset}", source=source, offset=offset),
        expected=_(_EXPECTED),
        otherwise=Status.WARN,
    )
