"""What a job's processes are told of it by Slurm: account, partition, name, GPUs.

A user can write other words there: nothing but labels is made of them.
"""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, Optional

_VARIABLES = (
    "SLURM_JOB_ACCOUNT", "SLURM_JOB_PARTITION", "SLURM_JOB_NAME", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS",
    "SLURM_CPUS_ON_NODE", "SLURM_JOB_ID",
)  # fmt: skip
_MOST = 256 << 10  # bytes of an environment
_MAX_PROCESSES = 50  # processes: steps' own come first, and those of a later step know no more


def read_environment(job: str, pids: Iterable[int], proc: str) -> Dict[str, str]:
    """Of the first process that names this job."""
    for pid in list(pids)[:_MAX_PROCESSES]:
        environment = _environment(os.path.join(proc, str(pid), "environ"))
        if environment.get("SLURM_JOB_ID") == job:
            return environment
    return {}


def owner(pids: Iterable[int], proc: str) -> Optional[int]:
    """Whose processes they are; root's are Slurm's own, unless there are no others."""
    owners = set()
    for pid in pids:
        try:
            owners.add(os.stat(os.path.join(proc, str(pid))).st_uid)
        except OSError:
            continue
    return max(owners) if owners else None


def gpus(environment: Dict[str, str], prolog_gpus: str) -> List[int]:
    """Numbers of their device files: as the prolog has noted, or as the job's processes were told."""
    for text in (prolog_gpus, environment.get("SLURM_JOB_GPUS", ""), environment.get("SLURM_STEP_GPUS", "")):
        numbers = [int(part) for part in text.strip().split(",") if part.isdigit()]
        if numbers:
            return numbers
    return []


def _environment(path: str) -> Dict[str, str]:
    try:
        with open(path, "rb") as file:
            rows = file.read(_MOST).split(b"\0")
    except OSError:
        return {}
    pairs = (row.decode("utf-8", "replace").partition("=") for row in rows if row.startswith(b"SLURM_"))
    return {name: value for name, _, value in pairs if name in _VARIABLES}
