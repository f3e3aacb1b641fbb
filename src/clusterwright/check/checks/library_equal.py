"""Jobs find the same code everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere, fault
from clusterwright.check.facts.library_digest import MISSING, library_digest
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.provision.roles.training import LIBRARY


@check(library_digest, together=True, mend="`wright diff CLUSTER` says who edited what; apply the file again")
def library_equal(cluster: Cluster, have: Mapping[str, str]) -> list[Verdict]:
    """The agent and the runtime that jobs import are there, and the same on every host."""
    there = {host: digest for host, digest in have.items() if digest != MISSING}
    want = f"the code in {LIBRARY}"
    gone = [fault(saw=f"no {LIBRARY}", want=want, subject=host) for host in have if host not in there]
    return gone + (equal_everywhere(there, cluster.control.name, want) if there else [])
