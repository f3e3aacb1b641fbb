"""A figure that is not known exactly: low, likely and high, with its unit, its source and its date."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clusterwright.catalog.prices import Price


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
            raise ValueError(f"not low <= likely <= high: {self.low}, {self.likely}, {self.high}")

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


def exactly(value: float, unit: str = "", source: str = "") -> Estimate:
    """A figure without a range."""
    return Estimate(value, value, value, unit, source)


def priced(price: Price) -> Estimate:
    """A price of the catalog."""
    unit = f"{price.currency}/{price.per}"
    return Estimate(
        price.low, price.likely, price.high, unit, f"{price.source} ({price.quality}, {price.date})"
    )
