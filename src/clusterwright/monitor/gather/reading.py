"""Build the snapshot from the JSON document of the control host; pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from clusterwright.monitor.gather.alerts import alerts
from clusterwright.monitor.gather.jobs import jobs
from clusterwright.monitor.gather.nodes import NodeSpec, nodes, unknown_nodes
from clusterwright.monitor.gather.slurm_text import number
from clusterwright.monitor.snapshot import JobView, NodeView, Snapshot, Team
from clusterwright.monitor.snapshot.lacks import PARTS, lack
from clusterwright.slurm.records import split_lines
from clusterwright.slurm.states import is_pending


def teams(text: str, jobs: Iterable[JobView], shares: Mapping[str, float]) -> tuple[Team, ...]:
    """Return a row for each account in sshare's output `text`; without any, for those of `shares` and of the jobs.

    `shares` are the teams' shares in the cluster file. Pending jobs count as waiting, all others as running.
    """
    gpus_by_account, running, waiting = Counter[str](), Counter[str](), Counter[str]()
    for job in jobs:
        if is_pending(job.state):
            waiting[job.account] += 1
        else:
            running[job.account] += 1
            gpus_by_account[job.account] += job.gpus
    accounts = _parse_accounts(text)
    names = accounts or dict.fromkeys(
        [*shares, *sorted({*running, *waiting} - {""} - shares.keys())], (None, None, None)
    )
    return tuple(
        Team(
            name,
            shares.get(name) if share is None else share,
            used,
            fairshare,
            gpus_by_account[name],
            running[name],
            waiting[name],
        )
        for name, (share, used, fairshare) in names.items()
    )


def _parse_accounts(text: str) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Return (share, use, fair share) by account, without `root`; None for a value that is missing.

    With Fair Tree only users have a fair share: the best of an account's users counts.
    """
    heads, *lines = split_lines(text) or [""]
    columns = [head.strip() for head in heads.split("|")]
    rows = [dict(zip(columns, line.split("|"), strict=False)) for line in lines]
    best: dict[str, float] = {}
    for row in rows:
        name, factor = row.get("Account", "").strip(), number(row.get("FairShare"))
        if row.get("User") and factor is not None:
            best[name] = max(factor, best.get(name, 0.0))
    accounts = {}
    for row in rows:
        name = row.get("Account", "").strip()
        if name and name != "root" and not row.get("User", "").strip():
            fairshare = number(row.get("FairShare"))
            used = number(row.get("EffectvUsage"))
            accounts[name] = (
                number(row.get("NormShares")),
                used,
                best.get(name) if fairshare is None else fairshare,
            )
    return accounts


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """Parts of the cluster file: name, specs of nodes, shares of teams, and why parts of a snapshot are absent."""

    name: str
    places: Mapping[str, NodeSpec] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)


def build_snapshot(document: Mapping[str, Any], cluster_facts: ClusterFacts) -> Snapshot:
    """Build the snapshot of what the control host printed; `missing` has the parts that failed or are not configured.

    If the list of nodes failed, the cluster file's nodes are listed with an unknown state.
    """
    outputs, errors, measures = document["said"], document["silent"], document["measures"]
    queue = jobs(outputs.get("jobs", ""), document["mark"], document["runs"])
    on: dict[str, tuple[str, ...]] = {}
    for _, job in queue:
        for name in job.nodes:
            on[name] = (*on.get(name, ()), job.id)
    ids = {number: job.id for number, job in queue}
    if "nodes" in errors:
        node_views = unknown_nodes(cluster_facts.places, measures)
    else:
        node_views = nodes(outputs.get("nodes", ""), cluster_facts.places, measures, on, ids)
    every = [job for _, job in queue]
    accounts = teams(outputs.get("shares", ""), every, cluster_facts.shares)
    return Snapshot(
        cluster_facts.name,
        float(document["now"]),
        node_views,
        _used(every, node_views),
        accounts,
        alerts(document["alerts"]),
        tuple(missing(errors, cluster_facts.absent)),
    )


def missing(errors: Mapping[str, str], absent: Mapping[str, str]) -> list[str]:
    """Return a line for each part of the snapshot in `errors`: why it is not enabled (`absent`), else its error."""
    return [lack(part, absent.get(part, errors[part])) for part in PARTS if part in errors]


def _used(queue: list[JobView], node_views: tuple[NodeView, ...]) -> tuple[JobView, ...]:
    """Return the jobs, with the mean utilization of their GPUs where any GPU of theirs has one; else unchanged."""
    by_job: dict[str, list[float]] = {}
    for node in node_views:
        for gpu in node.gpus:
            if gpu.job and gpu.utilisation is not None:
                by_job.setdefault(gpu.job, []).append(gpu.utilisation)
    return tuple(
        replace(job, utilisation=sum(by_job[job.id]) / len(by_job[job.id])) if job.id in by_job else job
        for job in queue
    )
