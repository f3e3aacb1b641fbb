"""Sets the variables of torchrun for ranks that `srun` starts, one task each."""

from __future__ import annotations

import re
from collections.abc import MutableMapping

_FIRST_PORT, _PORTS = (
    15_000,
    10_000,
)  # below Linux's ephemeral ports, which begin at 32768 (ip_local_port_range)


def first_host(nodelist: str) -> str:
    """Return the first host of a Slurm node list: gpu-node03 of `gpu-node[03-05,9],x1`."""
    group = re.match(r"(?:[^,\[]|\[[^\]]*\])+", nodelist)
    return re.sub(r"\[(\w+)[^\]]*\]", r"\1", group[0]) if group else ""


def adopt(environ: MutableMapping[str, str]) -> None:
    """Set RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT from a job step; variables already set stay.

    Nothing changes if RANK is set, or outside a step of several tasks. A batch script has SLURM_PROCID too without
    being one of several ranks: only a step has SLURM_STEP_NUM_TASKS.
    """
    if "RANK" in environ or int(environ.get("SLURM_STEP_NUM_TASKS", "1")) == 1:
        return
    job, step = int(environ.get("SLURM_JOB_ID", "0")), int(environ.get("SLURM_STEP_ID", "0"))
    environ.setdefault("RANK", environ["SLURM_PROCID"])
    environ.setdefault("LOCAL_RANK", environ["SLURM_LOCALID"])
    environ.setdefault("WORLD_SIZE", environ["SLURM_STEP_NUM_TASKS"])
    environ.setdefault("MASTER_ADDR", first_host(environ["SLURM_STEP_NODELIST"]))
    environ.setdefault("MASTER_PORT", str(_FIRST_PORT + (job * 7 + step) % _PORTS))
