"""The sbatch script of a bench's job: it allocates whole hosts, and starts a worker on each; pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.units import format_slurm_time

JOB_NAME = "wright-bench"
SHARED_MEMORY = "2G"  # ours: the fact reader and its programs, on a host that other jobs use


@dataclass(frozen=True, slots=True)
class JobResources:
    """What a job gets of its hosts: whole hosts with all GPUs, else a CPU and `gpus` GPUs of each."""

    name: str = JOB_NAME
    is_exclusive: bool = True
    gpus: int = 0
    account: str = ""


EXCLUSIVE_HOSTS = JobResources()


def script(
    cluster: Cluster,
    hosts: Sequence[str],
    folder: str,
    *,
    limit_s: int,
    partition: str,
    reservation: str = "",
    allocation: JobResources = EXCLUSIVE_HOSTS,
) -> str:
    """Return the sbatch script of a bench's job on these hosts, which starts a worker on each of them.

    `folder` is the bench's folder with the programs; `limit_s` is the job's time limit. An exclusive job gets the
    smallest number of GPUs that any of the hosts has.
    """
    gpus = _least_gpus(cluster, hosts) if allocation.is_exclusive else allocation.gpus
    lines = [
        ("job-name", allocation.name),
        ("account", allocation.account),
        ("partition", partition),
        ("reservation", reservation),
        ("nodelist", fold(list(hosts))),
        ("nodes", str(len(hosts))),
        ("ntasks-per-node", "1"),
        ("exclusive", None if allocation.is_exclusive else ""),
        ("mem", "0" if allocation.is_exclusive else SHARED_MEMORY),
        ("gres", f"gpu:{gpus}" if gpus else ""),
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


def _least_gpus(cluster: Cluster, hosts: Sequence[str]) -> int:
    """Return the least GPUs of a host: Slurm allocates no host that has fewer GPUs than the job requests."""
    gpus = [cluster.host(host).group.gpus for host in hosts]
    return min(gpu_spec.count if gpu_spec else 0 for gpu_spec in gpus)


def partition_of(cluster: Cluster, hosts: Sequence[str] = ()) -> str:
    """Return the partition that has all the hosts, the default one if it does; "" without partitions.

    If none has all of them: the default partition, else the first.
    """
    groups = {cluster.host(host).group_name for host in hosts}
    names = [name for name, partition in cluster.partitions.items() if groups <= {*partition.nodes}]
    names = names or list(cluster.partitions)
    return next((name for name in names if cluster.partitions[name].default), names[0] if names else "")
