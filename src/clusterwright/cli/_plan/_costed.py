"""What `wright plan cost` reckons and prints."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from math import isinf
from pathlib import Path
from typing import TYPE_CHECKING

from clusterwright.cli._plan._figures import sized_or_refused, with_own
from clusterwright.cli._plan._own import own_rows
from clusterwright.cli._show import say, show_table, show_text
from clusterwright.plan.cost.inputs import Gathered, gather
from clusterwright.plan.cost.rented import Fleet
from clusterwright.plan.cost.report import Costs, Way, costs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.plan.cost.figures import Estimate


@dataclass(frozen=True)
class Costed:
    """The costs, what they are made of, and what is old."""

    found: Costs
    gathered: Gathered
    values: Mapping[str, Estimate]
    nodes: int
    warnings: list[str]

    @property
    def what(self) -> str:
        """The cluster in words."""
        return f"{self.nodes} x {self.gathered.server.name}"


def costed(gpu: str, nodes: int, hours: float, figures: tuple[str, ...], catalog: Path | None) -> Costed:
    """Everything that was typed, reckoned.

    Raises:
        WrightError: cost-figure, cost-no-price, currency-mixed, unknown-gpu.
    """
    from clusterwright import catalog as known

    own = own_rows(catalog)
    sized_or_refused(nodes, hours)
    gathered = gather(known.gpu(gpu, own), nodes, own)
    values = with_own(gathered.values, figures)
    found = costs(values, Fleet(nodes, nodes * gathered.server.gpus), hours)
    today = date.today().isoformat()  # noqa: DTZ011 (a day, as the price tags have)
    return Costed(found, gathered, values, nodes, gathered.warnings(today))


def tell(made: Costed) -> None:
    """The answer on stdout, old prices on stderr."""
    found, money = made.found, made.gathered.currency
    gpus = made.nodes * made.gathered.server.gpus
    show_text(
        f"{made.what} ({gpus} GPUs), {found.hours:,.0f} h of training a year\n"
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
    for warning in made.warnings:
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
