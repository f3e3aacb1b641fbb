"""One currency for all prices of a calculation."""

from dataclasses import replace

import pytest

from clusterwright.errors import WrightError
from clusterwright.plan.cost.currency import one_currency


def test_one_currency_is_taken(inputs):
    """The one that all prices are in."""
    assert one_currency(inputs.items()) == "USD"


def test_prices_in_two_currencies_are_refused(inputs):
    """Both are shown, and nothing is converted by guess."""
    mixed = {**inputs, "server": replace(inputs["server"], currency="CNY")}

    with pytest.raises(WrightError, match=r"currency-mixed.*2 currencies: CNY, USD") as caught:
        one_currency(mixed.items())
    shown = str(caught.value)
    assert caught.value.exit_code == 2
    assert "server: 250000 CNY" in shown
    assert "on_demand: 3 USD" in shown
