"""The guides' reference nodes, as machines."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterwright.catalog import gpu
from clusterwright.plan.machines import Wiring, machine

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine

A100 = "a100-sxm-80gb"
GBIT = 10**9


def a100_hdr100(nodes: int) -> Machine:
    """Nodes of 8 x A100-80G with one HDR100 port each (mission row P2)."""
    return machine(gpu(A100), 8 * nodes, Wiring(8, 8, "infiniband", 1, 100 * GBIT))


def a100_hdr(nodes: int, ports: int = 8, oversubscription: float = 1.0) -> Machine:
    """Nodes of 8 x A100-80G with a port of HDR for each GPU, as in DGX A100."""
    said = Wiring(8, 8, "infiniband", ports, 200 * GBIT, oversubscription)
    return machine(gpu(A100), 8 * nodes, said)


def a100_25gbe(nodes: int) -> Machine:
    """Nodes of 4 x A100-40G with two ports of 25 GbE (mission row P2)."""
    return machine(gpu("a100-pcie-40gb"), 4 * nodes, Wiring(4, 4, "ethernet", 2, 25 * GBIT))


def h100_ndr(nodes: int) -> Machine:
    """Nodes of 8 x H100 with eight ports of NDR, as in DGX H100."""
    return machine(gpu("h100-sxm-80gb"), 8 * nodes, Wiring(8, 8, "infiniband", 8, 400 * GBIT))


def over(one: Machine, kind: str, nics: float, bits_per_s: float) -> Machine:
    """The same nodes on another network."""
    network = replace(one.network, kind=kind, nics=nics, nic_bytes_per_s=bits_per_s / 8)
    return replace(one, network=network)
