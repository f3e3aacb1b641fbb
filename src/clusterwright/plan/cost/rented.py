"""Cost of a rented cluster: the hours rented, and those lost to interruptions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from clusterwright.i18n import N_
from clusterwright.plan.cost.goodput import RESTART_S, SPOT_RECLAIMED_A_MONTH, goodput, spot_node_mtbf_h

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures


class Rent(StrEnum):
    """Rental option of GPUs."""

    ON_DEMAND = N_("on-demand")
    RESERVED = N_("reserved")
    SPOT = N_("spot")


@dataclass(frozen=True, slots=True)
class Fleet:
    """The owned or rented nodes, and what determines their interruptions."""

    nodes: float
    gpus: float
    checkpoint_write_s: float = 30.0  # stall of the training; plan.storage computes it for a model
    restart_s: float = RESTART_S.likely
    reclaimed_a_month: float = SPOT_RECLAIMED_A_MONTH.likely


def fleet_goodput(fleet: Fleet, rent: Rent | None) -> float:
    """Goodput, 0 to 1, of a training on the fleet; spot nodes are also reclaimed. `rent` None: owned nodes."""
    mtbf_h = {"node_mtbf_h": spot_node_mtbf_h(fleet.reclaimed_a_month)} if rent is Rent.SPOT else {}
    return goodput(fleet.nodes, write_s=fleet.checkpoint_write_s, restart_s=fleet.restart_s, **mtbf_h).share


def per_gpu_hour(figures: Figures, fleet: Fleet, rent: Rent) -> float:
    """Return the cost of an effective GPU-hour, one with the goodput of a cluster that the cloud does not interrupt.

    A spot hour costs its price divided by its goodput relative to that of an owned cluster; infinite if its
    goodput is 0.
    """
    price = {Rent.ON_DEMAND: figures.on_demand, Rent.RESERVED: figures.reserved, Rent.SPOT: figures.spot}[
        rent
    ]
    relative_goodput = fleet_goodput(fleet, rent) / fleet_goodput(fleet, None)
    return price / relative_goodput if relative_goodput else float("inf")


def a_year(figures: Figures, fleet: Fleet, rent: Rent, hours: float) -> float:
    """Return the yearly cost of renting the fleet for `hours` effective hours of training; idle hours cost nothing.

    Interruptions of spot nodes raise the cost of an effective hour.
    """
    return per_gpu_hour(figures, fleet, rent) * fleet.gpus * hours
