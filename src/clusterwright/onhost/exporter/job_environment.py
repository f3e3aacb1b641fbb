"""Reads a job's account, partition, name and GPUs from the environment of its processes.

Users can change their environment, so the values are used for labels only.
"""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Optional

from clusterwright.onhost.lib.numbers import ascii_int

_VARIABLES = (
    "SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION", "SLURM_JOB_NAME", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS",
    "SLURM_CPUS_ON_NODE", "SLURM_JOB_ID",
)  # fmt: skip
_MOST = 256 << 10  # bytes of an environment
_MAX_PROCESSES = 50  # processes: those of the first step are first, and later ones have the same values


def read_environment(job: str, pids: Iterable[int], proc: str) -> Dict[str, str]:
    """Return Slurm's variables of the first process that names this job."""
    for pid in list(pids)[:_MAX_PROCESSES]:
        environment = _environment(os.path.join(proc, str(pid), "environ"))
        if environment.get("SLURM_JOB_ID") == job:
            return environment
    return {}


def owner(pids: Iterable[int], proc: str) -> Optional[int]:
    """Return the uid of the processes; root's are Slurm's own, unless there are no others."""
    owners = set()
    for pid in pids:
        try:
            owners.add(os.stat(os.path.join(proc, str(pid))).st_uid)
        except OSError:
            continue
    return max(owners) if owners else None


def gpus(environment: Dict[str, str], prolog_gpus: str) -> List[int]:
    """Return the minor numbers of the job's GPUs: from the prolog's file, else from the environment."""
    for text in (prolog_gpus, environment.get("SLURM_JOB_GPUS", ""), environment.get("SLURM_STEP_GPUS", "")):
        numbers = (ascii_int(part) for part in text.strip().split(","))
        minors = [number for number in numbers if number is not None]
        if minors:
            return minors
    return []


def _environment(path: str) -> Dict[str, str]:
    try:
        with open(path, "rb") as file:
            rows = file.read(_MOST).split(b"\0")
    except OSError:
        return {}
    pairs = (row.decode("utf-8", "replace").partition("=") for row in rows if row.startswith(b"SLURM_"))
    return {name: value for name, _, value in pairs if name in _VARIABLES}
