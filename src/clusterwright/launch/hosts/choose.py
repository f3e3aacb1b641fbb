"""The hosts of `wright train --hostfile`: of a file, or with `auto` of the allocation that the command runs in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clusterwright.config.job import Job
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _
from clusterwright.launch.hosts.allocation import Allocation, find_allocation, mpi_task
from clusterwright.launch.hosts.hostfile import SlotHost, read_hostfile
from clusterwright.launch.resolve import Overrides, ResolvedJob, resolve_job

AUTO = "auto"


def hosts_of(hostfile: Path, environment: Mapping[str, str] = os.environ) -> tuple[SlotHost, ...]:
    """Return the hosts of the file, or of this allocation for the name `auto`.

    Raises:
        WrightError: the file is none, there is no allocation, or mpirun has started several of this command.
    """
    if task := mpi_task(environment):
        raise WrightError.from_code(
            "mpi-started",
            _("{task}: mpirun or srun has started this command several times", task=task),
            _(
                "start the command once, in the script of the job, without mpirun or srun: the command "
                "starts the ranks on all hosts"
            ),
            exit_code=EXIT_USAGE,
        )
    if str(hostfile) != AUTO:
        return read_hostfile(hostfile)
    allocation = allocation_of(environment)
    if allocation is None:
        raise WrightError.from_code(
            "no-allocation",
            _("this shell is in no allocation of PBS, LSF, Grid Engine, Cobalt, OAR or Slurm"),
            _("run the command inside a job, or name a file: --hostfile FILE"),
            exit_code=EXIT_USAGE,
        )
    return allocation.hosts


def allocation_of(environment: Mapping[str, str]) -> Allocation | None:
    """Return the allocation of the environment, with the files that its variables name; None without a readable one."""
    try:
        return find_allocation(environment, lambda file: read_argument(file).decode())
    except (OSError, UnicodeDecodeError):
        return None


def resolve_for(arguments: Sequence[str], overrides: Overrides, hosts: Sequence[SlotHost]) -> ResolvedJob:
    """Return the job; where it sets no size, all hosts train with the slots that each of them has.

    Raises:
        WrightError: with everything that is wrong with the job.
    """
    resolved = resolve_job(arguments, overrides, None)
    missing = default_size(resolved.job, hosts)
    if not missing:
        return resolved
    return resolve_job(arguments, replace(overrides, fields={**missing, **overrides.fields}), None)


def default_size(job: Job, hosts: Sequence[SlotHost]) -> dict[str, Any]:
    """Return the nodes and GPUs per node that the job leaves to the hosts."""
    slots = min(host.slots or 1 for host in hosts)
    size = {"nodes": max(1, len(hosts) - job.recovery.spare_nodes), "gpus_per_node": slots}
    return {name: value for name, value in size.items() if name not in job.model_fields_set}
