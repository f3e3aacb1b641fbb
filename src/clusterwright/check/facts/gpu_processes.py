"""Who computes on the GPUs."""

from __future__ import annotations

import json
from dataclasses import dataclass

from clusterwright.check.fact import fact


@dataclass(frozen=True, slots=True)
class Process:
    """One process on a GPU, and the number of the Slurm job that it belongs to, or no text."""

    uuid: str
    pid: int
    name: str
    job: str


@dataclass(frozen=True, slots=True)
class Processes:
    """All of them; or that there is no nvidia-smi to ask."""

    processes: tuple[Process, ...]
    absent: bool = False


@fact(probe="gpu_processes", limit_s=30)
def gpu_processes(out: str) -> Processes:
    """Every process that computes on a GPU, with its Slurm job; blind to what is in another container's names."""
    report = json.loads(out)
    if report.get("absent"):
        return Processes((), absent=True)
    has_lost_gpu = "Unable to determine the device handle" in str(
        report["said"]
    )  # the others are told nevertheless
    if report["code"] != 0 and not has_lost_gpu:
        raise ValueError(report["said"])
    rows = report["processes"]
    return Processes(
        tuple(Process(str(row["uuid"]), int(row["pid"]), str(row["name"]), str(row["job"])) for row in rows)
    )
