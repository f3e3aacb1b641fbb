"""Verdicts on what was measured: by what is expected of the declared parts, and by the fleet's own median; pure.

Both must agree before a part fails, and nothing fails on one measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.check.bench.fleet import FAR, FEWEST, Fleet
from clusterwright.check.bench.words import amount
from clusterwright.check.verdict import Status, Verdict

LEAST_REPEATS = 2


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the declared parts should measure, how that was worked out, and the share of it that is enough."""

    value: float
    unit: str
    why: str
    enough: float

    @property
    def least(self) -> float:
        """Less than this is too little."""
        return self.value * self.enough

    def __str__(self) -> str:
        return f"{amount(self.least, self.unit)} ({self.enough:.0%} of {amount(self.value, self.unit)}: {self.why})"


@dataclass(frozen=True, slots=True)
class Seen:
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


def below(seen: Seen, want: Expectation | None) -> bool:
    """Less than enough of what is expected."""
    return want is not None and seen.best < want.least


def behind(seen: Seen) -> bool:
    """Far below the fleet's median."""
    far = seen.fleet.distance(seen.best)
    return far is not None and far < -FAR


def suspect(seen: Seen, want: Expectation | None) -> bool:
    """Worth measuring again: it is below what is expected, or behind the fleet."""
    return below(seen, want) or behind(seen)


def judge(bench: str, seen: Seen, want: Expectation | None, mend: str) -> Verdict:
    """One part's verdict.

    `fail`: below and behind, in two measurements at least. `warn`: only one of the two, or measured once.
    `unknown`: nothing is expected, and the fleet is too small to say.
    """
    far = seen.fleet.distance(seen.best)
    low, odd = below(seen, want), behind(seen)
    if low and odd and len(seen.values) >= LEAST_REPEATS:
        status = Status.FAIL
    elif low or odd:
        status = Status.WARN
    else:
        status = Status.UNKNOWN if want is None and far is None else Status.OK
    mended = mend if status in (Status.WARN, Status.FAIL) else ""
    return Verdict(seen.subject, bench, status, _saw(seen, far), _wanted(seen, want), mended, seen.part)


def _saw(seen: Seen, far: float | None) -> str:
    times = f", best of {len(seen.values)}" if len(seen.values) > 1 else ""
    beside = "" if far is None else f", {far:+.1f} deviations from the fleet's median"
    return f"{amount(seen.best, seen.unit)}{times}{beside}"


def _wanted(seen: Seen, want: Expectation | None) -> str:
    if want is not None:
        return str(want)
    if seen.fleet.size < FEWEST:
        return "nothing to compare with"
    return f"{amount(seen.fleet.median, seen.unit)}, the median of {seen.fleet.size}"
