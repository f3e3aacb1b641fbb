"""What of Slurm a site decides: the scheduler, its queues, qualities of service, reservations, accounting."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from clusterwright.config.field import Cost, Section, setting
from clusterwright.config.names import (
    AccountName,
    ConfLine,
    Hostlist,
    HostName,
    Identifier,
    SlurmKey,
    SlurmName,
    StartTime,
)
from clusterwright.config.power_saving import PowerSaving
from clusterwright.config.quantities import Duration, Size

_MAX_PORT = 65535  # 16 bits
_MAX_SLURM_SECONDS = 65533  # slurm.conf(5): SlurmdTimeout and KillWait "may not exceed 65533"
_MAX_GPUS = 65536 * 128  # the most hosts times the most GPUs of one

Port = Annotated[int, Field(ge=1, le=_MAX_PORT)]


class SlurmSettings(Section):
    """What of slurm.conf a site decides."""

    node_timeout: Duration = setting(
        "Silence after which a node counts as lost (SlurmdTimeout; Slurm's own default is 300s).",
        cost=Cost.RECONFIGURE, default="60s", example="60s", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    kill_wait: Duration = setting(
        "From SIGTERM to SIGKILL for a job that must go.",
        cost=Cost.RECONFIGURE, default="30s", example="60s", least=1, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    ports: tuple[Port, Port] = setting(
        "First and last port that srun listens on, so that a firewall can open them.",
        cost=Cost.RESTART, default=(60001, 63000), example="[60001, 63000]",
    )  # fmt: skip
    configless: bool = setting(
        "Compute hosts take Slurm's files from the control host, and hold none of their own.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    topology: Literal["auto", "none", "tree", "block"] = setting(
        "How Slurm sees the network; auto: a tree where the node groups name their switches.",
        cost=Cost.RESTART, default="auto", example="block",
    )  # fmt: skip
    block_size: int = setting(
        "Hosts of one block (an NVLink domain) where the topology is block.",
        cost=Cost.RESTART, default=18, example="18", least=1, most=65536,
    )  # fmt: skip
    cgroup: Literal["auto", "v1", "v2"] = setting(
        "Control groups of the hosts; auto asks each host.", cost=Cost.DRAIN, default="auto", example="v2"
    )
    health: bool = setting(
        "Prolog, epilog and a health program on every compute host.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    # 10 %: what a site loses to hosts in repair anyway; more at once is mostly a false alarm, or no host's own fault.
    max_drained_percent: int = setting(
        "Most hosts that health programs keep drained at once, one at least; further faults are only named.",
        default=10, example="25", least=1, most=100,
    )  # fmt: skip
    power_saving: PowerSaving | None = setting(
        "Switching idle hosts off; never if left out.", cost=Cost.RECONFIGURE, default=None
    )
    options: dict[SlurmKey, ConfLine] = setting(
        "Further keys of slurm.conf by name; refused where the version does not know them, or we set them.",
        cost=Cost.RESTART, default={}, example='{BatchStartTimeout: "60"}',
    )  # fmt: skip


class Partition(Section):
    """A queue of Slurm's."""

    nodes: Annotated[tuple[Identifier, ...], Field(min_length=1)] = setting(
        "Node groups in it.", cost=Cost.RECONFIGURE, example="[a100]"
    )
    default: bool = setting(
        "Jobs that name none go here.", cost=Cost.RECONFIGURE, default=False, example="true"
    )
    # A year: longer than any training; Slurm would take 2^32 minutes.
    max_time: Duration = setting(
        "Longest time a job may ask.",
        cost=Cost.RECONFIGURE, default="7d", example="7d", least=60, most=366 * 86400,
    )  # fmt: skip
    default_time: Duration | None = setting(
        "Time of a job that asks for none; max_time if left out.",
        cost=Cost.RECONFIGURE, default=None, example="1h", least=60, most=366 * 86400,
    )  # fmt: skip
    priority: int = setting(
        "Jobs of a partition with a higher one are tried first (PriorityTier).",
        cost=Cost.RECONFIGURE, default=1, example="10", least=1, most=65533,
    )  # fmt: skip
    gpus_per_node: int | None = setting(
        "Most GPUs of one host a job may ask; all if left out.",
        cost=Cost.RECONFIGURE, default=None, example="4", least=1, most=128,
    )  # fmt: skip
    max_nodes: int | None = setting(
        "Most hosts a job may ask; all if left out.",
        cost=Cost.RECONFIGURE, default=None, example="16", least=1, most=65536,
    )  # fmt: skip
    exclusive: bool = setting(
        "A job has its hosts to itself (OverSubscribe=EXCLUSIVE).",
        cost=Cost.RECONFIGURE, default=False, example="true",
    )  # fmt: skip
    headroom_percent: int = setting(
        "Part of its GPUs that jobs of this partition never hold together, so that others find room.",
        cost=Cost.RECONFIGURE, default=0, example="30", least=0, most=90,
    )  # fmt: skip
    cpus_per_gpu: int | None = setting(
        "CPUs of a job for each GPU it asks, where it asks for none; the host's share if left out.",
        cost=Cost.RECONFIGURE, default=None, example="16", least=1, most=1024,
    )  # fmt: skip
    memory_per_gpu: Size | None = setting(
        "Memory of a job for each GPU it asks, where it asks for none; the host's share if left out.",
        cost=Cost.RECONFIGURE, default=None, example="200GiB",
    )  # fmt: skip
    teams: tuple[AccountName, ...] = setting(
        "Teams that may use it; all if empty.", cost=Cost.RECONFIGURE, default=(), example="[vision]"
    )
    qos: tuple[SlurmName, ...] = setting(
        "Qualities of service that jobs here may name; all if empty.",
        cost=Cost.RECONFIGURE, default=(), example="[normal]",
    )  # fmt: skip


