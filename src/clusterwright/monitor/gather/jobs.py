"""Jobs of squeue's answer; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ClusterShell.NodeSet import NodeSetException

from clusterwright.config.names import expand
from clusterwright.monitor.gather.slurm_text import gpus, moment, number, whole, word
from clusterwright.monitor.picture import Job, Run, waits
from clusterwright.onhost.snapshot import programs

_POINT = 2  # a step and its loss


def jobs(text: str, mark: str, runs: Mapping[str, Mapping[str, Any]]) -> tuple[tuple[str, Job], ...]:
    """Each job with Slurm's own number of it, which differs from its id where it is a task of an array."""
    return tuple(
        _job(dict(zip(programs.FIELDS, row, strict=True)), runs) for row in programs.rows(text, mark)
    )


def _job(row: Mapping[str, str], runs: Mapping[str, Mapping[str, Any]]) -> tuple[str, Job]:
    nodes, many = _hosts(row["NodeList"]), whole(row["NumNodes"])
    waiting = row["State"] == "PENDING"
    reason = word(row["Reason"])
    started = moment(row["StartTime"])
    told = runs.get(row["Name"]) if not waiting else None
    return row["JobID"], Job(
        id=row["JobArrayID"], name=row["Name"], user=row["UserName"], account=word(row["Account"]),
        partition=row["Partition"], state=row["State"], reason=reason if waiting else "",
        why=waits(reason or "None") if waiting else "",
        nodes=() if waiting else nodes, node_count=many, cpus=whole(row["NumCPUs"]),
        gpus=gpus(row["tres-alloc"], row["tres-per-node"], many), priority=whole(row["PriorityLong"]),
        submitted=moment(row["SubmitTime"]), started=None if waiting else started,
        expected=started if waiting else None, ends=None if waiting else moment(row["EndTime"]),
        run=_run(row["Name"], told) if told else None,
    )  # fmt: skip


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
            "loss", "tokens_per_s", "samples_per_s", "mfu", "eta_s", "goodput", "data_wait", "communication",
            "checkpoint_age_s",
        )
    }  # fmt: skip
    return Run(
        name, str(told.get("state") or ""), None if step is None else int(step), None if until is None else int(until),
        slow_rank=str(told.get("slow_rank") or ""),
        curve=tuple((int(at), loss) for at, loss in points if at is not None and loss is not None),
        **rest,
    )  # fmt: skip
