"""The interface of a launcher, which starts the ranks of a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from clusterwright.onhost.supervisor.host.generation import Generation

Arguments = Sequence[str]


@dataclass(frozen=True)
class Allocation:
    """The hosts allocated to a job, and the numbers of ranks and CPUs."""

    hosts: Tuple[str, ...]
    ranks: int  # per host
    cpus: int  # per rank


@dataclass(frozen=True)
class Launcher:
    """One launcher: supervised on each host, or run once for the whole job.

    A supervised launcher ends with its ranks, and the supervisor starts the next generation. A launcher that
    runs once cannot restart ranks, replace hosts, or run in a container.
    """

    # The command line on each host; None: the agent forks ranks.
    on_host: Optional[Callable[[Generation, Arguments], List[str]]] = None
    # The command line for the whole job, of a launcher that runs once.
    job_command: Optional[Callable[[Allocation, Arguments], List[str]]] = None
    # KIND of begin.py: rank, task, host (starts a host's ranks) or batch (starts all ranks)
    kind: str = "rank"
    has_task_per_rank: bool = False  # each rank is a Slurm task, whose number srun reports on failure
    programs: Tuple[str, ...] = ()  # program names that identify a command line of this launcher
    environment: Dict[str, str] = field(default_factory=dict)

    @property
    def is_supervised(self) -> bool:
        """Return True if the supervisor's agents monitor the ranks of this launcher."""
        return self.job_command is None

    @property
    def is_agent(self) -> bool:
        """Return True if the agent itself forks the ranks."""
        return self.on_host is None and self.job_command is None
