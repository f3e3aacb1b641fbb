"""Slurmctld answers."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.slurmctld_ping import slurmctld_ping
from clusterwright.check.verdict import Verdict


@check(slurmctld_ping, fix="systemctl status slurmctld on the control host, then its log")
def slurmctld_answers(spec: HostSpec, have: dict[str, bool]) -> Verdict:
    """The primary slurmctld answers `scontrol ping` from every host."""
    primary, up = next(iter(have.items()))
    control = spec.cluster.control.name
    observed = f"slurmctld at {primary} is {'up' if up else 'down'}"
    return expect(
        up and primary.split(".")[0] == control, observed=observed, expected=f"slurmctld at {control} up"
    )
