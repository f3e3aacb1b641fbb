"""The three networks of a cluster: compute for the GPUs, storage for data, management for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import WrightError
from clusterwright.plan.fabric.design import design
from clusterwright.plan.fabric.parts import FabricKind
from clusterwright.plan.fabric.switches import for_ports, switch_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clusterwright.plan.fabric.parts import Fabric, FabricSwitch

# Each node needs 40 GB/s of storage (DGX SuperPOD B200 reference architecture): two ports of 200 Gbit/s have 50.
STORAGE_PORTS, STORAGE_BITS_PER_S = 2, 200_000_000_000
STORAGE_SWITCHES = (
    "sn4600",
    "sn5600",
)  # the second, with ports split in four, if the first has too few ports
OUT_OF_BAND_SWITCH = "sn2201"  # 48 ports of 1 Gbit/s
OUT_OF_BAND_RATIOS = (5.0, 23.0)  # ports down over ports up of its leaves, if a star is too small
MANAGEMENT_PORTS = 2  # of a node: one of the system, one of its BMC


@dataclass(frozen=True, slots=True)
class Networks:
    """The compute, storage and management networks of the same nodes."""

    compute: Fabric
    storage: Fabric
    management: Fabric

    @property
    def switches(self) -> int:
        """Number of switches of the compute, storage and management networks."""
        return self.compute.switches + self.storage.switches + self.management.switches


def networks(
    compute: Fabric, storage_servers: int = 4, storage_switch: FabricSwitch | None = None
) -> Networks:
    """Design the storage and management networks that belong to a compute network.

    `storage_switch` None: the first usual model that is large enough. Storage: two ports of each node and storage
    server, without oversubscription, in as few levels as possible. Management: two ports of each node, and one of
    each switch of the other two networks; a star, or an oversubscribed fat tree where a star is too small.

    Raises:
        WrightError: no usual switch model, or not `storage_switch`, is large enough.
    """
    ends = compute.nodes + storage_servers
    storage = _first_feasible(
        (FabricKind.FAT_TREE, ends, STORAGE_PORTS, switch, 1.0)
        for switch in _storage_switches(storage_switch)
    )
    switches = compute.switches + storage.switches
    managed = ends + -(-switches // MANAGEMENT_PORTS)
    small = switch_of(OUT_OF_BAND_SWITCH, "ethernet")
    kinds = ((FabricKind.STAR, 1.0), *((FabricKind.FAT_TREE, ratio) for ratio in OUT_OF_BAND_RATIOS))
    management = _first_feasible((kind, managed, MANAGEMENT_PORTS, small, ratio) for kind, ratio in kinds)
    return Networks(compute, storage, management)


def _storage_switches(storage_switch: FabricSwitch | None) -> tuple[FabricSwitch, ...]:
    usual = (for_ports(switch_of(name, "roce"), STORAGE_BITS_PER_S) for name in STORAGE_SWITCHES)
    return (storage_switch,) if storage_switch else tuple(usual)


def _first_feasible(candidates: Iterable[tuple[FabricKind, int, int, FabricSwitch, float]]) -> Fabric:
    """Return the first design that is feasible with its switch; raise the last error if none is; needs a candidate."""
    refused: WrightError | None = None
    for candidate in candidates:
        try:
            return design(*candidate)
        except WrightError as error:
            refused = error
    assert refused is not None  # noqa: S101 (there is at least one candidate)
    raise refused
