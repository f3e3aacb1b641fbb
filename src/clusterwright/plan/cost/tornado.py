"""What drives a result: each input at its low and its high end, the others as they are likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.plan.cost.figures import likely

if TYPE_CHECKING:
    from clusterwright.plan.cost.figures import Figures, Inputs


@dataclass(frozen=True, slots=True)
class Bar:
    """The result with one input at its ends."""

    name: str
    at_low: float
    at_high: float

    @property
    def swing(self) -> float:
        """How much this input moves the result."""
        return abs(self.at_high - self.at_low)


def tornado(inputs: Inputs, result: Callable[[Figures], float]) -> tuple[Bar, ...]:
    """One bar for each input that moves the result, the longest first."""
    middle = likely(inputs)
    bars = (
        Bar(name, result(replace(middle, **{name: each.low})), result(replace(middle, **{name: each.high})))
        for name, each in inputs.items()
    )
    return tuple(sorted((bar for bar in bars if bar.swing), key=lambda bar: -bar.swing))


def ends(inputs: Inputs, result: Callable[[Figures], float]) -> tuple[float, float]:
    """The result with every input at its worse end and at its better one: a bound, not a likely range."""
    middle = likely(inputs)
    low, high = {}, {}
    for bar in tornado(inputs, result):
        each = inputs[bar.name]
        first, last = (each.low, each.high) if bar.at_low <= bar.at_high else (each.high, each.low)
        low[bar.name], high[bar.name] = first, last
    return result(replace(middle, **low)), result(replace(middle, **high))
