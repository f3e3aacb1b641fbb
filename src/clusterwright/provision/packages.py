"""Package names of the cluster's distribution; those of Slurm depend on the packages' vendor too."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.platforms import Part
from clusterwright.provision.resources import Package


def packages(cluster: Cluster, *names: str) -> tuple[Package, ...]:
    """Return packages by their Debian names, under the names of the cluster's distribution."""
    return tuple(Package(name=name) for package in names for name in cluster.platform.package_names(package))


def slurm_packages(cluster: Cluster, part: Part) -> tuple[Package, ...]:
    """Return the packages of one part of Slurm, in the release of `software.slurm`.

    By `software.slurm_packages` the distribution's or SchedMD's; `auto`: the distribution's if it has that release.
    """
    platform, version, maker = cluster.platform, cluster.software.slurm, cluster.software.slurm_packages
    from_distribution = platform.has_slurm(version) if maker == "auto" else maker == "distribution"
    names = platform.distribution_slurm_packages if from_distribution else platform.schedmd_slurm_packages
    return tuple(Package(name=name, version=version) for name in names[part])
