"""Statistics of prediction errors by group, without numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median


@dataclass(frozen=True, slots=True)
class Off:
    """A measurement and its prediction, in the same unit."""

    source: str
    label: str
    predicted: float
    measured: float
    complete: bool = True
    inside: bool | None = None  # whether within the predicted P10 to P90 range
    group: str = ""

    @property
    def error(self) -> float:
        """The error, predicted / measured - 1: -0.1 is a tenth too small."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True, slots=True)
class Score:
    """Statistics of the errors of a group, as shares."""

    rows: int
    complete: int
    median: float  # of the absolute error
    mean: float  # of the absolute error
    p90: float
    bias: float  # mean of the signed error
    worst: Off
    inside: float | None  # share of rows within their range


def score(rows: Sequence[Off]) -> Score:
    """Return the score of one group, which must not be empty."""
    sizes = [abs(each.error) for each in rows]
    ranged = [each.inside for each in rows if each.inside is not None]
    return Score(
        rows=len(rows),
        complete=sum(each.complete for each in rows),
        median=median(sizes),
        mean=fmean(sizes),
        p90=quantile(sizes, 0.9),
        bias=fmean(each.error for each in rows),
        worst=max(rows, key=lambda each: abs(each.error)),
        inside=fmean(ranged) if ranged else None,
    )


def by(rows: Iterable[Off], key: Callable[[Off], str]) -> dict[str, list[Off]]:
    """Group rows by a key, in order of the keys."""
    groups: dict[str, list[Off]] = {}
    for each in rows:
        groups.setdefault(key(each), []).append(each)
    return dict(sorted(groups.items()))


def quantile(values: Sequence[float], share: float) -> float:
    """Return a quantile by linear interpolation between the sorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def publisher(source: str) -> str:
    """Return the publisher of a source: the first word of its name."""
    return source.split(maxsplit=1)[0].rstrip(":,")


@dataclass(frozen=True, slots=True)
class Ranking:
    """Layouts of one training on the same GPUs, with measured and predicted times."""

    label: str
    rows: tuple[Off, ...]

    @property
    def place(self) -> int:
        """The rank, from 1, that the prediction gives the layout measured as the best."""
        best = min(self.rows, key=lambda each: each.measured)
        return 1 + sum(each.predicted < best.predicted for each in self.rows)

    @property
    def lost(self) -> float:
        """The measured time of the layout predicted as the best, over that of the best one, minus 1."""
        chosen = min(self.rows, key=lambda each: each.predicted)
        return chosen.measured / min(each.measured for each in self.rows) - 1


def rankings(rows: Iterable[Off], fewest: int) -> list[Ranking]:
    """Return rankings of at least `fewest` rows each that differ only in layout."""
    groups = by((each for each in rows if each.group), lambda each: each.group)
    return [Ranking(label, tuple(members)) for label, members in groups.items() if len(members) >= fewest]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Counts of runs by predicted and actual fit in memory."""

    ran: int
    ran_called_fitting: int
    oom: int
    oom_called_fitting: int


def verdicts(rows: Iterable[tuple[bool, bool]]) -> Verdicts:
    """Count pairs of whether a run ran and whether it was predicted to fit."""
    pairs = list(rows)
    fitting = [called for ran, called in pairs if ran]
    burst = [called for ran, called in pairs if not ran]
    return Verdicts(len(fitting), sum(fitting), len(burst), sum(burst))
