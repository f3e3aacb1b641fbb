"""A bill of materials: what is bought, how many, and what it costs where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.plan.cost.currency import one_currency
from clusterwright.plan.cost.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Line:
    """One item; `each` None where no price is known."""

    kind: str  # server, NIC, switch, cable, storage, rack
    item: str
    count: int
    each: Estimate | None
    why: str = ""

    @property
    def total(self) -> Estimate | None:
        """All of them."""
        return self.each.times(self.count) if self.each else None


@dataclass(frozen=True, slots=True)
class Bill:
    """All lines, in one currency."""

    lines: tuple[Line, ...]

    @property
    def total(self) -> Estimate:
        """Of the lines with a price: low, likely, high; the ends are bounds."""
        whole = Estimate(0, 0, 0)
        for line in self.lines:
            if line.total:
                whole = line.total if not whole.high else whole + line.total
        return whole

    @property
    def without_price(self) -> tuple[str, ...]:
        """What the total leaves out."""
        return tuple(line.item for line in self.lines if line.each is None and line.count)

    def of(self, *kinds: str) -> Estimate:
        """The total of some kinds."""
        return Bill(tuple(line for line in self.lines if line.kind in kinds)).total


def bill(lines: Iterable[Line]) -> Bill:
    """Lines that are bought, as a bill.

    Raises:
        WrightError: currency-mixed, with every price.
    """
    bought = tuple(line for line in lines if line.count > 0)
    one_currency((line.item, line.each) for line in bought if line.each)
    return Bill(bought)
