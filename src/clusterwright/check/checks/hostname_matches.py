"""The host name is as declared."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.hostname import hostname
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _


@check(
    hostname,
    on=("deploy", "periodic", "prolog", "boot"),
    fix="run `hostnamectl set-hostname NAME` with the name in the cluster file",
)
def hostname_matches(spec: HostSpec, have: str) -> Verdict:
    """The host name is that of the cluster file; slurmd looks itself up in slurm.conf by it."""
    return expect(
        have == spec.host.name,
        observed=have,
        expected=_("{host} (nodes.{group}.hosts)", host=spec.host.name, group=spec.host.group_name),
    )
