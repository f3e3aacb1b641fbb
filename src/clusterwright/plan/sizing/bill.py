"""A bill of materials: what is bought, how many, and what it costs where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog.prices import Price, age_warning, one_currency
from clusterwright.plan.cost.estimate import Estimate, priced

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Line:
    """One item; `price` None where none is known."""

    kind: str  # server, switch, cable, storage, rack
    item: str
    count: int
    price: Price | None
    why: str = ""

    @property
    def total(self) -> Estimate | None:
        """All of them."""
        return priced(self.price).times(self.count, self.price.currency) if self.price else None


@dataclass(frozen=True, slots=True)
class Bill:
    """All lines, in one currency."""

    lines: tuple[Line, ...]
    currency: str

    @property
    def total(self) -> Estimate:
        """Of the lines with a price: low, likely, high; the ends are bounds."""
        whole = Estimate(0, 0, 0, self.currency, "the bill of materials")
        for line in self.lines:
            whole = whole + line.total if line.total else whole
        return whole

    @property
    def without_price(self) -> tuple[str, ...]:
        """What the total leaves out."""
        return tuple(line.item for line in self.lines if line.price is None)

    def old(self, today: str) -> tuple[str, ...]:
        """Items whose price is older than half a year on the day `today` (YYYY-MM-DD)."""
        aged = (line.item for line in self.lines if line.price and age_warning(line.price, today))
        return tuple(dict.fromkeys(aged))

    def of(self, *kinds: str) -> Bill:
        """The lines of some kinds."""
        return Bill(tuple(line for line in self.lines if line.kind in kinds), self.currency)


def bill(lines: Iterable[Line]) -> Bill:
    """Lines of which any are bought, as a bill.

    Raises:
        WrightError: currency-mixed, with both places.
    """
    bought = tuple(line for line in lines if line.count > 0)
    return Bill(bought, one_currency(line.price for line in bought if line.price))
