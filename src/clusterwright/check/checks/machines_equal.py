"""Hosts of one group are one make."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.machine import Machine, machine
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


def _in_lab(spec: HostSpec) -> str:
    return _("a lab's hosts are all on one machine") if spec.cluster.lab else ""


@check(
    machine,
    unless=_in_lab,
    cluster_wide=True,
    fix="bring the BIOS of the odd hosts to that of the others; NUMA nodes: the BIOS setting NPS or SNC",
)
def machines_equal(cluster: Cluster, have: Mapping[str, Machine]) -> list[Verdict]:
    """Model, BIOS and number of NUMA nodes are the same on every host of a group."""
    groups: dict[str, dict[str, str]] = {}
    for host, host_machine in have.items():
        description = _(
            "{model}, BIOS {bios}, {numa_nodes} NUMA nodes",
            model=host_machine.model or "model not said",
            bios=host_machine.bios or "not said",
            numa_nodes=host_machine.numa_nodes,
        )
        groups.setdefault(cluster.host(host).group_name, {})[host] = description
    return [
        verdict
        for descriptions in groups.values()
        for verdict in equal_everywhere(
            descriptions, next(iter(descriptions)), _("make and BIOS"), otherwise=Status.WARN
        )
    ]
