"""Others are before it."""

from __future__ import annotations

from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.fit import fitting, need
from clusterwright.diagnose.pending.reasons.resources import never
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.saying import holders, starts, update
from clusterwright.diagnose.pending.waiting import Change, Waiting, Words
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import length, seconds, stamp

_LEAST_S = 60


@reason("Priority$")
def priority(facts: Facts) -> Waiting:
    """Jobs of higher priority wait for the same nodes."""
    if impossible := never(facts):
        return impossible
    before = ahead(facts)
    mine = facts.job.number("Priority")
    first = summary(before[0]) if before else ""
    return Waiting(
        "priority",
        Words(
            f"{len(before)} jobs of higher priority wait before it (it has {mine}){f', first {first}' * bool(first)}.",
            f"有 {len(before)} 个优先级更高的作业在它前面 (它的是 {mine}){f', 首先是 {first}' * bool(first)}。",
        ),
        starts(facts, Words("when those before it have started", "前面的作业开始之后")),
        _sooner(facts, before),
        holders(before),
    )


def ahead(facts: Facts) -> list[Job]:
    """Jobs that wait in the same partition with a priority not lower, the highest first."""
    waiting = [job for job in facts.queue if job.is_pending and job.priority >= facts.job.number("Priority")]
    same = [job for job in waiting if set(job.partition.split(",")) & set(facts.job["Partition"].split(","))]
    return sorted(
        (job for job in same if job.reason in {"Resources", "Priority"}), key=lambda job: -job.priority
    )


def _sooner(facts: Facts, before: list[Job]) -> Change | None:
    """A time limit with which it is over before the first of the others begins; else a higher priority."""
    wanted = need(facts.job)
    if len(fitting(facts, wanted, now=True)) < wanted.nodes:
        return _above(facts, before)
    limit, now = seconds(facts.job["TimeLimit"]), stamp(facts.now)
    known = [begin for job in before if (begin := stamp(job.start)) is not None]
    begins = known or [end for job in facts.running if (end := stamp(job.end)) is not None]
    gap = (min(begins) - now - _LEAST_S) // 60 * 60 if begins and now is not None else 0
    if gap >= _LEAST_S and (limit is None or gap < limit):
        says = Words("be over before the first of them begins", "在第一个作业开始之前就能结束")
        return update(facts, f"TimeLimit={length(gap)}", says)
    return _above(facts, before)


def _above(facts: Facts, before: list[Job]) -> Change | None:
    if not before:
        return None
    says = Words("put it before them", "把它排到它们前面")
    return update(facts, f"Priority={before[0].priority + 1}", says, "admin")
