"""Quotas of users and teams on the cluster's own file systems, set on the host that serves them."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.storage import Quota
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import Package, Records, Resource, RoleContext
from clusterwright.provision.roles.scratch import managed_disks, quota_of

DEPENDENCIES = ("scratch", "accounts")

Row = dict[str, str]


@alike
def quotas(cluster: Cluster, host: Host, _context: RoleContext) -> tuple[Resource, ...]:
    """Return the quotas of file systems on this host, set after they are mounted; nothing without any.

    NFS clients are limited by the server.
    """
    rows: list[Row] = []
    for disk in managed_disks(cluster, host):
        quota = quota_of(cluster, host, disk)
        rows += _rows(cluster, str(disk.mount), quota) if quota else ()
    if not rows:
        return ()
    return (Package(name="quota"), Records(name="quotas", rows=tuple(rows)))


def _rows(cluster: Cluster, path: str, quota: Quota) -> Iterator[Row]:
    if quota.user:
        for name in cluster.users:
            yield {"kind": "user", "name": name, "path": path, "bytes": str(quota.user)}
    if quota.team:
        for name in cluster.teams:
            yield {"kind": "team", "name": name, "path": path, "bytes": str(quota.team)}
