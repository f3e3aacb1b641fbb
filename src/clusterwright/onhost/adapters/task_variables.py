"""Variables of torch's process groups for the tasks of any srun in a batch program: Slurm itself sets no RANK.

srun runs the file before each task (srun(1), SLURM_TASK_PROLOG) and sets the variables that it prints.
"""

from __future__ import annotations

import os
from typing import Dict, Sequence

VARIABLE = "SLURM_TASK_PROLOG"
NAME = "task_prolog.sh"
TEXT = """#!/bin/sh
# Slurm runs this before each task of srun: variables of torch.distributed (env://), unless the task has them.
set_missing() { eval "[ -n \\"\\${$1+x}\\" ]" || echo "export $1=$2"; }
set_missing RANK "$SLURM_PROCID"
set_missing LOCAL_RANK "$SLURM_LOCALID"
set_missing WORLD_SIZE "$SLURM_NTASKS"
set_missing LOCAL_WORLD_SIZE "$((SLURM_NTASKS / SLURM_NNODES))"
set_missing NODE_RANK "$SLURM_NODEID"
set_missing GROUP_RANK "$SLURM_NODEID"
set_missing MASTER_ADDR "${CLUSTERWRIGHT_FIRST%:*}"
set_missing MASTER_PORT "${CLUSTERWRIGHT_FIRST##*:}"
# for torchrun as a task on each host
set_missing PET_NNODES "$SLURM_NNODES"
set_missing PET_NODE_RANK "$SLURM_NODEID"
set_missing PET_MASTER_ADDR "${CLUSTERWRIGHT_FIRST%:*}"
set_missing PET_MASTER_PORT "${CLUSTERWRIGHT_FIRST##*:}"
set_missing PET_RDZV_ENDPOINT "$CLUSTERWRIGHT_FIRST"
set_missing PET_RDZV_ID "$SLURM_JOB_ID"
set_missing PET_RDZV_CONF "is_host=$([ "$SLURM_NODEID" = 0 ] && echo 1 || echo 0)"
"""
# They start their daemons by srun, one task on each host; their ranks would inherit the daemons' variables.
_MPI = ("mpirun", "mpiexec", "orterun", "prterun", "horovodrun")
_MAX_BYTES = 1_000_000  # of a script


def variables(command: Sequence[str], folder: str, workdir: str) -> Dict[str, str]:
    """Write a task prolog for srun into a run's folder, and return the environment variable that names it.

    Nothing is written, and {} returned, for a program that starts MPI ranks itself, such as one with mpirun.
    """
    if any(name in text for text in _texts(command, workdir) for name in _MPI):
        return {}
    path = os.path.join(folder, NAME)
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o755)
    with open(target, "w", encoding="utf-8") as file:
        file.write(TEXT)
    return {VARIABLE: path}


def _texts(command: Sequence[str], workdir: str) -> Sequence[str]:
    """Return the command line, and the text of each readable file of at most _MAX_BYTES that it names."""
    texts = [" ".join(command)]
    for argument in command:
        path = os.path.join(workdir, argument)
        try:
            if os.path.isfile(path) and os.path.getsize(path) <= _MAX_BYTES:
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts.append(file.read())
        except (OSError, ValueError):
            continue
    return texts
