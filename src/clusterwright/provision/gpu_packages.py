"""What NVIDIA's and AMD's repositories call their packages, by system and version; `gpu_packages.csv` has the names."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Literal

from clusterwright.catalog.gpus import vendor
from clusterwright.catalog.software import major, version
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.site import Nvidia
from clusterwright.provision.resources import Package

Part = Literal[
    "driver-open",
    "driver-proprietary",
    "persistence",
    "fabric",
    "cuda",
    "cudnn",
    "nccl",
    "dcgm",
    "container",
    "rocm",
    "amdgpu",
]

# Packages of the driver's kernel modules, by whichever name: one of them is loaded on a host.
MODULES = ("nvidia-dkms*", "nvidia-kernel-dkms", "nvidia-kernel-open-dkms", "kmod-nvidia-*dkms")
_TABLE = Path(__file__).with_suffix(".csv")
# CUDA that a driver without a named toolkit is of: "CUDA toolkit release notes", 13.0 came with 580.
_CUDA_13 = 580


def gpu_packages(
    cluster: Cluster, part: Part, which: str, cost: Cost, among: str = ""
) -> tuple[Package, ...]:
    """The packages of one part in that version, in a set of their own or `among` others."""
    built_for = f"+cuda{cuda_major(cluster)}" if part == "nccl" else ""
    return tuple(
        Package(
            name=name,
            version=which,
            built_for=built_for,
            cost=cost,
            alone=among or part,
            place_of=MODULES if part.startswith("driver") and "dkms" in name else (),
        )
        for name in names(cluster, part, which)
    )


def names(cluster: Cluster, part: Part, which: str) -> tuple[str, ...]:
    """What the packages of that version are called there."""
    placeholders = {
        "major": str(major(which)),
        "minor": "-".join(map(str, version(which)[:2])),
        "cuda": str(cuda_major(cluster)),
    }
    return tuple(
        row["package"].format_map(placeholders)
        for row in _rows()
        if row["part"] == part
        and cluster.platform.gpu_packages in row["systems"].split()
        and int(row["since"]) <= major(which)
        and (not row["before"] or major(which) < int(row["before"]))
    )


def cuda_major(cluster: Cluster) -> int:
    """The CUDA that libraries are taken for: the toolkit's, or the one that the driver came with."""
    software = cluster.software
    if software.cuda:
        return major(software.cuda)
    return 13 if software.driver and major(software.driver) >= _CUDA_13 else 12


def of_nvidia(cluster: Cluster, host: Host) -> Nvidia | None:
    """What the file says of NVIDIA's software, for a host that has its GPUs."""
    gpus = host.group.gpus
    return cluster.software.nvidia if gpus and vendor(gpus.model) == "NVIDIA" else None


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
