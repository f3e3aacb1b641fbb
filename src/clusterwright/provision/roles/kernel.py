"""Kernel settings for training; each with its reason, in the file as well."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import File, Resource, RoleContext, Sysctl

DEPENDENCIES = ("base",)

PLAIN_MTU = 1500  # IEEE 802.3
NEIGHBOURS = 512  # Linux's default gc_thresh2: above it, the kernel removes neighbor entries early
Setting = tuple[str, str, str]  # key, value, reason


@alike
def kernel(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the sysctl settings, for the running kernel and in a file for the next boot."""
    settings = _settings(cluster, host)
    text = context.header() + "".join(f"\n# {reason}\n-{key} = {value}\n" for key, value, reason in settings)
    return (
        File(path="/etc/sysctl.d/60-clusterwright.conf", content=text),
        *(Sysctl(key=key, value=value) for key, value, _why in settings),
    )


def _settings(cluster: Cluster, host: Host) -> tuple[Setting, ...]:
    first_port, last = cluster.slurm.ports
    networks = cluster.networks.named().values()
    is_large_cluster = len(cluster.hosts()) > NEIGHBOURS
    rails = any(network.rails > 1 for network in networks)
    jumbo = any(network.mtu > PLAIN_MTU for network in networks)
    settings = (
        (
            "net.ipv4.ip_local_reserved_ports",
            f"{first_port}-{last}",
            "Reserves srun's ports.",
        ),
        *(_COMPUTE if host.group.role == "compute" else ()),
        *(_LARGE_CLUSTER if is_large_cluster else ()),
        *(_RAILS if rails else ()),
        *(_JUMBO if jumbo else ()),
    )
    return _with_site(settings, cluster.system.sysctl) if host.group.role == "compute" else settings


def _with_site(settings: tuple[Setting, ...], site: Mapping[str, str]) -> tuple[Setting, ...]:
    """Return the settings with the site's own values in place of the built-in ones, and its other settings last."""
    reason = "Set in system.sysctl of the cluster file."
    replaced = tuple(
        (key, site[key], reason) if key in site else (key, value, why) for key, value, why in settings
    )
    built_in = {key for key, _value, _why in settings}
    return (*replaced, *((key, value, reason) for key, value in sorted(site.items()) if key not in built_in))


_BUFFERS = "Buffers for one connection of 10 Gbit/s or more (ESnet's host tuning for 10G: 64 MiB)."
_COMPUTE: tuple[Setting, ...] = (
    ("net.core.rmem_max", "67108864", _BUFFERS),
    ("net.core.wmem_max", "67108864", _BUFFERS),
    (
        "net.ipv4.tcp_rmem",
        "4096 131072 33554432",
        "The same for autotuned buffers (ESnet: 32 MiB).",
    ),
    (
        "net.ipv4.tcp_wmem",
        "4096 65536 33554432",
        "The same for autotuned buffers (ESnet: 32 MiB).",
    ),
    (
        "kernel.numa_balancing",
        "0",
        "Page migration between sockets stalls ranks (AMD's and NVIDIA's tuning guides).",
    ),
    (
        "net.core.netdev_max_backlog",
        "250000",
        "Packets queued for a CPU: 100 Gbit/s is 8 million a second (ESnet's host tuning: 250000).",
    ),
    (
        "net.core.somaxconn",
        "4096",
        "Pending connections: all ranks connect to one at the start (the default since Linux 5.4; RHEL 8 has 128).",
    ),
    (
        "vm.swappiness",
        "10",
        "A swapped-out rank delays all others, if swap is on (tuned's throughput-performance: 10).",
    ),
    (
        "vm.max_map_count",
        "1048576",
        "A data set or checkpoint of many files has a mapping for each (the default of Ubuntu 24.04 and Fedora).",
    ),
)
_LARGE_CLUSTER: tuple[Setting, ...] = (
    (
        "net.ipv4.neigh.default.gc_thresh1",
        "8192",
        "More hosts than the neighbor table holds by default (1024).",
    ),
    (
        "net.ipv4.neigh.default.gc_thresh2",
        "16384",
        "More hosts than the neighbor table holds by default (1024).",
    ),
    (
        "net.ipv4.neigh.default.gc_thresh3",
        "32768",
        "More hosts than the neighbor table holds by default (1024).",
    ),
)
_RAILS: tuple[Setting, ...] = (
    ("net.ipv4.conf.all.arp_ignore", "1", "Each rail answers ARP for its own address only."),
    ("net.ipv4.conf.all.arp_announce", "2", "Each rail uses its own address only in ARP requests."),
)
_JUMBO: tuple[Setting, ...] = (
    (
        "net.ipv4.tcp_mtu_probing",
        "1",
        "Detects paths that drop jumbo frames, on which connections would hang (ESnet's host tuning).",
    ),
)
