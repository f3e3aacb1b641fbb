"""Others are before it."""

from __future__ import annotations

from clusterwright.diagnose.pending.capacity import fitting, need
from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.reasons.resources import unsatisfiable
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import holders, starts, update
from clusterwright.diagnose.pending.waiting import Change, Message, Waiting
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import length, seconds, stamp

_LEAST_S = 60


@reason("Priority$")
def priority(facts: Facts) -> Waiting:
    """Jobs of higher priority wait for the same nodes."""
    if impossible := unsatisfiable(facts):
        return impossible
    jobs_ahead = ahead(facts)
    job_priority = facts.job.number("Priority")
    first_text = summary(jobs_ahead[0]) if jobs_ahead else ""
    return Waiting(
        "priority",
        Message(
            f"{len(jobs_ahead)} jobs of higher priority wait before it (it has "
            f"{job_priority}){f', first {first_text}' * bool(first_text)}.",
            f"有 {len(jobs_ahead)} 个优先级更高的作业在它前面 (它的是 "
            f"{job_priority}){f', 首先是 {first_text}' * bool(first_text)}。",
        ),
        starts(facts, Message("when those before it have started", "前面的作业开始之后")),
        _sooner(facts, jobs_ahead),
        holders(jobs_ahead),
    )


def ahead(facts: Facts) -> list[Job]:
    """Jobs that wait in the same partition with a priority not lower, the highest first."""
    waiting = [job for job in facts.queue if job.is_pending and job.priority >= facts.job.number("Priority")]
    same_partition = [
        job for job in waiting if set(job.partition.split(",")) & set(facts.job["Partition"].split(","))
    ]
    return sorted(
        (job for job in same_partition if job.reason in {"Resources", "Priority"}),
        key=lambda job: -job.priority,
    )


def _sooner(facts: Facts, jobs_ahead: list[Job]) -> Change | None:
    """A time limit with which it is over before the first of the others begins; else a higher priority."""
    request = need(facts.job)
    if len(fitting(facts, request, now=True)) < request.nodes:
        return _above(facts, jobs_ahead)
    limit, now = seconds(facts.job["TimeLimit"]), stamp(facts.now)
    expected_starts = [begin for job in jobs_ahead if (begin := stamp(job.start)) is not None]
    begins = expected_starts or [end for job in facts.running if (end := stamp(job.end)) is not None]
    gap = (min(begins) - now - _LEAST_S) // 60 * 60 if begins and now is not None else 0
    if gap >= _LEAST_S and (limit is None or gap < limit):
        description = Message("be over before the first of them begins", "在第一个作业开始之前就能结束")
        return update(facts, f"TimeLimit={length(gap)}", description)
    return _above(facts, jobs_ahead)


def _above(facts: Facts, jobs_ahead: list[Job]) -> Change | None:
    if not jobs_ahead:
        return None
    description = Message("put it before them", "把它排到它们前面")
    return update(facts, f"Priority={jobs_ahead[0].priority + 1}", description, "admin")
