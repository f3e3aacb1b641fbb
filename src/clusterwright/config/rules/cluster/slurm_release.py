"""What is asked of Slurm, its release can do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clusterwright.config.clash import Clash
from clusterwright.config.cluster import Cluster
from clusterwright.config.source import Loc

# Slurm's release notes: topology/block came with 23.11, cgroup/v2 with 22.05.
_BLOCK, _CGROUP2 = (23, 11), (22, 5)


def slurm_release(cluster: Cluster) -> Iterator[Clash]:
    """Block topology and control groups v2 have the release that brought them, v1 a system that has it."""
    version, slurm = cluster.software.slurm, cluster.slurm
    if slurm.topology == "block" and _older(version, _BLOCK):
        yield _too_old(version, "topology: block", "23.11", ("slurm", "topology"), "take the line out")
    if slurm.cgroup == "v2" and _older(version, _CGROUP2):
        yield _too_old(version, "cgroup: v2", "22.05", ("slurm", "cgroup"), "write v1")
    if slurm.cgroup == "auto" and _older(version, _CGROUP2) and cluster.platform.default_cgroup == "v2":
        yield Clash(
            "slurm-needs-cgroup-v1",
            f"{cluster.os} starts on control groups v2, and Slurm {version} knows version 1 only",
            "set slurm.cgroup to v1, and boot compute hosts with systemd.unified_cgroup_hierarchy=0; "
            "or set software.slurm to 22.05 or later",
            (("os",), ("software", "slurm")),
        )
    if slurm.cgroup == "v1" and not cluster.platform.has_cgroup_v1:
        yield Clash(
            "no-cgroup-v1",
            f"{cluster.os} no longer starts with control groups of version 1",
            "set slurm.cgroup to v2 or auto",
            (("slurm", "cgroup"), ("os",)),
        )


def _older(version: str, than: tuple[int, int]) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) < than


def _too_old(version: str, what: str, since: str, at: Loc, mend: str) -> Clash:
    return Clash(
        "slurm-too-old",
        f"Slurm {version} does not know `{what}`, which came with {since}",
        f"{mend}, or set software.slurm to {since} or later",
        (at, ("software", "slurm")),
    )
