"""Break-even between owning and renting a cluster."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.cost import owned, rented

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures
    from clusterwright.plan.cost.rented import Fleet, Rent


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Break-even of owning against one rental option; above `hours_a_year` owning is cheaper (infinite: never)."""

    hours_a_year: float
    months: float  # payback time of the purchase at the requested hours

    @property
    def reachable(self) -> bool:
        """True if the break-even is within the 8760 hours of a year."""
        return self.hours_a_year <= owned.HOURS_A_YEAR


def break_even(figures: Figures, fleet: Fleet, rent: Rent, hours: float) -> BreakEven:
    """Compute the break-even hours per year, and the payback time in months at `hours` hours per year.

    Owning costs F + e h a year, renting r h; they cross at h = F / (r - e), if r > e.
    Payback ignores the residual value: it is the purchase over rent saved less running costs.
    """
    rent_an_hour = rented.per_gpu_hour(figures, fleet, rent) * fleet.gpus
    gain_an_hour = rent_an_hour - owned.energy_an_hour(figures, fleet.nodes)
    fixed = owned.fixed_a_year(figures, fleet.nodes)
    crossing = fixed / gain_an_hour if gain_an_hour > 0 else math.inf
    return BreakEven(crossing, _months(figures, fleet, gain_an_hour * hours))


def _months(figures: Figures, fleet: Fleet, gain_a_year: float) -> float:
    bought = owned.purchase(figures, fleet.nodes)
    write_off = bought * (1 - figures.residual_share) / figures.life_years
    saved = gain_a_year - (owned.fixed_a_year(figures, fleet.nodes) - write_off)
    return 12 * bought / saved if saved > 0 else math.inf


def saving_by_renting(figures: Figures, fleet: Fleet, rent: Rent, hours: float) -> float:
    """Return the share of the owned cost that renting saves at `hours` hours per year; negative: it costs more."""
    return 1 - rented.a_year(figures, fleet, rent, hours) / owned.a_year(figures, fleet.nodes, hours)
