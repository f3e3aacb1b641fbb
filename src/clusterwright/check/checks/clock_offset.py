"""The clocks agree with each other."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, expect, fault, unknown
from clusterwright.check.facts.ntp_offset import Offset, ntp_offset
from clusterwright.check.reading import Reach, reached
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster

WARN_S = 0.05  # awesome-prometheus-alerts' limit for clock skew
FAIL_S = 1.0  # ours: further apart, lines of two hosts' logs can no longer be put in order
_WANT = f"within {WARN_S:g} s of the control host's clock, {FAIL_S:g} s at the very most"


@check((ntp_offset, reached), together=True, mend="`chronyc makestep` on the host, then `chronyc tracking`")
def clock_offset(
    cluster: Cluster, have: Mapping[str, Offset | None], reach: Mapping[str, Reach]
) -> list[Verdict]:
    """Every host's clock agrees with the control host's.

    Measured by NTP with the control host. Where that does not answer, the time of our own round trip over SSH
    bounds the skew: it can prove a large one, never a small one, and so is never ok.
    """
    control = reach[cluster.control.name]
    return [
        _measured(host, found) if found else _bounded(host, reach[host], control)
        for host, found in have.items()
    ]


def _measured(host: str, found: Offset) -> Verdict:
    apart = max(0.0, abs(found.offset_s) - found.round_trip_s / 2)  # what is certain
    otherwise = Status.FAIL if apart > FAIL_S else Status.WARN
    saw = "agrees" if apart <= WARN_S else f"{found.offset_s:+.3f} s"
    return expect(apart <= WARN_S, saw=saw, want=_WANT, subject=host, otherwise=otherwise)


def _bounded(host: str, each: Reach, control: Reach) -> Verdict:
    """From when we asked and were answered by our clock, and when the readers began and ended by theirs."""
    least = (each.ended - each.answered) - (control.began - control.asked)
    most = (each.began - each.asked) - (control.ended - control.answered)
    apart = max(0.0, least, -most)
    if control.python and apart > WARN_S:
        saw = f"at least {apart:.2f} s {'ahead' if least > 0 else 'behind'}"
        return fault(
            saw=saw, want=_WANT, subject=host, otherwise=Status.FAIL if apart > FAIL_S else Status.WARN
        )
    return unknown("the control host's chronyd does not answer NTP", want=_WANT, subject=host)
