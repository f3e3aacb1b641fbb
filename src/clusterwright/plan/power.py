"""Power and heat of nodes, racks and the hall; circuits, cooling, and whether power supplies are sufficient."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import N_, _

if TYPE_CHECKING:
    from clusterwright.catalog.records import Gpu

# Watts of parts under load. CPU: Xeon 8480C and EPYC 7763 class, 225 to 350; a DIMM, an NVMe disk and the board:
# https://serverrental.store/index.php?title=Power_Supply_Considerations (5 to 8, 15, 100 to 150); a ConnectX-7 with
# its transceiver: 25 and 9. Fans: a fifth of what they cool. NVSwitch board: what the ratings of DGX A100 (6.5 kW),
# H100 (10.2) and B200 (14.3) leave after all other parts is 80 to 210 a GPU; ratings are maxima, so the least is used.
CPU_W, DIMM_W, DISK_W, BOARD_W, NIC_W = 350.0, 8.0, 15.0, 150.0, 34.0
NVSWITCH_W = 80.0  # of the board, per GPU
FAN_SHARE = 0.2  # of the power they cool; liquid cooling removes most of the heat
FAN_SHARE_LIQUID = 0.05
SUPPLY_EFFICIENCY = 0.94  # 80 PLUS Titanium at 20% to 100% of load: 91% to 96%
SUPPLY_LOAD = 0.9  # highest continuous load of a supply over its rating; GPUs spike above their limit

# Upper limit of air cooling: 30 kW per rack, of rear doors: 60, https://aiofthecoast.dcxps.com/p/warning-the-cooling-threshold-your
# and https://heathertechnologies.com/pages/cooling-60-kw-gpu-racks-the-new-power-density-reality
AIR_KW, REAR_DOOR_KW = 30.0, 60.0
BTU_PER_WH = 3.412
AIR_RISE_K = 11.1  # 20 degrees Fahrenheit through the rack, the same pages
AIR_J_PER_M3_K = 1206.0  # density 1.2 kg/m3 x 1005 J/(kg K), at 20 C
PUE = 1.3  # typical of modern halls: 1.2 to 1.3
BREAKER_SHARE = 0.8  # of a breaker's rating for a continuous load: NEC 210.20(A)
HEIGHT_U = 42
RACK_GPUS, GRACE_W = (
    72,
    300.0,
)  # GB200 NVL72: 36 superchips of two GPUs and a Grace (NVIDIA, GB200 data sheet)


@dataclass(frozen=True, slots=True)
class Node:
    """The parts of one node that draw power, with counts and watts."""

    gpus: int
    gpu_w: float
    cpus: int = 2
    cpu_w: float = CPU_W
    dimms: int = 32
    disks: int = 8
    nics: int = 8
    nvswitch: bool = True
    liquid: bool = False
    rated_w: float = 0.0  # the vendor's rating at the wall; 0: unknown
    height_u: int = 8


@dataclass(frozen=True, slots=True)
class NodePower:
    """Power of one node in watts: by part, inside, and at the wall."""

    parts: tuple[tuple[str, float], ...]  # (name, watts) of each part
    inside_w: float
    wall_w: float  # including losses of the power supplies
    planned_w: float  # the vendor's rating (a maximum) if known, else `wall_w`


@dataclass(frozen=True, slots=True)
class Supply:
    """Whether the power supplies carry a node when the spare ones have failed."""

    sufficient: bool
    load: float  # load of the remaining supplies over their rating
    reason: str


@dataclass(frozen=True, slots=True)
class Circuit:
    """A three-phase circuit: line voltage and breaker rating."""

    volts: float = 400.0
    amperes: float = 32.0

    @property
    def watts(self) -> float:
        """Continuous load that the circuit may carry, in watts: 80% of the breaker's rating."""
        return math.sqrt(3) * self.volts * self.amperes * BREAKER_SHARE


@dataclass(frozen=True, slots=True)
class PowerLimits:
    """Limits of the hall: watts per rack, circuit, PUE and independent feeds."""

    rack_w: float = 40e3
    circuit: Circuit = Circuit()
    pue: float = PUE
    feeds: int = 2  # independent: each rack is connected to all, and one alone carries it


