"""Exchange rates, each with its day and source or given by the user, and prices converted to one currency."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.catalog.prices import prices
from clusterwright.catalog.records import CloudPrice, Deal, ExchangeRate, Price
from clusterwright.catalog.rows import number, rows
from clusterwright.catalog.user_catalog import UserCatalog
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _

if TYPE_CHECKING:
    from collections.abc import Iterable

BASE = "USD"  # of the built-in prices
_USER_SOURCE = "own"


@cache
def exchange_rates() -> tuple[ExchangeRate, ...]:
    """Return the built-in exchange rates."""
    return tuple(
        ExchangeRate(row["base"], row["quote"], number(row, "rate"), row["date"], row["source"])
        for row in rows("exchange_rates")
    )


@cache
def cloud_prices() -> tuple[CloudPrice, ...]:
    """Return the prices of clouds, each with region, day and source."""
    return tuple(
        CloudPrice(
            row["cloud"],
            row["region"],
            row["instance"],
            row["gpu"],
            int(row["gpus"]),
            Deal(row["deal"]),
            number(row, "per_hour"),
            row["currency"],
            row["date"],
            row["source"],
        )
        for row in rows("cloud_prices")
    )


def read_exchange_rate(text: str, currency: str) -> ExchangeRate:
    """Parse the user's rate: units of `currency` for one US dollar.

    Raises:
        WrightError: `exchange-rate`, if it is not a number above 0.
    """
    if not re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", text.strip()) or not float(text):
        message = _("`{text}` is not an exchange rate", text=text[:60])
        number = text.strip().replace(",", ".")
        fix = _("write how many {currency} one {base} is, such as 7.1", currency=currency, base=BASE)
        if "," in text and re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", number):
            fix = _("write {number}", number=number)
        raise WrightError.from_code("exchange-rate", message, fix, exit_code=EXIT_USAGE)
    return ExchangeRate(BASE, currency, float(text), source=_USER_SOURCE)


def find_rate(base: str, quote: str, user_rate: ExchangeRate | None = None) -> ExchangeRate:
    """Return the rate from one currency to another: the user's, else the built-in one, either way round.

    1 for the same currency; rates are not combined over a third currency.

    Raises:
        WrightError: `exchange-rate`, if there is none.
    """
    if base == quote:
        return ExchangeRate(base, quote, 1.0)
    rates: tuple[ExchangeRate, ...] = (*((user_rate,) if user_rate else ()), *exchange_rates())
    for rate in rates:
        if (rate.base, rate.quote) == (base, quote):
            return rate
        if (rate.quote, rate.base) == (base, quote):
            return replace(rate, base=base, quote=quote, rate=1 / rate.rate)
    message = _("no exchange rate from {base} to {quote} is known", base=base, quote=quote)
    fix = _(
        "pass --exchange-rate with the {quote} of one {base}, or use one of {currencies}",
        quote=quote,
        base=base,
        currencies=", ".join(sorted({BASE, *(rate.quote for rate in exchange_rates())})),
    )
    raise WrightError.from_code("exchange-rate", message, fix, exit_code=EXIT_USAGE)


def convert(price: Price, currency: str, user_rate: ExchangeRate | None = None) -> Price:
    """Return the price in another currency, unchanged if it has that already; else its source names the rate.

    Raises:
        WrightError: `exchange-rate`.
    """
    if price.currency == currency:
        return price
    rate = find_rate(price.currency, currency, user_rate)
    return replace(
        price,
        low=price.low * rate.rate,
        likely=price.likely * rate.rate,
        high=price.high * rate.rate,
        currency=currency,
        source=f"{price.source}; {describe_rate(rate)}",
    )


def in_currency(
    user_catalog: UserCatalog | None, currency: str, user_rate: ExchangeRate | None = None
) -> UserCatalog:
    """Return the catalog with every price, built-in ones too, in one currency.

    Raises:
        WrightError: `exchange-rate`.
    """
    converted = tuple(convert(quote, currency, user_rate) for quote in prices(user_catalog))
    return replace(user_catalog or UserCatalog(), prices=converted)


def describe_rates(currency: str, user_rate: ExchangeRate | None, currencies: Iterable[str]) -> list[str]:
    """Describe the rates that prices in `currencies` are converted with, each with its day and source."""
    used = sorted(set(currencies) - {currency})
    return [describe_rate(find_rate(base, currency, user_rate)) for base in used]


def describe_rate(rate: ExchangeRate) -> str:
    """Describe a rate: `1 USD = 6.77 CNY (2026-06-19, ...)`, or as the user's own."""
    text = f"1 {rate.base} = {rate.rate:.5g} {rate.quote}"
    if rate.source == _USER_SOURCE:
        return _("{text} (your own rate)", text=text)
    return f"{text} ({rate.date}, {rate.source})"
