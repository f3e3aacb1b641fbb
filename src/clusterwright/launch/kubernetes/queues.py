"""Render Kueue objects: a flavor for each node group, and a queue with quotas for each team, in one cohort."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.options import GROUP, QUEUE, ManifestOptions, Object, meta
from clusterwright.launch.kubernetes.shares import capacity, devices


def parts(cluster: Cluster, teams: tuple[str, ...]) -> dict[str, float]:
    """Return each team's fraction of the cluster; that of a parent team is divided among its child teams.

    Equal fractions if the cluster file has no teams.
    """
    if not cluster.teams:
        return dict.fromkeys(teams, 1.0 / len(teams))
    return {team: _part(cluster, team) for team in teams}


def _part(cluster: Cluster, team: str) -> float:
    if any(child.parent == team for child in cluster.teams.values()):
        return 0.0
    share, team_name = 1.0, team
    while True:
        current = cluster.teams[team_name]
        sibling_shares = sum(
            sibling.shares for sibling in cluster.teams.values() if sibling.parent == current.parent
        )
        share *= current.shares / sibling_shares if sibling_shares else 0.0
        if current.parent is None:
            return share
        team_name = current.parent


def split(amount: int, parts: Mapping[str, float], most: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return an amount divided by the largest remainder method; what exceeds `most` goes to the others.

    In proportion. The results add up to `amount`, unless all parts are 0 or all names are at their `most`.
    """
    limits, full = most or {}, dict[str, int]()
    while True:
        open_parts = {name: part for name, part in parts.items() if name not in full}
        amounts = _rounded(amount - sum(full.values()), open_parts)
        over = {name: limits[name] for name, number in amounts.items() if number > limits.get(name, number)}
        full |= over
        if not over:
            return {name: full.get(name, amounts.get(name, 0)) for name in parts}


def _rounded(amount: int, parts: Mapping[str, float]) -> dict[str, int]:
    total = sum(parts.values())
    exact = {name: amount * part / total if total else 0.0 for name, part in parts.items()}
    # Products of fractions are inexact in binary: 0.6 of 10 must be 6, not 5.999.
    amounts = {name: int(number + 1e-9) for name, number in exact.items()}
    remainder = amount - sum(amounts.values()) if total else 0
    for name in sorted(exact, key=lambda team: amounts[team] - exact[team])[:remainder]:
        amounts[name] += 1
    return amounts


_BYTES = {"memory": "Mi"}


def flavors(cluster: Cluster, options: ManifestOptions) -> list[Object]:
    """Return a ResourceFlavor for each compute group, selected by the label of its hosts."""
    return [
        {
            "apiVersion": require("ResourceFlavor", options.version).api,
            "kind": "ResourceFlavor",
            "metadata": meta(label(f"{cluster.name}-{name}")),
            "spec": {"nodeLabels": {GROUP: label(name)}},
        }
        for name, group in cluster.nodes.items()
        if group.role == "compute"
    ]


def queues(cluster: Cluster, options: ManifestOptions, teams: Mapping[str, str]) -> list[Object]:
    """Return a ClusterQueue and a LocalQueue for each team; `teams` maps names to namespaces."""
    shared = parts(cluster, tuple(teams))
    return [
        queue
        for team, namespace in teams.items()
        for queue in (
            _cluster_queue(cluster, options, team, namespace, shared),
            {
                "apiVersion": require("LocalQueue", options.version).api,
                "kind": "LocalQueue",
                "metadata": meta(QUEUE, namespace),
                "spec": {"clusterQueue": _queue(cluster, namespace)},
            },
        )
    ]


def _queue(cluster: Cluster, namespace: str) -> str:
    return label(f"{cluster.name}-{namespace}")


def _cluster_queue(
    cluster: Cluster, options: ManifestOptions, team: str, namespace: str, shared: Mapping[str, float]
) -> Object:
    groups = [
        (label(f"{cluster.name}-{name}"), capacity(group, cluster, options.rdma, devices(cluster)))
        for name, group in cluster.nodes.items()
        if group.role == "compute"
    ]
    return {
        "apiVersion": require("ClusterQueue", options.version).api,
        "kind": "ClusterQueue",
        "metadata": meta(_queue(cluster, namespace)),
        "spec": {
            "cohort": label(cluster.name),
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "queueingStrategy": "BestEffortFIFO",
            # As with Slurm's fair share: teams over their share wait longer, and no running job is preempted.
            "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
            "resourceGroups": [
                {
                    "coveredResources": list(groups[0][1]),
                    "flavors": [
                        {"name": name, "resources": _quotas(cluster, team, capacities, shared)}
                        for name, capacities in groups
                    ],
                }
            ],
        },
    }


def _quotas(
    cluster: Cluster, team: str, capacities: Mapping[str, int], shared: Mapping[str, float]
) -> list[Object]:
    gpus = devices(cluster)
    limits = {
        name: team_config.max_gpus
        for name, team_config in cluster.teams.items()
        if team_config.max_gpus is not None
    }
    quotas = []
    for name, amount in capacities.items():
        most = limits if name in gpus else {}
        part = split(amount, shared, most)[team]
        limit = {"borrowingLimit": str(most[team] - part)} if team in most else {}
        quotas.append({"name": name, "nominalQuota": f"{part}{_BYTES.get(name, '')}", **limit})
    return quotas
