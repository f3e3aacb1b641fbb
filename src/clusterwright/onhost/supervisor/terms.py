"""What a supervisor makes of a job's options: the policy by which it decides, and what it tells the ranks. Pure."""

from __future__ import annotations

from typing import Dict, Tuple

from clusterwright.onhost.supervisor.decide import Policy
from clusterwright.onhost.supervisor.options import Options

SAVED_BY_S = (
    10  # ranks are to have saved this long before the time limit: srun and Slurm need the rest to end the job
)
JOIN_S = 60.0  # a new job's agents are started by srun, on hosts that may have much else to do
SHORTEST_GRACE_S, SHORTEST_JOIN_S = 5.0, 5.0


def policy(options: Options, hosts: Tuple[str, ...], successors: int, *, inside: bool) -> Policy:
    """How to decide; `inside` a job whose agents are there already, and come within two silences."""
    return_s = max(SHORTEST_JOIN_S, 2 * options.silence)
    return Policy(
        hosts=hosts, nodes=options.nodes, min_nodes=options.min_nodes, on_host_loss=options.on_host_loss,
        restarts=options.restarts, successors=successors, grace_s=max(SHORTEST_GRACE_S, options.grace - SAVED_BY_S),
        join_s=return_s if inside else JOIN_S, return_s=return_s,
    )  # fmt: skip


def environment(options: Options, end_time: float) -> Dict[str, str]:
    """What all ranks of a generation are told, in a job that ends at `end_time` (seconds since the epoch)."""
    return {
        "CLUSTERWRIGHT_CHECKPOINTS": options.checkpoints,
        "CLUSTERWRIGHT_CHECKPOINT_EVERY": options.every,
        "CLUSTERWRIGHT_CHECKPOINT_KEEP": str(options.keep),
        "CLUSTERWRIGHT_COPY_EVERY": options.copies,
        **({"CLUSTERWRIGHT_CHECKPOINT_BEST": options.best} if options.best else {}),
        **({"CLUSTERWRIGHT_DEADLINE": f"{end_time - SAVED_BY_S:.0f}"} if options.time else {}),
    }
