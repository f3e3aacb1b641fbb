"""Memory reserved as huge pages of 2 MiB."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Resource, RoleContext
from clusterwright.units import MiB

DEPENDENCIES = ("kernel",)

PAGE_BYTES = 2 * MiB  # of x86-64, and of arm64 with 4 KiB pages


def pages(cluster: Cluster) -> int:
    """Return the number of 2 MiB pages for `system.hugepages` (bytes), rounded up; 0 if it is not set."""
    return -(-(cluster.system.hugepages or 0) // PAGE_BYTES)


@alike
def hugepages(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the setting that reserves huge pages on compute hosts at boot, if the cluster file has one.

    On a running host the kernel finds few contiguous pages, and takes memory from jobs.
    """
    if host.group.role != "compute" or not pages(cluster):
        return ()
    text = f"""{context.header()}
# Reserved at boot (kernel: Documentation/admin-guide/mm/hugetlbpage).
vm.nr_hugepages = {pages(cluster)}
"""
    return (File(path="/etc/sysctl.d/61-clusterwright-hugepages.conf", content=text, cost=Cost.REBOOT),)
