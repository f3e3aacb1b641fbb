"""The picture out of the document that was brought from the control host; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.monitor.gather.alerts import alerts
from clusterwright.monitor.gather.jobs import jobs
from clusterwright.monitor.gather.nodes import Place, nodes, unheard
from clusterwright.monitor.gather.slurm_text import number
from clusterwright.monitor.picture import JobView, NodeView, Picture, Team
from clusterwright.monitor.picture.lacks import PARTS, lack
from clusterwright.slurm.states import is_pending


def teams(text: str, jobs: Iterable[JobView], shares: Mapping[str, float]) -> tuple[Team, ...]:
    """Accounts of sshare's answer; without one, those of the cluster file and of jobs."""
    held, running, waiting = Counter[str](), Counter[str](), Counter[str]()
    for job in jobs:
        if is_pending(job.state):
            waiting[job.account] += 1
        else:
            running[job.account] += 1
            held[job.account] += job.gpus
    said = _said(text)
    names = said or dict.fromkeys(
        [*shares, *sorted({*running, *waiting} - {""} - shares.keys())], (None, None, None)
    )
    return tuple(
        Team(
            name,
            shares.get(name) if share is None else share,
            used,
            fairshare,
            held[name],
            running[name],
            waiting[name],
        )
        for name, (share, used, fairshare) in names.items()
    )


def _said(text: str) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Share, use and fair share by account. With fair trees only users have the last: the best of them is shown."""
    heads, *lines = text.splitlines() or [""]
    columns = [head.strip() for head in heads.split("|")]
    rows = [dict(zip(columns, line.split("|"), strict=False)) for line in lines]
    best: dict[str, float] = {}
    for row in rows:
        name, factor = row.get("Account", "").strip(), number(row.get("FairShare"))
        if row.get("User") and factor is not None:
            best[name] = max(factor, best.get(name, 0.0))
    found = {}
    for row in rows:
        name = row.get("Account", "").strip()
        if name and name != "root" and not row.get("User", "").strip():
            own = number(row.get("FairShare"))
            used = number(row.get("EffectvUsage"))
            found[name] = (number(row.get("NormShares")), used, best.get(name) if own is None else own)
    return found


@dataclass(frozen=True, slots=True)
class Known:
    """What the cluster file says: the name, where nodes stand, teams' shares, and parts that are not set up at all."""

    name: str
    places: Mapping[str, Place] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


def picture_of(document: Mapping[str, Any], known: Known) -> Picture:
    """All that was said; what is missing is named."""
    said, silent, measures = document["said"], document["silent"], document["measures"]
    queue = jobs(said.get("jobs", ""), document["mark"], document["runs"])
    on: dict[str, tuple[str, ...]] = {}
    for _, job in queue:
        for name in job.nodes:
            on[name] = (*on.get(name, ()), job.id)
    ids = {number: job.id for number, job in queue}
    if "nodes" in silent:
        shown = unheard(known.places, measures)
    else:
        shown = nodes(said.get("nodes", ""), known.places, measures, on, ids)
    every = [job for _, job in queue]
    accounts = teams(said.get("shares", ""), every, known.shares)
    return Picture(
        known.name,
        float(document["now"]),
        shown,
        _used(every, shown),
        accounts,
        alerts(document["alerts"]),
        tuple(missing(silent, known.absent)),
    )


def missing(silent: Mapping[str, str], absent: Mapping[str, str]) -> list[str]:
    """A line for each part that did not answer, or was never set up."""
    return [lack(part, absent.get(part, silent[part])) for part in PARTS if part in silent]


def _used(queue: list[JobView], shown: tuple[NodeView, ...]) -> tuple[JobView, ...]:
    """Each job with the mean use of its GPUs."""
    seen: dict[str, list[float]] = {}
    for node in shown:
        for gpu in node.gpus:
            if gpu.job and gpu.utilisation is not None:
                seen.setdefault(gpu.job, []).append(gpu.utilisation)
    return tuple(
        replace(job, utilisation=sum(seen[job.id]) / len(seen[job.id])) if job.id in seen else job
        for job in queue
    )
