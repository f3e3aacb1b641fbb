"""Clusters whose hosts run several operating systems."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.errors import WrightError
from clusterwright.i18n import _


def require_single_system(cluster: Cluster, result: str) -> None:
    """Raise WrightError `mixed-systems` if the hosts run several operating systems; `result` is for one only."""
    names = sorted(on_system.os for on_system, _loc in cluster.systems())
    if len(names) > 1:
        raise WrightError.from_code(
            "mixed-systems",
            _(
                "{result} is for one operating system, and the hosts run {systems}",
                result=result,
                systems=", ".join(names),
            ),
            _("use `wright apply` with package repositories, which supports several"),
        )
