"""cgroup.conf: the limits of jobs."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster
from clusterwright.config.memoize import cache_per_instance
from clusterwright.provision.render.slurm_releases import cgroup_plugin, enable_controllers, release_of


@cache_per_instance
def cgroup_conf(cluster: Cluster, header: str) -> str:
    """Return the text of cgroup.conf, or the site's own: devices and memory are constrained, cores except in a lab.

    CgroupAutomount is omitted: systemd mounts cgroups, and since Slurm 23.11 the key is an error.
    """
    if (text := cluster.slurm.file_text("cgroup.conf", header)) is not None:
        return text
    cores = "no" if cluster.lab else "yes"
    return f"""{header}
# A job can open only its allocated GPUs.
ConstrainDevices=yes

# A job that exceeds its memory is killed, not its neighbors.
ConstrainRAMSpace=yes
ConstrainSwapSpace=no

# Cores{": the CPUs of a virtual host are modelled, so there is nothing to bind to" if cluster.lab else ""}.
ConstrainCores={cores}
{_version(cluster)}"""


def _version(cluster: Cluster) -> str:
    slurm_release, cgroup_version = release_of(cluster), cluster.slurm.cgroup
    plugin = cgroup_plugin(slurm_release, cgroup_version)
    text = f"\n# The file says so (slurm.cgroup).\nCgroupPlugin={plugin}\n" if plugin else ""
    if enable_controllers(slurm_release, cgroup_version, cluster.platform):
        text += "\n# This systemd hands no controllers on to slurmd.\nEnableControllers=yes\n"
    return text
