"""The result of `wright plan cost`: cost of owning and each rental option, drivers, energy and CO2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.i18n import N_
from clusterwright.plan.cost import owned, rented
from clusterwright.plan.cost.break_even import break_even, saving_by_renting
from clusterwright.plan.cost.figures import Estimate, likely, refuse_nonsense
from clusterwright.plan.cost.rented import Rent
from clusterwright.plan.cost.tornado import ends, tornado

if TYPE_CHECKING:
    from clusterwright.plan.cost.break_even import BreakEven
    from clusterwright.plan.cost.figures import Figures, Inputs
    from clusterwright.plan.cost.rented import Fleet
    from clusterwright.plan.cost.tornado import TornadoBar


UTILIZATIONS = (0.10, 0.25, 0.50, 0.75, 0.90)


@dataclass(frozen=True, slots=True)
class CostOption:
    """Owning or one rental option; money per GPU-hour, at the requested hours."""

    name: str  # owned, on-demand, reserved, spot
    per_gpu_hour: float
    bounds: tuple[float, float]  # with every input at its better and at its worse end
    a_year: float
    goodput: float
    even: BreakEven | None  # of owning against this option; None for owned
    saving: float  # share of the owned cost that this option saves


@dataclass(frozen=True, slots=True)
class Costs:
    """Cost of owning and renting one cluster."""

    hours: float  # of training a year
    purchase: float
    fixed_a_year: float
    energy_an_hour: float
    options: tuple[CostOption, ...]
    by_utilization: tuple[
        tuple[float, tuple[float, ...]], ...
    ]  # (share of the year, money per GPU-hour by option)
    drivers: tuple[TornadoBar, ...]  # of the cost of one owned GPU-hour
    kwh: float  # per year
    co2_kg: tuple[float, float, float]  # low, likely, high: by the grid's mix


def costs(inputs: Inputs, fleet: Fleet, hours: float) -> Costs:
    """Compute the cost of owning and of each rental option for `hours` hours of training per year.

    Raises:
        WrightError: cost-figure, with every impossible input.
    """
    refuse_nonsense(inputs)
    figures = likely(inputs)
    used = kwh(figures.node_kw, fleet.nodes, hours, figures.pue)
    low, middle, high = (co2_kg(used, grams) for grams in GRID.triple)
    return Costs(
        hours=hours,
        purchase=owned.purchase(figures, fleet.nodes),
        fixed_a_year=owned.fixed_a_year(figures, fleet.nodes),
        energy_an_hour=owned.energy_an_hour(figures, fleet.nodes),
        options=(_owned(inputs, fleet, hours), *(_rent(inputs, fleet, rent, hours) for rent in Rent)),
        by_utilization=tuple((share, _hourly_costs(figures, fleet, share)) for share in UTILIZATIONS),
        drivers=tornado(inputs, lambda point: _hour(point, fleet, hours)),
        kwh=used,
        co2_kg=(low, middle, high),
    )


def _hour(figures: Figures, fleet: Fleet, hours: float) -> float:
    return owned.per_gpu_hour(figures, fleet.nodes, fleet.gpus, hours / owned.HOURS_A_YEAR)


def _owned(inputs: Inputs, fleet: Fleet, hours: float) -> CostOption:
    figures = likely(inputs)
    hourly = _hour(figures, fleet, hours)
    bounds = ends(inputs, lambda point: _hour(point, fleet, hours))
    return CostOption(
        N_("owned"), hourly, bounds, hourly * fleet.gpus * hours, rented.fleet_goodput(fleet, None), None, 0.0
    )


def _rent(inputs: Inputs, fleet: Fleet, rent: Rent, hours: float) -> CostOption:
    figures = likely(inputs)
    return CostOption(
        name=rent.value,
        per_gpu_hour=rented.per_gpu_hour(figures, fleet, rent),
        bounds=ends(inputs, lambda point: rented.per_gpu_hour(point, fleet, rent)),
        a_year=rented.a_year(figures, fleet, rent, hours),
        goodput=rented.fleet_goodput(fleet, rent),
        even=break_even(figures, fleet, rent, hours),
        saving=saving_by_renting(figures, fleet, rent, hours),
    )


def _hourly_costs(figures: Figures, fleet: Fleet, share: float) -> tuple[float, ...]:
    owned_cost = owned.per_gpu_hour(figures, fleet.nodes, fleet.gpus, share)
    return (owned_cost, *(rented.per_gpu_hour(figures, fleet, rent) for rent in Rent))


# Ember, Global Electricity Review 2024 (year 2023): world 480 g/kWh; France about 56, India 713.
GRID = Estimate(56, 480, 713, N_("g CO2/kWh"), N_("Ember, Global Electricity Review 2024"))


def kwh(node_kw: float, nodes: float, hours: float, pue: float) -> float:
    """Energy in kWh of `nodes` nodes under load for `hours` hours, with the overhead of the hall (PUE)."""
    return node_kw * nodes * hours * pue


def co2_kg(energy_kwh: float, grams_a_kwh: float = GRID.likely) -> float:
    """Return the kilograms of CO2 emitted for this energy, at grams per kWh of the grid."""
    return energy_kwh * grams_a_kwh / 1000
