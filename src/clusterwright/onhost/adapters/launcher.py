"""A way to start the ranks of a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Dict, List, Optional, Sequence, Tuple

if TYPE_CHECKING:
    from clusterwright.onhost.supervisor.host.generation import Generation

Arguments = Sequence[str]


@dataclass(frozen=True)
class Allocation:
    """The hosts of a job, and what each of them gives it."""

    hosts: Tuple[str, ...]
    ranks: int  # on each host
    cpus: int  # of each rank


@dataclass(frozen=True)
class Launcher:
    """One launcher: supervised on each host, or run once for the whole job.

    A supervised one ends with its ranks, and the supervisor starts the next generation. One that is run once cannot
    restart ranks, replace hosts, or run in a container.
    """

    # The command line on each host; None: the agent forks ranks.
    on_host: Optional[Callable[[Generation, Arguments], List[str]]] = None
    job_command: Optional[Callable[[Allocation, Arguments], List[str]]] = (
        None  # the command line of the whole job
    )
    kind: str = "rank"  # what begin.py runs as: a rank, a task, or what starts the ranks of a host or of the batch step
    has_task_per_rank: bool = False  # of Slurm's, by whose number srun names the one that failed
    programs: Tuple[str, ...] = ()  # by which a line is known that begins with this launcher
    environment: Dict[str, str] = field(default_factory=dict)

    @property
    def is_supervised(self) -> bool:
        """Whether our agents look after its ranks."""
        return self.job_command is None

    @property
    def is_agent(self) -> bool:
        """Whether the agent itself forks the ranks."""
        return self.on_host is None and self.job_command is None
