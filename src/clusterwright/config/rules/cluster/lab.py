"""A lab is made of what its image holds."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster

# Slurm of the node images that a lab's hosts can have.
_SLURM = {"debian-12": "22.05", "debian-13": "24.11"}


def lab(cluster: Cluster) -> Iterator[Clash]:
    """The hosts of a lab run Debian with its own Slurm, or one that the file names a repository of."""
    if cluster.lab is None:
        return
    if cluster.os not in _SLURM:
        yield Clash(
            "lab-unsupported",
            f"a lab's hosts run {' or '.join(_SLURM)}, not {cluster.os}",
            "set `os: debian-12` in the lab's copy of the file, or take `lab:` out",
            (("os",), ("lab",)),
        )
        return
    version, has = cluster.software.slurm, _SLURM[cluster.os]
    if version != has and not version.startswith(f"{has}.") and not cluster.software.repositories:
        yield Clash(
            "lab-unsupported",
            f"a lab's hosts with {cluster.os} have Slurm {has}, not {version}",
            f'set `slurm: "{has}"` in the lab\'s copy of the file, or take `lab:` out',
            (("software", "slurm"), ("lab",)),
        )
