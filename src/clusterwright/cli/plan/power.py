"""`wright plan power`."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.plan.power import Hall, Node, Supply


@dataclass(frozen=True, kw_only=True)
class Load:
    """What draws power."""

    gpu: Annotated[str, Parameter(help="A GPU of the catalog.")]
    nodes: Annotated[int, Parameter(help="Hosts; racks of superchips.")] = 1
    gpus_per_node: Annotated[int | None, Parameter(help="8 if left out; a rack of superchips has 72.")] = None
    cpus: Annotated[int | None, Parameter(help="Processors of a node; 2 if left out.")] = None
    cpu_w: Annotated[float | None, Parameter(help="Watts of one; 350 if left out.")] = None
    dimms: Annotated[int | None, Parameter(help="Memory modules of a node; 32 if left out.")] = None
    nics: Annotated[int | None, Parameter(help="Ports of a node; 8 if left out.")] = None
    disks: Annotated[int | None, Parameter(help="NVMe disks of a node; 8 if left out.")] = None
    network_w: Annotated[float, Parameter(help="Switches and optics: wright plan fabric says how much.")] = (
        0.0
    )
    catalog: Annotated[Path | None, Parameter(help="GPUs and servers of your own.")] = None


@dataclass(frozen=True, kw_only=True)
class Supplies:
    """Power supplies of a node."""

    psu: Annotated[str | None, Parameter(help="Rating of one, 2200W: says whether they hold.")] = None
    psus: Annotated[int, Parameter(help="How many there are.")] = 2
    spare: Annotated[int, Parameter(help="How many of them may fail.")] = 1


def power(
    *,
    load: Annotated[Load, Parameter(name="*")],
    supplies: Annotated[Supplies, Parameter(name="*")] = Supplies(),
    rack_limit: str = "40kW",
    pue: float | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Power and heat of nodes, racks and the hall, and whether power supplies hold.

    Exit code: 1 when the supplies that are left after a failure do not hold.

    Parameters
    ----------
    rack_limit
        What the hall gives one rack: 40kW.
    pue
        Power of the hall over that of its machines; 1.3 if left out.
    json
        Everything in watts, as one JSON document.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.plan.power import LIMITS, hall, node_power, supply

    node = _node(load)
    limits = replace(LIMITS, rack_w=watts(rack_limit), pue=LIMITS.pue if pue is None else pue)
    hall_report = hall(node, load.nodes, limits, load.network_w)
    supply_check = supply(node, watts(supplies.psu), supplies.psus, supplies.spare) if supplies.psu else None
    if json:
        show_json({"node": asdict(node_power(node)), "hall": hall_report, "supply": supply_check})
    else:
        _show(load, node, hall_report, supply_check)
    return 0 if supply_check is None or supply_check.holds else 1


def _node(load: Load) -> Node:
    from clusterwright import catalog
    from clusterwright.catalog.parts import servers
    from clusterwright.cli.plan._inputs import load_user_catalog
    from clusterwright.plan.power import node_of

    rows = load_user_catalog(load.catalog)
    gpu = catalog.gpu(load.gpu, rows)
    gpus = 8 if load.gpus_per_node is None else load.gpus_per_node
    options = {name: getattr(load, name) for name in ("cpus", "cpu_w", "dimms", "nics", "disks")}
    overrides: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    base_node = node_of(gpu, gpus)
    servers_by_name = {**servers(), **(rows.servers if rows else {})}
    rated = [
        server.power_w
        for server in servers_by_name.values()
        if (server.gpu, server.gpus) == (gpu.name, base_node.gpus)
    ]
    if rated and base_node.nvswitch and not overrides:  # a maker's system; other nodes are everybody's own
        base_node = replace(base_node, rated_w=max(rated))
    return replace(base_node, **overrides)


def _show(load: Load, node: Node, hall_report: Hall, supply_check: Supply | None) -> None:
    from clusterwright.cli._show import show_table, show_text
    from clusterwright.plan.power import node_power

    drawn = node_power(node)
    show_table(("of one node", "W"), [(name, f"{value:,.0f}") for name, value in drawn.parts if value])
    rated = f"; its maker rates it at {node.rated_w:,.0f} W, which is planned for" if node.rated_w else ""
    show_text(_("\n{wall_w:,.0f} W at the wall{rated}\n", wall_w=drawn.wall_w, rated=rated))
    rows = [
        ("nodes in a rack", f"{hall_report.nodes_per_rack}"),
        ("racks", f"{hall_report.racks}"),
        ("a full rack", f"{hall_report.rack_w / 1e3:.1f} kW, cooled by {hall_report.cooling}"),
        (
            "circuits of a rack",
            f"{hall_report.circuits_per_rack} three-phase, half of them on each of two feeds",
        ),
        ("machines", f"{hall_report.it_w / 1e3:,.1f} kW"),
        ("hall", f"{hall_report.hall_w / 1e3:,.1f} kW"),
        ("heat", f"{hall_report.btu_per_h:,.0f} BTU/h"),
        ("air, if by air", f"{hall_report.air_m3_per_h:,.0f} m3/h"),
    ]
    show_table((f"{load.nodes} nodes", ""), rows)
    if supply_check:
        show_text(f"\nsupplies: {supply_check.reason}")


_WATTS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?(W|kW|MW)")
_FACTOR = {"W": 1.0, "kW": 1e3, "MW": 1e6}


def watts(text: str) -> float:
    """Watts of `2200W` or `40kW`.

    Raises:
        WrightError: bad-quantity, for a number without a unit.
    """
    match = _WATTS.fullmatch(text.strip())
    if match is None:
        message = _("`{text}` is not a power", text=text[:60])
        raise WrightError.from_code(
            "bad-quantity", message, _("write it as 2200W or 40kW"), exit_code=EXIT_USAGE
        )
    return float(match[1]) * _FACTOR[match[2]]
