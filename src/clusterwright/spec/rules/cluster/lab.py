"""A lab is made of what its image holds."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash

# What the node image of a lab is: Debian 12 and its own Slurm, 22.05.8.
_OS, _SLURM = "debian-12", "22.05"


def lab(cluster: Cluster) -> Iterator[Clash]:
    """The hosts of a lab run Debian 12 with Debian's Slurm."""
    if cluster.lab is None:
        return
    if cluster.os != _OS:
        yield Clash(
            "lab-unsupported",
            f"a lab's hosts run {_OS}, not {cluster.os}",
            f"set `os: {_OS}` in the lab's copy of the file, or take `lab:` out",
            (("os",), ("lab",)),
        )
    version = cluster.software.slurm
    if version != _SLURM and not version.startswith(f"{_SLURM}."):
        yield Clash(
            "lab-unsupported",
            f"a lab's hosts have Slurm {_SLURM}, not {version}",
            f'set `slurm: "{_SLURM}"` in the lab\'s copy of the file, or take `lab:` out',
            (("software", "slurm"), ("lab",)),
        )
