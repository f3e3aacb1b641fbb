"""Explain that pending jobs have a higher priority."""

from __future__ import annotations

from clusterwright.diagnose.pending.capacity import fitting, need
from clusterwright.diagnose.pending.changes import holders, starts, update
from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.reasons.resources import unsatisfiable
from clusterwright.diagnose.pending.registry import reason
from clusterwright.diagnose.pending.waiting import StartCommand, Waiting
from clusterwright.i18n import _, _n
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import length, seconds, stamp

_LEAST_S = 60


@reason("Priority$")
def priority(facts: Facts) -> Waiting:
    """Explain that jobs of higher priority wait for the same nodes.

    If no node could ever satisfy the request, it explains that instead.
    """
    if impossible := unsatisfiable(facts):
        return impossible
    jobs_ahead = ahead(facts)
    job_priority = facts.job.number("Priority")
    cause = (
        _n(
            "{count} job of higher priority is ahead of it (its own priority is {priority}): {first}.",
            "{count} jobs of higher priority are ahead of it (its own priority is {priority}), first {first}.",
            len(jobs_ahead),
            priority=job_priority,
            first=summary(jobs_ahead[0]),
        )
        if jobs_ahead
        else _(
            "Jobs of higher priority are ahead of the job (the priority of the job is {priority}).",
            priority=job_priority,
        )
    )
    return Waiting(
        "priority",
        cause,
        starts(facts, _("when the jobs with a higher priority have started")),
        _change_to_start_earlier(facts, jobs_ahead),
        holders(jobs_ahead),
    )


def ahead(facts: Facts) -> list[Job]:
    """Return the jobs of the same partition, pending for resources or priority, that have no lower priority.

    The highest priority is first.
    """
    waiting = [job for job in facts.queue if job.is_pending and job.priority >= facts.job.number("Priority")]
    same_partition = [
        job for job in waiting if set(job.partition.split(",")) & set(facts.job["Partition"].split(","))
    ]
    return sorted(
        (job for job in same_partition if job.reason in {"Resources", "Priority"}),
        key=lambda job: -job.priority,
    )


def _change_to_start_earlier(facts: Facts, jobs_ahead: list[Job]) -> StartCommand | None:
    """Return a change that lets the job start earlier: a shorter time limit for backfill, else a higher priority.

    The time limit ends before the first job ahead starts. It is proposed only if enough nodes are free now, and if it
    is shorter than the job's and at least _LEAST_S. None if the priority cannot be raised either.
    """
    request = need(facts.job)
    if len(fitting(facts, request, now=True)) < request.nodes:
        return _raise_priority(facts, jobs_ahead)
    limit, now = seconds(facts.job["TimeLimit"]), stamp(facts.now)
    expected_starts = [begin for job in jobs_ahead if (begin := stamp(job.start)) is not None]
    begins = expected_starts or [end for job in facts.running if (end := stamp(job.end)) is not None]
    gap = (min(begins) - now - _LEAST_S) // 60 * 60 if begins and now is not None else 0
    if gap >= _LEAST_S and (limit is None or gap < limit):
        return update(facts, f"TimeLimit={length(gap)}", _("end before the first job ahead starts"))
    return _raise_priority(facts, jobs_ahead)


def _raise_priority(facts: Facts, jobs_ahead: list[Job]) -> StartCommand | None:
    if not jobs_ahead:
        return None
    return update(
        facts,
        f"Priority={jobs_ahead[0].priority + 1}",
        _("raise the job's priority above that of the jobs ahead"),
        "admin",
    )
