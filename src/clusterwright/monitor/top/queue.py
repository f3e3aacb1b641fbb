"""Filter and sort the jobs; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from clusterwright.monitor.snapshot import JobView
from clusterwright.onhost.lib.numbers import ascii_int
from clusterwright.slurm.states import is_allocated

JOB_FILTERS = ("all", "running", "waiting")
_SORTS: dict[str, Callable[[JobView], tuple[float | str, ...]]] = {
    "state": lambda job: ("0" if is_allocated(job.state) else "1", -float(job.priority), job.id),
    "id": lambda job: (_number(job.id), job.id),
    "user": lambda job: (job.user, _number(job.id)),
    "team": lambda job: (job.account, job.user, _number(job.id)),
    "gpus": lambda job: (-float(job.gpus), _number(job.id)),
    "heat": lambda job: (2.0 if job.utilisation is None else job.utilisation, _number(job.id)),
    "time": lambda job: (job.started or job.submitted or 0.0, _number(job.id)),
    "name": lambda job: (job.name, _number(job.id)),
}
SORTS = tuple(_SORTS)


@dataclass(frozen=True, slots=True)
class View:
    """The filter, search and order of the queue that the user has chosen."""

    sort: str = "state"
    turned: bool = False
    job_filter: str = "all"
    user: str = ""
    text: str = ""

    def next_sort(self) -> View:
        """Return a copy of the view, sorted by the next column; after the last by the first."""
        return replace(self, sort=SORTS[(SORTS.index(self.sort) + 1) % len(SORTS)])

    def next_filter(self) -> View:
        """Return a copy of the view with the next filter: all, running, pending jobs."""
        return replace(
            self, job_filter=JOB_FILTERS[(JOB_FILTERS.index(self.job_filter) + 1) % len(JOB_FILTERS)]
        )

    def select(self, jobs: Iterable[JobView]) -> list[JobView]:
        """Return the jobs that match the view's filter, user and search words, sorted in the view's order."""
        return sorted(filter(self._has, jobs), key=_SORTS[self.sort], reverse=self.turned)

    def _has(self, job: JobView) -> bool:
        if self.job_filter != "all" and (is_allocated(job.state)) != (self.job_filter == "running"):
            return False
        if self.user and job.user != self.user:
            return False
        return all(part in _text(job) for part in self.text.lower().split())


def runs(job: JobView) -> bool:
    """Return whether the job has an allocation."""
    return is_allocated(job.state)


def _number(text: str) -> float:
    return float(ascii_int(text.partition("_")[0]) or 0)


def _text(job: JobView) -> str:
    return " ".join(
        (job.id, job.user, job.account, job.partition, job.name, job.state, job.reason, *job.nodes)
    ).lower()
