"""Owned against rented, as one value."""

import pytest

from clusterwright.plan.cost.rented import Fleet
from clusterwright.plan.cost.report import costs

FLEET = Fleet(4, 32)


def test_a_year_is_its_hours_times_their_price(inputs):
    """For every way."""
    for way in costs(inputs, FLEET, 5000).options:
        assert way.a_year == pytest.approx(way.per_gpu_hour * 32 * 5000)
        assert way.bounds[0] <= way.per_gpu_hour <= way.bounds[1]


def test_what_renting_saves_is_against_owning(inputs):
    """The owned way saves nothing, and at the break-even neither does the other."""
    owned, *rented = costs(inputs, FLEET, 5000).options

    assert owned.saving == 0
    for way in rented:
        assert way.saving == pytest.approx(1 - way.a_year / owned.a_year)
        assert (way.saving > 0) == (way.even.hours_a_year > 5000)


def test_energy_goes_with_the_hours(inputs):
    """And its carbon with the grid."""
    few, many = costs(inputs, FLEET, 1000), costs(inputs, FLEET, 2000)

    assert many.kwh == 2 * few.kwh == pytest.approx(4 * 10 * 1.3 * 2000)
    assert few.co2_kg[0] < few.co2_kg[1] < few.co2_kg[2]
