"""JSON record of a comparison of costs, with all inputs and sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterwright.plan.cost.clouds import CloudOffer
    from clusterwright.plan.cost.cost import ClusterCost


def record(
    result: ClusterCost, offers: tuple[CloudOffer, ...], rates: list[str], today: str
) -> dict[str, Any]:
    """Return the JSON record; `today`: the date for warnings of old prices, as YYYY-MM-DD."""
    return {
        "currency": result.gathered.currency,
        "costs": result.costs,
        "inputs": result.values,
        "clouds": offers,
        "exchange_rates": rates,
        "warnings": result.gathered.warnings(today),
    }
