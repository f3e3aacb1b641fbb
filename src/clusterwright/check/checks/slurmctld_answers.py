"""Slurmctld answers."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.slurmctld_ping import slurmctld_ping
from clusterwright.check.verdict import Verdict


@check(slurmctld_ping, mend="systemctl status slurmctld on the control host, then its log")
def slurmctld_answers(want: Want, have: dict[str, bool]) -> Verdict:
    """The primary slurmctld answers `scontrol ping` from every host."""
    primary, up = next(iter(have.items()))
    wanted = want.cluster.control.name
    saw = f"slurmctld at {primary} is {'up' if up else 'down'}"
    return expect(up and primary.split(".")[0] == wanted, saw=saw, want=f"slurmctld at {wanted} up")
