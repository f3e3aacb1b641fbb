"""Slurm's nodes have the declared resources."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

from clusterwright.check.expectation import check, expect
from clusterwright.check.facts.slurm_nodes import slurm_nodes
from clusterwright.check.verdict import Verdict
from clusterwright.config.cluster import Cluster, Host
from clusterwright.i18n import _
from clusterwright.slurm.nodes import Node
from clusterwright.units import MiB, human_size


@check(
    slurm_nodes,
    cluster_wide=True,
    when=attrgetter("is_control"),
    fix="run `wright apply`, then `scontrol reconfigure`",
)
def node_resources(cluster: Cluster, have: Mapping[str, tuple[Node, ...]]) -> list[Verdict]:
    """Slurm's nodes have the declared CPUs and GPUs, and no more memory than declared."""
    (nodes,) = have.values()
    hosts = {host.name: host for host in cluster.hosts("compute")}
    return [_verdict(hosts[node.name], node) for node in nodes if node.name in hosts]


def _verdict(host: Host, node: Node) -> Verdict:
    group, gpus = host.group, host.group.gpus
    expected = _(
        "CPUs: {cpus}, memory: at most {memory}, GPUs: {gpus} (nodes.{group})",
        cpus=group.cpus.threads,
        memory=human_size(group.memory),
        gpus=f"{gpus.count} {gpus.model}" if gpus else "0",
        group=host.group_name,
    )
    memory = node.memory_mib * MiB
    observed = _(
        "CPUs: {cpus}, memory: {memory}, GPUs: {gpus}",
        cpus=node.cpus,
        memory=human_size(memory),
        gpus=f"{node.gpus} {node.gpu_model}" if node.gpus else "0",
    )
    same_gpus = (node.gpus, node.gpu_model) == ((gpus.count, gpus.model) if gpus else (0, ""))
    is_ok = node.cpus == group.cpus.threads and memory <= group.memory and same_gpus
    return expect(is_ok, observed=observed, expected=expected, subject=host.name)
