"""The host's RDMA ports."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from clusterwright.check.fact import HostSpec, fact
from clusterwright.onhost.lib.safe_reader import parse_document
from clusterwright.units import GB

LAYER = {"infiniband": "InfiniBand", "roce": "Ethernet"}  # link layer in /sys by networks.compute.kind
_RATE = re.compile(r"([\d.]+) Gb/sec")


@dataclass(frozen=True, slots=True)
class Gid:
    """One GID of a port: `type` is `IB/RoCE v1` or `RoCE v2`; `ipv4` is empty if it is not IPv4-mapped."""

    index: int
    type: str
    ipv4: str


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """One RDMA port: `state` (ACTIVE) is the logical state, `physical` (LinkUp) that of the link."""

    device: str
    port: int
    state: str
    physical: str
    rate_bits_per_s: int
    link_layer: str
    firmware: str
    board: str
    interfaces: tuple[str, ...]
    gids: tuple[Gid, ...]

    @property
    def name(self) -> str:
        """The port as NCCL_IB_HCA names it: `mlx5_0:1`."""
        return f"{self.device}:{self.port}"

    @property
    def up(self) -> bool:
        """True if the port can carry data: state ACTIVE, physical state LinkUp."""
        return self.state == "ACTIVE" and self.physical == "LinkUp"


@dataclass(frozen=True, slots=True)
class Rdma:
    """All RDMA ports, and the number of uverbs device files."""

    ports: tuple[RdmaPort, ...]
    verbs: int


def has_rdma(spec: HostSpec) -> bool:
    """True for a host with an address in a compute network of InfiniBand or RoCE."""
    compute = spec.cluster.networks.compute
    return compute is not None and compute.kind in LAYER and "compute" in spec.host.addresses


@fact(probe="rdma")
def rdma_ports(out: str) -> Rdma:
    """Every port of every RDMA device, InfiniBand or RoCE; empty without an RDMA device."""
    document = parse_document(out)
    return Rdma(tuple(_port(row) for row in document["ports"]), int(document["verbs"]))


def _port(row: dict[str, object]) -> RdmaPort:
    texts = {key: value for key, value in row.items() if isinstance(value, str)}
    rate = _RATE.match(texts["rate"])
    gids, interfaces = row["gids"], row["interfaces"]
    if not isinstance(gids, list) or not isinstance(interfaces, list):
        raise TypeError(row)
    return RdmaPort(
        device=texts["device"],
        port=int(texts["port"]),
        state=_state_name(texts["state"]),
        physical=_state_name(texts["phys_state"]),
        rate_bits_per_s=round(float(rate[1]) * GB) if rate else 0,
        link_layer=texts["link_layer"],
        firmware=texts["firmware"],
        board=texts["board"],
        interfaces=tuple(interfaces),
        gids=tuple(Gid(int(gid_row["index"]), gid_row["type"], _ipv4(gid_row["gid"])) for gid_row in gids),
    )


def _state_name(state: str) -> str:
    """Return `ACTIVE` of `4: ACTIVE`."""
    return state.rpartition(": ")[2]


def _ipv4(gid: str) -> str:
    mapped = ipaddress.IPv6Address(gid).ipv4_mapped
    return str(mapped) if mapped else ""
