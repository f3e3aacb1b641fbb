"""What was fitted of memory: workspaces, allocator slack, context; `bench/accuracy/fit_memory.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clusterwright.catalog.fitted import coefficients

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Coefficients:
    """All of them; bytes, or shares of one."""

    rest: float  # inside the allocator, of every run: masks, batches, what is rounded up
    imbalance: float  # tokens of the fullest experts' GPU over the average
    slack: Mapping[str, float]  # by family: reserved beyond allocated, a share of allocated
    context: float  # CUDA context with its libraries, outside the allocator
    typical: float  # median of |predicted / measured - 1| on sources held out
    spread: float  # what three of four of them stay within

    def slack_of(self, family: str) -> float:
        """Of that family; of one that was never measured, the middle one."""
        return self.slack.get(family, sorted(self.slack.values())[len(self.slack) // 2])


@cache
def stored() -> Coefficients:
    """What the package was shipped with."""
    return of(coefficients("memory"))


def of(table: Mapping[str, Any]) -> Coefficients:
    """From the stored table; keys that start with an underscore are remarks."""
    return Coefficients(**{key: value for key, value in table.items() if not key.startswith("_")})
