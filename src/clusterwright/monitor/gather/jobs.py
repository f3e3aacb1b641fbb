"""Jobs of squeue's answer; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ClusterShell.NodeSet import NodeSetException

from clusterwright.config.names import expand
from clusterwright.monitor.gather.slurm_text import moment, number, word
from clusterwright.monitor.picture import JobView, Run, waits
from clusterwright.onhost.snapshot import programs
from clusterwright.slurm.jobs import Job

_POINT = 2  # a step and its loss


def jobs(text: str, mark: str, runs: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, JobView], ...]:
    """Each job with Slurm's own number of it, which differs from its id where it is a task of an array."""
    return tuple((job.number, _view(job, runs)) for job in programs.jobs(text, mark))


def _view(job: Job, runs: Mapping[str, Mapping[str, Any]]) -> JobView:
    waiting, reason, started = job.is_pending, word(job.reason), moment(job.start)
    told = None if waiting else runs.get(job.name)
    return JobView(
        id=job.id,
        name=job.name,
        user=job.user,
        account=word(job.account),
        partition=job.partition,
        state=job.state,
        reason=reason if waiting else "",
        why=waits(reason or "None") if waiting else "",
        nodes=() if waiting else _hosts(job.hosts),
        node_count=job.nodes,
        cpus=job.cpus,
        gpus=job.gpus,
        priority=job.priority,
        submitted=moment(job.submit),
        started=None if waiting else started,
        expected=started if waiting else None,
        ends=None if waiting else moment(job.end),
        run=_run(job.name, told) if told else None,
    )


def _hosts(hostlist: str) -> tuple[str, ...]:
    try:
        return expand(hostlist) if word(hostlist) else ()
    except NodeSetException:
        return ()


def _run(name: str, told: Mapping[str, Any]) -> Run:
    """What its events say; of what is no number, nothing."""
    step, until = number(told.get("step")), number(told.get("until"))
    points = [(number(each[0]), number(each[1])) for each in told.get("curve") or () if len(each) == _POINT]
    rest = {
        key: number(told.get(key))
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
    return Run(
        name,
        str(told.get("state") or ""),
        None if step is None else int(step),
        None if until is None else int(until),
        slow_rank=str(told.get("slow_rank") or ""),
        curve=tuple((int(at), loss) for at, loss in points if at is not None and loss is not None),
        **rest,
    )
