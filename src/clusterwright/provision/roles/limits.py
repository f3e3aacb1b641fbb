"""Resource limits (limits.conf) of login sessions, which the shells that submit jobs inherit."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Resource, RoleContext

DEPENDENCIES = ("base",)

LIMITS = """
# RDMA and NCCL pin their buffers in memory; the default of 8 MiB leads to `Cannot allocate memory`.
*    soft memlock unlimited
*    hard memlock unlimited
root soft memlock unlimited
root hard memlock unlimited

# Data loaders and rendezvous hold a socket or file for each peer and worker. 2^20 is the kernel's maximum
# (fs.nr_open).
*    soft nofile 1048576
*    hard nofile 1048576
"""


@alike
def limits(_cluster: Cluster, _host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the limits of login sessions; jobs get those of slurmd's unit."""
    return (File(path="/etc/security/limits.d/60-clusterwright.conf", content=context.header() + LIMITS),)
