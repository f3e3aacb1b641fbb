"""Explain reasons about tasks of a job array."""

from __future__ import annotations

from clusterwright.diagnose.pending.changes import holders
from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import StartCommand, Waiting
from clusterwright.i18n import _, _n


@reason("JobArrayTaskLimit")
def task_limit(facts: Facts) -> Waiting:
    """Explain that the array runs as many tasks as its limit (`%N`) allows, and propose a limit higher by one."""
    array = facts.job["ArrayJobId"] or facts.id
    running = [job for job in facts.running if job.id.partition("_")[0] == array]
    limit = facts.job.number("ArrayTaskThrottle") or len(running)
    return Waiting(
        "array-task-limit",
        _n(
            "{count} task of the job array is running; the array's limit is {limit} (`%{limit}`).",
            "{count} tasks of the job array are running; the array's limit is {limit} (`%{limit}`).",
            len(running),
            limit=limit,
        ),
        _("as soon as a running task of this job array ends"),
        StartCommand(
            f"scontrol update jobid={array} ArrayTaskThrottle={limit + 1}",
            "user",
            _("allow one more task to run"),
        ),
        holders(running),
    )
