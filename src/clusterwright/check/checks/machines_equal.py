"""Hosts of one group are one make."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.fact import Want
from clusterwright.check.facts.machine import Machine, machine
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster


def _in_lab(want: Want) -> str:
    return "a lab's hosts are all on one machine" if want.cluster.lab else ""


@check(
    machine,
    unless=_in_lab,
    together=True,
    mend="bring the BIOS of the odd hosts to that of the others; NUMA nodes: the BIOS setting NPS or SNC",
)
def machines_equal(cluster: Cluster, have: Mapping[str, Machine]) -> list[Verdict]:
    """Model, BIOS and number of NUMA nodes are the same on every host of a group."""
    groups: dict[str, dict[str, str]] = {}
    for host, found in have.items():
        words = f"{found.model or 'model not said'}, BIOS {found.bios or 'not said'}, {found.numa_nodes} NUMA nodes"
        groups.setdefault(cluster.host(host).group_name, {})[host] = words
    return [
        verdict
        for told in groups.values()
        for verdict in equal_everywhere(told, next(iter(told)), "make and BIOS", otherwise=Status.WARN)
    ]
