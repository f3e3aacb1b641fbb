"""The inputs of a cost: no nonsense."""

import pytest

from clusterwright.errors import WrightError
from clusterwright.plan.cost.figures import Estimate, likely, refuse_nonsense


def test_every_figure_that_cannot_be_is_told_at_once(inputs):
    """Below zero, a residual above the price, a PUE below one, no life."""
    bad = {
        **inputs,
        "energy": Estimate(-1, 0, 1),
        "residual_share": Estimate(0, 0.5, 1.5),
        "pue": Estimate(0.5, 1, 1),
        "life_years": Estimate(0, 3, 4),
    }

    with pytest.raises(WrightError) as caught:
        refuse_nonsense(bad)
    assert [finding.code for finding in caught.value.findings] == ["cost-figure"] * 4


def test_good_figures_pass(inputs):
    """Nothing is said of them."""
    refuse_nonsense(inputs)

    assert likely(inputs).pue == 1.3


def test_an_estimate_is_in_order():
    """Low, likely, high."""
    with pytest.raises(ValueError, match="low <= likely <= high does not hold"):
        Estimate(2, 1, 3)
