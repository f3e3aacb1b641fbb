"""Metrics of each running job since the page first observed it, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from clusterwright.monitor.snapshot import JobView

MOST = 240  # points of a trail; when it is full, every second point is dropped, and later ones are skipped
FIGURES = ("loss", "tokens_per_s", "mfu", "utilisation")
_NOTHING = float("nan")


class Trail:
    """Times and metrics of one job; when it is full, its resolution halves."""

    def __init__(self) -> None:
        self.rows = array("d")
        self._every, self._count = 1, 0

    def add(self, time: float, figures: Iterable[float | None]) -> None:
        """Add a point with its time, unless the current resolution skips it; None in `figures` is stored as no value.

        At the limit, drop every second point and halve the resolution.
        """
        if self._count % self._every == 0:
            self.rows.extend([time, *(_NOTHING if value is None else value for value in figures)])
        self._count += 1
        if len(self.rows) >= MOST * _WIDE:
            points = self.points()[::2]
            self.rows = array("d", [value for point in points for value in point])
            self._every *= 2

    def points(self) -> list[tuple[float, ...]]:
        """Return the points as (time, metrics...); NaN means unknown."""
        flat = self.rows
        return [tuple(flat[start : start + _WIDE]) for start in range(0, len(flat), _WIDE)]

    def shown(self) -> dict[str, list[float | None]]:
        """Return lists of the times (`at`) and of each metric; None means unknown."""
        columns = zip(*self.points(), strict=True) if self.rows else [() for _ in range(_WIDE)]
        return {
            name: [None if value != value else value for value in column]  # noqa: PLR0124 (only NaN differs from itself)
            for name, column in zip(("at", *FIGURES), columns, strict=True)
        }


_WIDE = 1 + len(FIGURES)


class Trails:
    """Metrics over time of all running jobs; those of ended jobs are dropped."""

    def __init__(self) -> None:
        self._by_job: dict[str, Trail] = {}

    def add(self, time: float, jobs: Iterable[JobView]) -> None:
        """Add a point at `time` for each started job with a run or a utilization; forget jobs not in `jobs`."""
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
        """Return the metrics of a job over time; empty lists if there are none."""
        return self._by_job.get(job, Trail()).shown()
