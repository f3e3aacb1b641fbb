"""How fast each running job was, as far back as the page has watched it, in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from clusterwright.monitor.snapshot import JobView

MOST = (
    240  # points of a trail; one that is full keeps every second point, and from then on every second moment
)
FIGURES = ("loss", "tokens_per_s", "mfu", "utilisation")
_NOTHING = float("nan")


class Trail:
    """Moments and figures of one job; the whole of its life, coarser as it grows older."""

    def __init__(self) -> None:
        self.rows = array("d")
        self._every, self._count = 1, 0

    def add(self, time: float, figures: Iterable[float | None]) -> None:
        """One more moment, unless it falls between those that are kept."""
        if self._count % self._every == 0:
            self.rows.extend([time, *(_NOTHING if value is None else value for value in figures)])
        self._count += 1
        if len(self.rows) >= MOST * _WIDE:
            points = self.points()[::2]
            self.rows = array("d", [value for point in points for value in point])
            self._every *= 2

    def points(self) -> list[tuple[float, ...]]:
        """Each moment with its figures; those that nobody said are not a number."""
        flat = self.rows
        return [tuple(flat[start : start + _WIDE]) for start in range(0, len(flat), _WIDE)]

    def shown(self) -> dict[str, list[float | None]]:
        """`time` and each figure as a list of its own, with None for what nobody said."""
        columns = zip(*self.points(), strict=True) if self.rows else [() for _ in range(_WIDE)]
        return {
            name: [None if value != value else value for value in column]  # noqa: PLR0124 (only NaN differs from itself)
            for name, column in zip(("at", *FIGURES), columns, strict=True)
        }


_WIDE = 1 + len(FIGURES)


class Trails:
    """The trails of the jobs that run; one that has ended is forgotten."""

    def __init__(self) -> None:
        self._by_job: dict[str, Trail] = {}

    def add(self, time: float, jobs: Iterable[JobView]) -> None:
        """What the jobs of one picture say."""
        now: dict[str, Trail] = {}
        for job in jobs:
            if job.started is None or (job.run is None and job.utilisation is None):
                continue
            run = job.run
            figures = (run.loss, run.tokens_per_s, run.mfu) if run else (None, None, None)
            trail = now[job.id] = self._by_job.get(job.id) or Trail()
            trail.add(time, (*figures, job.utilisation))
        self._by_job = now

    def series(self, job: str) -> dict[str, list[float | None]]:
        """The trail of a job; empty lists where there is none."""
        return self._by_job.get(job, Trail()).shown()
