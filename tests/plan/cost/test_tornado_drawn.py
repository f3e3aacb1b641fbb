"""What drives a cost, drawn."""

import re
from dataclasses import fields

from clusterwright.plan.cost.figures import Figures
from clusterwright.plan.cost.tornado import MAX_BARS, NAMES, TornadoBar, drawn


def test_every_figure_of_owning_has_its_words():
    """In both languages; rents drive no owned hour."""
    assert set(NAMES) == {each.name for each in fields(Figures)} - {"on_demand", "reserved", "spot"}


def test_a_longer_swing_is_a_longer_bar():
    """Widths go with the swings, and no more than so many are drawn."""
    bars = [
        TornadoBar("server", 1 - swing, 1 + swing)
        for swing in (0.9, 0.5, 0.4, 0.3, 0.2, 0.1, 0.09, 0.08, 0.07)
    ]

    widths = [
        float(width) for width in re.findall(r'<rect[^>]* width="([0-9.]+)"', drawn(bars, 1.0, "USD", 900))
    ]
    assert len(widths) == MAX_BARS
    assert widths == sorted(widths, reverse=True)
