"""Prometheus and Alertmanager are packages of the distribution, where it has them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.distributions import is_rhel_kind

TOO_OLD = frozenset(
    {"ubuntu-20.04"}
)  # Prometheus 2.15 and Alertmanager 0.15: no matchers, no secrets in files


def prometheus(cluster: Cluster) -> Iterator[Clash]:
    """Rocky and Alma have none, and Ubuntu 20.04's are too old."""
    if not cluster.monitoring.prometheus:
        return
    at = (("monitoring", "prometheus"), ("os",))
    if cluster.os in TOO_OLD:
        message = (
            f"{cluster.os} has Prometheus 2.15 and Alertmanager 0.15, which are too old for what we write"
        )
        yield Clash("prometheus-no-package", message, "use Ubuntu 22.04 or later, or Debian 12", at)
    if is_rhel_kind(cluster.os):
        yield Clash(
            "prometheus-no-package",
            f"{cluster.os} has no packages of Prometheus and Alertmanager",
            "set it to false and read the exporters with a Prometheus of yours; `wright render` of the same file with"
            " another `os` shows our rules",
            at,
        )
