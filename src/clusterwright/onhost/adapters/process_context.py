"""The rank and the hosts of a process within its job, from variables of Slurm, Open MPI, torch or the agent."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Tuple

HOSTS, RANKS, FIRST_HOST = "CLUSTERWRIGHT_HOSTS", "CLUSTERWRIGHT_RANKS", "CLUSTERWRIGHT_FIRST"
# Variables with a process's rank and local rank, the most specific first.
_NUMBERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("RANK", "LOCAL_RANK"),
    ("SLURM_PROCID", "SLURM_LOCALID"),
)


@dataclass(frozen=True)
class ProcessContext:
    """One process among `ranks` on each of `hosts`; a process that starts its host's ranks has `local_rank` -1."""

    hosts: Tuple[str, ...]
    host: int
    ranks: int
    address: str
    port: int
    local_rank: int = -1
    job: str = "0"
    parallel: Tuple[Tuple[str, Any], ...] = ()

    @property
    def world(self) -> int:
        """Return the number of ranks of the job."""
        return len(self.hosts) * self.ranks

    @property
    def rank(self) -> int:
        """Return the global rank; for a process that starts ranks, that of the first of them."""
        return self.host * self.ranks + max(0, self.local_rank)

    @property
    def starts_ranks(self) -> bool:
        """Return True for a process that starts its host's ranks and is none itself."""
        return self.local_rank < 0

    def parallel_option(self, name: str) -> Any:
        """Return a field of the job's `parallel:`; None without it."""
        return dict(self.parallel).get(name)


def read(environ: Mapping[str, str], *, starts_ranks: bool = False) -> ProcessContext:
    """Return host, rank and number of ranks of this process from the variables of Slurm, Open MPI, torch or the agent.

    With `starts_ranks` it is a launcher, which has no local rank (-1).
    """
    hosts = tuple(filter(None, environ.get(HOSTS, "").split(","))) or ("localhost",)
    ranks = int(environ.get(RANKS) or environ.get("LOCAL_WORLD_SIZE") or 1)
    address, _, port = environ.get(FIRST_HOST, "").rpartition(":")
    variable_names = next((pair for pair in _NUMBERS if all(name in environ for name in pair)), None)
    rank = int(environ[variable_names[0]]) if variable_names else 0
    host = int(environ.get("SLURM_NODEID", "0")) if starts_ranks else rank // ranks
    return ProcessContext(
        hosts,
        host,
        ranks,
        address or environ.get("MASTER_ADDR", hosts[0]),
        int(port or environ.get("MASTER_PORT", "29500")),
        -1 if starts_ranks else (int(environ[variable_names[1]]) if variable_names else 0),
        environ.get("SLURM_JOB_ID", "0"),
        _parallel(environ),
    )


def _parallel(environ: Mapping[str, str]) -> Tuple[Tuple[str, Any], ...]:
    settings: Dict[str, Any] = json.loads(environ.get("CLUSTERWRIGHT_PARALLEL", "{}"))
    return tuple(settings.items())
