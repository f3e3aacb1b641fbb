"""The supervisor's policy and the ranks' environment, derived from a run's record; pure."""

from __future__ import annotations

from typing import Dict, Tuple, Union

from clusterwright.onhost.supervisor.decide import LINGER_S, Policy
from clusterwright.onhost.supervisor.host import forming
from clusterwright.onhost.supervisor.job import JobRecord
from clusterwright.onhost.supervisor.job_fields import EveryFields

SAVED_BY_S = (
    10  # ranks must have saved this long before the time limit: srun and Slurm need it to end the job
)
TICK_S = 0.2  # of the supervisor's event loop
BEATS_PER_TIMEOUT = 6  # a busy host may miss five
LONGEST_BEAT_S = 1.0
# Interval between attempts to restart the agent of a lost host: a reboot takes a lab host 2 s and a server minutes.
REJOIN_S = 15.0
JOIN_S = 60.0  # time for srun to start the agents of a new job on busy hosts
# Without a scheduler the first hosts of the hostfile train if all come, and each imports over the shared folder.
SSH_LINGER_S = 15.0
SHORTEST_GRACE_S, SHORTEST_JOIN_S = 5.0, 5.0


def policy(record: JobRecord, hosts: Tuple[str, ...], successors: int, *, inside: bool) -> Policy:
    """Return the settings by which `decide` decides for a run on these hosts, from its job file and time limits.

    `inside`: after a failover, agents run already and rejoin soon. `successors` is how many jobs continued it before.
    """
    recovery = record.job.recovery
    return_s = max(SHORTEST_JOIN_S, 2 * recovery.heartbeat_timeout)
    # Without a scheduler a successor has the same hosts: it waits for a lost one as a job waits in a queue.
    waits = record.hosts and successors < recovery.successors and recovery.on_host_loss != "shrink"
    return Policy(
        hosts=hosts,
        nodes=record.job.nodes,
        min_nodes=record.min_nodes,
        on_host_loss=recovery.on_host_loss,
        restarts=record.launch.restarts,
        successors=successors,
        grace_s=max(SHORTEST_GRACE_S, record.launch.grace_s - SAVED_BY_S),
        join_s=return_s if inside else float("inf") if waits else JOIN_S,
        linger_s=SSH_LINGER_S if record.hosts else LINGER_S,
        return_s=return_s,
    )


def rejoin_times(record: JobRecord, lost_hosts: Tuple[str, ...], now: float) -> Dict[str, float]:
    """Return by host when its agent is started again: of lost hosts, and of those no scheduler started."""
    return {
        **dict.fromkeys(lost_hosts, now + LONGEST_BEAT_S),
        **dict.fromkeys(record.host_names, now + REJOIN_S),
    }


def environment(record: JobRecord, end_time: float) -> Dict[str, str]:
    """Return the variables that all ranks of a generation share, in a job that ends at `end_time` (epoch seconds)."""
    checkpoint = record.job.checkpoint
    return {
        **checkpoints(record),
        "CLUSTERWRIGHT_COPY_EVERY": _format_interval(checkpoint.memory),
        **forming_limit(record),
        **({"CLUSTERWRIGHT_CHECKPOINT_BEST": checkpoint.best} if checkpoint.best else {}),
        **({"CLUSTERWRIGHT_DEADLINE": f"{end_time - SAVED_BY_S:.0f}"} if record.job.time else {}),
    }


def forming_limit(record: JobRecord) -> Dict[str, str]:
    """Return the variable with the seconds in which a process group must form, from `recovery.hang`.

    Empty unless the job sets that to a number.
    """
    hang = record.job.recovery.hang
    return {forming.LIMIT: str(hang)} if isinstance(hang, int) else {}


def checkpoints(record: JobRecord) -> Dict[str, str]:
    """Return the checkpoint variables (folder, interval, retention), also for a program without supervisor."""
    return {
        "CLUSTERWRIGHT_CHECKPOINTS": record.launch.checkpoints,
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": _format_interval(record.job.checkpoint.every),
        "CLUSTERWRIGHT_SAVE_TOTAL_LIMIT": str(record.job.checkpoint.save_total_limit),
    }


def _format_interval(every: Union[EveryFields, str]) -> str:
    """Return an interval of checkpoints as `steps:25` or `seconds:600`, or the job file's word."""
    if isinstance(every, str):
        return every
    return f"steps:{every.steps}" if every.steps else f"seconds:{every.seconds}"
