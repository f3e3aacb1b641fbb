"""A host that others need is never switched off."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.rules._members import members
from clusterwright.config.storage import Nfs


def power_saving_servers(cluster: Cluster) -> Iterator[Clash]:
    """No compute host that serves a folder is in a group that power saving may switch off."""
    saving = cluster.slurm.power_saving
    groups = members(cluster, "compute")
    for name, folder in cluster.storage.items():
        group = groups.get(folder.server) if isinstance(folder, Nfs) else None
        if saving and isinstance(folder, Nfs) and group and group not in saving.keep:
            yield Clash(
                "server-switched-off",
                f"`{folder.server}` serves `{name}` to all hosts, and is switched off when no job runs on it",
                f"add `{group}` to slurm.power_saving.keep, or let a control host serve `{name}`",
                (("storage", name, "server"), ("slurm", "power_saving")),
            )
