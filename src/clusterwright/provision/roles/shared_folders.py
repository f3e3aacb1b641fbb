"""The folder of runs on the first shared folder, and a unit that retries failed mounts."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.storage import Beegfs, Local, Nfs
from clusterwright.provision.render.mounts import MOUNT_TIMEOUT_S
from clusterwright.provision.resources import Directory, File, Resource, RoleContext, Unit, mount_unit_name
from clusterwright.provision.sandbox import sandbox

DEPENDENCIES = ("nfs_client", "nfs_server", "lustre", "ceph", "gpfs", "beegfs")

NAME = "clusterwright-mounts"
FOLDER = "/etc/systemd/system"
THREATS = "Reached by: nobody. Reads: nothing that users write. Changes: starts the mount units named above."
SERVICE = """[Unit]
Description=Starts mount units that are not active, such as those of a server that was down at boot (clusterwright)

[Service]
Type=oneshot
# Starting a mounted unit does nothing. No automount: a job with a missing folder is rejected, it does not hang.
ExecStart=/bin/systemctl start --no-block {units}
{sandbox}
"""
TIMER = f"""[Unit]
Description=Missing mounts are tried again (clusterwright); stop this one to keep a folder off for a while

[Timer]
OnBootSec={MOUNT_TIMEOUT_S}
OnUnitInactiveSec=60

[Install]
WantedBy=timers.target
"""


def shared_folders(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return the folder of runs, for the host that owns it, and the timer that retries failed network mounts.

    No timer for a host without network mounts; those of BeeGFS do not count, they have a service of their own.
    """
    return (*_retry_mounts(_mounts(cluster, host), context.header()), *_runs(cluster, host))


def _runs(cluster: Cluster, host: Host) -> tuple[Directory, ...]:
    """Return the folder of runs: on the NFS server if a cluster host serves the folder, else on the control host.

    Nothing for other hosts or without storage. On the control host the parent folder is not created, because it exists
    only while it is mounted.
    """
    folder = next(iter(cluster.storage.values()), None)
    if isinstance(folder, Nfs) and folder.server in {cluster_host.name for cluster_host in cluster.hosts()}:
        runs_path = f"{folder.export or folder.path}/runs"
        return (Directory(path=runs_path, mode=0o1777),) if host.name == folder.server else ()
    if folder is None or host.name != cluster.control.name:
        return ()
    return (Directory(path=f"{folder.path}/runs", mode=0o1777, parents=False),)


def _mounts(cluster: Cluster, host: Host) -> list[str]:
    """Return the units of network mounts, except BeeGFS, which has its own service."""
    return [
        mount_unit_name(folder.path)
        for folder in cluster.storage.values()
        if not isinstance(folder, Local | Beegfs)
        and not (isinstance(folder, Nfs) and folder.server == host.name)
    ]


def _retry_mounts(units: list[str], header: str) -> tuple[Resource, ...]:
    if not units:
        return ()
    # $ and \ are special in a unit's command line, and unit names contain \x2d
    unit_names = " ".join(unit.replace("\\", "\\\\") for unit in units)
    text = SERVICE.format(units=unit_names, sandbox=sandbox(THREATS, PrivateNetwork="yes"))
    service = File(path=f"{FOLDER}/{NAME}.service", content=header + text)
    timer = File(path=f"{FOLDER}/{NAME}.timer", content=header + TIMER)
    return (service, timer, Unit(name=f"{NAME}.timer", restart_on=(timer.id,)))
