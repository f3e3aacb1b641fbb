"""Where NVIDIA's and AMD's packages come from."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster

_NVIDIA = "https://developer.download.nvidia.com/compute/cuda/repos"  # or what a site's copy has


def gpu_repositories(cluster: Cluster) -> Iterator[Clash]:
    """The repository is named and described; in a lab, which serves stand-ins itself, it may be left out."""
    software = cluster.software
    if software.nvidia and not (cluster.lab and software.nvidia.repository is None):
        url = f"{_NVIDIA}/{cluster.platform.nvidia_repository}/x86_64/"
        yield from _missing(cluster, "nvidia", software.nvidia.repository, url)
    if software.rocm:
        url = "https://repo.radeon.com/rocm/"
        yield from _missing(cluster, "rocm", software.rocm.repository, url)


def _missing(cluster: Cluster, section: str, name: str | None, url: str) -> Iterator[Clash]:
    if name in cluster.software.repositories:
        return
    said = f"`{name}` is none of software.repositories" if name else "no repository is named for its packages"
    at = ("software", section, "repository") if name else ("software", section)
    yield Clash(
        "repository-missing",
        f"software.{section}: {said}",
        f"put it under software.repositories with its key, e.g. {name or section}: {{url: {url}}}, and name it as "
        f"software.{section}.repository",
        (at,),
    )
