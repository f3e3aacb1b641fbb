"""One currency for all prices of a calculation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from clusterwright.errors import EXIT_USAGE, Finding, Place, WrightError

if TYPE_CHECKING:
    from clusterwright.plan.cost.estimate import Estimate


def one_currency(prices: Iterable[tuple[str, Estimate]]) -> str:
    """The currency of all of these that have one; empty where none has.

    Raises:
        WrightError: currency-mixed, with every price and its source.
    """
    priced = [(name, each) for name, each in prices if each.currency]
    currencies = sorted({each.currency for _, each in priced})
    if len(currencies) > 1:
        places = tuple(
            Place(each.source or "prices", path=name, shown=f"{each.likely:g} {each.currency}")
            for name, each in priced
        )
        message = f"prices are in {len(currencies)} currencies: {', '.join(currencies)}"
        mend = f"give all of them in {currencies[-1]}; rates of exchange are not guessed"
        raise WrightError(Finding("currency-mixed", message, mend, places), exit_code=EXIT_USAGE)
    return currencies[0] if currencies else ""
