"""Inputs of the cost model: prices from the user's catalog, then ours, and typical shares."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.catalog import parts
from clusterwright.catalog.prices import age_warning, common_currency, price
from clusterwright.catalog.records import Deal, Price
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import N_, _
from clusterwright.plan.cost.figures import Estimate, priced
from clusterwright.plan.power import node_of, node_power

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterwright.catalog.records import Gpu, Server
    from clusterwright.catalog.user_catalog import UserCatalog


@dataclass(frozen=True, slots=True)
class Gathered:
    """Cost inputs by field of `Figures`, their currency, and the prices and server they derive from."""

    values: Mapping[str, Estimate]
    currency: str
    prices: tuple[Price, ...]
    server: Server

    def warnings(self, today: str) -> list[str]:
        """Return one warning for each price that is more than 6 months old on the day `today` (YYYY-MM-DD)."""
        return [warning for entry in self.prices if (warning := age_warning(entry, today))]


def gather(gpu: Gpu, nodes: float, user_catalog: UserCatalog | None = None) -> Gathered:
    """Collect the cost inputs of a cluster of `nodes` nodes with this GPU.

    Raises:
        WrightError: cost-no-price if the catalog has no server or no rental price for the GPU; currency-mixed.
    """
    server = server_of(gpu, user_catalog)
    bought = price(server.name, Deal.OWNED, user_catalog) if server else None
    on_demand = price(gpu.name, Deal.ON_DEMAND, user_catalog)
    energy, colocation = (
        price("electricity", Deal.OWNED, user_catalog),
        price("colocation", Deal.OWNED, user_catalog),
    )
    engineer = price("engineer", Deal.OWNED, user_catalog)
    if not (server and bought and on_demand and energy and colocation and engineer):
        raise _no_price(gpu, on_demand, server)
    rents = {
        deal: price(gpu.name, deal, user_catalog) or discounted(on_demand, deal)
        for deal in (Deal.RESERVED, Deal.SPOT)
    }
    prices = (bought, energy, colocation, on_demand, *rents.values(), engineer)
    values = {
        "server": priced(bought),
        **SHARES,
        "staff": staff(nodes, engineer),
        "node_kw": node_kw(gpu, server),
        "energy": priced(energy),
        "colocation": priced(colocation),
        "on_demand": priced(on_demand),
        "reserved": priced(rents[Deal.RESERVED]),
        "spot": priced(rents[Deal.SPOT]),
    }
    return Gathered(values, common_currency(prices), prices, server)


def server_of(gpu: Gpu, user_catalog: UserCatalog | None = None) -> Server | None:
    """Return the cheapest server with this GPU to buy, of the user's catalog if it has one, else of the built-in one.

    None if neither has one. Servers of the same price are ordered by name.
    """
    for table in (user_catalog.servers if user_catalog else {}, parts.servers()):
        matches = [server for server in table.values() if server.gpu == gpu.name]
        if matches:
            return min(
                matches,
                key=lambda server: (_likely(price(server.name, Deal.OWNED, user_catalog)), server.name),
            )
    return None


def node_kw(gpu: Gpu, server: Server) -> Estimate:
    """Return the power of one server under load in kW as an estimate, between its parts' sum and the vendor's rating.

    The rating is a maximum.
    """
    parts_w = node_power(node_of(gpu, server.gpus, nics=server.nics)).wall_w
    low, high = sorted((parts_w, server.power_w or parts_w))
    source = _("the sum of the parts' prices, and {source}", source=server.source)
    return Estimate(low / 1e3, (low + high) / 2e3, high / 1e3, "kW", source)


def _likely(offer: Price | None) -> float:
    return offer.likely if offer else float("inf")


def _no_price(gpu: Gpu, on_demand: Price | None, server: Server | None) -> WrightError:
    if on_demand and server:
        message = _(
            "the catalog lacks a price of the server with {gpu}, of electricity or of colocation",
            gpu=gpu.name,
        )
    elif on_demand:
        message = _("the catalog has no server with {gpu}", gpu=gpu.name)
    elif server:
        message = _("the catalog has no price to rent {gpu}", gpu=gpu.name)
    else:
        message = _("the catalog has neither a price to rent {gpu} nor a server with it", gpu=gpu.name)
    fix = _("add [[servers]] and [[prices]] to a catalog file of your own and pass it with --catalog FILE")
    return WrightError.from_code("cost-no-price", message, fix, exit_code=EXIT_USAGE)


_YEARS = 4.0


def _at_the_end(after_three_years: float) -> float:
    """Extrapolate a residual value after three years to the hardware's likely life, 4 years, at a constant rate."""
    return math.pow(after_three_years, _YEARS / 3)


SHARES = {
    # 10 to 15% of the nodes; 15 to 25% of the whole purchase of a SuperPOD
    "network_share": Estimate(
        0.10,
        0.15,
        0.25,
        N_("of the servers"),
        N_("public TCO pages, low quality (v2-pseo-ai GPU TCO); notes on DGX SuperPOD"),
    ),
    # 50,000 USD per GPU in total, compared with 40,600 for its server (tech-talk-cto) and 15% for the network
    "storage_share": Estimate(
        0.03, 0.08, 0.12, N_("of the servers"), N_("total cost per GPU, less server and network")
    ),
    "installation_share": Estimate(
        0.01, 0.03, 0.06, N_("of the servers"), N_("our estimate: freight, racking, cabling")
    ),
    "support_share": Estimate(
        0.02, 0.05, 0.08, N_("of the purchase per year"), N_("our estimate of maintenance contracts")
    ),
    "pue": Estimate(
        1.10, 1.25, 1.65, "", N_("data center notes: 1.1-1.15 best, 1.2-1.3 typical, 1.5-1.8 old")
    ),
    "residual_share": Estimate(
        _at_the_end(0.25),
        _at_the_end(0.30),
        _at_the_end(0.35),
        N_("of the purchase"),
        N_("25 to 35% of an H100 after 3 years (public TCO pages, low quality), extrapolated to 4 years"),
    ),
    "life_years": Estimate(
        3, _YEARS, 6, N_("years"), N_("write-off period of large clouds' servers, 4 to 6; 3 for GPUs")
    ),
}

# Reserved 20 to 40% and spot 50 to 70% below on-demand: https://packet.ai/blog/gpu-pricing-models-compared
DISCOUNTED = {Deal.RESERVED: (0.6, 0.7, 0.8), Deal.SPOT: (0.3, 0.4, 0.5)}

# One engineer per 64 nodes, at least a quarter of one; our estimate.
NODES_PER_ENGINEER, LEAST_ENGINEERS = 64, 0.25


def staff(nodes: float, engineer: Price) -> Estimate:
    """Estimate the yearly cost of the engineers who operate `nodes` nodes: one for 64 nodes, at least a quarter."""
    return priced(engineer).times(max(LEAST_ENGINEERS, nodes / NODES_PER_ENGINEER))


def discounted(on_demand: Price, deal: Deal) -> Price:
    """Estimate a reserved or spot price from the on-demand price with usual discounts."""
    low, likely, high = DISCOUNTED[deal]
    return replace(
        on_demand,
        deal=deal,
        low=on_demand.low * low,
        likely=on_demand.likely * likely,
        high=on_demand.high * high,
        quality="estimate",
        source=_("from on-demand: {source}", source=on_demand.source),
    )
