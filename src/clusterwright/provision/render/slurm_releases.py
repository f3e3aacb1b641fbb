"""Differences between Slurm releases that affect rendered files: one function for each.

A release is text such as `22.05`, which sorts by time. Sources: the release notes, slurm.conf(5), cgroup.conf(5)
and topology.conf(5) of each release; config/slurm_keys has the keys of each release.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import release
from clusterwright.platforms import Platform


def release_of(cluster: Cluster) -> str:
    """Return the cluster's Slurm release, such as `24.11`."""
    return release(cluster.software.slurm)


def prolog_timeouts(slurm_release: str, prolog_s: int, epilog_s: int) -> Mapping[str, int]:
    """Return the keys of separate timeouts in seconds (25.05 or later); before, one key covers both with the longer."""
    if slurm_release >= "25.05":
        return {"PrologTimeout": prolog_s, "EpilogTimeout": epilog_s}
    return {"PrologEpilogTimeout": max(prolog_s, epilog_s)}


def prolog_flags(slurm_release: str) -> str:
    """Return PrologFlags; since 22.05 the batch script can wait for the prolog on all hosts."""
    return "Alloc,DeferBatch" if slurm_release >= "22.05" else "Alloc"


def health_timeout(slurm_release: str, seconds: int) -> Mapping[str, int]:
    """Return HealthCheckTimeout, a key since 26.05; {} before, when the timeout is fixed at 60 s."""
    return {"HealthCheckTimeout": seconds} if slurm_release >= "26.05" else {}


def suspend_states(slurm_release: str) -> str:
    """Return the value of SuspendExcStates: states in which power saving leaves a host powered on; "" before 23.02.

    They need an administrator.
    """
    return "DOWN,DRAIN,FAIL,MAINTENANCE" if slurm_release >= "23.02" else ""


def youngest_first(slurm_release: str) -> tuple[str, str]:
    """Return key and value of the preemption order, a key of its own since 23.02."""
    return (
        ("PreemptParameters", "youngest_first")
        if slurm_release >= "23.02"
        else ("SchedulerParameters", "preempt_youngest_first")
    )


def rate_limit(slurm_release: str) -> tuple[str, ...]:
    """Return the SlurmctldParameters that limit RPCs per user (23.02 or later); root and slurm are exempt."""
    return ("rl_enable",) if slurm_release >= "23.02" else ()


def tree_width(slurm_release: str, hosts: int) -> str:
    """Return TreeWidth: `16` before 23.11 with more than 16 hosts, else "", which leaves Slurm's default.

    That is 16 since 23.11; before it was 50, with which silent hosts delay a reply too long.
    """
    width = 16
    return str(width) if slurm_release < "23.11" and hosts > width else ""


def switch_as_rank(slurm_release: str) -> bool:
    """Return whether the release (23.02 or later) can order hosts by switch, so that neighboring ranks share one.

    Messages do not follow the switches (RoutePlugin=route/topology, RouteTree since 23.11): that tree describes
    the compute network, but messages use management.
    """
    return slurm_release >= "23.02"


def topology_file(slurm_release: str) -> str:
    """Return the file name: topology.yaml since 25.05, which then ignores topology.conf; before it topology.conf."""
    return "topology.yaml" if slurm_release >= "25.05" else "topology.conf"


def block_sizes(slurm_release: str) -> str:
    """Return the key of block sizes: BlockLevels (23.11, powers of two of the first block), since 24.05 BlockSizes."""
    return "BlockSizes" if slurm_release >= "24.05" else "BlockLevels"


def cgroup_plugin(slurm_release: str, cgroup_version: str) -> str:
    """Return the value of CgroupPlugin, such as `cgroup/v2`; "" if the key is not to be written.

    That is for `auto`, since 22.05 detects the version, and before 22.05, which supports v1 only.
    """
    return "" if cgroup_version == "auto" or slurm_release < "22.05" else f"cgroup/{cgroup_version}"


def enable_controllers(slurm_release: str, cgroup_version: str, platform: Platform) -> bool:
    """Return whether cgroup.conf needs `EnableControllers`: cgroup v2 and no delegation by systemd (23.02 or later)."""
    return slurm_release >= "23.02" and cgroup_version == "v2" and not platform.delegates_cgroup_controllers


def reconfigures_by_new_process(slurm_release: str) -> bool:
    """Return whether a reload starts new daemons and keeps the old ones on failure (23.11 or later)."""
    return slurm_release >= "23.11"
