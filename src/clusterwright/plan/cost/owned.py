"""Cost of an owned cluster: purchase, colocation, energy, staff and support."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures

HOURS_A_YEAR = 8760


def purchase(figures: Figures, nodes: float) -> float:
    """Purchase price of `nodes` nodes with network, storage and installation, in the currency of the figures."""
    extras = figures.network_share + figures.storage_share + figures.installation_share
    return nodes * figures.server * (1 + extras)


def fixed_a_year(figures: Figures, nodes: float) -> float:
    """Fixed cost of `nodes` nodes per year in the currency of the figures: depreciation, staff, support, colocation.

    Energy is not included.
    """
    bought = purchase(figures, nodes)
    write_off = bought * (1 - figures.residual_share) / figures.life_years
    colocation = nodes * figures.node_kw * figures.colocation * 12
    return write_off + bought * figures.support_share + figures.staff + colocation


def energy_an_hour(figures: Figures, nodes: float) -> float:
    """Energy cost of `nodes` nodes for one hour under load, in the currency of the figures; idle hours cost less.

    Idle power is not included: about a third of it, and unknown here.
    """
    return nodes * figures.node_kw * figures.pue * figures.energy


def a_year(figures: Figures, nodes: float, hours: float) -> float:
    """Return the cost of one year of an owned cluster: fixed cost, and the energy of `hours` hours of training."""
    return fixed_a_year(figures, nodes) + hours * energy_an_hour(figures, nodes)


def per_gpu_hour(figures: Figures, nodes: float, gpus: float, utilization: float) -> float:
    """Return the cost per GPU-hour of training on an owned cluster.

    `utilization`: share of the year that it trains, (0, 1].
    """
    hours = HOURS_A_YEAR * utilization
    return a_year(figures, nodes, hours) / (gpus * hours)
