"""The clocks agree with each other."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.facts.ntp_offset import Offset, ntp_offset
from clusterwright.check.reading import Reach, reached
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _

WARN_S = 0.05  # awesome-prometheus-alerts' limit for clock skew
FAIL_S = 1.0  # ours: further apart, lines of two hosts' logs can no longer be put in order
_EXPECTED = f"within {WARN_S:g} s of the control host's clock, {FAIL_S:g} s at the very most"


@check(
    (ntp_offset, reached), cluster_wide=True, fix="`chronyc makestep` on the host, then `chronyc tracking`"
)
def clock_offset(
    cluster: Cluster, have: Mapping[str, Offset | None], reach: Mapping[str, Reach]
) -> list[Verdict]:
    """Every host's clock agrees with the control host's.

    Measured by NTP with the control host. Where that does not answer, the time of our own round trip over SSH
    bounds the skew: it can prove a large one, never a small one, and so is never ok.
    """
    control = reach[cluster.control.name]
    return [
        _ntp_verdict(host, offset) if offset else _bounded(host, reach[host], control)
        for host, offset in have.items()
    ]


def _ntp_verdict(host: str, offset: Offset) -> Verdict:
    skew = max(0.0, abs(offset.offset_s) - offset.round_trip_s / 2)  # what is certain
    otherwise = Status.FAIL if skew > FAIL_S else Status.WARN
    observed = "agrees" if skew <= WARN_S else f"{offset.offset_s:+.3f} s"
    return expect(skew <= WARN_S, observed=observed, expected=_EXPECTED, subject=host, otherwise=otherwise)


def _bounded(host: str, reach: Reach, control: Reach) -> Verdict:
    """From when we asked and were answered by our clock, and when the readers began and ended by theirs."""
    least = (reach.ended - reach.answered) - (control.began - control.requested_at)
    most = (reach.began - reach.requested_at) - (control.ended - control.answered)
    skew = max(0.0, least, -most)
    if control.python and skew > WARN_S:
        observed = _("at least {skew:.2f} s {ending}", skew=skew, ending="ahead" if least > 0 else "behind")
        return fault(
            observed=observed,
            expected=_EXPECTED,
            subject=host,
            otherwise=Status.FAIL if skew > FAIL_S else Status.WARN,
        )
    return unknown(_("the control host's chronyd does not answer NTP"), expected=_EXPECTED, subject=host)
