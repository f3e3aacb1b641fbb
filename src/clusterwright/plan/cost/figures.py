"""Figures of a cost: each low, likely and high, with its unit, its source and its date."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, Finding, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.records import Price


@dataclass(frozen=True, slots=True)
class Estimate:
    """Low <= likely <= high, in `unit`."""

    low: float
    likely: float
    high: float
    unit: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.likely <= self.high:
            raise ValueError(
                _(
                    "not low <= likely <= high: {low}, {likely}, {high}",
                    low=self.low,
                    likely=self.likely,
                    high=self.high,
                )
            )

    def __add__(self, other: Estimate) -> Estimate:
        """The sum of two of one unit; its ends are the sums of the ends, so its range is a bound."""
        sums = (self.low + other.low, self.likely + other.likely, self.high + other.high)
        return replace(self, low=sums[0], likely=sums[1], high=sums[2])

    def times(self, factor: float, unit: str = "") -> Estimate:
        """So many of it, `factor` >= 0."""
        scaled = (self.low * factor, self.likely * factor, self.high * factor)
        return replace(self, low=scaled[0], likely=scaled[1], high=scaled[2], unit=unit or self.unit)

    @property
    def triple(self) -> tuple[float, float, float]:
        """Low, likely, high."""
        return self.low, self.likely, self.high


def priced(price: Price) -> Estimate:
    """A price of the catalog."""
    unit = f"{price.currency}/{price.per}"
    return Estimate(
        price.low, price.likely, price.high, unit, f"{price.source} ({price.quality}, {price.date})"
    )


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
    return Figures(**{name: estimate.likely for name, estimate in inputs.items()})


def refuse_nonsense(inputs: Inputs) -> None:
    """Every figure that cannot be is told at once.

    Raises:
        WrightError: cost-figure.
    """
    findings = [Finding("cost-figure", message, _("correct the figure")) for message in _nonsense(inputs)]
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def _nonsense(inputs: Inputs) -> Iterator[str]:
    for name, estimate in inputs.items():
        if estimate.low < 0:
            yield f"{name} is {estimate.low:g}, but cannot be below 0"
        if name == "residual_share" and estimate.high > 1:
            yield f"{name} is {estimate.high:g}, but is a share of the purchase, 0 to 1"
        if name == "pue" and estimate.low < 1:
            yield f"pue is {estimate.low:g}, but is the power of the hall over that of its IT, at least 1"
        if name == "life_years" and estimate.low == 0:
            yield "life_years is 0, but a purchase is written off over some years"
