"""The explanation of a job's reason for waiting, by the first who has one."""

from __future__ import annotations

from dataclasses import replace

from clusterwright.diagnose.pending.facts import Facts
from clusterwright.diagnose.pending.registry import speakers
from clusterwright.diagnose.pending.waiting import AT_NEXT_CYCLE, NOT_BY_ITSELF, Message, Waiting

SOURCE = "scontrol show job"


def explain(facts: Facts) -> Waiting:
    """Why the job waits; a reason that nobody speaks for is said as Slurm gives it."""
    token = facts.job["Reason"]
    waiting = next((answer for speaker in speakers(token) if (answer := speaker(facts))), None) or _unknown(
        token
    )
    line = facts.job.quoted("JobId", "JobState", "Reason", "StartTime", "Partition", "QOS", "Account")
    return replace(waiting, reason=token or "None", evidence=((SOURCE, line), *waiting.evidence))


def _unknown(token: str) -> Waiting:
    if not token:
        return Waiting(
            "not-looked-at",
            Message("Slurm has not looked at the job yet.", "Slurm 还没有考察过该作业。"),
            AT_NEXT_CYCLE,
        )
    return Waiting(
        "unknown",
        Message(
            f"Slurm says `{token}`, which is not explained here; `man squeue`, section JOB REASON CODES, may know it.",
            f"Slurm 给出的原因是 `{token}`, 这里没有对它的解释; 见 `man squeue` 的 JOB REASON CODES 一节。",
        ),
        NOT_BY_ITSELF,
    )
