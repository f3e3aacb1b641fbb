"""`wright plan power`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from clusterwright.cli._live_names import GPUS
from clusterwright.cli._numbers import Count, CountOrZero, PositiveOrZero, Ratio
from clusterwright.cli._quantities import Power
from clusterwright.i18n import _, _n
from clusterwright.units import parse_power

if TYPE_CHECKING:
    from clusterwright.plan.power import Hall, Node, Supply


@dataclass(frozen=True, kw_only=True)
class PowerLoad:
    """What draws power."""

    gpu: Annotated[str, Parameter(help="GPU, as in `wright plan catalog gpus`."), GPUS]
    nodes: Annotated[Count, Parameter(help="Number of nodes; of superchips: racks.")] = 1
    gpus_per_node: Annotated[
        CountOrZero | None, Parameter(help="GPUs per node; default: 8 (a rack of superchips has 72).")
    ] = None
    cpus: Annotated[CountOrZero | None, Parameter(help="CPUs per node; default: 2.")] = None
    cpu_w: Annotated[PositiveOrZero | None, Parameter(help="Watts per CPU; default: 350.")] = None
    dimms: Annotated[CountOrZero | None, Parameter(help="DIMMs per node; default: 32.")] = None
    nics: Annotated[CountOrZero | None, Parameter(help="Network ports per node; default: 8.")] = None
    disks: Annotated[CountOrZero | None, Parameter(help="NVMe disks per node; default: 8.")] = None
    network_w: Annotated[
        PositiveOrZero, Parameter(help="Watts of switches and optics, from wright plan fabric.")
    ] = 0.0
    catalog: Annotated[Path | None, Parameter(help="File with your own GPUs and servers.")] = None


@dataclass(frozen=True, kw_only=True)
class Supplies:
    """The power supplies of a node."""

    psu: Annotated[Power | None, Parameter(help="Rating of a power supply to check, such as 2200W.")] = None
    psus: Annotated[Count, Parameter(help="Power supplies per node.")] = 2
    spare: Annotated[CountOrZero, Parameter(help="Power supplies that may fail.")] = 1


def power(
    *,
    load: Annotated[PowerLoad, Parameter(name="*")],
    supplies: Annotated[Supplies, Parameter(name="*")] = Supplies(),
    rack_limit: Power = "40kW",
    pue: Ratio | None = None,
    json: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Plan the power and cooling of nodes, racks and the hall, and check the power supplies.

    Exit code: 1 if the power supplies that remain after a failure are too weak.

    Parameters
    ----------
    rack_limit
        Power limit of a rack, such as 40kW.
    pue
        Power of the hall divided by that of its machines; default: 1.3.
    json
        Print one JSON document, in watts.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.plan.power import LIMITS, hall, node_power, supply

    node = _node(load)
    limits = replace(LIMITS, rack_w=parse_power(rack_limit), pue=LIMITS.pue if pue is None else pue)
    hall_report = hall(node, load.nodes, limits, load.network_w)
    supply_check = (
        supply(node, parse_power(supplies.psu), supplies.psus, supplies.spare) if supplies.psu else None
    )
    if json:
        show_json({"node": asdict(node_power(node)), "hall": hall_report, "supply": supply_check})
    else:
        _show(load, node, hall_report, supply_check)
    return 0 if supply_check is None or supply_check.sufficient else 1


def _node(load: PowerLoad) -> Node:
    from clusterwright import catalog
    from clusterwright.catalog.parts import servers
    from clusterwright.catalog.user_catalog_file import load_user_catalog
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
    if rated and base_node.nvswitch and not overrides:  # a vendor's system as it is sold
        base_node = replace(base_node, rated_w=max(rated))
    return replace(base_node, **overrides)


def _show(load: PowerLoad, node: Node, hall_report: Hall, supply_check: Supply | None) -> None:
    from clusterwright.cli._show import show_heading, show_table, show_text
    from clusterwright.plan.power import node_power

    drawn = node_power(node)
    show_table(("part of a node", "W"), [(_(name), f"{value:,.0f}") for name, value in drawn.parts if value])
    show_heading(
        _(
            "{power:,.0f} W at the wall; the plan uses the vendor's rating of {rated:,.0f} W",
            power=drawn.wall_w,
            rated=node.rated_w,
        )
        if node.rated_w
        else _("{power:,.0f} W at the wall", power=drawn.wall_w)
    )
    rack = _(
        "{power:.1f} kW, cooling: {cooling}", power=hall_report.rack_w / 1e3, cooling=_(hall_report.cooling)
    )
    circuits = _(
        "{count} three-phase circuits, half of them on each of two feeds", count=hall_report.circuits_per_rack
    )
    rows = [
        (_("nodes per rack"), f"{hall_report.nodes_per_rack}"),
        (_("racks"), f"{hall_report.racks}"),
        (_("full rack"), rack),
        (_("circuits per rack"), circuits),
        (_("machines"), f"{hall_report.machine_w / 1e3:,.1f} kW"),
        (_("hall"), f"{hall_report.hall_w / 1e3:,.1f} kW"),
        (_("heat"), f"{hall_report.btu_per_h:,.0f} BTU/h"),
        (_("airflow (air cooling)"), f"{hall_report.air_m3_per_h:,.0f} m3/h"),
    ]
    show_text("")
    show_table((_n("{count} node", "{count} nodes", load.nodes), ""), rows)
    if supply_check:
        show_heading(_("power supplies: {result}", result=supply_check.reason))
