"""Slurmctld answers every host."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.slurmctld_ping import slurmctld_ping
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(slurmctld_ping, fix="run `systemctl status slurmctld` on the control host and read its log")
def slurmctld_answers(spec: HostSpec, have: dict[str, bool]) -> Verdict:
    """The primary slurmctld answers `scontrol ping` from every host.

    It must run on the control host of the cluster file.
    """
    primary, up = next(iter(have.items()))
    control = spec.cluster.control.name
    observed = (
        _("slurmctld on {host} is up", host=primary) if up else _("slurmctld on {host} is down", host=primary)
    )
    return expect(
        up and primary.split(".")[0] == control,
        observed=observed,
        expected=_("slurmctld on {host} is up", host=control),
    )
