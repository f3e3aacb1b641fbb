"""lnet.conf: the networks of Lustre, selected by address, because interface names differ between hosts."""

from __future__ import annotations

from ipaddress import IPv4Network

from clusterwright.config.cluster import Cluster

ALL = 255


def lnet_network(cluster: Cluster) -> str:
    """Return LNet's name of the storage (else management) network: `o2ib` for RDMA, `tcp` for others."""
    storage = cluster.networks.storage or cluster.networks.management
    return "o2ib" if storage.kind in {"infiniband", "roce"} else "tcp"


def lnet_conf(cluster: Cluster) -> str:
    """Return lnet.conf with one network only: with two, servers might contact the host at an unreachable address."""
    network = cluster.networks.storage or cluster.networks.management
    return f"""# o2ib is RDMA (InfiniBand, RoCE), tcp anything else; the interface is the one with such an address.
ip2nets:
  - net-spec: {lnet_network(cluster)}
    ip-range:
      0: {address_pattern(network.subnet)}
"""


def address_pattern(subnet: IPv4Network) -> str:
    """Return a subnet as LNet's pattern: `10.77.2.*`, `10.77.[0-3].*`."""
    first_octets, last = (str(address).split(".") for address in (subnet[0], subnet[-1]))
    return ".".join(_octet(int(low), int(high)) for low, high in zip(first_octets, last, strict=True))


def _octet(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return "*" if (low, high) == (0, ALL) else f"[{low}-{high}]"
