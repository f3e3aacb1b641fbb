"""What is asked of Slurm, its release can do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash

Loc = tuple[str | int, ...]

# Slurm's release notes: topology/block came with 23.11, cgroup/v2 with 22.05.
_BLOCK, _CGROUP2 = (23, 11), (22, 5)
# systemd 256 (its NEWS) no longer starts on control groups of version 1; Debian 13 has 257.
_ONLY_CGROUP2 = {"debian-13"}


def slurm_release(cluster: Cluster) -> Iterator[Clash]:
    """Block topology and control groups v2 have the release that brought them, v1 a system that has it."""
    version, slurm = cluster.software.slurm, cluster.slurm
    if slurm.topology == "block" and _older(version, _BLOCK):
        yield _too_old(version, "topology: block", "23.11", ("slurm", "topology"))
    if slurm.cgroup == "v2" and _older(version, _CGROUP2):
        yield _too_old(version, "cgroup: v2", "22.05", ("slurm", "cgroup"))
    if slurm.cgroup == "v1" and cluster.os in _ONLY_CGROUP2:
        yield Clash(
            "no-cgroup-v1",
            f"{cluster.os} no longer starts with control groups of version 1",
            "set slurm.cgroup to v2 or auto",
            (("slurm", "cgroup"), ("os",)),
        )


def _older(version: str, than: tuple[int, int]) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) < than


def _too_old(version: str, what: str, since: str, at: Loc) -> Clash:
    return Clash(
        "slurm-too-old",
        f"Slurm {version} does not know `{what}`, which came with {since}",
        f"take the line out, or set software.slurm to {since} or later",
        (at, ("software", "slurm")),
    )
