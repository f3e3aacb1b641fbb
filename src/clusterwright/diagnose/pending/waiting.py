"""The explanation of a pending job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterwright.i18n import N_

AT_NEXT_CYCLE = N_("at Slurm's next scheduling cycle (within a minute)")
NOT_BY_ITSELF = N_("not by itself")


@dataclass(frozen=True, slots=True)
class StartCommand:
    """One command that lets the job start, and who may run it: the job's user or an administrator."""

    command: str
    by: Literal["user", "admin"]
    description: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a job is pending; `held_by` names the jobs, hosts or reservations that have what it needs."""

    id: str  # id of the explanation, such as `qos-jobs-per-user`
    cause: str
    starts: str
    change: StartCommand | None = None
    held_by: tuple[str, ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()  # pairs of a command and its output
    reason: str = ""  # Slurm's Reason
