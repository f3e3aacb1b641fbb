"""Prices of hardware, owned and rented: each with a range, a currency, a date and a source."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.catalog.records import Deal, Price
from clusterwright.catalog.rows import rows
from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from clusterwright.catalog.user_catalog import UserCatalog

OLD_AFTER_MONTHS = 6  # prices of rented H100s fell by 44% within one (AWS, June 2025)


def prices(extra: UserCatalog | None = None) -> tuple[Price, ...]:
    """Return all prices, the user's first; a user's price replaces the built-in one of the same item and deal."""
    user_prices = tuple(extra.prices) if extra else ()
    replaced = {(quote.item, quote.deal) for quote in user_prices}
    return user_prices + tuple(quote for quote in _ours() if (quote.item, quote.deal) not in replaced)


def price(item: str, deal: Deal, extra: UserCatalog | None = None) -> Price | None:
    """Return the price of one item, such as a GPU, under one deal (such as buying); None if the catalog has none.

    Prices of the user's catalog `extra` come first.
    """
    return next((quote for quote in prices(extra) if (quote.item, quote.deal) == (item, deal)), None)


def common_currency(price_list: Iterable[Price]) -> str:
    """Return the currency that all the prices share; "" without prices.

    Raises:
        WrightError: `currency-mixed`, with both sources; `exchange.in_currency` converts.
    """
    first_quote: Price | None = None
    for quote in price_list:
        first_quote = first_quote or quote
        if quote.currency != first_quote.currency:
            places = tuple(
                Location(
                    conflict.source or "prices",
                    path=f"{conflict.item} {conflict.deal}",
                    value=f"{conflict.likely:g} {conflict.currency}",
                )
                for conflict in (first_quote, quote)
            )
            message = _(
                "prices are in two currencies: {currency} and {other}",
                currency=first_quote.currency,
                other=quote.currency,
            )
            fix = _(
                "write both prices in {currency}, or pass --currency {currency}, which converts them at a dated rate",
                currency=first_quote.currency,
            )
            raise WrightError(Finding("currency-mixed", message, fix, places), exit_code=EXIT_USAGE)
    return first_quote.currency if first_quote else ""


def age_warning(quote: Price, today: str, months: int = OLD_AFTER_MONTHS) -> str:
    """Return a warning if the price is more than `months` older than `today` (YYYY-MM-DD); else empty."""
    age = _months(quote.date, today)
    if age <= months:
        return ""
    return (
        f"the price of {quote.item} ({quote.deal}) is of {quote.date}, "
        f"{age} months old; give your own with --catalog"
    )


def _months(start_day: str, end_day: str) -> int:
    (year, month), (now_year, now_month) = (map(int, day.split("-")[:2]) for day in (start_day, end_day))
    return (now_year - year) * 12 + now_month - month


@cache
def _ours() -> tuple[Price, ...]:
    return tuple(
        Price(
            row["item"],
            Deal(row["deal"]),
            row["per"],
            float(row["low"]),
            float(row["likely"]),
            float(row["high"]),
            row["currency"],
            row["date"],
            row["quality"],
            row["source"],
        )
        for row in rows("prices")
    )
