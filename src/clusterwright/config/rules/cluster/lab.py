"""Rules about a lab: the system and the Slurm version of its image."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.i18n import _
from clusterwright.platforms import platforms


def lab(cluster: Cluster) -> Iterator[Clash]:
    """Check that the hosts of a lab run one Debian with Debian's Slurm, or with one from a declared repository.

    Nothing without `lab`.
    """
    if cluster.lab is None:
        return
    for on_system, loc in cluster.systems():
        if on_system is not cluster:
            yield Clash(
                "lab-unsupported",
                _("the hosts of a lab run one operating system, {os}", os=cluster.os),
                _("remove the line in the lab's copy of the file, or remove `lab:`"),
                (loc, ("lab",)),
            )
    platform, version = cluster.platform, cluster.software.slurm
    if not platform.lab_suite:
        able = [candidate.name for candidate in platforms() if candidate.lab_suite]
        yield Clash(
            "lab-unsupported",
            _("lab hosts cannot run {os}, only {supported}", os=cluster.os, supported=", ".join(able)),
            _("set `os: {name}` in the lab's copy of the file, or remove `lab:`", name=able[0]),
            (("os",), ("lab",)),
        )
        return
    if not platform.has_slurm(version) and not cluster.software.repositories:
        yield Clash(
            "lab-unsupported",
            _(
                "lab hosts with {os} have Slurm {available}, not {version}",
                os=cluster.os,
                available=platform.slurm,
                version=version,
            ),
            _(
                'set `slurm: "{version}"` in the lab\'s copy of the file, or remove `lab:`',
                version=platform.slurm,
            ),
            (("software", "slurm"), ("lab",)),
        )
