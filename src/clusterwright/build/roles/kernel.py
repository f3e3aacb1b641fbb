"""Kernel settings and limits for training; each with its reason, in the file as well."""

from __future__ import annotations

from clusterwright.build.resources import File, Given, Resource, Sysctl
from clusterwright.spec.cluster import Cluster, Host

AFTER = ("base",)

NEIGHBOURS = 512  # Linux's own net.ipv4.neigh.default.gc_thresh2: above it, entries are thrown out early
LIMITS = """
# RDMA and NCCL pin their buffers in memory; the default of 8 MiB ends in `Cannot allocate memory`.
*    soft memlock unlimited
*    hard memlock unlimited
root soft memlock unlimited
root hard memlock unlimited

# Data loaders and rendezvous hold a socket or file for each peer and worker.
# 2^20 is Linux's own ceiling (fs.nr_open).
*    soft nofile 1048576
*    hard nofile 1048576
"""

Setting = tuple[str, str, str]  # key, value, reason


def kernel(cluster: Cluster, host: Host, given: Given) -> tuple[Resource, ...]:
    """The settings now, and the files that keep them across a reboot."""
    settings = _settings(cluster, host)
    text = given.header() + "".join(f"\n# {why}\n-{key} = {value}\n" for key, value, why in settings)
    return (
        File(path="/etc/sysctl.d/60-clusterwright.conf", content=text),
        *(Sysctl(key=key, value=value) for key, value, _why in settings),
        File(path="/etc/security/limits.d/60-clusterwright.conf", content=given.header() + LIMITS),
    )


def _settings(cluster: Cluster, host: Host) -> tuple[Setting, ...]:
    first, last = cluster.slurm.ports
    many = len(cluster.hosts()) > NEIGHBOURS
    rails = any(network.rails > 1 for network in cluster.networks.named().values())
    return (
        (
            "net.ipv4.ip_local_reserved_ports",
            f"{first}-{last}",
            "srun's ports are not given to other connections.",
        ),
        *(_COMPUTE if host.group.role == "compute" else ()),
        *(_MANY if many else ()),
        *(_RAILS if rails else ()),
    )


_BUFFERS = "Room for one connection at 10 Gbit/s and more (ESnet's host tuning for 10G: 64 MiB)."
_COMPUTE: tuple[Setting, ...] = (
    ("net.core.rmem_max", "67108864", _BUFFERS),
    ("net.core.wmem_max", "67108864", _BUFFERS),
    (
        "net.ipv4.tcp_rmem",
        "4096 131072 33554432",
        "The same for buffers that grow by themselves (ESnet: 32 MiB).",
    ),
    (
        "net.ipv4.tcp_wmem",
        "4096 65536 33554432",
        "The same for buffers that grow by themselves (ESnet: 32 MiB).",
    ),
    (
        "kernel.numa_balancing",
        "0",
        "Pages that move between sockets stall ranks (AMD's and NVIDIA's tuning guides).",
    ),
)
_MANY: tuple[Setting, ...] = (
    (
        "net.ipv4.neigh.default.gc_thresh1",
        "8192",
        "More hosts than the address table holds by default (1024).",
    ),
    (
        "net.ipv4.neigh.default.gc_thresh2",
        "16384",
        "More hosts than the address table holds by default (1024).",
    ),
    (
        "net.ipv4.neigh.default.gc_thresh3",
        "32768",
        "More hosts than the address table holds by default (1024).",
    ),
)
_RAILS: tuple[Setting, ...] = (
    ("net.ipv4.conf.all.arp_ignore", "1", "Each rail answers for its own address only."),
    ("net.ipv4.conf.all.arp_announce", "2", "Each rail asks with its own address only."),
)
