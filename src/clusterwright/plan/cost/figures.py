"""What owning and renting a cluster costs, as inputs: each with a range and a source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.plan.cost.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Figures:
    """One value of each input. Money in one currency; a share is 0 to 1."""

    server: float  # one node with its GPUs
    network_share: float  # switches, NICs and cables, of the servers' price
    storage_share: float
    installation_share: float
    staff: float  # a year, for the whole cluster
    support_share: float  # maintenance contracts, of the purchase a year
    node_kw: float  # one node under load
    pue: float  # power of the whole hall over that of its IT
    energy: float  # a kWh
    colocation: float  # a kW a month, without energy
    residual_share: float  # of the purchase, at the end of its life
    life_years: float
    on_demand: float  # a GPU-hour
    reserved: float
    spot: float


Inputs = Mapping[str, Estimate]  # by the names of Figures


def likely(inputs: Inputs) -> Figures:
    """The likely value of each."""
    return Figures(**{name: each.likely for name, each in inputs.items()})


def refuse_nonsense(inputs: Inputs) -> None:
    """Every figure that cannot be is told at once.

    Raises:
        WrightError: cost-figure.
    """
    found = [Finding("cost-figure", message, "correct the figure") for message in _nonsense(inputs)]
    if found:
        raise WrightError(*found, exit_code=EXIT_USAGE)


def _nonsense(inputs: Inputs) -> Iterator[str]:
    for name, each in inputs.items():
        if each.low < 0:
            yield f"{name} is {each.low:g}, but cannot be below 0"
        if name == "residual_share" and each.high > 1:
            yield f"{name} is {each.high:g}, but is a share of the purchase, 0 to 1"
        if name == "pue" and each.low < 1:
            yield f"pue is {each.low:g}, but is the power of the hall over that of its IT, at least 1"
        if name == "life_years" and each.low == 0:
            yield "life_years is 0, but a purchase is written off over some years"
