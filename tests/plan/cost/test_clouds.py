"""Cloud prices of a GPU in one currency, and the cost of renting from one cloud."""

import pytest

from clusterwright.catalog import UserCatalog, gpu
from clusterwright.catalog.exchange import find_rate, read_exchange_rate
from clusterwright.catalog.prices import price, prices
from clusterwright.catalog.records import Deal
from clusterwright.errors import WrightError
from clusterwright.plan.cost.clouds import cloud_offers, list_prices, with_cloud

A100, H100 = gpu("a100-sxm-80gb"), gpu("h100-sxm-80gb")


def test_offers_are_in_one_currency_with_their_rate():
    """Yuan and dollars side by side."""
    offers = {offer.price.cloud: offer for offer in cloud_offers(A100, "CNY")}

    assert offers["Alibaba"].per_gpu_hour == pytest.approx(34.742)
    assert offers["Alibaba"].converted == ""
    assert offers["AWS"].per_gpu_hour == pytest.approx(27.44705 / 8 * find_rate("USD", "CNY").rate)
    assert "2026-06-19" in offers["AWS"].converted


def test_without_a_rate_an_offer_stays_in_its_currency():
    """It is shown, not dropped and not guessed."""
    own = read_exchange_rate("0.9", "EUR")
    currencies = {offer.price.cloud: offer.currency for offer in cloud_offers(A100, "EUR", own)}

    assert currencies["AWS"] == "EUR"
    assert currencies["Alibaba"] == "CNY"


def test_one_clouds_price_replaces_the_market():
    """Reserved and spot follow from its on-demand price where they are not known."""
    catalog = with_cloud(None, A100, "alibaba", "CNY")

    assert price(A100.name, Deal.ON_DEMAND, catalog).likely == pytest.approx(34.742)
    assert price(A100.name, Deal.RESERVED, catalog).likely == pytest.approx(0.7 * 34.742)
    assert "Alibaba" in price(A100.name, Deal.ON_DEMAND, catalog).source


def test_a_clouds_own_spot_price_counts():
    """CoreWeave lists one."""
    catalog = with_cloud(None, H100, "CoreWeave", "USD")

    assert price(H100.name, Deal.SPOT, catalog).likely == pytest.approx(19.71 / 8)


def test_other_prices_of_the_catalog_stay():
    """Only what is rented from the cloud changes."""
    own = UserCatalog(prices=(price("hgx-h100", Deal.OWNED),))
    catalog = with_cloud(own, H100, "aws", "USD")

    assert own.prices[0] in prices(catalog)


@pytest.mark.parametrize(
    ("cloud", "words"), [("tencent", "Alibaba"), ("huawei", "no price"), ("", "no price")]
)
def test_a_cloud_without_a_traced_price_is_refused_with_the_others(cloud, words):
    """Nothing is made up for it."""
    with pytest.raises(WrightError, match="cost-no-price") as caught:
        with_cloud(None, A100, cloud, "USD")

    assert words in str(caught.value)


def test_list_prices_are_whole():
    """As rows of the price list, with a month for the warning of age."""
    for row in list_prices():
        assert row.date.count("-") in {1, 2}
        assert 0 < row.low <= row.likely <= row.high
