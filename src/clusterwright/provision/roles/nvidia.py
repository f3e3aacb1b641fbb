"""NVIDIA's driver as packages of one exact version, and the settings that make the kernel load it."""

from __future__ import annotations

from clusterwright.catalog.gpus import has_nvswitch, takes_open_modules
from clusterwright.catalog.software import major
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.config.site import Nvidia
from clusterwright.provision.alike import alike
from clusterwright.provision.gpu_packages import Part, gpu_packages, of_nvidia
from clusterwright.provision.resources import File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("repositories", "base")

DRIVER = "driver"  # the set of packages that have one version
MODULES = """
# nouveau claims the GPUs first unless it is disabled (NVIDIA's driver installation guide).
blacklist nouveau
options nouveau modeset=0
"""


@alike
def nvidia(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return driver, persistence daemon and fabric manager in one version, installed in one transaction with a reboot.

    Only for hosts with NVIDIA GPUs, if `software.driver` is set, else nothing. A new driver does not restart the
    daemons, which would meet the old kernel module; the reboot does.
    """
    section = of_nvidia(cluster, host)
    if section is None or cluster.software.driver is None:
        return ()
    packages = _packages(cluster, host, section, cluster.software.driver)
    modules = File(
        path="/etc/modprobe.d/clusterwright-nvidia.conf", content=context.header() + MODULES, cost=Cost.REBOOT
    )
    return (_pins(cluster, packages, context), *packages, modules, *_units(host, section, packages))


def _packages(cluster: Cluster, host: Host, section: Nvidia, driver: str) -> tuple[Package, ...]:
    kind: Part = "driver-open" if uses_open_modules(host, section) else "driver-proprietary"
    package_list = list(gpu_packages(cluster, kind, driver, Cost.REBOOT, DRIVER))
    if section.persistence:
        package_list += gpu_packages(cluster, "persistence", driver, Cost.REBOOT, DRIVER)
    if needs_fabric_manager(host, section):
        package_list += gpu_packages(cluster, "fabric", driver, Cost.REBOOT, DRIVER)
    return tuple(package_list)


def uses_open_modules(host: Host, section: Nvidia) -> bool:
    """Return whether the host gets NVIDIA's open kernel modules; `auto`: if its GPUs support them."""
    gpus = host.group.gpus
    return section.kernel_modules == "open" or (
        section.kernel_modules == "auto" and (gpus is None or takes_open_modules(gpus.model))
    )


def needs_fabric_manager(host: Host, section: Nvidia) -> bool:
    """Return whether the host needs fabric manager: it has NVSwitches, or the file requires it."""
    gpus = host.group.gpus
    has_switches = gpus is not None and has_nvswitch(gpus.model, gpus.count, nvlink=gpus.nvlink)
    return section.fabric_manager == "always" or (section.fabric_manager == "auto" and has_switches)


def _units(host: Host, section: Nvidia, packages: tuple[Package, ...]) -> tuple[Unit, ...]:
    needs = tuple(package.id for package in packages)
    unit_names = [
        *(["nvidia-persistenced.service"] if section.persistence else []),
        *(["nvidia-fabricmanager.service"] if needs_fabric_manager(host, section) else []),
    ]
    return tuple(Unit(name=name, independent=True, needs=needs) for name in unit_names)


def _pins(cluster: Cluster, packages: tuple[Package, ...], context: RoleContext) -> File:
    """Return the file that pins all driver packages, including dependencies, to one version.

    Without it apt selects the newest version of each dependency and then rejects the set. For dnf the file selects the
    module stream of the branch (dnf(8), modules.d).
    """
    driver = str(cluster.software.driver)
    if cluster.platform.package_manager == "dnf":
        is_open = any("open" in package.name for package in packages)
        stream = f"{major(driver)}-{'open' if is_open else 'dkms'}"
        text = f"""{context.header()}[nvidia-driver]
name=nvidia-driver
stream={stream}
profiles=
state=enabled
"""
        return File(path="/etc/dnf/modules.d/nvidia-driver.module", content=text, early=True)
    text = f"""{context.header()}
Explanation: of the driver's many packages each must have its version (apt_preferences(5); 1001 also goes back)
Package: nvidia-* libnvidia-* libcuda1 libcudadebugger1 libnvcuvid1 firmware-nvidia-gsp cuda-drivers*
Pin: version {driver}*
Pin-Priority: 1001
"""
    return File(path="/etc/apt/preferences.d/clusterwright-nvidia", content=text, early=True)
