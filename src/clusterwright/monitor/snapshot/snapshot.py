"""The one form in which a cluster is shown: terminal, page and reports read this and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

Seconds = float  # since the epoch, or a span
Ratio = float  # 0 to 1
Bytes = int


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; None is what nobody could say, never zero."""

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
    """One host as Slurm has it; `reason` is the reason of a drain or of its being down.

    `state` is one of idle, mixed, allocated, completing, planned, reserved, maint, rebooting, powering_up,
    powered_down, not_responding, down, or Slurm's own base state in small letters where it has another.
    """

    name: str
    state: str
    group: str = ""
    partitions: tuple[str, ...] = ()
    drained: bool = False
    by: str = ""  # who drained it: health, hooks, command, slurm, person
    reason: str = ""
    since: Seconds | None = None
    leaf: str = ""  # the switch that it hangs on
    cpus: int = 0
    cpus_used: int = 0
    load: float | None = None
    memory_total: Bytes = 0
    memory_used: Bytes | None = None
    gpus_total: int = 0
    gpus_used: int = 0
    gpus: tuple[Gpu, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """The training that a job is of, as its own events tell it."""

    name: str
    state: str = ""
    step: int | None = None
    until: int | None = None
    loss: float | None = None
    tokens_per_s: float | None = None
    samples_per_s: float | None = None
    mfu: Ratio | None = None
    eta_s: Seconds | None = None
    goodput: Ratio | None = None
    data_wait: Ratio | None = None
    checkpoint_age_s: Seconds | None = None
    slow_rank: str = ""
    curve: tuple[tuple[int, float], ...] = ()  # step, loss; at most some hundred points
    communication: Ratio | None = None


@dataclass(frozen=True, slots=True)
class JobView:
    """One job; `explanation` is what it waits for in plain words, `reason` Slurm's own word, which waits.py explains.

    Names are strangers' text and are kept as they are; whoever shows them neutralises them (visible.py).
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
    expected: Seconds | None = None  # of one that waits: when Slurm means to start it
    ends: Seconds | None = None
    utilisation: Ratio | None = None  # mean over its GPUs
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class Team:
    """One account: what it was promised, what it uses now and has used."""

    name: str
    share: Ratio | None = None
    used: Ratio | None = None
    fairshare: Ratio | None = None
    gpus: int = 0
    running: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert that is on; `severity` is critical, warning or info."""

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
    """A whole cluster; `missing` says what could not be asked and why, a line each."""

    cluster: str
    taken: Seconds
    nodes: tuple[NodeView, ...] = ()
    jobs: tuple[JobView, ...] = ()
    teams: tuple[Team, ...] = ()
    alerts: tuple[Alert, ...] = ()
    missing: tuple[str, ...] = ()
