"""Verdicts on measurements: against the expected value of the declared parts, and against the fleet's median; pure.

A part fails only if it is low against both, and only after two measurements.
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
    """The value that the declared parts should reach, its derivation, and the share of it that is enough."""

    value: float
    unit: str
    reason: str
    enough: float

    @property
    def least(self) -> float:
        """The lowest acceptable value: the expected value times the share that is enough."""
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
    """The values that one part measured in one or more passes, and the fleet statistics of the same quantity."""

    subject: str
    values: Sequence[float]
    fleet: Fleet
    unit: str
    part: str = ""

    @property
    def best(self) -> float:
        """The highest of the measured values: disturbances only lower a rate."""
        return max(self.values)


def below(observation: Observation, expectation: Expectation | None) -> bool:
    """True if the best value is less than the lowest acceptable one; False without an expectation."""
    return expectation is not None and observation.best < expectation.least


def is_outlier(observation: Observation) -> bool:
    """True if the best value is over 3.5 deviations below the fleet's median; False for fewer than three values."""
    distance = observation.fleet.distance(observation.best)
    return distance is not None and distance < -OUTLIER_DEVIATIONS


def suspect(observation: Observation, expectation: Expectation | None) -> bool:
    """True if the part should be measured again: it is below the expectation or an outlier of the fleet."""
    return below(observation, expectation) or is_outlier(observation)


def judge(bench: str, observation: Observation, expectation: Expectation | None, fix: str) -> Verdict:
    """Return the verdict on one measured part: fail, warn, unknown or OK.

    `fail`: below the expectation and an outlier, in at least two measurements. `warn`: only one of the two, or measured
    once. `unknown`: there is no expectation, and the fleet is too small to compare. `fix` goes into warn and fail only.
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
    times = (
        _(", the best of {count} measurements", count=len(observation.values))
        if len(observation.values) > 1
        else ""
    )
    comparison = (
        ""
        if distance is None
        else _(", {distance:+.1f} deviations from the median of all hosts", distance=distance)
    )
    return f"{amount(observation.best, observation.unit)}{times}{comparison}"


def _expected(observation: Observation, expectation: Expectation | None) -> str:
    if expectation is not None:
        return str(expectation)
    if observation.fleet.size < FEWEST:
        return _("no expected value is known, and too few other hosts were measured to compare with")
    return _(
        "{amount}, the median of {size} measured values",
        amount=amount(observation.fleet.median, observation.unit),
        size=observation.fleet.size,
    )
