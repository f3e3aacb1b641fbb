"""Compute processes on the GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.onhost.lib.safe_reader import parse_document


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process on a GPU and the id of its Slurm job; empty if it belongs to none."""

    uuid: str
    pid: int
    name: str
    job: str


@dataclass(frozen=True, slots=True)
class Processes:
    """All compute processes; `absent` where nvidia-smi is missing."""

    processes: tuple[GpuProcess, ...]
    absent: bool = False


@fact(probe="gpu_processes", limit_s=30, permission="root")
def gpu_processes(out: str) -> Processes:
    """Every compute process on a GPU with its Slurm job; processes in other PID namespaces are missing.

    Or that nvidia-smi is not installed.
    """
    report = parse_document(out)
    if report.get("absent"):
        return Processes((), absent=True)
    # With one GPU lost, nvidia-smi still lists the processes of the others.
    has_lost_gpu = "Unable to determine the device handle" in str(report["said"])
    if report["code"] != 0 and not has_lost_gpu:
        raise ValueError(report["said"])
    rows = report["processes"]
    return Processes(
        tuple(
            GpuProcess(str(row["uuid"]), int(row["pid"]), str(row["name"]), str(row["job"])) for row in rows
        )
    )
