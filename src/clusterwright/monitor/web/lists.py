"""Select, sort and page the job list; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from clusterwright.monitor.snapshot import JobView
from clusterwright.monitor.web.compact import Json, job_row
from clusterwright.slurm.states import is_allocated, is_pending

ROWS = 50  # of a page: a screen or two
_LONGEST_SEARCH = 100

_Key = Callable[[JobView], tuple[float | str, ...]]
_ORDERS: dict[str, _Key] = {
    "started": lambda job: (-(job.started or 0),),
    "priority": lambda job: (-job.priority,),
    "waited": lambda job: (job.submitted or float("inf"),),
    "gpus": lambda job: (-job.gpus,),
    "use": lambda job: (float("inf") if job.utilisation is None else job.utilisation,),  # idle jobs first
    "ends": lambda job: (job.ends or float("inf"),),
    "user": lambda job: (job.user,),
    "team": lambda job: (job.account,),
    "name": lambda job: (job.name,),
    "id": lambda job: (len(job.id), job.id),
}
ORDERS = tuple(_ORDERS)
USUAL = {"running": "started", "waiting": "priority", "all": "id"}
SETS = tuple(USUAL)


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A query of the job list: a set of jobs, search terms that must all match, an order, and a page from 0."""

    of: str = "running"
    find: str = ""
    order: str = "started"
    page: int = 0

    @classmethod
    def read(cls, query: Mapping[str, str]) -> JobQuery:
        """Parse the query of a URL; unknown values become the defaults."""
        job_set = query.get("of", "")
        job_set = job_set if job_set in SETS else "running"
        order = query.get("order", "")
        page = query.get("page", "0")
        return cls(
            job_set,
            query.get("find", "")[:_LONGEST_SEARCH].strip().lower(),
            order if order in _ORDERS else USUAL[job_set],
            int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 0,
        )


def listed(jobs: Iterable[JobView], query: JobQuery) -> dict[str, Json]:
    """Return a page of the list of jobs as a dict: its rows, its number, and the numbers of matching jobs and pages.

    A page beyond the last is the last; there is always one page.
    """
    matches = [job for job in jobs if _is_in(job, query.of) and _matches(job, query.find.split())]
    matches.sort(key=_ORDERS[query.order])
    pages = max(1, -(-len(matches) // ROWS))
    page = min(query.page, pages - 1)
    rows = matches[page * ROWS : (page + 1) * ROWS]
    return {"jobs": [job_row(job) for job in rows], "count": len(matches), "page": page, "pages": pages}


def _is_in(job: JobView, job_set: str) -> bool:
    return job_set == "all" or (is_pending if job_set == "waiting" else is_allocated)(job.state)


def _matches(job: JobView, terms: Sequence[str]) -> bool:
    if not terms:
        return True
    texts = (job.id, job.name, job.user, job.account, job.partition, job.state, job.reason)
    text = "\n".join(texts).lower()
    return all(term in text or term in job.nodes for term in terms)
