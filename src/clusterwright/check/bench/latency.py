"""Verdicts on message latency: against an absolute bound, and against the fleet; pure.

As with rates, an end counts by its best partner, it fails only if it is slow against both, and only after
two measurements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.check.bench.amounts import amount
from clusterwright.check.bench.fleet import OUTLIER_DEVIATIONS, fleet
from clusterwright.check.bench.judging import LEAST_REPEATS
from clusterwright.check.bench.measure import pair
from clusterwright.check.bench.rounds import Pair
from clusterwright.check.verdict import Status, Verdict
from clusterwright.i18n import _

Times = Mapping[Pair, float]  # by the two ends, seconds


@dataclass(frozen=True, slots=True)
class Bound:
    """The expected latency, its derivation, and the factor of it that is still acceptable."""

    seconds: float
    reason: str
    times: float

    @property
    def most(self) -> float:
        """The highest acceptable latency in seconds."""
        return self.seconds * self.times

    def __str__(self) -> str:
        return _(
            "a message takes at most {amount} ({times:g} times {reference}: {reason})",
            amount=amount(self.most, "s"),
            times=self.times,
            reference=amount(self.seconds, "s"),
            reason=self.reason,
        )


def late(passes: Sequence[Times], bound: Bound) -> tuple[Pair, ...]:
    """Return the pairs of the first pass that exceed the bound, to be measured again."""
    return tuple(ends for ends, seconds in passes[0].items() if seconds > bound.most) if passes else ()


def verdicts(bench: str, passes: Sequence[Times], bound: Bound, fix: str) -> Iterator[Verdict]:
    """Yield a verdict on each end, by its fastest partner, and on each slow path between two ends that are fast.

    An end fails if its best time exceeds `bound` and is an outlier, measured at least twice; one of the two is a
    warning.
    """
    ends = _of_ends(passes)
    usual = fleet(min(several) for several in ends.values())
    well = set()
    for end, several in ends.items():
        best = min(several)
        distance = usual.distance(best)
        too_long, odd = best > bound.most, distance is not None and distance > OUTLIER_DEVIATIONS
        status = Status.WARN if too_long or odd else Status.OK
        if too_long and odd and len(several) >= LEAST_REPEATS:
            status = Status.FAIL
        well |= set() if too_long else {end}
        comparison = (
            ""
            if distance is None
            else _(", {distance:+.1f} deviations from the fleet's median", distance=distance)
        )
        observed = f"{amount(best, 's')}{_times(several)}{comparison}"
        yield Verdict(end, bench, status, observed, str(bound), "" if status is Status.OK else fix)
    yield from _late_links(bench, passes, bound, well)


def _of_ends(passes: Sequence[Times]) -> dict[str, list[float]]:
    """Return by end (host or rail) its shortest time in seconds in each pass that included it."""
    best_times: dict[str, list[float]] = {}
    for times in passes:
        best: dict[str, float] = {}
        for ends, seconds in times.items():
            for end in ends:
                best[end] = min(seconds, best.get(end, seconds))
        for end, seconds in best.items():
            best_times.setdefault(end, []).append(seconds)
    return best_times


def _late_links(bench: str, passes: Sequence[Times], bound: Bound, well: set[str]) -> Iterator[Verdict]:
    for ends in passes[0] if passes else ():
        several = [times[ends] for times in passes if ends in times]
        if {*ends} <= well and min(several) > bound.most:
            status = Status.FAIL if len(several) >= LEAST_REPEATS else Status.WARN
            observed = _(
                "a message takes {amount}{times}; both hosts are faster with other hosts",
                amount=amount(min(several), "s"),
                times=_times(several),
            )
            fix = _("check the route between the two hosts: its switches and their load")
            yield Verdict(pair(*ends), bench, status, observed, str(bound), fix, "way")


def _times(several: Sequence[float]) -> str:
    return _(", best of {count}", count=len(several)) if len(several) > 1 else ""
