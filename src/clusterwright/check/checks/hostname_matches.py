"""The host knows its own name."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.hostname import hostname
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    hostname,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="hostnamectl set-hostname with the name of the cluster file",
)
def hostname_matches(spec: HostSpec, have: str) -> Verdict:
    """The host calls itself what the cluster file calls it; slurmd looks for that name in slurm.conf."""
    return expect(
        have == spec.host.name,
        observed=have,
        expected=_("{host} (nodes.{group_name}.hosts)", host=spec.host.name, group_name=spec.host.group_name),
    )
