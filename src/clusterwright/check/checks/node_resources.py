"""Slurm offers what the cluster file declares."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.check.expectation import check, expect
from clusterwright.check.facts.slurm_nodes import slurm_nodes
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import _
from clusterwright.slurm.nodes import Node
from clusterwright.units import GiB, MiB


@check(
    slurm_nodes,
    cluster_wide=True,
    when=attrgetter("is_control"),
    fix="apply the cluster file again, then `scontrol reconfigure`",
)
def node_resources(cluster: Cluster, have: Mapping[str, tuple[Node, ...]]) -> list[Verdict]:
    """Slurmctld's nodes have the declared CPUs and GPUs, and no more memory than declared."""
    ((_, nodes),) = have.items()
    hosts = {host.name: host for host in cluster.hosts("compute")}
    return [_verdict(hosts[node.name], node) for node in nodes if node.name in hosts]


def _verdict(host: Host, node: Node) -> Verdict:
    group, gpus = host.group, host.group.gpus
    offer = _gpus(gpus.count, gpus.model) if gpus else _("no GPU")
    expected = _(
        "{threads} CPUs, at most {memory:.3g} GiB, {offer}",
        threads=group.cpus.threads,
        memory=group.memory / GiB,
        offer=offer,
    )
    memory = node.memory_mib * MiB
    observed = _(
        "{cpus} CPUs, {memory:.3g} GiB, {gpus}",
        cpus=node.cpus,
        memory=memory / GiB,
        gpus=_gpus(node.gpus, node.gpu_model),
    )
    same_gpus = (node.gpus, node.gpu_model) == ((gpus.count, gpus.model) if gpus else (0, ""))
    is_ok = node.cpus == group.cpus.threads and memory <= group.memory and same_gpus
    return expect(
        is_ok,
        observed=observed,
        expected=_("{expected} (nodes.{group_name})", expected=expected, group_name=host.group_name),
        subject=host.name,
    )


def _gpus(count: int, model: str) -> str:
    return _("{count} GPUs {model}", count=count, model=model) if count else _("no GPU")
