"""Prometheus and Alertmanager are packages of the distribution, where it has them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.platforms import platforms


def prometheus(cluster: Cluster) -> Iterator[Clash]:
    """Some have none, and those of some are too old."""
    if not cluster.monitoring.prometheus:
        return
    at = (("monitoring", "prometheus"), ("os",))
    old = cluster.platform.old_prometheus
    if old:
        message = f"{cluster.os} has {old}, which are too old for what we write"
        able = [one.name for one in platforms() if one.has_prometheus and not one.old_prometheus]
        yield Clash("prometheus-no-package", message, f"use one of {', '.join(able)}", at)
    if not cluster.platform.has_prometheus:
        yield Clash(
            "prometheus-no-package",
            f"{cluster.os} has no packages of Prometheus and Alertmanager",
            "set it to false and read the exporters with a Prometheus of yours; `wright render` of the same file with"
            " another `os` shows our rules",
            at,
        )
