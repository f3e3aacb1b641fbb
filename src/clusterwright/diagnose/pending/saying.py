"""Parts of sentences and commands that several families use."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.waiting import Change, Message
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import clock, stamp

MOST_NAMED = 5


def update(facts: Facts, setting: str, description: Message, by: str = "user") -> Change:
    """`scontrol update` of the job."""
    return Change(
        f"scontrol update jobid={facts.id} {setting}", "admin" if by == "admin" else "user", description
    )


def admin(command: str, description: Message) -> Change:
    """A command of the administrator's."""
    return Change(command, "admin", description)


def starts(facts: Facts, otherwise: Message) -> Message:
    """Slurm's own estimate, or other words where it has none that lies ahead."""
    when, now = stamp(facts.start), stamp(facts.now)
    if when is None or (now is not None and when <= now):
        return otherwise
    return Message(
        f"expected {clock(facts.start)} (Slurm's estimate)", f"预计 {clock(facts.start)} (Slurm 的估计)"
    )


def holders(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Jobs that hold something, those that end first before the others, a few by name."""
    every = sorted(jobs, key=lambda job: job.end or "9")
    summaries = [summary(job) for job in every[:MOST_NAMED]]
    return (
        (*summaries, f"and {len(every) - MOST_NAMED} more") if len(every) > MOST_NAMED else tuple(summaries)
    )


def quoted(name: str) -> str:
    """A name as a shell takes it."""
    return shlex.quote(name)


WHEN_HOLDER_ENDS = Message("when one of them ends", "其中一个作业结束时")