@dataclass(frozen=True, slots=True)
class Hall:
    """Racks, power, cooling and heat of a whole cluster."""

    nodes_per_rack: int
    racks: int
    rack_w: float  # of a full rack
    cooling: str
    circuits_per_rack: int
    nodes_w: float
    network_w: float
    machine_w: float
    hall_w: float  # including cooling and losses
    btu_per_h: float
    air_m3_per_h: float  # through all racks, if cooled by air


LIMITS = PowerLimits()


def node_of(gpu: Gpu, gpus: int = 8, rated_w: float = 0.0, nics: int = 8) -> Node:
    """Return a typical node with this GPU: NVSwitch board for SXM and OAM, a whole rack for superchips, else cards.

    A rack ignores `gpus` and `nics`. `rated_w`: power to plan with, 0 for the sum of the parts.

    Raises:
        WrightError: power-size if the GPU's power is not known.
    """
    if not gpu.power_w:
        message = _("the power of {gpu} is not known", gpu=gpu.name)
        raise _refused(message, _("set `power_w` of the GPU in a catalog file of your own"))
    if gpu.form == "superchip":  # NVL72: 36 Grace of 300 W, memory on the module, one drive and port a GPU
        return Node(
            RACK_GPUS,
            gpu.power_w,
            RACK_GPUS // 2,
            GRACE_W,
            0,
            RACK_GPUS,
            RACK_GPUS,
            liquid=True,
            rated_w=rated_w,
            height_u=HEIGHT_U - 2,
        )
    board = gpu.form.upper().startswith(("SXM", "OAM"))
    height = 8 if board and gpus >= 8 else 4
    return Node(gpus, gpu.power_w, nics=nics, nvswitch=board, rated_w=rated_w, height_u=height)


def node_power(node: Node) -> NodePower:
    """Return the power of a node in W: by part, inside, at the wall, and to plan with (rated, else at the wall).

    Raises:
        WrightError: power-size if the node has no GPU and no processor, or a count is negative.
    """
    negative = [name for name, value in asdict(node).items() if value < 0]
    if negative:
        message = _("negative values of a node: {fields}", fields=", ".join(negative))
        raise _refused(message, _("give values of at least 0"))
    if node.gpus + node.cpus == 0:
        raise _refused(_("the node has neither GPUs nor processors"), _("give at least one GPU or processor"))
    parts = [
        ("GPUs", node.gpus * node.gpu_w),
        (N_("NVSwitch board"), node.gpus * NVSWITCH_W if node.nvswitch else 0.0),
        ("CPUs", node.cpus * node.cpu_w),
        (N_("memory"), node.dimms * DIMM_W),
        ("NICs", node.nics * NIC_W),
        (N_("disks"), node.disks * DISK_W),
        (N_("board"), BOARD_W),
    ]
    cooled = sum(watts for _ignored, watts in parts)
    parts.append((N_("fans and pumps"), cooled * (FAN_SHARE_LIQUID if node.liquid else FAN_SHARE)))
    inside = sum(watts for _ignored, watts in parts)
    wall = inside / SUPPLY_EFFICIENCY
    return NodePower(tuple(parts), inside, wall, node.rated_w or wall)


