"""The release of Slurm is one that there was."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash
from clusterwright.config.slurm_keys import RELEASES, release


def slurm_known(cluster: Cluster) -> Iterator[Clash]:
    """What is written for a release that never was would be a guess; newer ones than we know are let pass."""
    of = release(cluster.software.slurm)
    if of not in RELEASES and RELEASES[0] < of < RELEASES[-1]:
        yield Clash(
            "slurm-release",
            f"there was no Slurm {of}; the releases are {', '.join(RELEASES[3:])}",
            "write what `slurmd -V` says on a host, such as 22.05",
            (("software", "slurm"),),
        )
