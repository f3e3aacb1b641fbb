"""Teams as Kueue knows them: hosts of each group, a queue with a quota for each team, all of them lending."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.launch.kubernetes.asked import GROUP, QUEUE, Asked, Object, meta
from clusterwright.launch.kubernetes.names import label
from clusterwright.launch.kubernetes.shares import capacity, devices


def parts(cluster: Cluster, teams: tuple[str, ...]) -> dict[str, float]:
    """Each team's part; a team that others are a part of divides its own among them and keeps none."""
    if not cluster.teams:
        return dict.fromkeys(teams, 1.0 / len(teams))
    return {team: _part(cluster, team) for team in teams}


def _part(cluster: Cluster, team: str) -> float:
    if any(other.parent == team for other in cluster.teams.values()):
        return 0.0
    found, at = 1.0, team
    while True:
        own = cluster.teams[at]
        beside = sum(other.shares for other in cluster.teams.values() if other.parent == own.parent)
        found *= own.shares / beside if beside else 0.0
        if own.parent is None:
            return found
        at = own.parent


def split(whole: int, parts: Mapping[str, float], most: Mapping[str, int] | None = None) -> dict[str, int]:
    """By largest remainder; what is over somebody's most goes to the others, in proportion to their parts.

    The numbers add up to the whole, unless nobody has a part, or all have their most.
    """
    limits, full = most or {}, dict[str, int]()
    while True:
        rest = {name: part for name, part in parts.items() if name not in full}
        found = _rounded(whole - sum(full.values()), rest)
        over = {name: limits[name] for name, number in found.items() if number > limits.get(name, number)}
        full |= over
        if not over:
            return {name: full.get(name, found.get(name, 0)) for name in parts}


def _rounded(whole: int, parts: Mapping[str, float]) -> dict[str, int]:
    total = sum(parts.values())
    exact = {name: whole * part / total if total else 0.0 for name, part in parts.items()}
    # A part of a part is not exact in binary: 0.6 of 10 is 6, not 5.999.
    found = {name: int(number + 1e-9) for name, number in exact.items()}
    rest = whole - sum(found.values()) if total else 0
    for name in sorted(exact, key=lambda each: found[each] - exact[each])[:rest]:
        found[name] += 1
    return found


_BYTES = {"memory": "Mi"}


def flavors(cluster: Cluster, asked: Asked) -> list[Object]:
    """One for each group of compute hosts, by the label that its hosts have."""
    return [
        {
            "apiVersion": require("ResourceFlavor", asked.version).api,
            "kind": "ResourceFlavor",
            "metadata": meta(label(f"{cluster.name}-{name}")),
            "spec": {"nodeLabels": {GROUP: label(name)}},
        }
        for name, group in cluster.nodes.items()
        if group.role == "compute"
    ]


def queues(cluster: Cluster, asked: Asked, teams: Mapping[str, str]) -> list[Object]:
    """A ClusterQueue and its LocalQueue for each team, `teams` being their namespaces by name."""
    shared = parts(cluster, tuple(teams))
    return [
        each
        for team, namespace in teams.items()
        for each in (
            _cluster_queue(cluster, asked, team, namespace, shared),
            {
                "apiVersion": require("LocalQueue", asked.version).api,
                "kind": "LocalQueue",
                "metadata": meta(QUEUE, namespace),
                "spec": {"clusterQueue": _queue(cluster, namespace)},
            },
        )
    ]


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
