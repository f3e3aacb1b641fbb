"""Hosts of a group have the same model and BIOS."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.check.expectation import check, equal_everywhere
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.machine import HostMachine, machine
from clusterwright.check.verdict import Status, Verdict
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _


def _in_lab(spec: HostSpec) -> str:
    return _("not checked in a lab: its hosts all run on one machine") if spec.cluster.lab else ""


@check(
    machine,
    unless=_in_lab,
    cluster_wide=True,
    fix="install the BIOS version of most hosts on the deviating ones; set NUMA nodes with NPS or SNC in the BIOS",
    in_jobs=True,
)
def machines_equal(cluster: Cluster, have: Mapping[str, HostMachine]) -> list[Verdict]:
    """Model, BIOS version and number of NUMA nodes are the same on every host of a group.

    A host that differs from most is a warning.
    """
    groups: dict[str, dict[str, str]] = {}
    for host, host_machine in have.items():
        description = _(
            "{model}, BIOS {bios}, NUMA nodes: {count}",
            model=host_machine.model or _("unknown model"),
            bios=host_machine.bios or _("unknown"),
            count=host_machine.numa_nodes,
        )
        groups.setdefault(cluster.host(host).group_name, {})[host] = description
    return [
        verdict
        for descriptions in groups.values()
        for verdict in equal_everywhere(
            descriptions, next(iter(descriptions)), _("model and BIOS"), otherwise=Status.WARN
        )
    ]
