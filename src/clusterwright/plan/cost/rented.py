"""What a rented cluster costs: only the hours that it is rented for, and those lost with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.plan.cost.goodput import RESTART_S, SPOT_RECLAIMED_A_MONTH, goodput, spot_node_mtbf_h

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures


class Rent(StrEnum):
    """How GPUs are rented."""

    ON_DEMAND = "on-demand"
    RESERVED = "reserved"
    SPOT = "spot"


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines that are owned or rented, and what interrupts them."""

    nodes: float
    gpus: float
    checkpoint_write_s: float = 30.0  # the training stands still; plan.storage says it for a model
    restart_s: float = RESTART_S.likely
    reclaimed_a_month: float = SPOT_RECLAIMED_A_MONTH.likely


def fleet_goodput(fleet: Fleet, rent: Rent | None) -> float:
    """Goodput, 0 to 1; None: an own cluster."""
    mtbf_h = {"node_mtbf_h": spot_node_mtbf_h(fleet.reclaimed_a_month)} if rent is Rent.SPOT else {}
    return goodput(fleet.nodes, write_s=fleet.checkpoint_write_s, restart_s=fleet.restart_s, **mtbf_h).share


def per_gpu_hour(figures: Figures, fleet: Fleet, rent: Rent) -> float:
    """One GPU-hour that counts, in hours of a cluster that is not taken away.

    A spot hour is dearer than its price by the goodput that interruptions cost over those of any cluster.
    """
    price = {Rent.ON_DEMAND: figures.on_demand, Rent.RESERVED: figures.reserved, Rent.SPOT: figures.spot}[
        rent
    ]
    relative_goodput = fleet_goodput(fleet, rent) / fleet_goodput(fleet, None)
    return price / relative_goodput if relative_goodput else float("inf")


def a_year(figures: Figures, fleet: Fleet, rent: Rent, hours: float) -> float:
    """A year in which it trains `hours` hours."""
    return per_gpu_hour(figures, fleet, rent) * fleet.gpus * hours
