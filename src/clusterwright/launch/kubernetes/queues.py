"""Teams as Kueue knows them: hosts of each group, a queue with a quota for each team, all of them lending."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.launch.kubernetes.asked import GROUP, QUEUE, Asked, Object, meta
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.shares import capacity, devices
from clusterwright.launch.kubernetes.split import parts, split

_BYTES = {"memory": "Mi"}


def flavors(cluster: Cluster, asked: Asked) -> list[Object]:
    """One for each group of compute hosts, by the label that its hosts have."""
    return [
        {
            "apiVersion": require("ResourceFlavor", asked.version).api, "kind": "ResourceFlavor",
            "metadata": meta(label(f"{cluster.name}-{name}")), "spec": {"nodeLabels": {GROUP: label(name)}},
        }
        for name, group in cluster.nodes.items()
        if group.role == "compute"
    ]  # fmt: skip


def queues(cluster: Cluster, asked: Asked, teams: Mapping[str, str]) -> list[Object]:
    """A ClusterQueue and its LocalQueue for each team, `teams` being their namespaces by name."""
    shared = parts(cluster, tuple(teams))
    return [
        each
        for team, namespace in teams.items()
        for each in (
            _cluster_queue(cluster, asked, team, namespace, shared),
            {
                "apiVersion": require("LocalQueue", asked.version).api, "kind": "LocalQueue",
                "metadata": meta(QUEUE, namespace), "spec": {"clusterQueue": _queue(cluster, namespace)},
            },
        )
    ]  # fmt: skip


def _queue(cluster: Cluster, namespace: str) -> str:
    return label(f"{cluster.name}-{namespace}")


def _cluster_queue(
    cluster: Cluster, asked: Asked, team: str, namespace: str, shared: Mapping[str, float]
) -> Object:
    groups = [
        (label(f"{cluster.name}-{name}"), capacity(group, cluster, asked.rdma, devices(cluster)))
        for name, group in cluster.nodes.items()
        if group.role == "compute"
    ]
    return {
        "apiVersion": require("ClusterQueue", asked.version).api,
        "kind": "ClusterQueue",
        "metadata": meta(_queue(cluster, namespace)),
        "spec": {
            "cohort": label(cluster.name),
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "queueingStrategy": "BestEffortFIFO",
            # As fair share in Slurm: who is over it waits longer, and nobody's job is ended for it.
            "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
            "resourceGroups": [
                {
                    "coveredResources": list(groups[0][1]),
                    "flavors": [
                        {"name": name, "resources": _quotas(cluster, team, there, shared)}
                        for name, there in groups
                    ],
                }
            ],
        },
    }


def _quotas(
    cluster: Cluster, team: str, there: Mapping[str, int], shared: Mapping[str, float]
) -> list[Object]:
    gpus = devices(cluster)
    limits = {name: each.max_gpus for name, each in cluster.teams.items() if each.max_gpus is not None}
    found = []
    for name, whole in there.items():
        most = limits if name in gpus else {}
        part = split(whole, shared, most)[team]
        limit = {"borrowingLimit": str(most[team] - part)} if team in most else {}
        found.append({"name": name, "nominalQuota": f"{part}{_BYTES.get(name, '')}", **limit})
    return found
