"""The three networks: management always, compute and storage where the site has them."""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from clusterwright.config.field import Cost, Section, refuse, setting
from clusterwright.config.quantities import Rate
from clusterwright.i18n import _

_LONGEST_PREFIX = 30  # a /30 holds two hosts; anything longer holds no cluster


def _ipv4(value: Any) -> IPv4Network:
    fix = _("write it as 10.77.0.0/24")
    if not isinstance(value, str) or "/" not in value:
        raise refuse("bad-address", _("`{value}` is not an IPv4 network with its prefix", value=value), fix)
    try:
        return IPv4Network(value)
    except ValueError as error:
        raise refuse(
            "bad-address",
            _("`{value}` is not an IPv4 network: {error}", value=value, error=error),
            _suggest_network(value) or fix,
        ) from error


def _suggest_network(value: str) -> str | None:
    """The network that an address of it with its prefix belongs to."""
    try:
        return f"write it as {IPv4Network(value, strict=False)}"
    except ValueError:
        return None


def _subnet(value: Any) -> IPv4Network:
    network = _ipv4(value)
    if not network.is_private or network.is_loopback or network.is_link_local:
        raise refuse(
            "bad-address",
            _("`{value}` is not a private network", value=value),
            _("take one of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 (RFC 1918)"),
        )
    if network.prefixlen > _LONGEST_PREFIX:
        raise refuse(
            "bad-address",
            _("`{value}` has no room for two hosts", value=value),
            _("take a /30 or larger, e.g. a /24"),
        )
    return network


def _origin(value: Any) -> IPv4Network:
    network = _ipv4(value)
    if network.prefixlen == 0:
        raise refuse(
            "bad-address",
            _("`{value}` is every address there is", value=value),
            _("take ssh_from out: any may come in then"),
        )
    return network


_FORM = WithJsonSchema({"type": "string", "examples": ["10.77.0.0/24"], "form": "an IPv4 network"})
Subnet = Annotated[IPv4Network, BeforeValidator(_subnet), _FORM]
# Where somebody comes from: an office has public addresses, and one host is a /32.
Origin = Annotated[IPv4Network, BeforeValidator(_origin), _FORM]

NetworkName = Literal["management", "compute", "storage"]


class Network(Section):
    """One network that hosts of the cluster share."""

    kind: Literal["ethernet", "roce", "infiniband"] = setting(
        "What carries it.", cost=Cost.REBUILD, default="ethernet", example="roce"
    )
    subnet: Subnet = setting(
        "Its IPv4 addresses (for InfiniBand: of IPoIB).", cost=Cost.REBUILD, example="10.77.0.0/24"
    )
    rate: Rate = setting("Rate of one port of a host.", cost=Cost.REBUILD, example="25Gbit/s")
    fabric: Literal["single-switch", "leaf-spine", "fat-tree", "rail-optimized", "ring", "star"] = setting(
        "How its switches are joined.", cost=Cost.REBUILD, default="single-switch", example="rail-optimized"
    )
    rails: int = setting(
        "Ports per host on this network, each on a rail of its own.",
        cost=Cost.REBUILD, default=1, example="8", least=1, most=16,
    )  # fmt: skip
    mtu: int = setting(
        "Largest packet in bytes, equal end to end.",
        cost=Cost.RESTART, default=1500, example="9000", least=1280, most=65520,
    )  # fmt: skip


class Networks(Section):
    """The networks of the cluster by purpose."""

    management: Network = setting("SSH, Slurm and monitoring run here.", cost=Cost.REBUILD)
    compute: Network | None = setting(
        "Gradients travel here; management if left out.", cost=Cost.REBUILD, default=None
    )
    storage: Network | None = setting(
        "Shared folders travel here; management if left out.", cost=Cost.REBUILD, default=None
    )

    def named(self) -> dict[NetworkName, Network]:
        """The networks that exist, management first."""
        pairs: tuple[tuple[NetworkName, Network | None], ...] = (
            ("management", self.management), ("compute", self.compute), ("storage", self.storage),
        )  # fmt: skip
        return {name: network for name, network in pairs if network is not None}
