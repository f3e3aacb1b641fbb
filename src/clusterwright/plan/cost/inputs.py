"""The inputs of a cost, gathered from the catalog, the user's own rows first, and what is usual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterwright.catalog import parts
from clusterwright.catalog.prices import Deal, Price, age_warning, one_currency, price
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.plan.cost.estimate import Estimate, priced
from clusterwright.plan.cost.usual import ENGINEER, SHARES, discounted, staff
from clusterwright.plan.power import node_of, node_power

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.gpu import Gpu
    from clusterwright.catalog.own import Own
    from clusterwright.catalog.parts import Server


@dataclass(frozen=True, slots=True)
class Gathered:
    """The inputs by the names of `Figures`, their currency, and the prices that they are made of."""

    values: Mapping[str, Estimate]
    currency: str
    prices: tuple[Price, ...]
    server: Server

    def warnings(self, today: str) -> list[str]:
        """One sentence for each price that is old on the day `today` (YYYY-MM-DD)."""
        return [said for each in self.prices if (said := age_warning(each, today))]


def gather(gpu: Gpu, nodes: float, own: Own | None = None) -> Gathered:
    """What a cluster of `nodes` nodes of this GPU costs.

    Raises:
        WrightError: cost-no-price, where the catalog has no server or no rent for the GPU; currency-mixed.
    """
    server = server_of(gpu, own)
    bought = price(server.name, Deal.OWNED, own) if server else None
    on_demand = price(gpu.name, Deal.ON_DEMAND, own)
    energy, place = price("electricity", Deal.OWNED, own), price("colocation", Deal.OWNED, own)
    if not (server and bought and on_demand and energy and place):
        raise _no_price(gpu, on_demand, server)
    rents = {
        deal: price(gpu.name, deal, own) or discounted(on_demand, deal) for deal in (Deal.RESERVED, Deal.SPOT)
    }
    prices = (bought, energy, place, on_demand, *rents.values(), ENGINEER)
    values = {
        "server": priced(bought), **SHARES, "staff": staff(nodes), "node_kw": node_kw(gpu, server),
        "energy": priced(energy), "colocation": priced(place), "on_demand": priced(on_demand),
        "reserved": priced(rents[Deal.RESERVED]), "spot": priced(rents[Deal.SPOT]),
    }  # fmt: skip
    return Gathered(values, one_currency(prices), prices, server)


def server_of(gpu: Gpu, own: Own | None = None) -> Server | None:
    """The server with this GPU that costs least; the user's own first; None where the catalog has none."""
    for table in (own.servers if own else {}, parts.servers()):
        found = [each for each in table.values() if each.gpu == gpu.name]
        if found:
            return min(found, key=lambda each: (_likely(price(each.name, Deal.OWNED, own)), each.name))
    return None


def node_kw(gpu: Gpu, server: Server) -> Estimate:
    """Power of one server in kW: the sum of its parts, and the maker's rating, which is a maximum."""
    parts_w = node_power(node_of(gpu, server.gpus, nics=server.nics)).wall_w
    low, high = sorted((parts_w, server.power_w or parts_w))
    source = f"the sum of its parts, and {server.source}"
    return Estimate(low / 1e3, (low + high) / 2e3, high / 1e3, "kW", source)


def _likely(found: Price | None) -> float:
    return found.likely if found else float("inf")


def _no_price(gpu: Gpu, on_demand: Price | None, server: Server | None) -> WrightError:
    lacking = [
        what for what, there in (("to rent it", on_demand), ("of a server with it", server)) if not there
    ]
    message = f"no price {' or '.join(lacking) or 'of everything it takes'} is known for {gpu.name}"
    mend = "give your own in a catalog file: [[servers]] and [[prices]], --catalog FILE"
    return WrightError.of("cost-no-price", message, mend, exit_code=EXIT_USAGE)
