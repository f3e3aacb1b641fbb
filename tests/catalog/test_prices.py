"""Prices: ranges in order, dated, with a source; of things the catalog knows; in one currency for one question."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import UserCatalog, gpu, parts
from clusterwright.catalog.prices import age_warning, common_currency, price, prices
from clusterwright.catalog.records import Deal, Price
from clusterwright.errors import WrightError

KNOWN = {
    "GPU": gpu, "GPU-hour": gpu, "server": parts.server, "switch": parts.switch, "cable": parts.cable,
    "NIC": parts.nic, "drive": parts.storage,
}  # fmt: skip


@pytest.mark.parametrize("one", prices(), ids=lambda one: f"{one.item}-{one.deal}")
def test_a_price_is_whole(one):
    """Low <= likely <= high, a day, a source, and something that the catalog knows."""
    assert 0 < one.low <= one.likely <= one.high
    assert one.currency == "USD"
    assert "2024-01" <= one.date <= "2026-11"
    assert one.quality in {"list", "survey", "index", "estimate"}
    assert len(one.source) > 8
    if one.per in KNOWN:
        assert KNOWN[one.per](one.item).name == one.item
    assert (one.deal is Deal.OWNED) == (one.per != "GPU-hour")


def test_no_price_is_there_twice():
    """One row for an item and a deal."""
    keys = [(one.item, one.deal) for one in prices()]

    assert len(keys) == len(set(keys))


def test_a_spot_hour_is_cheaper_than_a_reserved_one_and_that_than_one_on_demand():
    """Where all are known."""
    for item in {one.item for one in prices()}:
        known = [price(item, deal) for deal in (Deal.SPOT, Deal.RESERVED, Deal.ON_DEMAND)]
        likely = [one.likely for one in known if one]
        assert likely == sorted(likely), item


def test_every_server_has_a_price():
    """So that any of them can be compared."""
    assert all(price(name, Deal.OWNED) for name in parts.servers())


def test_two_currencies_in_one_question_are_refused_with_both_places():
    """Rates of exchange are not guessed."""
    dollars = price("h100-sxm-80gb", Deal.OWNED)
    euros = replace(dollars, item="qm9700", currency="EUR", source="catalog.toml")
    with pytest.raises(WrightError) as caught:
        common_currency([dollars, dollars, euros])

    finding = caught.value.findings[0]
    assert finding.code == "currency-mixed"
    assert [place.value for place in finding.places] == ["30000 USD", "30000 EUR"]
    assert finding.places[1].file == "catalog.toml"


def test_one_currency_is_said():
    """And none for no prices."""
    assert common_currency(prices()) == "USD"
    assert common_currency([]) == ""


@given(st.integers(0, 60), st.integers(0, 24))
def test_a_price_warns_when_it_is_older_than_asked(age, allowed):
    """The day is handed in; nothing here looks at a clock."""
    since = 12 * 2026 - age
    one = Price("x", Deal.OWNED, "GPU", 1, 1, 1, "USD", f"{since // 12:04}-{since % 12 + 1:02}")
    said = age_warning(one, "2026-01-31", allowed)

    assert bool(said) == (age > allowed)
    assert not said or f"{age} months" in said


def test_the_users_own_price_takes_the_place_of_ours():
    """For that item and deal only."""
    mine = Price("h100-sxm-80gb", Deal.SPOT, "GPU-hour", 1, 1, 1, "EUR", "2026-11")
    own = UserCatalog(prices=(mine,))

    assert price("h100-sxm-80gb", Deal.SPOT, own) is mine
    assert price("h100-sxm-80gb", Deal.OWNED, own).currency == "USD"
    assert len(prices(own)) == len(prices())
