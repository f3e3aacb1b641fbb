"""A namespace for each team, and the account that its pods have."""

from __future__ import annotations

from clusterwright.catalog.kubernetes import require
from clusterwright.config.cluster import Cluster
from clusterwright.config.job import Job
from clusterwright.launch.kubernetes.names import labels
from clusterwright.launch.kubernetes.options import ACCOUNT, ManifestOptions, Object, meta

DEFAULT_NAMESPACE = "training"  # the one namespace of a file without teams


def namespaces(cluster: Cluster) -> dict[str, str]:
    """By team.

    Raises:
        WrightError: two teams would have one.
    """
    return labels(tuple(cluster.teams) or (DEFAULT_NAMESPACE,))


def team_of(job: Job, cluster: Cluster) -> str:
    """The job's own, else its user's, else the first of the file."""
    user = cluster.users.get(job.user or "")
    return job.team or (user.team if user else next(iter(cluster.teams), DEFAULT_NAMESPACE))


def objects(cluster: Cluster, options: ManifestOptions) -> list[Object]:
    """Namespaces and accounts; no pod of a training has anything to say to Kubernetes, so it gets no token."""
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
