"""A lab is made of what its image holds."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _
from clusterwright.platforms import platforms


def lab(cluster: Cluster) -> Iterator[Clash]:
    """The hosts of a lab run Debian with its own Slurm, or one that the file names a repository of."""
    if cluster.lab is None:
        return
    platform, version = cluster.platform, cluster.software.slurm
    if not platform.lab_suite:
        able = [candidate.name for candidate in platforms() if candidate.lab_suite]
        yield Clash(
            "lab-unsupported",
            _("a lab's hosts run {able}, not {os}", able=" or ".join(able), os=cluster.os),
            _("set `os: {able}` in the lab's copy of the file, or take `lab:` out", able=able[0]),
            (("os",), ("lab",)),
        )
        return
    if not platform.has_slurm(version) and not cluster.software.repositories:
        yield Clash(
            "lab-unsupported",
            _(
                "a lab's hosts with {os} have Slurm {slurm}, not {version}",
                os=cluster.os,
                slurm=platform.slurm,
                version=version,
            ),
            _(
                'set `slurm: "{slurm}"` in the lab\'s copy of the file, or take `lab:` out',
                slurm=platform.slurm,
            ),
            (("software", "slurm"), ("lab",)),
        )
