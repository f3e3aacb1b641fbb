"""Parse jobs from squeue's output; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterwright.config.names import expand_valid
from clusterwright.monitor.gather.slurm_text import moment, normalize, number
from clusterwright.monitor.snapshot import JobView, RunSnapshot, waits
from clusterwright.onhost.snapshot import programs
from clusterwright.slurm.jobs import Job

_POINT = 2  # numbers of a point: a step and its loss


def jobs(text: str, separator: str, runs: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, JobView], ...]:
    """Return (Slurm's raw job id, job) for each job of squeue's output; `runs` is the progress of runs by name.

    The raw id differs from the displayed one for a task of an array. A job gets the progress of the run of its name if
    it has started and the run is of the same user.
    """
    return tuple((job.number, _view(job, runs)) for job in programs.jobs(text, separator))


def _view(job: Job, runs: Mapping[str, Mapping[str, Any]]) -> JobView:
    waiting, reason, started = job.is_pending, normalize(job.reason), moment(job.start)
    progress = None if waiting else runs.get(job.name)
    if (
        progress and progress.get("user", job.user) != job.user
    ):  # a job can have the name of another user's run
        progress = None
    return JobView(
        id=job.id,
        name=job.name,
        user=job.user,
        account=normalize(job.account),
        partition=job.partition,
        state=job.state,
        reason=reason if waiting else "",
        explanation=waits(reason or "None") if waiting else "",
        nodes=() if waiting else _hosts(job.hosts),
        node_count=job.nodes,
        cpus=job.cpus,
        gpus=job.gpus,
        priority=job.priority,
        submitted=moment(job.submit),
        started=None if waiting else started,
        expected=started if waiting else None,
        ends=None if waiting else moment(job.end),
        run=_run(job.name, progress) if progress else None,
    )


def _hosts(hostlist: str) -> tuple[str, ...]:
    return expand_valid(hostlist)


def _run(name: str, progress: Mapping[str, Any]) -> RunSnapshot:
    """Return the progress of a run from the supervisor's numbers; None for each value that is not a number.

    Points of the loss curve that lack step or loss are left out.
    """
    step, total_steps = number(progress.get("step")), number(progress.get("total_steps"))
    points = [
        (number(point[0]), number(point[1])) for point in progress.get("curve") or () if len(point) == _POINT
    ]
    metrics = {
        key: number(progress.get(key))
        for key in (
            "loss",
            "tokens_per_s",
            "samples_per_s",
            "mfu",
            "eta_s",
            "goodput",
            "data_wait",
            "communication",
            "checkpoint_age_s",
        )
    }
    return RunSnapshot(
        name,
        str(progress.get("state") or ""),
        None if step is None else int(step),
        None if total_steps is None else int(total_steps),
        slow_rank=str(progress.get("slow_rank") or ""),
        curve=tuple(
            (int(point_step), loss)
            for point_step, loss in points
            if point_step is not None and loss is not None
        ),
        **metrics,
    )
