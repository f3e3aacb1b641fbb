"""What is answered about a job that waits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple


class Message(NamedTuple):
    """One thing said in English and in Chinese."""

    en: str
    zh: str


AT_NEXT_CYCLE = Message("when Slurm next looks (within a minute)", "下一次调度时 (一分钟之内)")
NOT_BY_ITSELF = Message("not by itself", "不会自行开始")


@dataclass(frozen=True, slots=True)
class Change:
    """One command that starts the job, and who may run it: its user, or an administrator of the cluster."""

    command: str
    by: Literal["user", "admin"]
    description: Message


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a job waits; `held_by` names jobs, hosts or reservations that have what it needs."""

    id: str  # of the explanation: `qos-jobs-per-user`
    cause: Message
    starts: Message
    change: Change | None = None
    held_by: tuple[str, ...] = ()
    evidence: tuple[tuple[str, str], ...] = ()  # the source, and what it said
    reason: str = ""  # as Slurm gives it
