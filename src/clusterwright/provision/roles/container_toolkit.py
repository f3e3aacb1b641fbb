"""NVIDIA GPUs in containers: the NVIDIA container toolkit and the CDI specification that container runtimes read."""

from __future__ import annotations

from clusterwright.catalog.software import version
from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.field import Cost
from clusterwright.provision.alike import alike
from clusterwright.provision.gpu_packages import gpu_packages, of_nvidia
from clusterwright.provision.resources import File, Package, Resource, RoleContext, Unit

DEPENDENCIES = ("nvidia",)

# Since this version the package writes the specification itself, at boot and after changes ("Support for CDI").
WRITES_ITSELF = (1, 18)
SERVICE = "clusterwright-cdi.service"
PATH = f"/etc/systemd/system/{SERVICE}"
TEXT = """[Unit]
Description=List of GPUs for containers (CDI), of the driver that runs
After=nvidia-persistenced.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml

[Install]
WantedBy=multi-user.target
"""


@alike
def container_toolkit(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return NVIDIA's container toolkit, and a unit that rewrites the CDI specification at each boot.

    Nothing unless `container_toolkit` is set and the host has NVIDIA GPUs. From version 1.18 on there is no unit: the
    package rewrites the specification.
    """
    section = of_nvidia(cluster, host)
    if section is None or section.container_toolkit is None:
        return ()
    packages = gpu_packages(cluster, "container", section.container_toolkit, Cost.DRAIN)
    if version(section.container_toolkit) >= WRITES_ITSELF:
        return packages
    return (*packages, *_list(packages, context))


def _list(packages: tuple[Package, ...], context: RoleContext) -> tuple[Resource, ...]:
    ids = tuple(package.id for package in packages)
    file = File(path=PATH, content=context.header() + TEXT)
    return (file, Unit(name=SERVICE, restart_on=(file.id, *ids), independent=True, needs=ids))
