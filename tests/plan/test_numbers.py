"""Arithmetic of the planner on whole numbers."""

from hypothesis import given
from hypothesis import strategies as st

from clusterwright.plan.fabric import clos, design
from clusterwright.plan.numbers import divisors
from clusterwright.plan.predict import layouts
from clusterwright.plan.search import meshes


@given(st.integers(1, 5000))
def test_divisors_divide_and_none_is_missing(number):
    """In order, each once, and exactly those."""
    assert divisors(number) == [d for d in range(1, number + 1) if number % d == 0]


def test_the_divisors_are_one_function():
    """Of fabrics, predictions and the search; those of a large number take no time."""
    assert all(module.divisors is divisors for module in (clos, design, layouts, meshes))
    assert len(divisors(10**10)) == 121
