"""`wright plan cost`."""

from __future__ import annotations

from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.plan.cost.inputs import Gathered
    from clusterwright.plan.cost.report import Costs, Way


def cost(  # noqa: PLR0913 (each option of the command line is one)
    *,
    gpu: str,
    nodes: int,
    hours: float = 5000,
    figure: tuple[str, ...] = (),
    catalog: Path | None = None,
    html: Path | None = None,
    json: bool = False,
) -> int:
    """Hold an own cluster against a rented one: money a GPU-hour, break-even, and what drives it.

    Every figure has a low, a likely and a high value, and a source; --json shows them all.

    Parameters
    ----------
    gpu
        A GPU of the catalog; the cheapest server with it is taken.
    nodes
        Servers.
    hours
        Hours of training a year, of 8760.
    figure
        A figure of your own in place of ours, as NAME=LOW:LIKELY:HIGH or NAME=VALUE; may be given several times.
    catalog
        GPUs, servers and prices of your own.
    html
        Write a page with the picture here: cost against hours with the break-even.
    json
        Everything, with all inputs and their sources, as one JSON document.
    """
    from datetime import date  # noqa: PLC0415 (start-up time)

    from clusterwright.catalog import gpu as gpu_of  # noqa: PLC0415
    from clusterwright.cli._plan._figures import sized_or_refused, with_own  # noqa: PLC0415
    from clusterwright.cli._plan._own import own_rows  # noqa: PLC0415
    from clusterwright.cli._plan._tables import write_table  # noqa: PLC0415
    from clusterwright.cli._show import show_json  # noqa: PLC0415
    from clusterwright.plan.cost.inputs import gather  # noqa: PLC0415
    from clusterwright.plan.cost.page import page  # noqa: PLC0415
    from clusterwright.plan.cost.rented import Fleet  # noqa: PLC0415
    from clusterwright.plan.cost.report import costs  # noqa: PLC0415

    own = own_rows(catalog)
    sized_or_refused(nodes, hours)
    gathered = gather(gpu_of(gpu, own), nodes, own)
    values = with_own(gathered.values, figure)
    found = costs(values, Fleet(nodes, nodes * gathered.server.gpus), hours)
    warnings = gathered.warnings(date.today().isoformat())  # noqa: DTZ011 (a day, as the price tags have)
    if html:
        write_table(html, page(found, values, gathered.currency, f"{nodes} x {gathered.server.name}"))
    if json:
        show_json({"currency": gathered.currency, "costs": found, "inputs": values, "warnings": warnings})
    else:
        _tell(found, gathered, nodes, warnings)
    return 0


def _tell(found: Costs, gathered: Gathered, nodes: int, warnings: list[str]) -> None:
    from clusterwright.cli._show import say, show_table, show_text  # noqa: PLC0415 (start-up time)

    money = gathered.currency
    name, gpus = gathered.server.name, nodes * gathered.server.gpus
    show_text(
        f"{nodes} x {name} ({gpus} GPUs), {found.hours:,.0f} h of training a year\n"
        f"bought for {found.purchase:,.0f} {money}; {found.fixed_a_year:,.0f} {money} a year before any training, "
        f"and {found.energy_an_hour:,.2f} {money} an hour of it\n"
    )
    heads = (
        f"{money}/GPU-h",
        "at worst and best",
        f"{money}/year",
        "goodput",
        "even at h/year",
        "months",
        "saves",
    )
    show_table(("", *heads), [_row(way) for way in found.ways])
    show_text("\nmoney a GPU-hour by how busy it is\n")
    names = [way.name for way in found.ways]
    show_table(
        ("busy", *names),
        [(f"{share:.0%}", *(f"{each:.2f}" for each in row)) for share, row in found.by_utilisation],
    )
    show_text(f"\nwhat drives an owned hour ({money}/GPU-h at the low and at the high end of each)\n")
    show_table(
        ("figure", "low", "high"),
        [(bar.name, f"{bar.at_low:.2f}", f"{bar.at_high:.2f}") for bar in found.drivers[:6]],
    )
    low, likely, high = (kilos / 1000 for kilos in found.co2_kg)
    show_text(
        f"\nenergy {found.kwh / 1000:,.0f} MWh a year; CO2 {likely:,.0f} t ({low:,.0f} to {high:,.0f} by the grid)"
    )
    for warning in warnings:
        say(f"note: {warning}")


def _row(way: Way) -> tuple[str, ...]:
    low, high = way.bounds
    cells = (
        way.name,
        f"{way.per_gpu_hour:.2f}",
        f"{low:.2f} - {high:.2f}",
        f"{way.a_year:,.0f}",
        f"{way.goodput:.1%}",
    )
    if way.even is None:
        return (*cells, "", "", "")
    even = f"{way.even.hours_a_year:,.0f}" if way.even.reachable else "never"
    months = "never" if isinf(way.even.months) else f"{way.even.months:,.0f}"
    return (*cells, even, months, f"{way.saving:+.0%}")
