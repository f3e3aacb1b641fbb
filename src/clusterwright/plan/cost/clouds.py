"""Prices of one GPU in the clouds, per GPU hour in one currency; and a catalog in which one cloud's prices count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clusterwright.catalog.exchange import cloud_prices, describe_rate, find_rate
from clusterwright.catalog.records import Deal, Price
from clusterwright.catalog.user_catalog import UserCatalog, slug
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.plan.cost.inputs import discounted

if TYPE_CHECKING:
    from clusterwright.catalog.records import CloudPrice, ExchangeRate, Gpu


@dataclass(frozen=True, slots=True)
class CloudOffer:
    """One price of a cloud, per GPU hour in the currency of the comparison; with the rate if it was converted."""

    price: CloudPrice
    per_gpu_hour: float
    currency: str
    converted: str = ""


def cloud_offers(gpu: Gpu, currency: str, user_rate: ExchangeRate | None = None) -> tuple[CloudOffer, ...]:
    """Return the clouds' prices of a GPU, sorted by deal, then by currency, then by price per GPU hour.

    A price is converted to `currency`; without an exchange rate it stays in its own currency.
    """
    offers = [_offer(price, currency, user_rate) for price in cloud_prices() if price.gpu == gpu.name]
    return tuple(sorted(offers, key=lambda offer: (offer.price.deal, offer.currency, offer.per_gpu_hour)))


def _offer(price: CloudPrice, currency: str, user_rate: ExchangeRate | None) -> CloudOffer:
    if price.currency == currency:
        return CloudOffer(price, price.per_gpu_hour, currency)
    try:
        rate = find_rate(price.currency, currency, user_rate)
    except WrightError:
        return CloudOffer(price, price.per_gpu_hour, price.currency)
    return CloudOffer(price, price.per_gpu_hour * rate.rate, currency, describe_rate(rate))


def with_cloud(
    user_catalog: UserCatalog | None,
    gpu: Gpu,
    cloud: str,
    currency: str,
    user_rate: ExchangeRate | None = None,
) -> UserCatalog:
    """Return the catalog with the prices of one cloud for a GPU in place of its own for the same deals.

    They are in `currency` where a rate is known. Reserved and spot prices that are not known are the on-demand price
    less the usual discount.

    Raises:
        WrightError: `cost-no-price`, if this cloud's price of the GPU is not known.
    """
    offers = [
        offer for offer in cloud_offers(gpu, currency, user_rate) if slug(offer.price.cloud) == slug(cloud)
    ]
    by_deal = {deal: next((offer for offer in offers if offer.price.deal is deal), None) for deal in Deal}
    on_demand = by_deal[Deal.ON_DEMAND]
    if on_demand is None:
        raise _unknown(gpu, cloud)
    base = as_price(on_demand)
    deals = (Deal.RESERVED, Deal.SPOT)
    discounts = [as_price(offer) if (offer := by_deal[deal]) else discounted(base, deal) for deal in deals]
    catalog = user_catalog or UserCatalog()
    replaced = {(price.item, price.deal) for price in (base, *discounts)}
    unchanged = tuple(price for price in catalog.prices if (price.item, price.deal) not in replaced)
    return replace(catalog, prices=(base, *discounts, *unchanged))


def list_prices() -> tuple[Price, ...]:
    """Return every price of a cloud as a price of the catalog, in its own currency."""
    return tuple(as_price(CloudOffer(price, price.per_gpu_hour, price.currency)) for price in cloud_prices())


def as_price(offer: CloudOffer) -> Price:
    """Return an offer as a price of the catalog, with equal bounds; a year without a month counts as its December."""
    price, amount = offer.price, offer.per_gpu_hour
    date = price.date if "-" in price.date else f"{price.date}-12"
    source = "; ".join(
        part
        for part in (f"{price.cloud} {price.region} {price.instance}: {price.source}", offer.converted)
        if part
    )
    return Price(
        price.gpu, price.deal, "GPU-hour", amount, amount, amount, offer.currency, date, "list", source
    )


def _unknown(gpu: Gpu, cloud: str) -> WrightError:
    clouds = sorted({price.cloud for price in cloud_prices() if price.gpu == gpu.name})
    message = _("no price to rent {gpu} from {cloud} is known", gpu=gpu.name, cloud=cloud)
    fix = (
        _(
            "use one of {clouds}, or add [prices.{gpu}.on-demand] to a catalog of your own",
            clouds=", ".join(clouds),
            gpu=gpu.name,
        )
        if clouds
        else _("add [prices.{gpu}.on-demand] to a catalog of your own", gpu=gpu.name)
    )
    return WrightError.from_code("cost-no-price", message, fix, exit_code=EXIT_USAGE)
