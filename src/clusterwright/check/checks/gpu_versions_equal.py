"""GPUs of a group have the same driver and VBIOS."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.facts.gpus import Driver, gpus
from clusterwright.check.of_gpus import has_gpus
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


@check(
    gpus,
    when=has_gpus,
    cluster_wide=True,
    fix="install the driver and VBIOS of most GPUs on the deviating ones: one job may use all of them",
    in_jobs=True,
)
def gpu_versions_equal(cluster: Cluster, have: Mapping[str, Driver]) -> list[Verdict]:
    """All hosts of a group have the same GPU driver, and the same VBIOS for each GPU model.

    A host that differs from most is a warning.
    """
    groups: dict[str, dict[str, str]] = {}
    for host, driver in have.items():
        if driver.gpus:
            groups.setdefault(cluster.host(host).group_name, {})[host] = _versions(driver)
    return [
        verdict
        for versions in groups.values()
        for verdict in equal_everywhere(
            versions, next(iter(versions)), _("driver and VBIOS"), otherwise=Status.WARN
        )
    ]


def _versions(driver: Driver) -> str:
    drivers = sorted({gpu.driver for gpu in driver.gpus})
    models = sorted(
        {_("{model} VBIOS {vbios}", model=gpu.model, vbios=gpu.vbios or _("unknown")) for gpu in driver.gpus}
    )
    return _("driver {drivers}; {models}", drivers=", ".join(drivers), models=", ".join(models))
