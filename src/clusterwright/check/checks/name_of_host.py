"""The host knows its own name."""

from __future__ import annotations

from clusterwright.check.expectation import check, expect
from clusterwright.check.fact import Want
from clusterwright.check.facts.hostname import hostname
from clusterwright.check.verdict import Verdict


@check(
    hostname,
    on=("deploy", "periodic", "prolog", "boot"),
    mend="hostnamectl set-hostname with the name of the cluster file",
)
def name_of_host(want: Want, have: str) -> Verdict:
    """The host calls itself what the cluster file calls it; slurmd looks for that name in slurm.conf."""
    return expect(
        have == want.host.name, saw=have, want=f"{want.host.name} (nodes.{want.host.group_name}.hosts)"
    )
