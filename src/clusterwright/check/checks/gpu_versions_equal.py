"""One driver and one VBIOS everywhere."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster


@check(
    gpus,
    when=has_gpus,
    together=True,
    mend="bring driver and firmware of the odd GPUs to those of the others: one job may run on all of them",
)
def gpu_versions_equal(cluster: Cluster, have: Mapping[str, Driver]) -> list[Verdict]:
    """GPUs of one model have the same driver and VBIOS on all hosts of their group."""
    groups: dict[str, dict[str, str]] = {}
    for host, found in have.items():
        if found.gpus:
            groups.setdefault(cluster.host(host).group_name, {})[host] = _told(found)
    return [
        verdict
        for told in groups.values()
        for verdict in equal_everywhere(told, next(iter(told)), "driver and VBIOS", otherwise=Status.WARN)
    ]


def _told(found: Driver) -> str:
    drivers = sorted({gpu.driver for gpu in found.gpus})
    models = sorted({f"{gpu.model} VBIOS {gpu.vbios or 'not said'}" for gpu in found.gpus})
    return f"driver {', '.join(drivers)}; {', '.join(models)}"
