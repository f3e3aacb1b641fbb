"""Exchange rates and cloud prices: each dated and with a source, conversions that lose nothing."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.catalog import UserCatalog, gpu
from clusterwright.catalog.exchange import (
    cloud_prices,
    convert,
    describe_rate,
    exchange_rates,
    find_rate,
    in_currency,
    read_exchange_rate,
)
from clusterwright.catalog.prices import common_currency, price, prices
from clusterwright.catalog.records import Deal
from clusterwright.errors import WrightError


@pytest.mark.parametrize("rate", exchange_rates())
def test_a_rate_has_a_day_and_a_source(rate):
    """So that the output can name both."""
    assert rate.rate > 0
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", rate.date)
    assert "http" in rate.source
    assert rate.date in describe_rate(rate)


@pytest.mark.parametrize("row", cloud_prices(), ids=lambda row: f"{row.cloud}-{row.instance}-{row.deal}")
def test_a_cloud_price_has_region_day_source_and_a_gpu_of_the_catalog(row):
    """A figure that cannot be traced is not in the table."""
    assert gpu(row.gpu).name == row.gpu
    assert row.per_hour > 0
    assert row.region
    assert row.currency in {"USD", "CNY"}
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", row.date)
    assert "http" in row.source
    assert 0.1 < row.per_gpu_hour < 50


def test_clouds_in_yuan_stand_beside_those_in_dollars():
    """Each in the currency that it is sold in; a cloud without a traced price is absent."""
    currencies = {row.cloud: row.currency for row in cloud_prices()}

    assert {"AWS", "Azure", "Google Cloud", "Lambda", "CoreWeave"} == {
        cloud for cloud, currency in currencies.items() if currency == "USD"
    }
    assert {cloud for cloud, currency in currencies.items() if currency == "CNY"} == {"Tencent", "Alibaba"}


@given(st.floats(0.01, 1000), st.sampled_from(["CNY", "EUR", "JPY"]))
def test_conversion_keeps_the_order_and_its_way_back(rate, currency):
    """Low <= likely <= high; the inverse rate gives the price back."""
    own = replace(read_exchange_rate("1", currency), rate=rate)
    dollars = price("h100-sxm-80gb", Deal.OWNED)

    there = convert(dollars, currency, own)
    back = convert(there, "USD", own)

    assert there.low <= there.likely <= there.high
    assert back.likely == pytest.approx(dollars.likely)
    assert there.currency == currency


def test_every_price_is_in_the_one_currency_afterwards():
    """Also the user's own, in a third currency."""
    own_price = replace(price("h100-sxm-80gb", Deal.OWNED), currency="CNY", likely=200_000, high=300_000)
    catalog = in_currency(UserCatalog(prices=(own_price,)), "CNY")

    assert common_currency(prices(catalog)) == "CNY"
    assert price("h100-sxm-80gb", Deal.OWNED, catalog).likely == 200_000
    rate = find_rate("USD", "CNY")
    assert price("hgx-h100", Deal.OWNED, catalog).likely == pytest.approx(270_000 * rate.rate)
    assert rate.date in price("hgx-h100", Deal.OWNED, catalog).source


def test_an_own_rate_comes_first_and_is_named():
    """Whoever pays at another rate gives it."""
    own = read_exchange_rate("7.1", "CNY")

    assert find_rate("USD", "CNY", own).rate == 7.1
    assert find_rate("CNY", "USD", own).rate == pytest.approx(1 / 7.1)
    assert "your own" in describe_rate(own)


@pytest.mark.parametrize("text", ["0", "-1", "abc", "1e999", "", "nan", "7,1"])
def test_what_is_no_rate_is_refused(text):
    """With how to write one."""
    with pytest.raises(WrightError, match="exchange-rate") as caught:
        read_exchange_rate(text, "CNY")

    assert caught.value.exit_code == 2


def test_a_missing_rate_names_the_option():
    """Rates are never guessed."""
    with pytest.raises(WrightError, match="--exchange-rate"):
        find_rate("USD", "EUR")
