"""The three networks of a cluster: compute for the GPUs, storage for data, management for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.parts import Kind
from clusterwright.plan.fabric.switches import switch_of

if TYPE_CHECKING:
    from clusterwright.plan.fabric.parts import Fabric, Switch

# Each node wants 40 GB/s of storage (DGX SuperPOD B200 reference architecture): two ports of 200 Gbit/s bring 50.
STORAGE_PORTS, STORAGE_SWITCH = 2, "sn4600"
OUT_OF_BAND_SWITCH = "sn2201"  # 48 ports of 1 Gbit/s
MANAGEMENT_PORTS = 2  # of a node: the system's own port, and that of its BMC


@dataclass(frozen=True, slots=True)
class Networks:
    """All three, for the same nodes."""

    compute: Fabric
    storage: Fabric
    management: Fabric

    @property
    def switches(self) -> int:
        """All of them."""
        return self.compute.switches + self.storage.switches + self.management.switches


def networks(compute: Fabric, storage_servers: int = 4, storage_switch: Switch | None = None) -> Networks:
    """Storage and management networks beside a compute network.

    Storage: nodes and storage servers alike, two ports each, at 1 to 1, in as few levels as it takes.
    Management: two ports of a node, and one of each switch of the other two networks; a star, because
    little passes over it.
    """
    data_switch = storage_switch or switch_of(STORAGE_SWITCH, "roce")
    storage = design(Kind.FAT_TREE, compute.nodes + storage_servers, STORAGE_PORTS, data_switch)
    switches = compute.switches + storage.switches
    small = switch_of(OUT_OF_BAND_SWITCH, "ethernet")
    managed = compute.nodes + storage_servers + -(-switches // MANAGEMENT_PORTS)
    kind = Kind.STAR if managed * MANAGEMENT_PORTS < small.ports**2 // 2 else Kind.FAT_TREE
    ratio = 1.0 if kind is Kind.STAR else 5.0  # 40 ports down, 8 up
    return Networks(compute, storage, design(kind, managed, MANAGEMENT_PORTS, small, ratio))
