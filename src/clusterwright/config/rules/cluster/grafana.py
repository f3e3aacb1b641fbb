"""Grafana shows what Prometheus has, and comes from somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster

AT = ("monitoring", "grafana")


def grafana(cluster: Cluster) -> Iterator[Clash]:
    """No distribution has its package, and without Prometheus its pages are empty."""
    if not cluster.monitoring.grafana:
        return
    if not cluster.monitoring.prometheus:
        yield Clash(
            "grafana-without-prometheus",
            "the dashboards would be empty: what they show is in Prometheus, which is off",
            "set monitoring.prometheus to true, or grafana to false",
            (AT, ("monitoring", "prometheus")),
        )
    if not cluster.software.repositories:
        yield Clash(
            "grafana-no-package",
            f"{cluster.os} has no package of Grafana",
            "name a repository that has it in software.repositories (https://apt.grafana.com, https://rpm.grafana.com)",
            (AT, ("software",)),
        )
