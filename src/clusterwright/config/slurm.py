"""Slurm settings of a site: scheduler, partitions, qualities of service, reservations, accounting."""

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
_MAX_GPUS = 65536 * 128  # maximum hosts times maximum GPUs of a host

SlurmFile = Literal["gres.conf", "cgroup.conf", "topology.conf", "topology.yaml"]
Port = Annotated[int, Field(ge=1, le=_MAX_PORT)]


class SlurmSettings(Section):
    """Settings of slurm.conf."""

    node_timeout: Duration = setting(
        "Time without a response after which a node is down (SlurmdTimeout; Slurm's own default is 300s).",
        cost=Cost.RECONFIGURE, default="60s", example="60s", least=5, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    kill_wait: Duration = setting(
        "Time from SIGTERM to SIGKILL of a job that is terminated (KillWait).",
        cost=Cost.RECONFIGURE, default="30s", example="60s", least=1, most=_MAX_SLURM_SECONDS,
    )  # fmt: skip
    ports: tuple[Port, Port] = setting(
        "First and last port of SrunPortRange, which the firewall opens.",
        cost=Cost.RESTART, default=(60001, 63000), example="[60001, 63000]",
    )  # fmt: skip
    configless: bool = setting(
        "Configless Slurm: compute hosts fetch Slurm's files from the control host.",
        cost=Cost.RESTART, default=False, example="true",
    )  # fmt: skip
    topology: Literal["auto", "none", "tree", "block"] = setting(
        "Topology plugin; auto: tree where the node groups have a `switch`.",
        cost=Cost.RESTART, default="auto", example="block",
    )  # fmt: skip
    block_size: int = setting(
        "Hosts per block (NVLink domain), for `topology: block`.",
        cost=Cost.RESTART, default=18, example="18", least=1, most=65536,
    )  # fmt: skip
    cgroup: Literal["auto", "v1", "v2"] = setting(
        "Control group version; auto: detected on each host.", cost=Cost.DRAIN, default="auto", example="v2"
    )
    health: bool = setting(
        "Run prolog, epilog and a health check program on every compute host.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    # 10 %: a site's usual share of hosts in repair; more at once is mostly a false alarm or a fault outside the hosts.
    max_drained_percent: int = setting(
        "Maximum percentage of hosts, at least one host, that health programs drain at once; others are only reported.",
        default=10, example="25", least=1, most=100,
    )  # fmt: skip
    power_saving: PowerSaving | None = setting(
        "Power saving: powers idle hosts down; not set: off.", cost=Cost.RECONFIGURE, default=None
    )
    defaults: Literal["clusterwright", "slurm"] = setting(
        "Source of settings that the file does not set; slurm: slurm.conf contains only what the file sets, and"
        " `options` may have any key, as in a file of `wright adopt`.",
        cost=Cost.RESTART,
        default="clusterwright",
        example="slurm",
    )
    options: dict[SlurmKey, ConfLine] = setting(
        "Additional slurm.conf keys, except those that the Slurm version does not support or that other fields set.",
        cost=Cost.RESTART, default={}, example='{BatchStartTimeout: "60"}',
    )  # fmt: skip
    files: dict[SlurmFile, tuple[ConfLine, ...]] = setting(
        "Lines of Slurm's other files, in place of those that other fields set; only with `defaults: slurm`.",
        cost=Cost.RESTART, default={}, example="{gres.conf: [AutoDetect=nvml]}",
    )  # fmt: skip

    def file_text(self, name: SlurmFile, header: str) -> str | None:
        """Return the text of a Slurm file of the site, after the header; None if `slurm.files` has no lines for it."""
        return header + "".join(f"{line}\n" for line in self.files[name]) if name in self.files else None

    @property
    def is_of_site(self) -> bool:
        """Whether slurm.conf is the site's: only what the file sets, whatever our rules advise."""
        return self.defaults == "slurm"


class Partition(Section):
    """A Slurm partition."""

    nodes: Annotated[tuple[Identifier, ...], Field(min_length=1)] = setting(
        "Node groups of the partition.", cost=Cost.RECONFIGURE, example="[a100]"
    )
    default: bool = setting(
        "Whether this is the default partition.", cost=Cost.RECONFIGURE, default=False, example="true"
    )
    # A year: longer than any training; Slurm would take 2^32 minutes.
    max_time: Duration = setting(
        "Maximum time limit of a job (MaxTime).",
        cost=Cost.RECONFIGURE, default="7d", example="7d", least=60, most=366 * 86400,
    )  # fmt: skip
    default_time: Duration | None = setting(
        "Time limit of a job that requests none (DefaultTime); default: max_time.",
        cost=Cost.RECONFIGURE, default=None, example="1h", least=60, most=366 * 86400,
    )  # fmt: skip
    priority: int = setting(
        "Scheduling priority relative to other partitions, higher first (PriorityTier).",
        cost=Cost.RECONFIGURE, default=1, example="10", least=1, most=65533,
    )  # fmt: skip
    gpus_per_node: int | None = setting(
        "Maximum GPUs per host that a job may request; default: all.",
        cost=Cost.RECONFIGURE, default=None, example="4", least=1, most=128,
    )  # fmt: skip
    max_nodes: int | None = setting(
        "Maximum hosts that a job may request (MaxNodes); default: all.",
        cost=Cost.RECONFIGURE, default=None, example="16", least=1, most=65536,
    )  # fmt: skip
    exclusive: bool = setting(
        "Allocate whole hosts to jobs (OverSubscribe=EXCLUSIVE).",
        cost=Cost.RECONFIGURE, default=False, example="true",
    )  # fmt: skip
    headroom_percent: int = setting(
        "Percentage of the partition's GPUs that its jobs together leave free for other jobs.",
        cost=Cost.RECONFIGURE, default=0, example="30", least=0, most=90,
    )  # fmt: skip
    cpus_per_gpu: int | None = setting(
        "Default CPUs per GPU of a job (DefCpuPerGPU); default: the GPU's share of the host.",
        cost=Cost.RECONFIGURE, default=None, example="16", least=1, most=1024,
    )  # fmt: skip
    memory_per_gpu: Size | None = setting(
        "Default memory per GPU of a job (DefMemPerGPU); default: the GPU's share of the host.",
        cost=Cost.RECONFIGURE, default=None, example="200GiB",
    )  # fmt: skip
    teams: tuple[AccountName, ...] = setting(
        "Teams that may use the partition; empty: all.", cost=Cost.RECONFIGURE, default=(), example="[vision]"
    )
    qos: tuple[SlurmName, ...] = setting(
        "Qualities of service that jobs of the partition may use; empty: all.",
        cost=Cost.RECONFIGURE, default=(), example="[normal]",
    )  # fmt: skip
    options: dict[SlurmKey, ConfLine] = setting(
        "Additional keys of the PartitionName line; a key here replaces the value that another field sets.",
        cost=Cost.RECONFIGURE,
        default={},
        example='{Hidden: "YES"}',
    )


class Qos(Section):
    """A quality of service (QOS): limits of its jobs, and which jobs they preempt."""

    priority: int = setting(
        "Priority of its jobs, relative to the highest priority of all qualities of service.",
        default=0, example="100", least=0, most=1_000_000,
    )  # fmt: skip
    max_time: Duration | None = setting(
        "Maximum time limit of a job; default: that of the partition.", default=None, example="4h", least=60
    )
    max_gpus: int | None = setting(
        "Maximum GPUs of all jobs in this QOS together; overrides the limits of the jobs' "
"teams.",
        default=None, example="64", least=0, most=_MAX_GPUS,
    )  # fmt: skip
    max_gpus_per_user: int | None = setting(
        "Maximum GPUs of all jobs of one user in this QOS.",
        default=None,
        example="8",
        least=0,
        most=_MAX_GPUS,
    )
    max_gpus_per_job: int | None = setting(
        "Maximum GPUs of one job.", default=None, example="8", least=0, most=_MAX_GPUS
    )
    max_jobs_per_user: int | None = setting(
        "Maximum running jobs of one user.", default=None, example="4", least=0, most=1_000_000
    )
    preempts: tuple[SlurmName, ...] = setting(
        "Qualities of service (QOS) whose jobs this QOS preempts.",
        cost=Cost.RESTART, default=(), example="[scavenger]",
    )  # fmt: skip
    preempt_mode: Literal["requeue", "cancel"] = setting(
        "What Slurm does with preempted jobs of this QOS (PreemptMode).", default="requeue", example="cancel"
    )
    grace: Duration | None = setting(
        "Time from the preemption of a job to its end (GraceTime), to save a checkpoint; default: kill_wait.",
        default=None, example="2m",
    )  # fmt: skip
    teams: tuple[AccountName, ...] = setting(
        "Teams that may use the quality of service; empty: all. With `slurm.defaults: slurm` the "
        "`QOS` in `options` of teams decides.",
        default=(),
        example="[vision]",
    )
    options: dict[SlurmKey, ConfLine] = setting(
        "Additional settings, named as in sacctmgr; a setting here replaces the value that another field sets.",
        default={},
        example='{MaxSubmitJobsPerUser: "20"}',
    )


class Reservation(Section):
    """A reservation of hosts for teams, users or maintenance."""

    hosts: Hostlist = setting("Reserved hosts.", example="gpu-node[1-2]")
    start: StartTime = setting("Start time, in the time zone of the hosts.", example='"2027-01-15T08:00"')
    duration: Duration = setting("Duration.", example="8h", least=60)
    repeat: Literal["once", "daily", "weekly", "weekdays"] = setting(
        "Recurrence.", default="once", example="weekly"
    )
    teams: tuple[AccountName, ...] = setting(
        "Teams that may use the reservation.", default=(), example="[vision]"
    )
    users: tuple[AccountName, ...] = setting(
        "Users that may use the reservation.", default=(), example="[alice]"
    )
    maintenance: bool = setting(
        "Maintenance: no job runs on the hosts, and their time is not counted as down.",
        default=False, example="true",
    )  # fmt: skip


class Accounting(Section):
    """Accounting by slurmdbd and MariaDB: usage, and the limits of teams and users."""

    enabled: bool = setting(
        "Enable accounting, which enforces fair share, limits and qualities of service.",
        cost=Cost.RESTART, default=True, example="true",
    )  # fmt: skip
    host: HostName | None = setting(
        "Control host that runs slurmdbd and MariaDB; default: the first control host.",
        cost=Cost.REBUILD, default=None, example="control2",
    )  # fmt: skip
    retention: Duration = setting(
        "Retention time of job and step records (PurgeJobAfter).", cost=Cost.RESTART, default="730d", example="730d",
        least=86400,
    )  # fmt: skip
    # Two weeks: heavy use last month hardly lowers a team's priority any more; Slurm's default is a week.
    half_life: Duration = setting(
        "Half-life of past usage in fair share (PriorityDecayHalfLife).",
        cost=Cost.RECONFIGURE, default="14d", example="14d", least=60,
    )  # fmt: skip
    # Where it is not set, reports use the catalog's rental price of such a GPU, labeled as such.
    gpu_hour: Annotated[float, Field(gt=0, le=1_000_000)] | None = setting(
        "Cost of one GPU hour, for reports; default: the market price of renting such a GPU.",
        default=None, example="1.20",
    )  # fmt: skip
    currency: Literal["USD", "EUR", "CNY", "GBP", "JPY", "CHF", "INR", "KRW"] = setting(
        "Currency of `gpu_hour`.", default="USD", example="EUR"
    )
