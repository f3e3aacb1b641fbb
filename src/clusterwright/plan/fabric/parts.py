"""Parts of a fabric: switches, levels and links, and the properties of the whole, such as bisection and hops."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterwright.plan.fabric.clos import Clos

HOP_S = {"infiniband": 0.13e-6, "roce": 0.5e-6, "ethernet": 0.5e-6}
# one switch, port to port: Quantum-2 and Spectrum-4, https://pingdo.net/tools/roce-vs-infiniband/
# ngc_multinode_perf and stas00/ml-engineering (network/benchmarks) both require this share of line rate of raw RDMA.
RDMA_SHARE = 0.9
ADAPTERS_S = 0.6e-6  # HDR, adapter to adapter (https://github.com/stas00/ml-engineering, network/README.md)


class FabricKind(StrEnum):
    """Topology of a fabric."""

    DIRECT = "direct"  # two nodes, port to port
    RING = "ring"  # each node to its two neighbors, no switch
    STAR = "star"  # one switch; if that is too small, switches around a central one
    LEAF_SPINE = "leaf-spine"  # two levels, every leaf to every spine
    FAT_TREE = "fat-tree"  # as many levels as needed; a node's ports on as few leaves as leave no port unused
    RAIL = "rail-optimized"  # port i of every node on the leaf of rail i
    RAIL_ONLY = "rail-only"  # a separate fabric for each port; traffic between rails uses NVLink only


@dataclass(frozen=True, slots=True)
class FabricSwitch:
    """A switch model: ports, rate, protocol, power and latency."""

    ports: int
    port_bits_per_s: int
    name: str = ""
    protocol: str = "infiniband"  # infiniband, roce, ethernet
    power_w: float = 0.0  # typical, without optics; 0: not known
    latency_s: float = 0.0  # port to port; 0: not known

    @property
    def title(self) -> str:
        """The model's name, or its shape if it has none: 64x400G."""
        return self.name or f"{self.ports}x{self.port_bits_per_s / 1e9:g}G"

    def split(self, planes: int) -> FabricSwitch:
        """Return the switch with every port split into `planes` slower ports."""
        ports, rate = self.ports * planes, self.port_bits_per_s // planes
        return FabricSwitch(ports, rate, self.title, self.protocol, self.power_w, self.latency_s)


@dataclass(frozen=True, slots=True)
class Level:
    """One level of switches, over all planes."""

    name: str  # leaf, spine, core
    count: int
    cables_down: int
    ports_used: int
    ports_free: int


@dataclass(frozen=True, slots=True)
class Link:
    """The cables between a node or switch and one of the level above."""

    lower: str  # node1, leaf3
    upper: str
    cables: int


@dataclass(frozen=True, slots=True)
class Fabric:
    """One network, as built by `design`. `clos` is None if no switch is needed."""

    kind: FabricKind
    nodes: int
    ports_per_node: int
    port_bits_per_s: int
    switch: FabricSwitch
    clos: Clos | None
    planes: int = 1
    manager_ports: int = 0  # of the fabric manager; of each one if rails are separate
    rails: int = 1  # separate fabrics, each like `clos`

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels of switches, leaves first; empty without switches."""
        return () if self.clos is None else tuple(self._levels(self.clos))

    def _levels(self, clos: Clos) -> Iterator[Level]:
        fabric_count = self.planes * self.rails
        below = self.nodes * self.ports_per_node // self.rails + self.manager_ports - clos.on_spines
        for name, count, up in clos.counts():
            used = (below + up) * fabric_count
            free = count * fabric_count * clos.radix - used
            yield Level(name, count * fabric_count, below * self.rails, used, free)
            below = up + (clos.on_spines if name == "leaf" else 0)

    @property
    def switches(self) -> int:
        """Number of switches over all levels and planes."""
        return sum(level.count for level in self.levels)

    @property
    def node_cables(self) -> int:
        """Number of cables that end at a node or a fabric manager; without switches, of cables between nodes."""
        if self.clos:
            return self.levels[0].cables_down
        return (
            self.ports_per_node if self.kind is FabricKind.DIRECT else self.nodes * (self.ports_per_node // 2)
        )

    @property
    def cables(self) -> int:
        """Number of all cables. With planes, a cable has the whole rate of a port and is split at its ends."""
        return sum(level.cables_down for level in self.levels) or self.node_cables

    @property
    def tiers(self) -> int:
        """Number of levels of switches."""
        return len(self.levels)

    @property
    def hops(self) -> int:
        """Number of switches (in a ring: nodes) between the two nodes farthest apart; 0 without switches."""
        if self.kind is FabricKind.RING:
            return self.nodes // 2 - 1
        return 2 * self.tiers - 1 if self.tiers else 0

    @property
    def bisection_bits_per_s(self) -> float:
        """Bits/s in one direction between two halves of the nodes, for the division that has the least."""
        rate = self.port_bits_per_s
        if self.kind is FabricKind.DIRECT:
            return self.ports_per_node * rate
        if self.clos is None:
            return 2.0 * (self.ports_per_node // 2) * rate
        above = (self.rails * cables for cables in self.clos.cables_up())
        return min((self.nodes * self.ports_per_node, *above)) / 2 * rate

    @property
    def oversubscription(self) -> float:
        """Bandwidth of half of the nodes over the bisection bandwidth; at least 1."""
        return max(
            1.0, self.nodes * self.ports_per_node / 2 * self.port_bits_per_s / self.bisection_bits_per_s
        )

    @property
    def latency_s(self) -> float:
        """Latency in seconds of the switches between the two nodes farthest apart; typical if not known."""
        hop_s = self.switch.latency_s or HOP_S.get(self.switch.protocol, HOP_S["ethernet"])
        return max(0, self.hops) * hop_s

    @property
    def switch_power_w(self) -> float:
        """Power of all switches in watts, without optics; 0 if that of the model is not known."""
        return self.switches * self.switch.power_w
