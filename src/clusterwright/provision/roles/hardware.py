"""The hardware that slurm.conf declares for a compute host, compared with the host at every check."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.resources import Hardware, Resource, RoleContext

DEPENDENCIES = ("base",)


@alike
def hardware(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:  # noqa: ARG001 (every role's signature)
    """Return the GPU device files and the memory that slurm.conf declares, to compare with a compute host.

    Nothing for other hosts. A lab's hosts share the machine's memory, so theirs is not compared.
    """
    group = host.group
    if group.role != "compute":
        return ()
    devices = group.gpus.device_files() if group.gpus else ()
    memory = 0 if cluster.lab else group.usable_memory_mib
    return (Hardware(group=host.group_name, devices=devices, memory_mib=memory),)
