"""Teams as Kueue knows them: hosts of each group, a queue with a quota for each team, all of them lending."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.options import GROUP, QUEUE, ManifestOptions, Object, meta
from clusterwright.launch.kubernetes.shares import capacity, devices


def parts(cluster: Cluster, teams: tuple[str, ...]) -> dict[str, float]:
    """Each team's part; a team that others are a part of divides its own among them and keeps none."""
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
    """By largest remainder; what is over somebody's most goes to the others, in proportion to their parts.

    The numbers add up to the whole, unless nobody has a part, or all have their most.
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
    # A part of a part is not exact in binary: 0.6 of 10 is 6, not 5.999.
    amounts = {name: int(number + 1e-9) for name, number in exact.items()}
    remainder = amount - sum(amounts.values()) if total else 0
    for name in sorted(exact, key=lambda team: amounts[team] - exact[team])[:remainder]:
        amounts[name] += 1
    return amounts


_BYTES = {"memory": "Mi"}


def flavors(cluster: Cluster, options: ManifestOptions) -> list[Object]:
    """One for each group of compute hosts, by the label that its hosts have."""
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
    """A ClusterQueue and its LocalQueue for each team, `teams` being their namespaces by name."""
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
            # As fair share in Slurm: who is over it waits longer, and nobody's job is ended for it.
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
