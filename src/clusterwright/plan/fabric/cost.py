"""What a fabric costs: switches and cables by their prices in the catalog; NICs come with the servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog.prices import Deal, one_currency, price

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own
    from clusterwright.plan.fabric.cables import Cable
    from clusterwright.plan.fabric.parts import Fabric


@dataclass(frozen=True, slots=True)
class Cost:
    """A range in one currency; `unknown` names what has no price and is not in it."""

    low: float
    likely: float
    high: float
    currency: str
    unknown: tuple[str, ...]


def cost(fabric: Fabric, cables: list[Cable], own: Own | None = None) -> Cost:
    """Switches and cables, bought.

    Raises:
        WrightError: currency-mixed, where prices are in two.
    """
    wanted: dict[str, int] = {}
    if fabric.switches:
        wanted[fabric.switch.name.split("/")[0] or fabric.switch.title] = fabric.switches
    for cable in cables:
        wanted[cable.item] = wanted.get(cable.item, 0) + cable.count
    found = {item: price(item, Deal.OWNED, own) for item in wanted}
    known = {item: each for item, each in found.items() if each}
    low, likely, high = (
        sum(getattr(each, side) * wanted[item] for item, each in known.items())
        for side in ("low", "likely", "high")
    )
    return Cost(low, likely, high, one_currency(known.values()), tuple(sorted(set(found) - set(known))))
