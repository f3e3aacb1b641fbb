"""What an hour of one of a job's GPUs costs, as far as the catalog knows."""

from __future__ import annotations

from typing import Any

from clusterwright.catalog.gpus import gpus
from clusterwright.catalog.prices import price
from clusterwright.catalog.records import Deal
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.errors import WrightError
from clusterwright.launch.share import partition
from clusterwright.plan.machines import gpu_like


def hourly(job: Job, cluster: Cluster) -> dict[str, Any] | None:
    """The likely price of renting one on demand; None for a lab, and where the catalog has none.

    What an owned GPU costs depends on much that a job does not know: `wright plan cost` works it out.
    """
    groups = [cluster.nodes[name].gpus for name in cluster.partitions[partition(job, cluster)].nodes]
    kinds = {group.model: group for group in groups if group}
    if cluster.lab or len(kinds) != 1:
        return None
    try:
        gpu = gpu_like(next(iter(kinds.values())), gpus().values())
    except WrightError:  # a GPU that the catalog does not have
        return None
    found = price(gpu.name, Deal.ON_DEMAND)
    if found is None:
        return None
    source = f"{found.item}, rented on demand, {found.date}"
    return {"amount": found.likely, "currency": found.currency, "source": source}
