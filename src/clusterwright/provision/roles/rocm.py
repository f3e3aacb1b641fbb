"""AMD's driver and ROCm as packages, and the groups whose members may use AMD GPUs."""

from __future__ import annotations

from clusterwright.catalog.gpus import vendor
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.gpu_packages import gpu_packages
from clusterwright.provision.resources import File, Resource, RoleContext

DEPENDENCIES = ("repositories", "base")

PINS = "/etc/apt/preferences.d/clusterwright-rocm"
RULES = "/etc/udev/rules.d/70-clusterwright-amdgpu.rules"
# ROCm's prerequisites: users join the groups `render` and `video`, or, for hosts with many users, everybody may open
# the devices. Slurm's device cgroups decide who may use which GPU.
OPEN = """KERNEL=="kfd", MODE="0666"
SUBSYSTEM=="drm", KERNEL=="renderD*", MODE="0666"
"""


@alike
def rocm(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return AMD's driver and ROCm for hosts with AMD GPUs, if `software.rocm` is set, else nothing.

    Rendered and planned only: never tried on AMD hardware.
    """
    section, gpus = cluster.software.rocm, host.group.gpus
    if section is None or gpus is None or vendor(gpus.model) != "AMD":
        return ()
    return (
        *_pins(cluster, context),
        *gpu_packages(cluster, "amdgpu", section.driver, Cost.REBOOT),
        *gpu_packages(cluster, "rocm", section.version, Cost.DRAIN),
        File(path=RULES, content=context.header() + OPEN, cost=Cost.REBOOT),
    )


def _pins(cluster: Cluster, context: RoleContext) -> tuple[Resource, ...]:
    """Return the pin that prefers AMD's repository to the distribution's ROCm.

    Nothing where dnf is the package manager.
    """
    if cluster.platform.package_manager == "dnf":
        return ()
    text = f"{context.header()}\nPackage: *\nPin: release o=repo.radeon.com\nPin-Priority: 600\n"
    return (File(path=PINS, content=text, early=True),)
