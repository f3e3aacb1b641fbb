"""The page that goes with the manifests: what has to be there, in which order, and what they leave out."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import kinds
from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.launch.kubernetes.asked import GROUP, SWITCH, Asked
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.shares import KEPT_PERCENT, devices, has_rdma


def readme(cluster: Cluster, asked: Asked, paths: tuple[str, ...], left: list[str]) -> str:
    """In Markdown."""
    return "\n".join([
        f"# {cluster.name} for Kubernetes {'.'.join(map(str, asked.version))}", "",
        "Made by clusterwright. Nothing here was sent to a server.", "",
        "## What must be there", "", *_needed(cluster, asked), "",
        "## Labels of hosts", "", "```sh", *_labels(cluster), "```", "",
        "## In this order", "", "```sh", *(f"kubectl apply -f {path}" for path in paths), "```", "",
        "A job waits in its team's queue (`kubectl get workloads -A`) until all of its pods have room.",
        f"Pods ask for {KEPT_PERCENT} % less of processors and memory than a batch script: the kubelet keeps some.",
        "Secrets of a job go to `kubectl create secret generic NAME-secrets -n TEAM --from-literal=KEY=...`.",
        "", "## What is not carried over", "", *(f"- {each}" for each in left), "",
    ])  # fmt: skip


def _needed(cluster: Cluster, asked: Asked) -> list[str]:
    wanted = ["ClusterQueue", "JobSet", *(["TrainJob"] if asked.kind == "trainjob" else [])]
    found = [
        f"- {kinds()[each].operator} {kinds()[each].releases}, for {kinds()[each].api}" for each in wanted
    ]
    found += [f"- a device plugin that offers {name}" for name in devices(cluster)]
    if has_rdma(cluster):
        found.append(f"- a device plugin that offers {asked.rdma} (`--rdma` if yours calls it otherwise)")
    return found


def _labels(cluster: Cluster) -> list[str]:
    found = []
    for name, group in cluster.nodes.items():
        if group.role == "compute":
            more = f" {SWITCH}={label(group.switch)}" if group.switch else ""
            found.append(f"# {fold(group.names())}")
            found.append(f"kubectl label node {' '.join(group.names())} {GROUP}={label(name)}{more}")
    return found
