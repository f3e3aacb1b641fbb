"""The three networks: management always, compute and storage where the site has them."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.spec.field import Cost, Section, setting
from clusterwright.spec.quantities import Rate


def _subnet(value: Any) -> IPv4Network:
    try:
        network = IPv4Network(value)
    except ValueError as why:
        raise ValueError(f"`{value}` is not an IPv4 network: {why}; write it as 10.77.0.0/24") from why
    if not network.is_private:
        raise ValueError(f"`{value}` is a public network; cluster networks are private (RFC 1918)")
    return network


Subnet = Annotated[
    IPv4Network, BeforeValidator(_subnet), WithJsonSchema({"type": "string", "examples": ["10.77.0.0/24"]})
]

NetworkName = Literal["management", "compute", "storage"]


class Network(Section):
    """One network that hosts of the cluster share."""

    kind: Literal["ethernet", "roce", "infiniband"] = setting(
        "What carries it.", cost=Cost.REBUILD, default="ethernet", example="roce"
    )
    subnet: Subnet = setting("Its IPv4 addresses (for InfiniBand: of IPoIB).", cost=Cost.REBUILD, example="10.77.0.0/24")
    rate: Rate = setting("Rate of one port of a host.", cost=Cost.REBUILD, example="25Gbit/s")
    fabric: Literal["single-switch", "leaf-spine", "fat-tree", "rail-optimized", "ring", "star"] = setting(
        "How its switches are joined.", cost=Cost.REBUILD, default="single-switch", example="rail-optimized"
    )
    rails: Annotated[int, "ports"] = setting(
        "Ports per host on this network, each on a rail of its own.", cost=Cost.REBUILD, default=1, example="8"
    )
    mtu: int = setting("Largest packet in bytes, equal end to end.", cost=Cost.RESTART, default=1500, example="9000")


class Networks(Section):
    """The networks of the cluster by purpose."""

    management: Network = setting("SSH, Slurm and monitoring run here.", cost=Cost.REBUILD)
    compute: Network | None = setting("Gradients travel here; management if left out.", cost=Cost.REBUILD, default=None)
    storage: Network | None = setting("Shared folders travel here; management if left out.", cost=Cost.REBUILD, default=None)

    def named(self) -> dict[NetworkName, Network]:
        """The networks that exist, management first."""
        pairs: tuple[tuple[NetworkName, Network | None], ...] = (
            ("management", self.management), ("compute", self.compute), ("storage", self.storage),
        )  # fmt: skip
        return {name: network for name, network in pairs if network is not None}
