"""Inputs of the cost model: estimates with low, likely and high value, unit and source."""

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
    """An uncertain value: low <= likely <= high, in `unit`, with its source."""

    low: float
    likely: float
    high: float
    unit: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.likely <= self.high:
            raise ValueError(
                _(
                    "low <= likely <= high does not hold: {low}, {likely}, {high}",
                    low=self.low,
                    likely=self.likely,
                    high=self.high,
                )
            )

    def __add__(self, other: Estimate) -> Estimate:
        """Add two estimates of one unit; low and high are added too, so the range is a bound.

        The first's source is kept.
        """
        sums = (self.low + other.low, self.likely + other.likely, self.high + other.high)
        return replace(self, low=sums[0], likely=sums[1], high=sums[2])

    def times(self, factor: float, unit: str = "") -> Estimate:
        """Return the estimate with low, likely and high value times `factor` (>= 0), and a new unit if given."""
        scaled = (self.low * factor, self.likely * factor, self.high * factor)
        return replace(self, low=scaled[0], likely=scaled[1], high=scaled[2], unit=unit or self.unit)

    @property
    def triple(self) -> tuple[float, float, float]:
        """The values (low, likely, high)."""
        return self.low, self.likely, self.high


def priced(price: Price) -> Estimate:
    """Return a price of the catalog as an estimate: low, likely and high value with unit and source."""
    unit = f"{price.currency}/{price.per}"
    return Estimate(
        price.low, price.likely, price.high, unit, f"{price.source} ({price.quality}, {price.date})"
    )


@dataclass(frozen=True, slots=True)
class Figures:
    """One value of each cost input. Money in one currency; shares are 0 to 1."""

    server: float  # one node with its GPUs
    network_share: float  # switches, NICs and cables, over the servers' price
    storage_share: float
    installation_share: float
    staff: float  # per year, for the whole cluster
    support_share: float  # maintenance contracts per year, over the purchase
    node_kw: float  # one node under load
    pue: float  # power of the hall over that of its IT equipment
    energy: float  # per kWh
    colocation: float  # per kW and month, without energy
    residual_share: float  # over the purchase, at the end of its life
    life_years: float
    on_demand: float  # per GPU-hour
    reserved: float
    spot: float


Inputs = Mapping[str, Estimate]  # by field of Figures


def likely(inputs: Inputs) -> Figures:
    """Return the likely value of each cost input."""
    return Figures(**{name: estimate.likely for name, estimate in inputs.items()})


def refuse_nonsense(inputs: Inputs) -> None:
    """Check the inputs for impossible values and report all of them in one error.

    Raises:
        WrightError: cost-figure, with one finding per impossible value.
    """
    findings = [Finding("cost-figure", message, _("correct the figure")) for message in _nonsense(inputs)]
    if findings:
        raise WrightError(*findings, exit_code=EXIT_USAGE)


def _nonsense(inputs: Inputs) -> Iterator[str]:
    for name, estimate in inputs.items():
        if estimate.low < 0:
            yield _("`{name}` is {value:g}, but must be at least 0", name=name, value=estimate.low)
        if name == "residual_share" and estimate.high > 1:
            yield _(
                "`residual_share` is {value:g}, but must be a share of the purchase, 0 to 1",
                value=estimate.high,
            )
        if name == "pue" and estimate.low < 1:
            yield _(
                "`pue` is {value:g}, but must be at least 1: power of the hall over that of its IT",
                value=estimate.low,
            )
        if name == "life_years" and estimate.low == 0:
            yield _("`life_years` is 0, but must be above 0: a purchase is written off over its life")
