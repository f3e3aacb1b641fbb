"""Jobs find the same code everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere, fault
from clusterwright.check.facts.library_digest import MISSING, library_digest
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _
from clusterwright.provision.roles.training import LIBRARY


@check(
    library_digest, cluster_wide=True, fix="`wright diff CLUSTER` says who edited what; apply the file again"
)
def library_equal(cluster: Cluster, have: Mapping[str, str]) -> list[Verdict]:
    """The agent and the runtime that jobs import are there, and the same on every host."""
    digests = {host: digest for host, digest in have.items() if digest != MISSING}
    expected = _("the code in {library}", library=LIBRARY)
    faults = [
        fault(observed=_("no {library}", library=LIBRARY), expected=expected, subject=host)
        for host in have
        if host not in digests
    ]
    return faults + (equal_everywhere(digests, cluster.control.name, expected) if digests else [])
