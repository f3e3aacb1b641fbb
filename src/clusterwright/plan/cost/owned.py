"""What an own cluster costs: bought, housed, powered and looked after."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures

HOURS_A_YEAR = 8760


def purchase(figures: Figures, nodes: float) -> float:
    """Servers, network, storage and installation of `nodes` nodes."""
    extras = figures.network_share + figures.storage_share + figures.installation_share
    return nodes * figures.server * (1 + extras)


def fixed_a_year(figures: Figures, nodes: float) -> float:
    """What a year costs when nothing runs: write-off, staff, support and the place in a hall."""
    bought = purchase(figures, nodes)
    write_off = bought * (1 - figures.residual_share) / figures.life_years
    colocation = nodes * figures.node_kw * figures.colocation * 12
    return write_off + bought * figures.support_share + figures.staff + colocation


def energy_an_hour(figures: Figures, nodes: float) -> float:
    """Energy of one hour under load; idle draw is left out (it is a third of it or so, and unknown here)."""
    return nodes * figures.node_kw * figures.pue * figures.energy


def a_year(figures: Figures, nodes: float, hours: float) -> float:
    """A year in which it trains `hours` hours."""
    return fixed_a_year(figures, nodes) + hours * energy_an_hour(figures, nodes)


def per_gpu_hour(figures: Figures, nodes: float, gpus: float, utilisation: float) -> float:
    """One GPU-hour of training, where the cluster trains that share (0 to 1] of the year."""
    hours = HOURS_A_YEAR * utilisation
    return a_year(figures, nodes, hours) / (gpus * hours)
