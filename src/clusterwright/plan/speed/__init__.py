"""Predicted time of one iteration: `iteration(run)` by parts, and its P10 to P90 range `span`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterwright.catalog import fitted
from clusterwright.plan.speed.coefficients import Coefficients, Rates, rates
from clusterwright.plan.speed.ends import Ends, ends
from clusterwright.plan.speed.iteration import bound, compose, time_of
from clusterwright.plan.speed.layers import LayerTime, layer
from clusterwright.plan.speed.span import span

if TYPE_CHECKING:
    from clusterwright.plan.prediction import Time
    from clusterwright.plan.run import Run

__all__ = [
    "Coefficients",
    "Ends",
    "LayerTime",
    "Rates",
    "bound",
    "coefficients",
    "compose",
    "ends",
    "iteration",
    "layer",
    "rates",
    "span",
]


def coefficients() -> Coefficients:
    """Return the fitted coefficients shipped with the package (`bench/accuracy/fit_plan.py`)."""
    return Coefficients(fitted.coefficients("speed")["values"])


def iteration(run: Run, custom_coefficients: Coefficients | None = None) -> Time:
    """Predict the seconds of one iteration, by part; `custom_coefficients` replace those shipped with the package."""
    return time_of(run, rates(run, custom_coefficients or coefficients()))