class Qos(Section):
    """A quality of service: what a job that names it may take, and whom it may push aside."""

    priority: int = setting(
        "Added to a job's priority, in proportion to the highest of all.",
        default=0, example="100", least=0, most=1_000_000,
    )  # fmt: skip
    max_time: Duration | None = setting(
        "Longest time of a job; the partition's if left out.", default=None, example="4h", least=60
    )
    max_gpus: int | None = setting(
        "Most GPUs of all its jobs together; for these it goes before what their teams may take.",
        default=None, example="64", least=0, most=_MAX_GPUS,
    )  # fmt: skip
    max_gpus_per_user: int | None = setting(
        "Most GPUs of one user's jobs together.", default=None, example="8", least=0, most=_MAX_GPUS
    )
    max_gpus_per_job: int | None = setting(
        "Most GPUs of one job.", default=None, example="8", least=0, most=_MAX_GPUS
    )
    max_jobs_per_user: int | None = setting(
        "Most running jobs of one user.", default=None, example="4", least=0, most=1_000_000
    )
    preempts: tuple[SlurmName, ...] = setting(
        "Qualities of service whose jobs make room for its own.",
        cost=Cost.RESTART, default=(), example="[scavenger]",
    )  # fmt: skip
    preempt_mode: Literal["requeue", "cancel"] = setting(
        "What becomes of its jobs when another takes their place.", default="requeue", example="cancel"
    )
    grace: Duration | None = setting(
        "Time that a job has to save and leave when it is pushed aside; KillWait if left out.",
        default=None, example="2m",
    )  # fmt: skip
    teams: tuple[AccountName, ...] = setting(
        "Teams that may name it; all if empty.", default=(), example="[vision]"
    )


class Reservation(Section):
    """Hosts kept for somebody, or from everybody, for a time."""

    hosts: Hostlist = setting("Hosts that are kept.", example="gpu-node[1-2]")
    start: StartTime = setting("When it begins, in the hosts' time zone.", example='"2027-01-15T08:00"')
    duration: Duration = setting("How long it lasts.", example="8h", least=60)
    repeat: Literal["once", "daily", "weekly", "weekdays"] = setting(
        "How often it comes again.", default="once", example="weekly"
    )
    teams: tuple[AccountName, ...] = setting("Teams it is for.", default=(), example="[vision]")
    users: tuple[AccountName, ...] = setting("Users it is for.", default=(), example="[alice]")
    maintenance: bool = setting(
        "For work on the hosts: no job runs there, and their time does not count as lost.",
        default=False, example="true",
    )  # fmt: skip


class Accounting(Section):
    """slurmdbd and its MariaDB: who used what, and what teams and users may take."""

    enabled: bool = setting(
        "Accounting on: fair share, limits and qualities of service are enforced.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    host: HostName | None = setting(
        "Control host that runs slurmdbd and MariaDB; the first one if left out.",
        cost=Cost.REBUILD, default=None, example="control2",
    )  # fmt: skip
    retention: Duration = setting(
        "How long jobs and steps are kept (PurgeJobAfter).", cost=Cost.RESTART, default="730d", example="730d",
        least=86400,
    )  # fmt: skip
    # Two weeks: a team that trained hard last month is not still punished for it; Slurm's default is a week.
    half_life: Duration = setting(
        "Time after which past use counts half in fair share (PriorityDecayHalfLife).",
        cost=Cost.RECONFIGURE, default="14d", example="14d", least=60,
    )  # fmt: skip
    # Ours in a report where it is left out: what renting such a GPU costs, as the catalog has it, and said to be that.
    gpu_hour: Annotated[float, Field(gt=0, le=1_000_000)] | None = setting(
        "What an hour of one GPU costs here, for reports; the market's price of renting one if left out.",
        default=None, example="1.20",
    )  # fmt: skip
    currency: Literal["USD", "EUR", "CNY", "GBP", "JPY", "CHF", "INR", "KRW"] = setting(
        "The currency of that price.", default="USD", example="EUR"
    )
