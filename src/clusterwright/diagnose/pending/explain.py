"""The explanation of a pending job's reason."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import explainers
from clusterwright.diagnose.pending.waiting import AT_NEXT_CYCLE, NOT_BY_ITSELF, Waiting
from clusterwright.i18n import _

SOURCE = "scontrol show job"


def explain(facts: Facts) -> Waiting:
    """Return why the job is pending; a reason without a function in `reasons/` is quoted."""
    token = facts.job["Reason"]
    waiting = next((answer for explainer in explainers(token) if (answer := explainer(facts))), None)
    line = facts.job.quoted("JobId", "JobState", "Reason", "StartTime", "Partition", "QOS", "Account")
    waiting = waiting or _unknown(token)
    return replace(waiting, reason=token or "None", evidence=((SOURCE, line), *waiting.evidence))


def _unknown(token: str) -> Waiting:
    if not token:
        return Waiting("not-looked-at", _("Slurm has not yet tried to schedule the job."), _(AT_NEXT_CYCLE))
    cause = _(
        "Slurm's reason is `{reason}`, which Clusterwright does not know; see JOB REASON CODES in `man squeue`.",
        reason=token,
    )
    return Waiting("unknown", cause, _(NOT_BY_ITSELF))
