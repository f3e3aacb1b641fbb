"""What a supervisor makes of a run's record: the policy by which it decides, and what it tells the ranks. Pure."""

from __future__ import annotations

from typing import Dict, Tuple, Union

from clusterwright.onhost.supervisor.decide import Policy
from clusterwright.onhost.supervisor.job import Record
from clusterwright.onhost.supervisor.job_fields import EveryFields

SAVED_BY_S = (
    10  # ranks are to have saved this long before the time limit: srun and Slurm need the rest to end the job
)
JOIN_S = 60.0  # a new job's agents are started by srun, on hosts that may have much else to do
SHORTEST_GRACE_S, SHORTEST_JOIN_S = 5.0, 5.0


def policy(record: Record, hosts: Tuple[str, ...], successors: int, *, inside: bool) -> Policy:
    """How to decide; `inside` a job whose agents are there already, and come within two silences."""
    recovery = record.job.recovery
    return_s = max(SHORTEST_JOIN_S, 2 * recovery.heartbeat_timeout)
    return Policy(
        hosts=hosts,
        nodes=record.job.nodes,
        min_nodes=record.min_nodes,
        on_host_loss=recovery.on_host_loss,
        restarts=record.launch.restarts,
        successors=successors,
        grace_s=max(SHORTEST_GRACE_S, record.launch.grace_s - SAVED_BY_S),
        join_s=return_s if inside else JOIN_S,
        return_s=return_s,
    )


def environment(record: Record, end_time: float) -> Dict[str, str]:
    """What all ranks of a generation are told, in a job that ends at `end_time` (seconds since the epoch)."""
    checkpoint = record.job.checkpoint
    return {
        **checkpoints(record),
        "CLUSTERWRIGHT_COPY_EVERY": _format_interval(checkpoint.memory),
        **({"CLUSTERWRIGHT_CHECKPOINT_BEST": checkpoint.best} if checkpoint.best else {}),
        **({"CLUSTERWRIGHT_DEADLINE": f"{end_time - SAVED_BY_S:.0f}"} if record.job.time else {}),
    }


def checkpoints(record: Record) -> Dict[str, str]:
    """Where checkpoints go, how often, and how many are stored: what a program without a supervisor reads too."""
    return {
        "CLUSTERWRIGHT_CHECKPOINTS": record.launch.checkpoints,
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": _format_interval(record.job.checkpoint.every),
        "CLUSTERWRIGHT_SAVE_TOTAL_LIMIT": str(record.job.checkpoint.save_total_limit),
    }


def _format_interval(every: Union[EveryFields, str]) -> str:
    """`steps:25`, `seconds:600`, or the word that the job has."""
    if isinstance(every, str):
        return every
    return f"steps:{every.steps}" if every.steps else f"seconds:{every.seconds}"
