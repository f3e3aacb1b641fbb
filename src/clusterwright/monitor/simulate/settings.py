"""Settings of the model: those of a cluster file, or Slurm's defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm import Partition
from clusterwright.i18n import _
from clusterwright.provision.render.accounts import headroom_gpus
from clusterwright.provision.render.slurm_nodes import GPU_BILLED
from clusterwright.provision.render.slurm_scheduler import window_min

# As in provision/render/slurm_accounting.py; a test compares them.
WEIGHTS = {"qos": 200000, "fairshare": 100000, "age": 20000, "size": 10000}
MAX_AGE_S = 7 * 86400.0
CALC_S = 300.0  # PriorityCalcPeriod, Slurm's default
BACKFILL_S = 30.0  # bf_interval, Slurm's default
DEFAULT_WINDOW_S, DEFAULT_TESTS = 86400.0, 500  # bf_window, bf_max_job_test of 22.05
TESTS = 1000  # as in provision/render/slurm_scheduler.py; a test compares them
ENDLESS_S = 365 * 86400.0  # Slurm plans a job without a time limit as a year


@dataclass(frozen=True, slots=True)
class HostKind:
    """Hosts of one node group, which are alike."""

    names: tuple[str, ...]
    gpus: int
    cpus: int


@dataclass(frozen=True, slots=True)
class Queue:
    """A partition of the model, with its limits and priority."""

    name: str
    kinds: tuple[str, ...]
    max_s: float = ENDLESS_S
    default_s: float = ENDLESS_S
    tier: int = 1
    exclusive: bool = False
    most_billed: float | None = None  # billing units that the partition's head-room allows
    default: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """A team: its shares, its parent, and its limits."""

    name: str
    shares: int = 1
    parent: str = ""
    max_gpus: int | None = None
    max_gpus_per_user: int | None = None
    max_jobs: int | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """A QOS of the model, with its limits and priority."""

    priority: int = 0
    max_s: float | None = None
    max_gpus: int | None = None
    max_gpus_per_user: int | None = None
    max_gpus_per_job: int | None = None
    max_jobs_per_user: int | None = None


@dataclass(frozen=True)
class SimulationSettings:
    """Settings of one replay; `fifo` means priority/basic."""

    name: str
    kinds: Mapping[str, HostKind]
    queues: Mapping[str, Queue]
    accounts: Mapping[str, Account] = field(default_factory=dict)
    qualities: Mapping[str, Quality] = field(default_factory=dict)
    half_life_s: float = 7 * 86400.0
    fifo: bool = False
    backfill_s: float = BACKFILL_S
    after_s: float = 0.0  # seconds after a job's end before its hosts are free: epilogs, slurmctld's cycles
    window_s: float = DEFAULT_WINDOW_S
    tests: int = DEFAULT_TESTS
    left_out: tuple[str, ...] = ()  # settings of the file that the model does not have
    has_time_limits: bool = True  # False: jobs have the partition's time limit

    @property
    def gpus(self) -> int:
        """Number of GPUs of all hosts of the simulated cluster."""
        return sum(kind.gpus * len(kind.names) for kind in self.kinds.values())

    @property
    def cpus(self) -> int:
        """Number of CPUs of all hosts of the simulated cluster."""
        return sum(kind.cpus * len(kind.names) for kind in self.kinds.values())

    @property
    def default_queue(self) -> str:
        """The partition of jobs that request none or an unknown one: the default partition, else the first."""
        return next((name for name, queue in self.queues.items() if queue.default), next(iter(self.queues)))


def of_cluster(cluster: Cluster, name: str) -> SimulationSettings:
    """Return the settings that `wright apply` would configure on the cluster.

    Without accounting: first in, first out, without teams and QOS.
    """
    kinds = _kinds(cluster)
    queues = {key: _queue(cluster, key, part) for key, part in cluster.partitions.items()}
    if not cluster.accounting.enabled:
        return SimulationSettings(
            name,
            kinds,
            queues,
            fifo=True,
            window_s=_window(cluster),
            tests=TESTS,
            left_out=_left_out(cluster),
        )
    accounts = {
        key: Account(
            key, team.shares, team.parent or "", team.max_gpus, team.max_gpus_per_user, team.max_jobs
        )
        for key, team in cluster.teams.items()
    }
    qualities = {
        key: Quality(
            qos.priority,
            qos.max_time,
            qos.max_gpus,
            qos.max_gpus_per_user,
            qos.max_gpus_per_job,
            qos.max_jobs_per_user,
        )
        for key, qos in cluster.qos.items()
    }
    return SimulationSettings(
        name,
        kinds,
        queues,
        accounts,
        qualities,
        float(cluster.accounting.half_life),
        window_s=_window(cluster),
        tests=TESTS,
        left_out=_left_out(cluster),
    )


def _left_out(cluster: Cluster) -> tuple[str, ...]:
    features = {
        "reservations": bool(cluster.reservations),
        "qos preempts": any(qos.preempts for qos in cluster.qos.values()),
        "power_saving": cluster.slurm.power_saving is not None,
    }
    return tuple(name for name, is_used in features.items() if is_used)


def slurm_default(settings: SimulationSettings) -> SimulationSettings:
    """Return settings with the same hosts, but Slurm without configuration: first come first served, one job per host.

    No time limits and no accounting. slurm.conf(5) of 22.05: PriorityType=priority/basic, SelectType=select/linear,
    MaxTime=UNLIMITED.
    """
    queue = Queue("all", tuple(settings.kinds), exclusive=True, default=True)
    return SimulationSettings(
        _("Slurm's defaults"), settings.kinds, {"all": queue}, fifo=True, has_time_limits=False
    )


def _kinds(cluster: Cluster) -> dict[str, HostKind]:
    return {
        key: HostKind(tuple(group.names()), group.gpus.count if group.gpus else 0, group.cpus.threads)
        for key, group in cluster.nodes.items()
        if group.role == "compute" and group.names()
    }


def _queue(cluster: Cluster, name: str, part: Partition) -> Queue:
    most = headroom_gpus(cluster, part) * GPU_BILLED if part.headroom_percent else None
    return Queue(
        name,
        tuple(key for key in part.nodes if cluster.nodes[key].names()),
        float(part.max_time),
        float(part.default_time or part.max_time),
        part.priority,
        part.exclusive,
        most,
        part.default,
    )


def _window(cluster: Cluster) -> float:
    return window_min(cluster) * 60.0
