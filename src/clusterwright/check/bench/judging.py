"""Verdicts on what was measured: by what is expected of the declared parts, and by the fleet's own median; pure.

Both must agree before a part fails, and nothing fails on one measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.fleet import FEWEST, OUTLIER_DEVIATIONS, Fleet
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

LEAST_REPEATS = 2


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the declared parts should measure, how that was worked out, and the share of it that is enough."""

    value: float
    unit: str
    reason: str
    enough: float

    @property
    def least(self) -> float:
        """Less than this is too little."""
        return self.value * self.enough

    def __str__(self) -> str:
        return _(
            "{amount} ({enough:.0%} of {reference}: {reason})",
            amount=amount(self.least, self.unit),
            enough=self.enough,
            reference=amount(self.value, self.unit),
            reason=self.reason,
        )


@dataclass(frozen=True, slots=True)
class Observation:
    """What one part measured, once or several times, and what the same parts of the whole fleet did."""

    subject: str
    values: Sequence[float]
    fleet: Fleet
    unit: str
    part: str = ""

    @property
    def best(self) -> float:
        """The highest: disturbances only take away."""
        return max(self.values)


def below(observation: Observation, expectation: Expectation | None) -> bool:
    """Less than enough of what is expected."""
    return expectation is not None and observation.best < expectation.least


def is_outlier(observation: Observation) -> bool:
    """Far below the fleet's median."""
    distance = observation.fleet.distance(observation.best)
    return distance is not None and distance < -OUTLIER_DEVIATIONS


def suspect(observation: Observation, expectation: Expectation | None) -> bool:
    """Worth measuring again: it is below what is expected, or behind the fleet."""
    return below(observation, expectation) or is_outlier(observation)


def judge(bench: str, observation: Observation, expectation: Expectation | None, fix: str) -> Verdict:
    """One part's verdict.

    `fail`: below and behind, in two measurements at least. `warn`: only one of the two, or measured once.
    `unknown`: nothing is expected, and the fleet is too small to say.
    """
    distance = observation.fleet.distance(observation.best)
    low, odd = below(observation, expectation), is_outlier(observation)
    if low and odd and len(observation.values) >= LEAST_REPEATS:
        status = Status.FAIL
    elif low or odd:
        status = Status.WARN
    else:
        status = Status.UNKNOWN if expectation is None and distance is None else Status.OK
    fix_text = fix if status in (Status.WARN, Status.FAIL) else ""
    return Verdict(
        observation.subject,
        bench,
        status,
        _observed(observation, distance),
        _expected(observation, expectation),
        fix_text,
        observation.part,
    )


def _observed(observation: Observation, distance: float | None) -> str:
    times = _(", best of {count}", count=len(observation.values)) if len(observation.values) > 1 else ""
    comparison = (
        ""
        if distance is None
        else _(", {distance:+.1f} deviations from the fleet's median", distance=distance)
    )
    return f"{amount(observation.best, observation.unit)}{times}{comparison}"


def _expected(observation: Observation, expectation: Expectation | None) -> str:
    if expectation is not None:
        return str(expectation)
    if observation.fleet.size < FEWEST:
        return _("nothing to compare with")
    return _(
        "{amount}, the median of {size}",
        amount=amount(observation.fleet.median, observation.unit),
        size=observation.fleet.size,
    )
