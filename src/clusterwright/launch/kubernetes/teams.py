"""Render a namespace and a ServiceAccount for each team."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.kubernetes.names import labels
from clusterwright.launch.kubernetes.options import ACCOUNT, ManifestOptions, Object, meta

DEFAULT_NAMESPACE = "training"  # for a file without teams


def namespaces(cluster: Cluster) -> dict[str, str]:
    """Return namespaces by team name.

    Raises:
        WrightError: two teams have the same namespace.
    """
    return labels(tuple(cluster.teams) or (DEFAULT_NAMESPACE,))


def team_of(job: Job, cluster: Cluster) -> str:
    """Return the team of a job: its own, else its user's, else the first in the file."""
    user = cluster.users.get(job.user or "")
    return job.team or (user.team if user else next(iter(cluster.teams), DEFAULT_NAMESPACE))


def objects(cluster: Cluster, options: ManifestOptions) -> list[Object]:
    """Return namespaces and ServiceAccounts, without API tokens: trainings do not call the Kubernetes API."""
    return [
        manifest
        for namespace in namespaces(cluster).values()
        for manifest in (
            {
                "apiVersion": require("Namespace", options.version).api,
                "kind": "Namespace",
                "metadata": meta(namespace),
            },
            {
                "apiVersion": require("ServiceAccount", options.version).api,
                "kind": "ServiceAccount",
                "metadata": meta(ACCOUNT, namespace),
                "automountServiceAccountToken": False,
            },
        )
    ]
