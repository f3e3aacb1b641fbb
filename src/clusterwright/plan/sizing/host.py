"""What goes into a node beside its GPUs: cores, memory, drives, NICs; each with a reason and a source."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import _
from clusterwright.plan.parameters import count
from clusterwright.plan.power import BTU_PER_WH, cooling, node_of, node_power, supply

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.workload import Workload

GB, TB = 1e9, 1e12
SUPPLY_W = {"board": 3300.0, "card": 2200.0}  # DGX H100 has six of 3.3 kW; the guides' card server 2200 W
GIB = 2.0**30
# DGX A100: 128 cores, 8 GPUs; DGX H100: 112. A PCIe server: EPYC 7543 for 4 A100, 48 cores for 4 A40 (the guides).
CORES = {"board": (16, "DGX A100 has 16 a GPU, DGX H100 14"), "card": (8, "EPYC 7543 for 4 cards, 32 cores")}
BOARD_FORMS = ("sxm", "oam", "superchip")
LEAST_MEMORY = 128 * GIB  # the guides' least
MEMORY_SIZES_GIB = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)  # 8 to 32 modules of one size
DRIVE = 3.84 * TB  # the common NVMe size; the guides' node has four of 4 TB
SAVE_TOTAL_LIMIT = 2  # the newest and the one before, so that a torn one loses nothing
STATE_BYTES = 14  # of a parameter: fp32 weights and two Adam moments, and the bf16 weights
TOKEN_BYTES = 4
IMAGE_BYTES = 100 * GB  # containers and environments; docs/concepts/sizing.md


@dataclass(frozen=True, slots=True)
class Part:
    """One thing in a node."""

    what: str  # cores, memory, scratch ...
    amount: float
    unit: str
    shown: str
    reason: str


def host(machine: Machine, workload: Workload | None = None) -> tuple[Part, ...]:
    """What a node of this machine wants beside its GPUs; the workload adds its data and checkpoints."""
    parts = [_cores(machine), _memory(machine), _system_drives(), _scratch(machine, workload)]
    return (*parts, *_nics(machine), *_power(machine))


def _cores(machine: Machine) -> Part:
    board = machine.gpu.form.lower().startswith(BOARD_FORMS)
    cores_per_gpu, source = CORES["board" if board else "card"]
    cores = cores_per_gpu * machine.gpus_per_node
    reason = _(
        "{cores_per_gpu} a GPU for the data loaders, NCCL's proxies and the system; {source}",
        cores_per_gpu=cores_per_gpu,
        source=source,
    )
    return Part(
        "CPU cores", cores, "cores", f"{cores:.0f} in two sockets" if board else f"{cores:.0f}", reason
    )


def _memory(machine: Machine) -> Part:
    target = max(LEAST_MEMORY, 2 * machine.gpus_per_node * machine.gpu.memory_bytes)
    fitting = (size * GIB for size in MEMORY_SIZES_GIB if size * GIB >= target * 0.93)
    size = next(fitting, target)  # 0.93: 80 GB of HBM are 80 GiB on the label of a module
    uses = "pinned buffers, the page cache and optimiser states that move out"
    reason = _("twice the GPUs' memory, for {uses}; at least 128", uses=uses)
    return Part("memory", size, "bytes", f"{size / GIB:.0f} GiB, ECC", reason)


def _system_drives() -> Part:
    reason = _("a host that loses its system drive loses its job; a mirror costs one drive")
    return Part("system drives", 2, "drives", "2 x 0.96 TB NVMe, RAID 1", reason)


def _scratch(machine: Machine, workload: Workload | None) -> Part:
    needed = IMAGE_BYTES + (_staged(machine, workload) if workload else 0.0)
    drives = max(2, math.ceil(needed / DRIVE))
    reason = _(
        "{needed:.2g} TB: an epoch's data, the node's part of {save_total_limit} "
        "checkpoints, images; RAID 0, since all of it can be made again",
        needed=needed / TB,
        save_total_limit=SAVE_TOTAL_LIMIT,
    )
    return Part("scratch", drives * DRIVE, "bytes", f"{drives} x {DRIVE / TB:.2f} TB NVMe, RAID 0", reason)


def _staged(machine: Machine, workload: Workload) -> float:
    """Bytes of a node's scratch: all tokens of an epoch, and its part of the checkpoints."""
    nodes = math.ceil(machine.gpus / machine.gpus_per_node)
    data = workload.samples * workload.training.seq_len * TOKEN_BYTES
    checkpoints = SAVE_TOTAL_LIMIT * STATE_BYTES * count(workload.training.architecture).total / nodes
    return data + checkpoints


def _nics(machine: Machine) -> list[Part]:
    network = machine.network
    if network.kind == "none":
        return [
            Part(
                "NIC", 1, "ports", "1 x 25 GbE", "management and storage; one server needs no compute network"
            )
        ]
    rate = network.nic_bytes_per_s * 8 / 1e9
    reason = (
        _("a port for each GPU, so that no two share one")
        if network.nics >= machine.gpus_per_node
        else _("as said, or as in the maker's system")
    )
    text = f"{network.nics:g} x {rate:g} Gbit/s {network.kind}, and 2 x 25 GbE for storage and management"
    return [Part("NICs", network.nics, "ports", text, reason)]


def _power(machine: Machine) -> list[Part]:
    """Supplies of which one may fail, and what takes the heat away; nothing where the GPU's power is not known."""
    if not machine.gpu.power_w:
        return []
    node = node_of(machine.gpu, machine.gpus_per_node, nics=int(machine.network.nics) or 1)
    watts, unit = node_power(node), SUPPLY_W["board" if node.nvswitch or node.liquid else "card"]
    units = next(n for n in range(2, 200) if supply(node, unit, n).holds)
    owner = "a rack of superchips" if node.liquid else "a node"
    reason = supply(node, unit, units).reason
    how = "liquid" if node.liquid else cooling(watts.wall_w)
    heat = f"{watts.wall_w * BTU_PER_WH:,.0f} BTU/h of {owner}, {watts.wall_w / 1e3:.1f} kW at the wall; by {how}"
    return [
        Part("power supplies", units, "units", f"{units} x {unit:,.0f} W, N+1", f"{reason}; on two feeds"),
        Part(
            "cooling",
            watts.wall_w,
            "W",
            heat,
            "all power becomes heat; racks are held against air, doors and liquid",
        ),
    ]
