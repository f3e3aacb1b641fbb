"""Packages are named by whole versions: hosts that were made at different times would differ in the rest."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash

WHOLE = 3  # numbers: 580.95.05, 12.8.1, 9.10.2, 2.27.3, 4.4.1, 1.18.0


def nvidia_versions(cluster: Cluster) -> Iterator[Clash]:
    """Where NVIDIA's software is ours to install, there is a driver, and every version has three numbers."""
    software = cluster.software
    if software.nvidia is None:
        return
    if software.driver is None:
        yield Clash(
            "driver-missing",
            "NVIDIA's packages are asked for, and no driver",
            'name its version, e.g. software.driver: "580.95.05"; or leave software.nvidia out',
            (("software", "nvidia"),),
        )
    named: dict[tuple[str, ...], str | None] = {
        (name,): getattr(software, name) for name in ("driver", "cuda", "cudnn", "nccl")
    }
    named |= {("nvidia", name): getattr(software.nvidia, name) for name in ("dcgm", "container_toolkit")}
    for loc, which in named.items():
        if which is not None and which.count(".") < WHOLE - 1:
            yield Clash(
                "version-not-whole",
                f"{loc[-1]} {which} is any of several packages, and hosts have to be equal to the last digit",
                "name the whole version, three numbers as `apt-cache madison` or `dnf list --showduplicates` has it",
                (("software", *loc),),
            )
