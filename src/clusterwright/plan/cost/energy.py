"""Energy of a training, and what it puts into the air."""

from __future__ import annotations

from clusterwright.plan.cost.estimate import Estimate

# Ember, Global Electricity Review 2024 (year 2023): world 480 g/kWh; France about 56, India 713.
GRID = Estimate(56, 480, 713, "g CO2/kWh", "Ember, Global Electricity Review 2024")


def kwh(node_kw: float, nodes: float, hours: float, pue: float) -> float:
    """Energy of `nodes` nodes under load for so many hours, with that of the hall."""
    return node_kw * nodes * hours * pue


def co2_kg(energy_kwh: float, grams_a_kwh: float = GRID.likely) -> float:
    """Kilograms of CO2 from the grid's mix."""
    return energy_kwh * grams_a_kwh / 1000
