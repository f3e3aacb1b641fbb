"""The base system leaves memory for jobs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.units import format_size


def system(cluster: Cluster) -> Iterator[Clash]:
    """Huge pages and what is kept for the system are less than the memory of every compute host."""
    pages = cluster.system.hugepages
    for name, group in cluster.nodes.items():
        kept = group.memory_reserved
        if pages and group.role == "compute" and kept < group.memory <= pages + kept:
            yield Clash(
                "hugepages-memory",
                f"{format_size(pages)} of huge pages and {format_size(kept)} for the system leave nothing "
                f"of the {format_size(group.memory)} of `{name}`",
                "lower system.hugepages; a training needs none, some MPI and RDMA programs a few GiB",
                (("system", "hugepages"), ("nodes", name, "memory")),
            )
