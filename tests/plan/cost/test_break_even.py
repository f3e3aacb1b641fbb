"""Owned against rented: where the two cost curves cross."""

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusterwright.plan.cost import owned, rented
from clusterwright.plan.cost.break_even import break_even, saving_by_renting
from clusterwright.plan.cost.figures import likely
from clusterwright.plan.cost.rented import Fleet, Rent

FLEET = Fleet(nodes=4, gpus=32)


@given(st.floats(0.5, 20), st.floats(0.01, 0.5), st.sampled_from(Rent))
def test_both_cost_the_same_where_they_break_even(inputs, price, energy, rent):
    """The curves cross there, and nowhere else."""
    figures = replace(likely(inputs), on_demand=price, reserved=price, spot=price, energy=energy)
    found = break_even(figures, FLEET, rent, hours=5000)
    assume(math.isfinite(found.hours_a_year))

    mine = owned.a_year(figures, FLEET.nodes, found.hours_a_year)
    assert rented.a_year(figures, FLEET, rent, found.hours_a_year) == pytest.approx(mine)
    assert saving_by_renting(figures, FLEET, rent, found.hours_a_year / 2) > 0
    assert saving_by_renting(figures, FLEET, rent, found.hours_a_year * 2) < 0


def test_owning_never_pays_where_rent_is_below_the_energy(inputs):
    """No hours are enough."""
    found = break_even(replace(likely(inputs), on_demand=0.001), FLEET, Rent.ON_DEMAND, hours=8760)

    assert found.hours_a_year == found.months == math.inf
    assert not found.reachable


def test_a_dearer_rent_pays_the_purchase_back_sooner(inputs):
    """Months fall as the rent rises."""
    months = [
        break_even(replace(likely(inputs), on_demand=price), FLEET, Rent.ON_DEMAND, hours=8000).months
        for price in (3, 5, 10)
    ]

    assert months == sorted(months, reverse=True)
    assert months[-1] < 12


def test_a_busier_cluster_has_cheaper_hours(inputs):
    """Fixed costs are spread over more of them."""
    prices = [owned.per_gpu_hour(likely(inputs), 4, 32, share) for share in (0.25, 0.5, 1)]

    assert prices == sorted(prices, reverse=True)
    assert prices[0] < 4 * prices[2]  # energy is paid by the hour


def test_a_spot_hour_costs_more_than_its_price(inputs):
    """What interruptions throw away is paid for, too; more of it on more nodes."""
    few, many = (
        rented.per_gpu_hour(likely(inputs), Fleet(nodes, 8 * nodes), Rent.SPOT) for nodes in (4, 512)
    )

    assert likely(inputs).spot < few < many


def test_the_year_adds_up(inputs):
    """By hand: 4 servers with 22% extras, written off over 4 years to a fifth."""
    figures = likely(inputs)
    bought = 4 * 250_000 * 1.22

    assert owned.purchase(figures, 4) == pytest.approx(bought)
    assert owned.fixed_a_year(figures, 4) == pytest.approx(
        bought * 0.8 / 4 + bought * 0.04 + 100_000 + 4 * 10 * 200 * 12
    )
    assert owned.energy_an_hour(figures, 4) == pytest.approx(4 * 10 * 1.3 * 0.09)
