"""The snapshot of a cluster, from which the screen, the web page and the JSON output are made."""

from __future__ import annotations

from dataclasses import dataclass

Seconds = float  # since the epoch, or a duration
Ratio = float  # 0 to 1
Bytes = int


@dataclass(frozen=True, slots=True)
class GpuSnapshot:
    """One GPU at the time of the snapshot; None means unknown."""

    index: int
    name: str = ""
    utilisation: Ratio | None = None
    memory_used: Bytes | None = None
    memory_total: Bytes | None = None
    celsius: float | None = None
    watts: float | None = None
    job: str = ""


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node as Slurm has it; `reason` is that of its drain or of its being down.

    `state` is one of idle, mixed, allocated, completing, planned, reserved, maint, rebooting, powering_up,
    powered_down, not_responding, down, or another base state of Slurm in lower case.
    """

    name: str
    state: str
    group: str = ""
    partitions: tuple[str, ...] = ()
    drained: bool = False
    by: str = ""  # origin of the drain: health, hooks, command, slurm, person
    reason: str = ""
    since: Seconds | None = None
    leaf: str = ""  # its leaf switch
    cpus: int = 0
    cpus_used: int = 0
    load: float | None = None
    memory_total: Bytes = 0
    memory_used: Bytes | None = None
    gpus_total: int = 0
    gpus_used: int = 0
    gpus: tuple[GpuSnapshot, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """The run of a job, from the events of the run."""

    name: str
    state: str = ""
    step: int | None = None
    total_steps: int | None = None
    loss: float | None = None
    tokens_per_s: float | None = None
    samples_per_s: float | None = None
    mfu: Ratio | None = None
    eta_s: Seconds | None = None
    goodput: Ratio | None = None
    data_wait: Ratio | None = None
    checkpoint_age_s: Seconds | None = None
    slow_rank: str = ""
    curve: tuple[tuple[int, float], ...] = ()  # step, loss; at most a few hundred points
    communication: Ratio | None = None


@dataclass(frozen=True, slots=True)
class JobView:
    """One job; `reason` is Slurm's reason for a pending job, `explanation` its text (waits.py).

    Names are untrusted and stored as they are; visible.py escapes them where they are shown.
    """

    id: str
    name: str
    user: str
    account: str
    partition: str
    state: str
    reason: str = ""
    explanation: str = ""
    nodes: tuple[str, ...] = ()
    node_count: int = 0
    cpus: int = 0
    gpus: int = 0
    priority: int = 0
    submitted: Seconds | None = None
    started: Seconds | None = None
    expected: Seconds | None = None  # of a pending job: the start that Slurm expects
    ends: Seconds | None = None
    utilisation: Ratio | None = None  # mean over its GPUs
    run: RunSnapshot | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """One account: its share, its past use, and its running and pending jobs."""

    name: str
    share: Ratio | None = None
    used: Ratio | None = None
    fairshare: Ratio | None = None
    gpus: int = 0
    running: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Alert:
    """One firing alert; `severity` is critical, warning or info, `muted` means silenced or inhibited."""

    name: str
    severity: str
    subject: str
    since: Seconds
    summary: str
    summary_zh: str = ""
    runbook: str = ""
    muted: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole cluster; `missing` has one line for each part that could not be queried."""

    cluster: str
    taken: Seconds
    nodes: tuple[NodeView, ...] = ()
    jobs: tuple[JobView, ...] = ()
    teams: tuple[Team, ...] = ()
    alerts: tuple[Alert, ...] = ()
    missing: tuple[str, ...] = ()
