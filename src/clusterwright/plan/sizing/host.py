"""Parts of a node besides its GPUs: cores, memory, drives, NICs, power supplies, each with a reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import N_, _
from clusterwright.plan.parameters import count
from clusterwright.plan.power import BTU_PER_WH, cooling, node_of, node_power, supply

if TYPE_CHECKING:
    from clusterwright.plan.run import Machine
    from clusterwright.plan.sizing.workload import Workload

GB, TB = 1e9, 1e12
SUPPLY_W = {"board": 3300.0, "card": 2200.0}  # DGX H100 has six of 3.3 kW; the guides' card server 2200 W
GIB = 2.0**30
# DGX A100: 128 cores, 8 GPUs; DGX H100: 112. A PCIe server: EPYC 7543 for 4 A100, 48 cores for 4 A40 (the guides).
CORES = {
    "board": (16, N_("DGX A100 has 16 per GPU, DGX H100 14")),
    "card": (8, N_("EPYC 7543 for 4 cards, 32 cores")),
}
BOARD_FORMS = ("sxm", "oam", "superchip")
LEAST_MEMORY = 128 * GIB  # the guides' least
MEMORY_SIZES_GIB = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)  # 8 to 32 modules of one size
DRIVE = 3.84 * TB  # the common NVMe size; the guides' node has four of 4 TB
SAVE_TOTAL_LIMIT = 2  # the newest and the previous one, in case a write is interrupted
STATE_BYTES = 14  # per parameter: fp32 weights and two Adam moments, and the bf16 weights
TOKEN_BYTES = 4
IMAGE_BYTES = 100 * GB  # containers and environments; docs/concepts/sizing.md


@dataclass(frozen=True, slots=True)
class HostPart:
    """One part of a node."""

    label: str  # CPU cores, memory, scratch ...
    amount: float
    unit: str
    text: str
    reason: str


def host(machine: Machine, workload: Workload | None = None) -> tuple[HostPart, ...]:
    """Return the parts of a node besides its GPUs; the workload determines scratch for data and checkpoints."""
    parts = [_cores(machine), _memory(machine), _system_drives(), _scratch(machine, workload)]
    return (*parts, *_nics(machine), *_power(machine))


def _cores(machine: Machine) -> HostPart:
    board = machine.gpu.form.lower().startswith(BOARD_FORMS)
    cores_per_gpu, source = CORES["board" if board else "card"]
    cores = cores_per_gpu * machine.gpus_per_node
    reason = _(
        "{count} per GPU for data loaders, NCCL's proxy threads and the system; {source}",
        count=cores_per_gpu,
        source=_(source),
    )
    text = _("{count:.0f} in two sockets", count=cores) if board else f"{cores:.0f}"
    return HostPart(_("CPU cores"), cores, "cores", text, reason)


def _memory(machine: Machine) -> HostPart:
    target = max(LEAST_MEMORY, 2 * machine.gpus_per_node * machine.gpu.memory_bytes)
    fitting = (size * GIB for size in MEMORY_SIZES_GIB if size * GIB >= target * 0.93)
    size = next(fitting, target)  # 0.93: 80 GB of HBM correspond to modules labeled 80 GiB
    reason = _(
        "twice the GPUs' memory, at least 128 GiB: pinned buffers, page cache, offloaded optimizer states"
    )
    return HostPart(_("memory"), size, "bytes", _("{size:.0f} GiB, ECC", size=size / GIB), reason)


def _system_drives() -> HostPart:
    reason = _("the loss of a system drive would end the job; a mirror costs one drive")
    return HostPart(_("system drives"), 2, "drives", "2 x 0.96 TB NVMe, RAID 1", reason)


def _scratch(machine: Machine, workload: Workload | None) -> HostPart:
    needed = IMAGE_BYTES + (_staged(machine, workload) if workload else 0.0)
    drives = max(2, math.ceil(needed / DRIVE))
    reason = _(
        "{size:.2g} TB: data of an epoch, the node's part of {count} checkpoints, container images and "
        "environments; RAID 0, as all of it can be restored",
        size=needed / TB,
        count=SAVE_TOTAL_LIMIT,
    )
    return HostPart(
        _("scratch"), drives * DRIVE, "bytes", f"{drives} x {DRIVE / TB:.2f} TB NVMe, RAID 0", reason
    )


def _staged(machine: Machine, workload: Workload) -> float:
    """Return the bytes on a node's scratch: all tokens of an epoch, and its part of the checkpoints."""
    nodes = math.ceil(machine.gpus / machine.gpus_per_node)
    data = workload.samples * workload.training.seq_len * TOKEN_BYTES
    checkpoints = SAVE_TOTAL_LIMIT * STATE_BYTES * count(workload.training.architecture).total / nodes
    return data + checkpoints


def _nics(machine: Machine) -> list[HostPart]:
    network = machine.network
    if network.kind == "none":
        reason = _("management and storage; one server needs no compute network")
        return [HostPart(_("NICs"), 1, "ports", "1 x 25 GbE", reason)]
    rate = network.nic_bytes_per_s * 8 / 1e9
    reason = (
        _("one port per GPU, so that no GPUs share one")
        if network.nics >= machine.gpus_per_node
        else _("as requested, or as in the vendor's reference system")
    )
    text = _(
        "{count:g} x {rate:g} Gbit/s {kind}, and 2 x 25 GbE for storage and management",
        count=network.nics,
        rate=rate,
        kind=network.kind,
    )
    return [HostPart(_("NICs"), network.nics, "ports", text, reason)]


def _power(machine: Machine) -> list[HostPart]:
    """Return power supplies with one spare, and cooling; an empty list if the GPU's power is not known."""
    if not machine.gpu.power_w:
        return []
    node = node_of(machine.gpu, machine.gpus_per_node, nics=int(machine.network.nics) or 1)
    watts, unit = node_power(node), SUPPLY_W["board" if node.nvswitch or node.liquid else "card"]
    units = next(n for n in range(2, 200) if supply(node, unit, n).sufficient)
    reason = _("{load}; on two feeds", load=supply(node, unit, units).reason)
    how = _("liquid" if node.liquid else cooling(watts.wall_w))
    values = {"heat": watts.wall_w * BTU_PER_WH, "power": watts.wall_w / 1e3, "cooling": how}
    if node.liquid:
        heat = _(
            "{heat:,.0f} BTU/h per rack of superchips, {power:.1f} kW at the wall; cooling: {cooling}",
            **values,
        )
    else:
        heat = _("{heat:,.0f} BTU/h per node, {power:.1f} kW at the wall; cooling: {cooling}", **values)
    why = _("all power becomes heat; by the power of a rack: air, rear doors or liquid")
    return [
        HostPart(_("power supplies"), units, "units", f"{units} x {unit:,.0f} W, N+1", reason),
        HostPart(_("cooling"), watts.wall_w, "W", heat, why),
    ]
