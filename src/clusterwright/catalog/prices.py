"""What things cost, owned and rented: each with a range, a currency, a day and a source."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from clusterwright.catalog.records import Deal, Price
from clusterwright.catalog.rows import rows
from clusterwright.errors import EXIT_USAGE, Finding, Place, WrightError

if TYPE_CHECKING:
    from clusterwright.catalog.own import Own

OLD_AFTER_MONTHS = 6  # prices of rented H100s fell by 44% within one (AWS, June 2025)


def prices(extra: Own | None = None) -> tuple[Price, ...]:
    """All prices; the user's own in place of ours for the same item and deal."""
    own = tuple(extra.prices) if extra else ()
    replaced = {(each.item, each.deal) for each in own}
    return own + tuple(each for each in _ours() if (each.item, each.deal) not in replaced)


def price(item: str, deal: Deal, extra: Own | None = None) -> Price | None:
    """The price of one item; None where none is known."""
    return next((each for each in prices(extra) if (each.item, each.deal) == (item, deal)), None)


def one_currency(asked: Iterable[Price]) -> str:
    """The currency of all prices of one question.

    Raises:
        WrightError: `currency-mixed`, with both places; rates of exchange are not guessed.
    """
    first: Price | None = None
    for each in asked:
        first = first or each
        if each.currency != first.currency:
            places = tuple(
                Place(
                    one.source or "prices",
                    path=f"{one.item} {one.deal}",
                    shown=f"{one.likely:g} {one.currency}",
                )
                for one in (first, each)
            )
            message = f"prices are in two currencies: {first.currency} and {each.currency}"
            mend = f"give both in {first.currency}; rates of exchange are not guessed"
            raise WrightError(Finding("currency-mixed", message, mend, places), exit_code=EXIT_USAGE)
    return first.currency if first else ""


def age_warning(one: Price, today: str, months: int = OLD_AFTER_MONTHS) -> str:
    """One sentence where the price is more than `months` older than `today` (YYYY-MM-DD); else nothing."""
    age = _months(one.date, today)
    if age <= months:
        return ""
    return f"the price of {one.item} ({one.deal}) is of {one.date}, {age} months old; give your own with --catalog"


def _months(since: str, until: str) -> int:
    (year, month), (now_year, now_month) = (map(int, day.split("-")[:2]) for day in (since, until))
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
