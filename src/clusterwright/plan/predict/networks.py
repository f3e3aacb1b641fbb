"""The machines of a row: its GPU, nodes and network, from the words of its interconnect or the GPU's generation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clusterwright.plan.machines import Wiring, machine, usual_node

if TYPE_CHECKING:
    from clusterwright.catalog.gpu import Gpu
    from clusterwright.plan.predict.cells import Cells
    from clusterwright.plan.run import Machine

_KINDS = (
    (r"omni-?path|\bopa\b", "omnipath"),
    (r"roce|efa|ethernet|gbe\b|tcp", "roce"),
    (r"infiniband|\bib\b|\b(?:hdr|ndr|edr|xdr)|connectx", "infiniband"),
)
_PLAIN_ETHERNET = r"(?:\d+ ?gbe\b|ethernet|tcp)(?!.*roce)"
# Gbit/s of one port, four lanes (InfiniBand Trade Association: EDR 25, HDR 50, NDR 100, XDR 200 per lane).
_GENERATIONS = {"edr": 100, "hdr": 200, "ndr": 400, "xdr": 800, "fdr": 56}
_RATE = r"(\d+(?:\.\d+)?)\s*(?:gb/s|gbps|gbit/s|gbits|gb/sec|gbe|g\b)"
_GBIT = 1e9


def of_row(cells: Cells, gpu: Gpu, gpus: int) -> Machine:
    """Nodes of `gpus_per_node` GPUs with the network that the words name."""
    per_node = cells.whole("gpus_per_node")
    if per_node is None and gpus > usual_node(gpu):
        cells.note(f"GPUs per node not given: {usual_node(gpu)}, as usual of {gpu.name}")
    return machine(gpu, gpus, _wiring(cells, gpus, per_node or usual_node(gpu), given=per_node))


def _wiring(cells: Cells, gpus: int, per_node: int, given: int | None) -> Wiring:
    words = cells.text("interconnect").lower()
    kind = next((name for pattern, name in _KINDS if re.search(pattern, words)), None)
    if kind == "roce" and re.search(_PLAIN_ETHERNET, words):
        kind = "ethernet"
    ports, bits = _ports(words, per_node)
    if kind == "ethernet" and ports is None:
        ports = 1  # of a node of its own; RDMA networks have a port for every GPU or two
    if gpus > per_node and bits is None and "dgx" not in words:
        cells.note("network not given: as in the maker's reference system of this GPU")
    return Wiring(gpus_per_node=given, network=kind, nics=ports, nic_bits_per_s=bits)


def _ports(words: str, per_node: int) -> tuple[float | None, float | None]:
    """Ports of a node and bits/s of one; None where the words do not say."""
    gbits = _gbits(words)
    if gbits is None:
        return None, None
    if re.search(r"per gpu|/gpu", words):
        return per_node, gbits * _GBIT
    many = _many(words)
    if many:
        return many, gbits * _GBIT
    if re.search(r"per node|/node|node-node", words):  # the sum of a node, over one port a GPU
        ports = per_node if gbits / per_node >= 100 else max(1, round(gbits / 100))
        return ports, gbits / ports * _GBIT
    return None, gbits * _GBIT


def _gbits(words: str) -> float | None:
    rated = re.search(_RATE, words)
    if rated:
        return float(rated[1])
    for name, gbits in _GENERATIONS.items():
        if name in words and "-class" not in words:
            return float(gbits)
    return None


def _many(words: str) -> int | None:
    """The number in `8x HDR`, `x4 per node`."""
    found = re.search(r"(?<![\w.])(\d+)\s*x\s|\bx\s?(\d+)\b|(?<![\w.])(\d+)x(?=[a-z ])", words)
    return int(next(group for group in found.groups() if group)) if found else None


def node_of(cells: Cells, gpu: Gpu) -> int:
    """GPUs of one node, as given or as usual."""
    return cells.whole("gpus_per_node") or usual_node(gpu)
