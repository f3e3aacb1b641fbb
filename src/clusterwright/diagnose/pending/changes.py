"""Commands that let a job start, and phrases, which several explainers use."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from clusterwright.diagnose.pending.facts import Facts, summary
from clusterwright.diagnose.pending.waiting import StartCommand
from clusterwright.i18n import N_, _
from clusterwright.slurm.jobs import Job
from clusterwright.slurm.records import clock, stamp

MOST_NAMED = 5
WHEN_HOLDER_ENDS = N_("when one of these jobs ends")


def update(facts: Facts, setting: str, description: str, by: str = "user") -> StartCommand:
    """Return the change `scontrol update jobid=ID SETTING` of the job, without running it.

    `description` tells people what it does; `by` is who may run it, `user` or `admin`.
    """
    return StartCommand(
        f"scontrol update jobid={facts.id} {setting}", "admin" if by == "admin" else "user", description
    )


def admin(command: str, description: str) -> StartCommand:
    """Return the description of a command that an administrator can run so that the job starts."""
    return StartCommand(command, "admin", description)


def starts(facts: Facts, otherwise: str) -> str:
    """Return Slurm's estimate of the start as a text; `otherwise` if Slurm has none in the future."""
    when, now = stamp(facts.start), stamp(facts.now)
    if when is None or (now is not None and when <= now):
        return otherwise
    return _("expected {time} (Slurm's estimate)", time=clock(facts.start))


def holders(jobs: Iterable[Job]) -> tuple[str, ...]:
    """Return summaries of jobs, the first to end first; at most MOST_NAMED, then the number of the others."""
    by_end = sorted(jobs, key=lambda job: job.end or "9")
    summaries = tuple(summary(job) for job in by_end[:MOST_NAMED])
    other_count = len(by_end) - len(summaries)
    return (*summaries, _("and {count} more", count=other_count)) if other_count else summaries


def quoted(name: str) -> str:
    """Return the name, quoted for a shell."""
    return shlex.quote(name)
