"""The clocks of all hosts agree."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.facts.ntp_offset import Offset, ntp_offset
from clusterwright.check.reading import HostReach, reached
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import N_, _
from clusterwright.units import human_duration

WARN_S = 0.05  # awesome-prometheus-alerts' limit for clock skew
FAIL_S = 1.0  # ours: beyond this, log lines of two hosts cannot be ordered
_EXPECTED = N_("the clock of the host is within 50 ms of the control host's clock (failure: more than 1 s)")


@check(
    (ntp_offset, reached),
    cluster_wide=True,
    fix="run `chronyc makestep` on the host, then `chronyc tracking`",
)
def clock_offset(
    cluster: Cluster, have: Mapping[str, Offset | None], reach: Mapping[str, HostReach]
) -> list[Verdict]:
    """Every host's clock agrees with the control host's.

    Measured by NTP with the control host. Where its chronyd does not answer, the round trip of the SSH call bounds
    the offset: it can prove a large offset, never a small one, and so is never ok. More than 50 ms is a warning,
    more than 1 s a failure.
    """
    control = reach[cluster.control.name]
    return [
        _ntp_verdict(host, offset) if offset else _bounded(host, reach[host], control)
        for host, offset in have.items()
    ]


def _ntp_verdict(host: str, offset: Offset) -> Verdict:
    skew = max(0.0, abs(offset.offset_s) - offset.round_trip_s / 2)  # the lower bound
    otherwise = Status.FAIL if skew > FAIL_S else Status.WARN
    observed = _("in sync") if skew <= WARN_S else f"{offset.offset_s:+.3f} s"
    return expect(skew <= WARN_S, observed=observed, expected=_(_EXPECTED), subject=host, otherwise=otherwise)


def _bounded(host: str, reach: HostReach, control: HostReach) -> Verdict:
    """Judge a host's clock by limits of its offset, as no NTP server answers.

    These are the operator's times of request and reply, and the readers' times of start and end. Unknown if they do not
    prove an offset of more than 50 ms.
    """
    least = (reach.ended - reach.answered) - (control.began - control.requested_at)
    most = (reach.began - reach.requested_at) - (control.ended - control.answered)
    skew = max(0.0, least, -most)
    if control.python and skew > WARN_S:
        text = (
            _("the clock of the host is at least {offset} ahead of the control host's")
            if least > 0
            else _("the clock of the host is at least {offset} behind the control host's")
        )
        return fault(
            observed=text.format(offset=human_duration(skew)),
            expected=_(_EXPECTED),
            subject=host,
            otherwise=Status.FAIL if skew > FAIL_S else Status.WARN,
        )
    return unknown(_("the control host's chronyd does not answer NTP"), expected=_(_EXPECTED), subject=host)
