"""The sbatch script of a bench's job: it allocates whole hosts, and starts a worker on each; pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.units import format_slurm_time

JOB_NAME = "wright-bench"


def script(
    cluster: Cluster,
    hosts: Sequence[str],
    folder: str,
    *,
    limit_s: int,
    partition: str,
    reservation: str = "",
) -> str:
    """Return the sbatch script of a bench's job; the same arguments give the same text."""
    gpus = [cluster.host(host).group.gpus for host in hosts]
    # Slurm allocates no host that has fewer GPUs than the job requests.
    least = min(gpu_spec.count if gpu_spec else 0 for gpu_spec in gpus)
    lines = [
        ("job-name", JOB_NAME),
        ("partition", partition),
        ("reservation", reservation),
        ("nodelist", fold(list(hosts))),
        ("nodes", str(len(hosts))),
        ("ntasks-per-node", "1"),
        ("exclusive", None),
        ("mem", "0"),
        ("gres", f"gpu:{least}" if least else ""),
        ("time", format_slurm_time(limit_s)),
        ("chdir", folder),
        ("output", f"{folder}/job.out"),
        ("export", "NONE"),
        ("no-kill", None),
        ("no-requeue", None),
    ]
    head = [
        f"#SBATCH --{name}" + ("" if value is None else f"={value}") for name, value in lines if value != ""
    ]
    worker = shlex.join(["python3", f"{folder}/programs/worker.py", folder])
    body = [
        "# With export=NONE srun would start its steps with an empty environment (sbatch(1)).",
        "export SLURM_EXPORT_ENV=ALL",
        "# A host that dies takes its own worker along, and no other.",
        f"exec srun --no-kill --kill-on-bad-exit=0 --wait=0 --cpu-bind=none {worker}",
    ]
    return "\n".join(["#!/bin/bash", "# Made by clusterwright.", *head, "", *body]) + "\n"


def partition_of(cluster: Cluster) -> str:
    """Return the cluster's default partition, else the first one; "" without partitions."""
    names = list(cluster.partitions)
    return next((name for name in names if cluster.partitions[name].default), names[0] if names else "")
