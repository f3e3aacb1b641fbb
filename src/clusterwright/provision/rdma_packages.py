"""Package names of RDMA drivers, opensm and MPI by vendor, from `rdma_packages.csv`."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path
from typing import Literal

from clusterwright.config.cluster import Cluster
from clusterwright.provision.resources import Package

_TABLE = Path(__file__).with_suffix(".csv")


def rdma_packages(cluster: Cluster, part: Literal["drivers", "opensm", "mpi"]) -> tuple[Package, ...]:
    """Return the packages of one part; NVIDIA's drivers in the version of `rdma.driver_version`.

    None without `rdma`.
    """
    rdma = cluster.rdma
    if rdma is None:
        return ()
    version = (rdma.driver_version or "") if part == "drivers" else ""
    return tuple(
        Package(name=row["package"], version=version)
        for row in _rows()
        if row["driver"] == rdma.driver
        and row["part"] == part
        and cluster.platform.family in row["family"].split()
    )


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def inbox_packages(family: str, part: Literal["drivers", "mpi"]) -> tuple[str, ...]:
    """Return the packages of a distribution's own RDMA and MPI, as an image of that family installs them."""
    return tuple(
        row["package"]
        for row in _rows()
        if row["driver"] == "inbox" and row["part"] == part and family in row["family"].split()
    )
