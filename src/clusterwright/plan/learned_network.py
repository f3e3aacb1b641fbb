"""The network between the hosts of a cluster learned from Slurm, which does not report one: given by the user; pure."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.config.cluster import Cluster
    from clusterwright.config.networks import Network


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """What a user reports of the network that gradients use: protocol, ports of each host, rate of a port in bit/s."""

    kind: str | None = None  # infiniband, roce, ethernet
    ports: int | None = None
    rate_bits_per_s: int | None = None


def with_network(cluster: Cluster, facts: NetworkFacts) -> Cluster:
    """Return the cluster with these facts in place of its compute network's, else its management network's.

    A learned cluster gets a compute network, but only if the facts have a rate; else it is returned unchanged.
    """
    declared = cluster.networks.compute or cluster.networks.management
    values = {"kind": facts.kind, "rails": facts.ports, "rate": facts.rate_bits_per_s}
    updates = {name: value for name, value in values.items() if value is not None}
    if not updates or (cluster.unmanaged and facts.rate_bits_per_s is None):
        return cluster
    name = "compute" if cluster.networks.compute or cluster.unmanaged else "management"
    networks = cluster.networks.model_copy(update={name: declared.model_copy(update=updates)})
    changed = cluster.model_copy(update={"networks": networks})
    return changed.as_unmanaged(cluster.unmanaged) if cluster.unmanaged else changed


def has_network_rate(cluster: Cluster) -> bool:
    """Return False for a learned cluster without the user's facts: its rate is a placeholder."""
    return cluster.unmanaged is None or cluster.networks.compute is not None


def with_gpu(cluster: Cluster, model: str) -> Cluster:
    """Return the cluster, learned or not, with all GPUs of this model of the catalog; groups without GPUs stay so."""
    nodes = {
        name: group.model_copy(update={"gpus": group.gpus.model_copy(update={"model": model})})
        if group.gpus
        else group
        for name, group in cluster.nodes.items()
    }
    changed = cluster.model_copy(update={"nodes": nodes})
    return changed.as_unmanaged(cluster.unmanaged) if cluster.unmanaged else changed


def require_network(cluster: Cluster, command: str) -> None:
    """Raise an error unless the rate of the network is known; `command` is the name of the command that needs it.

    Raises:
        WrightError: `network-unknown`.
    """
    if not has_network_rate(cluster):
        raise WrightError.from_code(
            "network-unknown",
            _(
                "Slurm does not report the network between the nodes, which `wright {command}` needs",
                command=command,
            ),
            _(
                "pass number and rate of the network ports of a node, such as --network infiniband "
                "--nics 8 --nic-rate 400Gbit/s"
            ),
            exit_code=EXIT_USAGE,
        )


def address_in(addresses: Iterable[str], network: Network) -> str:
    """Return the first of a host's addresses that is in the network; empty if none is."""
    return next((address for address in addresses if IPv4Address(address) in network.subnet), "")
