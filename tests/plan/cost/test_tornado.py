"""What drives a cost."""

from clusterwright.plan.cost import owned
from clusterwright.plan.cost.figures import likely
from clusterwright.plan.cost.report import co2_kg, kwh
from clusterwright.plan.cost.tornado import ends, tornado


def hour(figures):
    """One owned GPU-hour at half use."""
    return owned.per_gpu_hour(figures, 4, 32, 0.5)


def test_the_longest_bar_comes_first(inputs):
    """Sorted by swing; what does not matter is left out."""
    bars = tornado(inputs, hour)

    swings = [bar.swing for bar in bars]
    assert swings == sorted(swings, reverse=True)
    assert "on_demand" not in {bar.name for bar in bars}


def test_no_single_input_leaves_the_ends(inputs):
    """All of them at their worse end bound each alone."""
    low, high = ends(inputs, hour)

    assert low <= hour(likely(inputs)) <= high
    for bar in tornado(inputs, hour):
        assert low <= min(bar.at_low, bar.at_high) <= max(bar.at_low, bar.at_high) <= high


def test_energy_and_its_carbon():
    """A node of 10 kW for an hour in a hall of PUE 1.2 on the world's grid."""
    assert kwh(10, 1, 1, 1.2) == 12
    assert co2_kg(12) == 12 * 0.48
