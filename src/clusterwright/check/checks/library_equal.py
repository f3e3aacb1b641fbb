"""The Clusterwright library that jobs import is the same on all hosts."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere, fault, unmanaged
from clusterwright.check.facts.library_digest import MISSING, library_digest
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _
from clusterwright.provision.roles.training import LIBRARY


@check(
    library_digest,
    cluster_wide=True,
    unless=unmanaged("training"),
    fix="run `wright diff` to see edited files, then `wright apply`",
)
def library_equal(cluster: Cluster, have: Mapping[str, str]) -> list[Verdict]:
    """The agent and runtime that jobs import are installed and the same on every host."""
    digests = {host: digest for host, digest in have.items() if digest != MISSING}
    expected = _("library in {folder}", folder=LIBRARY)
    faults = [
        fault(observed=_("{folder} is missing", folder=LIBRARY), expected=expected, subject=host)
        for host in have
        if host not in digests
    ]
    return faults + (equal_everywhere(digests, cluster.control.name, expected) if digests else [])
