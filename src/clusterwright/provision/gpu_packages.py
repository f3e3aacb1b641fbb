"""Package names of NVIDIA's and AMD's repositories by distribution and version, from `gpu_packages.csv`."""

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

# All package names of the driver's kernel modules; a host has one of them.
MODULES = ("nvidia-dkms*", "nvidia-kernel-dkms", "nvidia-kernel-open-dkms", "kmod-nvidia-*dkms")
_TABLE = Path(__file__).with_suffix(".csv")
# The CUDA release of a driver if no toolkit is set: "CUDA toolkit release notes", 13.0 came with 580.
_CUDA_13 = 580


def gpu_packages(
    cluster: Cluster, part: Part, which: str, cost: Cost, among: str = ""
) -> tuple[Package, ...]:
    """Return the packages of one part (driver, nccl ...) in version `which`, as one package set.

    The set is the part's own, or the one that `among` names. Empty if the distribution has no such packages.
    """
    built_for = f"+cuda{cuda_major(cluster)}" if part == "nccl" else ""
    return tuple(
        Package(
            name=name,
            version=which,
            built_for=built_for,
            cost=cost,
            set_name=among or part,
            place_of=MODULES if part.startswith("driver") and "dkms" in name else (),
        )
        for name in names(cluster, part, which)
    )


def names(cluster: Cluster, part: Part, which: str) -> tuple[str, ...]:
    """Return the package names of one part (such as the driver) in version `which` on the cluster's distribution.

    Empty if the distribution or the version has none.
    """
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
    """Return the CUDA major version for libraries: the toolkit's, or else the driver's (12 if that is not set)."""
    software = cluster.software
    if software.cuda:
        return major(software.cuda)
    return 13 if software.driver and major(software.driver) >= _CUDA_13 else 12


def of_nvidia(cluster: Cluster, host: Host) -> Nvidia | None:
    """Return the cluster file's NVIDIA software settings for a host with NVIDIA GPUs, else None."""
    gpus = host.group.gpus
    return cluster.software.nvidia if gpus and vendor(gpus.model) == "NVIDIA" else None


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))
