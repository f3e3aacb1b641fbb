"""The three networks of a cluster: compute for the GPUs, storage for data, management for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.parts import Kind, Switch

if TYPE_CHECKING:
    from clusterwright.plan.fabric.parts import Fabric

# Each node wants 40 GB/s of storage (DGX SuperPOD B200 reference architecture): two ports of 200 Gbit/s bring 50.
STORAGE_PORTS, STORAGE_SWITCH = 2, Switch(64, 200_000_000_000, "SN4600", "roce", 600.0)
# 48 ports of 1 Gbit/s; 98 W typical: https://docs.nvidia.com/networking/display/sn2201 specifications
OUT_OF_BAND_SWITCH = Switch(48, 1_000_000_000, "SN2201", "ethernet", 98.0)
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


def networks(compute: Fabric, storage_servers: int = 4, storage_switch: Switch = STORAGE_SWITCH) -> Networks:
    """Storage and management networks beside a compute network.

    Storage: nodes and storage servers alike, two ports each, at 1 to 1, in as few levels as it takes.
    Management: two ports of a node, and one of each switch of the other two networks; a star, because
    little passes over it.
    """
    storage = design(Kind.FAT_TREE, compute.nodes + storage_servers, STORAGE_PORTS, storage_switch)
    switches = compute.switches + storage.switches
    managed = compute.nodes + storage_servers + -(-switches // MANAGEMENT_PORTS)
    kind = Kind.STAR if managed * MANAGEMENT_PORTS < OUT_OF_BAND_SWITCH.ports**2 // 2 else Kind.FAT_TREE
    ratio = 1.0 if kind is Kind.STAR else 5.0  # 40 ports down, 8 up
    return Networks(compute, storage, design(kind, managed, MANAGEMENT_PORTS, OUT_OF_BAND_SWITCH, ratio))
