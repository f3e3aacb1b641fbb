"""Metrics of each running job since the page has observed it, in bounded memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

from clusterwright.monitor.snapshot import JobView

MOST = 240  # points of a trail; when it is full, every second point is dropped, and later ones are skipped
FIGURES = ("loss", "tokens_per_s", "mfu", "utilisation")
_NOTHING = float("nan")


class Trail:
    """Times and metrics of one job over its whole life, with a resolution that halves when it is full."""

    def __init__(self) -> None:
        self.rows = array("d")
        self._every, self._count = 1, 0

    def add(self, time: float, figures: Iterable[float | None]) -> None:
        """Add a point, unless the current resolution skips it."""
        if self._count % self._every == 0:
            self.rows.extend([time, *(_NOTHING if value is None else value for value in figures)])
        self._count += 1
        if len(self.rows) >= MOST * _WIDE:
            points = self.points()[::2]
            self.rows = array("d", [value for point in points for value in point])
            self._every *= 2

    def points(self) -> list[tuple[float, ...]]:
        """The points as (time, metrics...); NaN is not known."""
        flat = self.rows
        return [tuple(flat[start : start + _WIDE]) for start in range(0, len(flat), _WIDE)]

    def shown(self) -> dict[str, list[float | None]]:
        """`at` and each metric as a list; None is not known."""
        columns = zip(*self.points(), strict=True) if self.rows else [() for _ in range(_WIDE)]
        return {
            name: [None if value != value else value for value in column]  # noqa: PLR0124 (only NaN differs from itself)
            for name, column in zip(("at", *FIGURES), columns, strict=True)
        }


_WIDE = 1 + len(FIGURES)


class Trails:
    """Trails of the running jobs; those of ended jobs are dropped."""

    def __init__(self) -> None:
        self._by_job: dict[str, Trail] = {}

    def add(self, time: float, jobs: Iterable[JobView]) -> None:
        """Add the jobs of one snapshot."""
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
        """The trail of a job; empty lists if there is none."""
        return self._by_job.get(job, Trail()).shown()
