"""Alerts come from somewhere."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash


def notify(cluster: Cluster) -> Iterator[Clash]:
    """Who is to be told of alerts has a Prometheus that raises them."""
    if cluster.monitoring.notify and not cluster.monitoring.prometheus:
        yield Clash(
            "nobody-notified",
            "nothing would ever be told to the receivers: alerts come from Prometheus, which is off",
            "set monitoring.prometheus to true, or take notify out",
            (("monitoring", "notify"), ("monitoring", "prometheus")),
        )
