"""NVIDIA's data centre GPU manager and its daemon."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.gpu_packages import gpu_packages, of_nvidia
from clusterwright.provision.resources import Resource, RoleContext, Unit

DEPENDENCIES = ("nvidia",)


@alike
def dcgm(cluster: Cluster, host: Host, _context: RoleContext) -> tuple[Resource, ...]:
    """Return DCGM and its daemon for hosts with NVIDIA GPUs, if `software.nvidia.dcgm` is set, else nothing.

    The cost is a drain: an upgrade restarts it, and jobs lose its measurements.
    """
    section = of_nvidia(cluster, host)
    if section is None or section.dcgm is None:
        return ()
    packages = gpu_packages(cluster, "dcgm", section.dcgm, Cost.DRAIN)
    ids = tuple(package.id for package in packages)
    return (*packages, Unit(name="nvidia-dcgm.service", restart_on=ids, independent=True, needs=ids))
