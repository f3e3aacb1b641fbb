"""Parse rows of published collective measurements into a `MeasurementSpec`, from columns and the text in them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.catalog.gpus import gpu
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.plan.clouds import network_of
from clusterwright.plan.collectives.algorithms import in_switch, times
from clusterwright.plan.collectives.coefficients import Coefficients
from clusterwright.plan.collectives.kinds import Collective, bus_factor
from clusterwright.plan.collectives.links import RankGroup, path
from clusterwright.plan.machines import GBIT_BYTES, RACK_GPUS, REFERENCE_PORTS, usual_node
from clusterwright.plan.run import Machine, Network

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.records import Gpu

LARGE_BYTES = 16 * 2**30  # the end of nccl-tests' usual sweep
UNKNOWN_GPU = "a100-sxm-80gb"
UNKNOWN_PORTS = (4, 200.0)  # 100 GB/s per node: geometric mean of EFA v1's 50 and DGX A100's 200
BRIDGE_BYTES_PER_S = 300e9  # A100 and H100 PCIe (data sheets)
SMALL_BRIDGE_BYTES_PER_S = 56.25e9  # A40, RTX A6000, RTX 3090 (data sheets)
STACKED_MEMORY_BYTES_PER_S = 1.2e12  # cards above it have HBM and the large NVLink bridge
KINDS = (
    (r"tcpxo|fastrak", "tcpxo"),
    (r"tcpx", "tcpx"),
    (r"omni-?path|\bopa\b", "omnipath"),
    (r"\befa\b", "efa"),
    (r"infiniband|\bib\b|\bhdr|\bndr|\bedr|\bxdr", "infiniband"),
    (r"roce|rdma|connectx", "roce"),
    (r"ethernet|gbe\b|\btcp\b|socket", "ethernet"),
)
PORT_GBITS = {
    r"xdr|connectx-8": 800.0,
    r"ndr|connectx-7": 400.0,
    r"hdr100|edr|connectx-5": 100.0,
    r"hdr|connectx-6": 200.0,
    r"fdr": 56.0,
}
NAMES = {"alltoall": Collective.ALL_TO_ALL, "sendrecv": Collective.SEND_RECV, "p2p": Collective.SEND_RECV}


@dataclass(frozen=True, slots=True)
class MeasurementSpec:
    """One row of measurements without its result: operation, size, group and algorithm."""

    kind: Collective
    size_bytes: float
    group: RankGroup
    algorithm: str  # ring, tree, sharp; "": NCCL's choice
    notes: tuple[str, ...]


def bus_bw(spec: MeasurementSpec, c: Coefficients) -> float:
    """Predict the bus bandwidth of a measurement in bytes/s: of ring or tree if it names one, else of the fastest.

    Also of the fastest if the operation lacks the named one; SHARP is among the candidates only if it is named.
    """
    times_by_algorithm = times(spec.kind, spec.size_bytes, spec.group, c)
    if spec.algorithm == "sharp":
        times_by_algorithm["sharp"] = in_switch(spec.size_bytes, path(spec.group, c), sharp=True)
    elif spec.algorithm in times_by_algorithm:
        times_by_algorithm = {spec.algorithm: times_by_algorithm[spec.algorithm]}
    time = min(float(value) for value in times_by_algorithm.values())
    return spec.size_bytes / time * float(bus_factor(spec.kind, spec.group.ranks))


def read(row: Mapping[str, str]) -> MeasurementSpec:
    """Parse a row into operation, size, group and algorithm; `notes` of the result name what was inferred.

    Blank or unknown cells raise no error: 16 GiB, all_reduce and the usual node are assumed. The algorithm is `ring`,
    `tree`, `sharp`, or empty if the row names none.
    """
    notes: list[str] = []
    chip = gpu_of(row, notes)
    fabric = row.get("fabric", "").lower()
    per_node, nodes, ranks = _counts(row, chip, fabric, notes)
    machine = Machine(chip, ranks, per_node, 1, _network(row, chip, per_node, nodes, notes))
    machine = _joined(machine, fabric, notes)
    local_ranks = min(ranks, max(machine.nvlink_domain, ranks // nodes))
    algorithm = _algorithm(row.get("algo", "").lower(), fabric, ranks > local_ranks)
    size = _number(row.get("size_bytes", ""))
    if size is None:
        notes.append(_("no size given: assumed 16 GiB"))
    return MeasurementSpec(
        _kind(row, notes),
        size or LARGE_BYTES,
        RankGroup(machine, ranks, local_ranks),
        algorithm,
        tuple(notes),
    )


def gpu_of(row: Mapping[str, str], notes: list[str]) -> Gpu:
    """Return the catalog GPU that a row names; for an unknown one `UNKNOWN_GPU`, with a note."""
    try:
        return gpu(row.get("gpu_type", ""))
    except WrightError:
        notes.append(_unknown_gpu(row))
        return gpu(UNKNOWN_GPU)


def _unknown_gpu(row: Mapping[str, str]) -> str:
    return _("unknown GPU `{gpu}`: assumed {assumed}", gpu=row.get("gpu_type", ""), assumed=UNKNOWN_GPU)


def _counts(row: Mapping[str, str], chip: Gpu, fabric: str, notes: list[str]) -> tuple[int, int, int]:
    """Return (GPUs per node, nodes, GPUs in total) of a row, inferred and noted where missing."""
    per_node, nodes, ranks = (_integer(row, name) for name in ("gpus_per_node", "num_nodes", "num_gpus"))
    if per_node is None:
        per_node = ranks // nodes if ranks and nodes else usual_node(chip)
        notes.append(_("no GPUs per node given: assumed {count}", count=per_node))
    if nodes is None:
        node_count = (
            2 * RACK_GPUS // per_node if "inter-rack" in fabric else 2 if _network_kind(fabric) else 1
        )
        nodes = max(1, round(ranks / per_node)) if ranks else node_count
        notes.append(_("no number of nodes given: assumed {count}", count=nodes))
    return per_node, nodes, ranks or nodes * per_node


def _network(row: Mapping[str, str], chip: Gpu, per_node: int, nodes: int, notes: list[str]) -> Network:
    fabric = row.get("fabric", "").lower()
    if nodes == 1:
        return Network(kind="none")
    kind = _network_kind(fabric)
    text_ports, text_gbits = _parse_ports(fabric, kind)
    ports = _number(row.get("nic_per_node", "")) or text_ports
    gbits = _number(row.get("nic_gbps", "")) or text_gbits
    if gbits is None and (rented := network_of(f"{row.get('gpu_type', '')} {fabric}".lower())):
        kind, ports, gbits = rented[0], float(ports or rented[1]), float(rented[2])
    gbits = gbits or next((rate for name, rate in PORT_GBITS.items() if re.search(name, fabric)), None)
    usual = UNKNOWN_PORTS if notes[:1] == [_unknown_gpu(row)] else _usual_ports(chip, per_node)
    if ports is None or gbits is None:
        ports, gbits = ports or usual[0], gbits or usual[1]
        text = _(
            "incomplete network: assumed {ports:g} x {gbits:g} Gbit/s per node", ports=ports, gbits=gbits
        )
        notes.append(text)
    return Network(kind or "infiniband", ports, gbits * GBIT_BYTES)


def _usual_ports(chip: Gpu, per_node: int) -> tuple[float, float]:
    """Return (ports per node, Gbit/s per port) of the vendor's reference system, scaled to `per_node` GPUs.

    Without a reference system: 4 ports of 200 Gbit/s, scaled too.
    """
    size = usual_node(chip)
    ports, gbits = REFERENCE_PORTS.get((chip.arch, size), UNKNOWN_PORTS)
    return max(1.0, ports * per_node / size), gbits


def _parse_ports(fabric: str, kind: str | None) -> tuple[float | None, float | None]:
    """Parse (ports, Gbit/s per port) of `8x400gb/s`, `4x connectx-7`, `25gbe`; None where the text has none.

    Ethernet with a rate but no count has one port.
    """
    match = re.search(r"(\d+)\s*x\s*(\d{2,4})(?!\d)", fabric)
    if match:
        return float(match[1]), float(match[2])
    count, rate = re.search(r"(\d+)\s*x\s", fabric), re.search(r"(\d+)\s*g(?:b|bit)", fabric)
    gbits = float(rate[1]) if rate else None
    return (float(count[1]) if count else 1.0 if gbits and kind == "ethernet" else None), gbits


def _network_kind(fabric: str) -> str | None:
    return next((kind for pattern, kind in KINDS if re.search(pattern, fabric)), None)


def _joined(machine: Machine, fabric: str, notes: list[str]) -> Machine:
    """Return the machine with the NVLink domain that the fabric text names: rack, board, pair of cards, or none.

    Bridged cards get the bridge's bandwidth; a machine without NVLink gets a note.
    """
    chip, per_node = machine.gpu, machine.gpus_per_node
    if chip.form == "superchip":
        rack = re.search(r"nvlink|nvl\d|rack", fabric) and "inter-rack" not in fabric
        return replace(machine, nvlink_domain=min(RACK_GPUS, machine.gpus) if rack else per_node)
    if "bridge" in fabric:
        small = chip.memory_bytes_per_s < STACKED_MEMORY_BYTES_PER_S
        rate = SMALL_BRIDGE_BYTES_PER_S if small else BRIDGE_BYTES_PER_S
        bridged = replace(chip, link_bytes_per_s=chip.link_bytes_per_s or rate)
        return replace(machine, gpu=bridged, nvlink_domain=2)
    if chip.link_bytes_per_s and not re.search(r"pcie only|no nvlink", fabric):
        return replace(machine, nvlink_domain=per_node)
    notes.append(_("no NVLink: PCIe within the node"))
    return replace(machine, nvlink_domain=1)


def _algorithm(algo: str, fabric: str, crosses_nodes: bool) -> str:  # noqa: FBT001 (read from a row, once)
    if crosses_nodes and re.search(r"sharp|collnet", fabric + algo):
        return "sharp"
    if "ring" in algo and ("nvls" not in algo or "off" in algo):
        return "ring"
    return "tree" if algo == "tree" else ""


def _kind(row: Mapping[str, str], notes: list[str]) -> Collective:
    name = row.get("collective", "").strip().lower().replace("-", "_").removesuffix("_perf")
    if name in Collective.__members__.values():
        return Collective(name)
    if name.replace("_", "") in NAMES:
        return NAMES[name.replace("_", "")]
    notes.append(_("unknown operation `{name}`: assumed all_reduce", name=name))
    return Collective.ALL_REDUCE


def _number(text: str) -> float | None:
    match = re.match(r"\s*(\d+(?:\.\d+)?(?:e\d+)?)", text or "")
    return float(match[1]) if match else None


def _integer(row: Mapping[str, str], name: str) -> int | None:
    value = _number(row.get(name, ""))
    return int(value) if value else None
