"""Tasks of an array."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import holders
from clusterwright.diagnose.pending.waiting import Change, Message, Waiting


@reason("JobArrayTaskLimit")
def task_limit(facts: Facts) -> Waiting:
    """As many tasks of its array run as it asked at most."""
    array = facts.job["ArrayJobId"] or facts.id
    running = [job for job in facts.running if job.id.partition("_")[0] == array]
    limit = facts.job.number("ArrayTaskThrottle") or len(running)
    return Waiting(
        "array-task-limit",
        Message(
            f"{len(running)} tasks of its array run, and it asked for at most {limit} at once (`%{limit}`).",
            f"它的数组作业中有 {len(running)} 个任务在运行, 而提交时限定同时最多 {limit} 个 (`%{limit}`)。",
        ),
        Message("when one of them ends", "其中一个任务结束时"),
        Change(
            f"scontrol update jobid={array} ArrayTaskThrottle={limit + 1}",
            "user",
            Message("let one more run", "允许多运行一个"),
        ),
        holders(running),
    )
