"""Decide the state of a run from everything that is known about it; every command and page shows this one state.

Pure; standard library only, Python 3.6 or later.
"""

from typing import Any, Mapping, NamedTuple, Optional, Sequence

FINISHED, FAILED, NO_PROGRESS, CANCELED = "finished", "failed", "no-progress", "cancelled"
TIME_LIMIT, PREEMPTED, HOST_LOST = "time-limit", "preempted", "host-lost"
# Exit codes by outcome: those of supervisors, which record the first four, and of runs that Slurm ended.
EXIT_CODES = {
    FINISHED: 0,
    FAILED: 1,
    NO_PROGRESS: 4,
    CANCELED: 143,
    TIME_LIMIT: 1,
    PREEMPTED: 1,
    HOST_LOST: 1,
}
QUEUED, STARTING, RUNNING, NOT_RESPONDING, LOST, UNKNOWN = (
    "queued",
    "starting",
    "running",
    "silent",
    "gone",
    "unknown",
)
HEARTBEAT_TIMEOUT_S = 10.0  # a supervisor sends a heartbeat each second or faster
_BY_USER = "canceled by the user"
_BY_SLURM = {
    "COMPLETED": (FINISHED, "Slurm has its job as completed"),
    "CANCELLED": (CANCELED, "canceled in Slurm"),
    "PREEMPTED": (PREEMPTED, "preempted by Slurm"),
    "TIMEOUT": (TIME_LIMIT, "ended by Slurm at its time limit"),
    "DEADLINE": (TIME_LIMIT, "ended by Slurm at its deadline"),
    "OUT_OF_MEMORY": (FAILED, "ended by Slurm: out of memory"),
    **dict.fromkeys(
        ("NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "RECONFIG_FAIL"),
        (HOST_LOST, "Slurm lost a host of its job"),
    ),
}
PENDING, ALLOCATED, ENDED = "pending", "allocated", "ended"  # phases of a job in Slurm


class SlurmJob(NamedTuple):
    """A job of the run by Slurm's own record: its state in one word, its phase, and its end (epoch seconds)."""

    id: str
    state: str
    phase: str
    reason: str = ""
    ended_at: Optional[float] = None


class RunEvidence(NamedTuple):
    """What is known about a run; a part that is missing, torn or not queried has its default."""

    ended: Mapping[str, Any] = {}  # content of ended.json
    is_end_written: bool = False  # ended.json exists, whatever it contains
    job_end: Mapping[str, Any] = {}  # the job_end event of its newest job
    heartbeat_age_s: Optional[float] = None  # None: its supervisor never sent one
    cancel_requested: bool = False  # `wright cancel` has marked its folder
    jobs: Optional[Sequence[SlurmJob]] = None  # its jobs in Slurm, newest last; None: Slurm does not respond
    is_local: bool = False  # without Slurm, on this machine or on the hosts of a hostfile
    heartbeat_timeout_s: float = HEARTBEAT_TIMEOUT_S


class RunState(NamedTuple):
    """The state of a run, why, and when Slurm ended it, where only Slurm's record has that."""

    state: str
    reason: str = ""
    ended_at: Optional[float] = None

    @property
    def has_ended(self) -> bool:
        """Return True if the run has an outcome."""
        return self.state in EXIT_CODES


def decide(evidence: RunEvidence) -> RunState:
    """Return the state: the recorded outcome, else what its heartbeat shows, else what Slurm's records show.

    An outcome is a key of EXIT_CODES. Other states: queued; starting, before the first heartbeat; running; silent,
    without heartbeat while Slurm runs the job; gone, without job and outcome; unknown, without response of Slurm.
    """
    for record in (evidence.ended, evidence.job_end):
        outcome = record.get("outcome")
        if isinstance(outcome, str) and outcome in EXIT_CODES:
            return RunState(outcome, str(record.get("reason") or ""))
    age_s = evidence.heartbeat_age_s
    newest = evidence.jobs[-1] if evidence.jobs else None
    is_over = newest is not None and newest.phase == ENDED
    is_over = is_over or evidence.is_end_written
    if age_s is not None and age_s < evidence.heartbeat_timeout_s and not is_over:
        return RunState(RUNNING)
    beat = "" if age_s is None else "last heartbeat of its supervisor %.0f s ago" % age_s
    if evidence.is_local:
        return _local(evidence, beat)
    if evidence.jobs is None:
        return RunState(UNKNOWN, _join(beat, "Slurm does not respond on this host"))
    return _by_slurm(evidence, beat)


def _local(evidence: RunEvidence, beat: str) -> RunState:
    if not beat:
        return RunState(STARTING)
    if evidence.cancel_requested:
        return RunState(CANCELED, _BY_USER)
    return RunState(LOST, _join(beat, "no supervisor continues it"))


def _by_slurm(evidence: RunEvidence, beat: str) -> RunState:
    """Return a run's state by its jobs in Slurm: allocated before pending before ended ones.

    `beat` is the reason that the heartbeat is late, or is empty. Without an allocated or pending job the run is
    canceled if that was requested, and lost without any job.
    """
    jobs = evidence.jobs or ()
    if any(job.phase == ALLOCATED for job in jobs):
        return RunState(NOT_RESPONDING, beat) if beat else RunState(STARTING)
    for job in jobs:
        if job.phase == PENDING:
            return RunState(QUEUED, job.reason)
    ended = [job for job in jobs if job.phase == ENDED]
    if evidence.cancel_requested:
        return RunState(CANCELED, _BY_USER, ended[-1].ended_at if ended else None)
    if not ended:
        return RunState(LOST, _join(beat, "Slurm has no job of the run"))
    # A standby job that was canceled because the run's job ended is no reason of the run's end.
    job = ([job for job in ended if job.state != "CANCELLED"] or ended)[-1]
    if job.state == "COMPLETED" and evidence.job_end.get("outcome") == "handed-over":
        return RunState(
            LOST, "its job was to be continued by another, which Slurm does not have", job.ended_at
        )
    outcome, reason = _BY_SLURM.get(job.state, (FAILED, "Slurm has its job as %s" % job.state))
    return RunState(outcome, "%s (job %s)" % (reason, job.id), job.ended_at)


def _join(*parts: str) -> str:
    return "; ".join(filter(None, parts))
