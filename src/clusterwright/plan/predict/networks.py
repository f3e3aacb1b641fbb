"""`Machine` of a row: GPU, nodes and network, from its interconnect text or the GPU's reference system."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.clouds import network_of
from clusterwright.plan.machines import NODE_GPUS, REFERENCE_PORTS, Wiring, machine, usual_node

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.run import Machine

_KINDS = (
    (r"omni-?path|\bopa\b", "omnipath"),
    (r"tcpx", "tcpx"),
    (r"\befa\b", "efa"),
    (r"roce|ethernet|gbe\b|tcp", "roce"),
    (r"infiniband|\bib\b|\b(?:hdr|ndr|edr|xdr)|connectx", "infiniband"),
)
_PLAIN_ETHERNET = r"(?:\d+ ?gbe\b|ethernet|tcp)(?!.*roce)"
# Gbit/s of one port, four lanes (InfiniBand Trade Association: EDR 25, HDR 50, NDR 100, XDR 200 per lane).
_GENERATIONS = {"edr": 100, "hdr": 200, "ndr": 400, "xdr": 800, "fdr": 56}
_RATE = r"(\d+(?:\.\d+)?)\s*(gb/s|gbps|gbit/s|gbits?|gb/sec|gbe|gb(?=\s+[a-z])|g\b)"
_GBIT = 1e9
_BYTE = 8  # bits; `GB/s` with a capital B is of bytes


def of_row(cells: Cells, gpu: Gpu, gpus: int) -> Machine:
    """Return the machine of a row: nodes of `gpus_per_node` GPUs with the network that its interconnect text names.

    Default: the usual node of the GPU, with a note if there are several, and the reference system's network.
    """
    per_node = cells.integer("gpus_per_node")
    if per_node is None and gpus > usual_node(gpu):
        cells.note(
            _("no GPUs per node given: assumed {count}, usual for {gpu}", count=usual_node(gpu), gpu=gpu.name)
        )
    return machine(gpu, gpus, _wiring(cells, gpu, gpus, per_node or usual_node(gpu)))


def _wiring(cells: Cells, gpu: Gpu, gpus: int, per_node: int) -> Wiring:
    text = cells.text("interconnect")
    interconnect = re.sub(_RATE, _in_bits, text, flags=re.IGNORECASE).lower()
    kind = next((name for pattern, name in _KINDS if re.search(pattern, interconnect)), None)
    if kind == "roce" and re.search(_PLAIN_ETHERNET, interconnect):
        kind = "ethernet"
    ports, bits = _ports(interconnect, per_node)
    if bits is None and (rented := network_of(interconnect)):
        kind, ports, bits = rented[0], float(rented[1]), rented[2] * _GBIT
    if kind == "ethernet" and ports is None:
        ports = 1  # of a node; RDMA networks have a port for every GPU or two
    if gpus > per_node and bits is None and "dgx" not in interconnect:
        cells.note(_("no network given: assumed the vendor's reference system of this GPU"))
    return Wiring(
        gpus_per_node=cells.integer("gpus_per_node"),
        network=kind,
        nics=ports or _usual_ports(gpu, per_node),
        nic_bits_per_s=bits,
    )


def _usual_ports(gpu: Gpu, per_node: int) -> float | None:
    """Return ports per node in proportion to the reference system with 8 GPUs per node, at least 1.

    None if there is no such system for this GPU, or if one has nodes of exactly this size.
    """
    reference_ports = REFERENCE_PORTS.get((gpu.arch, NODE_GPUS))
    if reference_ports is None or (gpu.arch, per_node) in REFERENCE_PORTS:
        return None
    return max(1.0, reference_ports[0] * per_node / NODE_GPUS)


def _in_bits(match: re.Match[str]) -> str:
    """Convert `50 GB/s` to `400gb/s`; a rate in bits is unchanged."""
    return f"{float(match[1]) * _BYTE:g}gb/s" if match[2].startswith("GB/") else match[0]


def _ports(interconnect: str, per_node: int) -> tuple[float | None, float | None]:
    """Parse (ports per node, bits/s per port) of an interconnect text; None where it does not state them.

    A rate per node without a count of ports is divided over the GPUs' ports, or over ports of 100 Gbit/s.
    """
    gbits = _gbits(interconnect)
    if gbits is None:
        return None, None
    if re.search(r"per gpu|/gpu", interconnect):
        return per_node, gbits * _GBIT
    count = _port_count(interconnect)
    if count:
        return count, gbits * _GBIT
    if re.search(r"per node|/node|node-node", interconnect):  # the sum per node, over one port per GPU
        ports = per_node if gbits / per_node >= 100 else max(1, round(gbits / 100))
        return ports, gbits / ports * _GBIT
    return None, gbits * _GBIT


def _gbits(interconnect: str) -> float | None:
    rated = re.search(_RATE, interconnect)
    if rated:
        return float(rated[1])
    for name, gbits in _GENERATIONS.items():
        if name in interconnect and "-class" not in interconnect:
            return float(gbits)
    return None


def _port_count(interconnect: str) -> int | None:
    """Parse the number of ports in `8x HDR` or `x4 per node`; None if the lower-case text has none."""
    match = re.search(r"(?<![\w.])(\d+)\s*x(?=[\sa-z\d])|\bx\s?(\d+)\b", interconnect)
    return int(next(group for group in match.groups() if group)) if match else None


def node_of(cells: Cells, gpu: Gpu) -> int:
    """Return the number of GPUs per node: from the row, else the usual number for the GPU model."""
    return cells.integer("gpus_per_node") or usual_node(gpu)
