"""Slurm's queue and the runs' folders as one list."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clusterwright.config.cluster import Cluster
from clusterwright.edge import slurm
from clusterwright.edge.bundler import RUNS, program_command, program_input
from clusterwright.edge.host import Host
from clusterwright.edge.ssh import Remote
from clusterwright.i18n import _
from clusterwright.launch.run import runs_folder
from clusterwright.slurm.jobs import Job, parse_queue


@dataclass(frozen=True, slots=True)
class Row:
    """One job of Slurm's, or one run that has ended."""

    job_id: str
    run: str
    user: str
    state: str
    elapsed: str
    step: int | None
    checkpoint: int | None
    hosts: str
    reason: str


def listed(cluster: Cluster, remote: Remote) -> tuple[Row, ...]:
    """What is queued and running, then the runs that ended last; with one ssh.

    Raises:
        WrightError: the control host or slurmctld does not answer.
    """
    host, runs = cluster.control.name, runs_folder(cluster)
    command = f"{slurm.QUEUE} </dev/null || exit; echo; {program_command('list', runs)}"
    result = slurm.checked(Host(remote, host).run(command, stdin=program_input(RUNS)), host, "squeue")
    queue, _, folders = result.out.rpartition("\n")
    return rows(parse_queue(queue, slurm.FIELDS), json.loads(folders or "[]"))


def rows(queue: Iterable[Job], folders: Iterable[Mapping[str, Any]]) -> tuple[Row, ...]:
    """One row for each job that Slurm has, and one for each ended run of which it has none."""
    about = {str(folder["run"]): folder for folder in folders}
    alive = [_job(job, about.get(job.name, {})) for job in queue if not job.is_finished]
    queued_runs = {row.run for row in alive}
    return (*alive, *(_run(folder) for name, folder in about.items() if name not in queued_runs))


def _job(job: Job, folder: Mapping[str, Any]) -> Row:
    # a successor that stands by shows why it waits, not how far the running job of the same run is
    waits = job.is_pending
    step, saved = (None, None) if waits else (folder.get("step"), folder.get("checkpoint"))
    reason = (
        _("stands by: follows if the run's job ends badly")
        if job.reason == "Dependency" and folder
        else job.reason
    )
    return Row(
        job.id,
        job.name,
        job.user,
        job.state,
        job.elapsed,
        step,
        saved,
        job.hosts or f"{job.nodes} hosts",
        reason,
    )


def _run(folder: Mapping[str, Any]) -> Row:
    ended = folder.get("ended") or {
        "outcome": "gone",
        "reason": "no job of it is left, and it did not say how it ended",
    }
    ids = folder.get("jobs") or ["-"]
    outcome, reason = str(ended.get("outcome")), str(ended.get("reason", ""))
    step, saved = folder.get("step"), folder.get("checkpoint")
    return Row(str(ids[-1]), str(folder["run"]), "", outcome, "", step, saved, "", reason)
