"""Differences between Slurm releases that affect rendered files: one function for each.

A release is text such as `22.05`, which sorts by time. Sources: the release notes, slurm.conf(5), cgroup.conf(5)
and topology.conf(5) of each release; which release takes which key is in spec/slurm_keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.config.cluster import Cluster
from clusterwright.config.slurm_keys import release
from clusterwright.platforms import Platform


def release_of(cluster: Cluster) -> str:
    """The release that the cluster runs."""
    return release(cluster.software.slurm)


def prolog_timeouts(slurm_release: str, prolog_s: int, epilog_s: int) -> Mapping[str, int]:
    """25.05 gave each its own; before, one limit holds both, so it must be the longer."""
    if slurm_release >= "25.05":
        return {"PrologTimeout": prolog_s, "EpilogTimeout": epilog_s}
    return {"PrologEpilogTimeout": max(prolog_s, epilog_s)}


def prolog_flags(slurm_release: str) -> str:
    """22.05 can hold the batch script back until the prolog has ended on every host of the job."""
    return "Alloc,DeferBatch" if slurm_release >= "22.05" else "Alloc"


def health_timeout(slurm_release: str, seconds: int) -> Mapping[str, int]:
    """26.05 made the limit a key; before it was 60 s, fixed."""
    return {"HealthCheckTimeout": seconds} if slurm_release >= "26.05" else {}


def suspend_states(slurm_release: str) -> str:
    """Hosts that 23.02 can keep on: those that somebody has to look at."""
    return "DOWN,DRAIN,FAIL,MAINTENANCE" if slurm_release >= "23.02" else ""


def youngest_first(slurm_release: str) -> tuple[str, str]:
    """Key and word: preemption got a key of its own in 23.02."""
    return (
        ("PreemptParameters", "youngest_first")
        if slurm_release >= "23.02"
        else ("SchedulerParameters", "preempt_youngest_first")
    )


def rate_limit(slurm_release: str) -> tuple[str, ...]:
    """23.02 can slow down a user who asks slurmctld in a loop; root and slurm are never slowed down."""
    return ("rl_enable",) if slurm_release >= "23.02" else ()


def tree_width(slurm_release: str, hosts: int) -> str:
    """23.11 made 16 of 50: of 50 hosts that one slurmd asks in turn, a few silent ones hold up the answer too long.

    Written only where the old default would differ: up to 16 hosts are asked at once anyway.
    """
    width = 16
    return str(width) if slurm_release < "23.11" and hosts > width else ""


def switch_as_rank(slurm_release: str) -> bool:
    """23.02 can number hosts by their switch, so that the ranks of a job are neighbours when names are not.

    Messages do not follow the switches (RoutePlugin=route/topology, RouteTree from 23.11 on): the tree is that of
    the compute network, and messages travel on the management network.
    """
    return slurm_release >= "23.02"


def topology_file(slurm_release: str) -> str:
    """25.05 reads topology.yaml, and then no topology.conf."""
    return "topology.yaml" if slurm_release >= "25.05" else "topology.conf"


def block_sizes(slurm_release: str) -> str:
    """23.11 counted powers of two of the first block, 24.05 counts hosts."""
    return "BlockSizes" if slurm_release >= "24.05" else "BlockLevels"


def cgroup_plugin(slurm_release: str, cgroup_version: str) -> str:
    """22.05 brought v2, and finds out by itself what a host has; 21.08 knows v1 alone, and needs no word for it."""
    return "" if cgroup_version == "auto" or slurm_release < "22.05" else f"cgroup/{cgroup_version}"


def enable_controllers(slurm_release: str, cgroup_version: str, platform: Platform) -> bool:
    """Where systemd hands no controllers on to slurmd's scope, 23.02 can take them itself."""
    return slurm_release >= "23.02" and cgroup_version == "v2" and not platform.delegates_cgroup_controllers


def reconfigures_by_new_process(slurm_release: str) -> bool:
    """From 23.11 on a reload starts new daemons, and keeps the old ones where those do not come up."""
    return slurm_release >= "23.11"
