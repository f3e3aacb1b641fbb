"""A figure that is not known exactly: low, likely and high, with its unit, its source and its date."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Estimate:
    """Low <= likely <= high, in `unit`; `currency` and `date` (YYYY-MM or YYYY-MM-DD) where it is a price."""

    low: float
    likely: float
    high: float
    unit: str = ""
    source: str = ""
    date: str = ""
    currency: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.likely <= self.high:
            raise ValueError(f"not low <= likely <= high: {self.low}, {self.likely}, {self.high}")

    def __add__(self, other: Estimate) -> Estimate:
        """The sum of two of one unit; its ends are the sums of the ends, so its range is a bound."""
        source = self.source if self.source == other.source else f"{self.source}; {other.source}"
        return replace(
            self,
            low=self.low + other.low,
            likely=self.likely + other.likely,
            high=self.high + other.high,
            source=source,
        )

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