def supply(node: Node, unit_w: float, units: int = 2, spare: int = 1) -> Supply:
    """Judge whether `units` power supplies of `unit_w` watts, `spare` of which may fail, carry the node.

    They are sufficient up to 90% of the load of those that remain. Otherwise the reason has a GPU power limit that
    helps.

    Raises:
        WrightError: power-size if no supply remains.
    """
    if unit_w <= 0 or units <= spare:
        message = _(
            "{units} supplies of {unit_w:g} W, {spare} of them spare, leave no capacity",
            units=units,
            unit_w=unit_w,
            spare=spare,
        )
        raise _refused(message, _("give more supplies than spare ones"))
    needed = node_power(node).inside_w
    load = needed / (unit_w * (units - spare))
    values = {"needed": needed, "load": load, "count": units - spare, "unit_w": unit_w}
    if load <= SUPPLY_LOAD:
        reason = _("{needed:,.0f} W is {load:.0%} of {count} x {unit_w:g} W, which is sufficient", **values)
        return Supply(sufficient=True, load=load, reason=reason)
    if load <= 1:
        reason = _(
            "{needed:,.0f} W is {load:.0%} of {count} x {unit_w:g} W, which is barely sufficient, as GPUs spike "
            "above their limit",
            **values,
        )
    else:
        reason = _(
            "{needed:,.0f} W is {load:.0%} of {count} x {unit_w:g} W, which is not sufficient", **values
        )
    limit = _gpu_limit(node, unit_w * (units - spare))
    fix = _("sufficient with GPUs limited to {limit:.0f} W", limit=limit) if limit > 0 else ""
    return Supply(sufficient=False, load=load, reason=f"{reason}; {fix}" if fix else reason)


def _gpu_limit(node: Node, supplied_w: float) -> float:
    """Return the power limit per GPU, in watts, at which the node needs 90% of `supplied_w`.

    Not above 0 if no limit helps.
    """
    inside = node_power(node).inside_w
    fans = FAN_SHARE_LIQUID if node.liquid else FAN_SHARE
    return node.gpu_w - (inside - supplied_w * SUPPLY_LOAD) / (1 + fans) / max(1, node.gpus)


def hall(node: Node, nodes: int, limits: PowerLimits = LIMITS, network_w: float = 0.0) -> Hall:
    """Plan racks, cooling, circuits and heat of `nodes` nodes and their network equipment (`network_w`).

    Raises:
        WrightError: power-size for no node, no watt per rack or a PUE below 1; power-rack if one node exceeds a
            rack.
    """
    if nodes <= 0 or limits.rack_w <= 0 or limits.pue < 1:
        message = _(
            "no hall has {nodes} nodes, {rack_w:g} W per rack and a PUE of {pue:g}",
            nodes=nodes,
            rack_w=limits.rack_w,
            pue=limits.pue,
        )
        raise _refused(message, _("give at least 1 node, more than 0 W per rack and a PUE of at least 1"))
    node_w = node_power(node).planned_w
    per_rack = min(
        int(limits.rack_w // node_w), (HEIGHT_U - 2) // node.height_u, nodes
    )  # 2 U: a switch, its cables
    if per_rack < 1:
        message = _(
            "a node draws {node_w:.1f} kW, more than the limit of {rack_w:g} kW per rack",
            node_w=node_w / 1000.0,
            rack_w=limits.rack_w / 1000.0,
        )
        fix = _("allow {limit} kW per rack, or use nodes with fewer GPUs", limit=math.ceil(node_w / 1000.0))
        raise WrightError.from_code("power-rack", message, fix, exit_code=EXIT_USAGE)
    rack_w = per_rack * node_w
    machine_w = nodes * node_w + network_w
    return Hall(
        nodes_per_rack=per_rack,
        racks=math.ceil(nodes / per_rack),
        rack_w=rack_w,
        cooling="liquid" if node.liquid else cooling(rack_w),
        circuits_per_rack=math.ceil(rack_w / limits.circuit.watts) * limits.feeds,
        nodes_w=nodes * node_w,
        network_w=network_w,
        machine_w=machine_w,
        hall_w=machine_w * limits.pue,
        btu_per_h=machine_w * BTU_PER_WH,
        air_m3_per_h=machine_w / (AIR_J_PER_M3_K * AIR_RISE_K) * 3600,
    )


def cooling(rack_w: float) -> str:
    """Return the cooling that a rack of this power needs: air up to 30 kW, rear door up to 60 kW, or liquid."""
    if rack_w <= AIR_KW * 1e3:
        return N_("air")
    return N_("rear door") if rack_w <= REAR_DOOR_KW * 1e3 else N_("liquid")


def _refused(message: str, fix: str) -> WrightError:
    return WrightError.from_code("power-size", message, fix, exit_code=EXIT_USAGE)
