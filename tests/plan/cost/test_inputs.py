"""The inputs of a cost, from the catalog and from the user."""

from dataclasses import fields, replace

import pytest

from clusterwright.catalog import UserCatalog, gpu
from clusterwright.catalog.prices import price
from clusterwright.catalog.records import Deal
from clusterwright.errors import WrightError
from clusterwright.plan.cost.figures import Figures
from clusterwright.plan.cost.inputs import discounted, gather, server_of

A100 = gpu("a100-sxm-80gb")


def test_every_figure_has_a_value_and_a_source():
    """By the names of Figures, and none is bare."""
    made = gather(A100, 4)

    assert set(made.values) == {each.name for each in fields(Figures)}
    assert all(each.source for each in made.values.values())
    assert made.currency == "USD"


def test_the_users_own_price_wins():
    """A server at one dollar."""
    name = server_of(A100).name
    mine = replace(price(name, Deal.OWNED), low=1, likely=1, high=1)

    assert gather(A100, 4, UserCatalog(prices=(mine,))).values["server"].likely == 1


def test_prices_in_two_currencies_are_refused():
    """Both places are shown, and nothing is converted by guess."""
    mine = replace(price("electricity", Deal.OWNED), currency="CNY")

    with pytest.raises(WrightError, match="currency-mixed") as caught:
        gather(A100, 4, UserCatalog(prices=(mine,)))
    assert "CNY" in str(caught.value)
    assert caught.value.exit_code == 2


def test_old_prices_are_said_to_be_old():
    """Half a year on; on the day itself nothing is."""
    made = gather(A100, 4)

    assert len(made.warnings("2030-01-01")) == len(made.prices)
    assert made.warnings("2026-01-01") == []


def test_a_gpu_without_prices_is_refused():
    """What lacks is named."""
    with pytest.raises(WrightError, match=r"cost-no-price.*neither a price to rent p4 nor a server with it"):
        gather(gpu("p4"), 1)


def test_a_missing_deal_is_taken_from_on_demand():
    """Reserved is cheaper, spot cheapest."""
    on_demand = price("mi300x", Deal.ON_DEMAND)

    assert (
        discounted(on_demand, Deal.SPOT).likely
        < discounted(on_demand, Deal.RESERVED).likely
        < on_demand.likely
    )


def test_more_nodes_want_more_people():
    """And a small cluster a quarter of one."""
    few, many = (gather(A100, nodes).values["staff"].likely for nodes in (1, 640))

    assert many == 40 * few
