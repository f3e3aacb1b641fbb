"""cgroup.conf: what a job is held to."""

from __future__ import annotations

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.once import once


@once
def cgroup_conf(cluster: Cluster, header: str) -> str:
    """Devices and memory always; cores where they are real. Keys that every release from 20.11 on takes."""
    cores = "no" if cluster.lab else "yes"
    return f"""{header}
# A job sees the GPUs that it was given and no others.
ConstrainDevices=yes

# A job that outgrows its memory is ended, not its neighbours.
ConstrainRAMSpace=yes
ConstrainSwapSpace=no

# Cores{": the CPUs of a virtual host are modelled, so there is nothing to bind to" if cluster.lab else ""}.
ConstrainCores={cores}
"""
