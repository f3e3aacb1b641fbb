"""Rootless Podman: subordinate IDs, image layers on local disks, GPUs by CDI."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster, Host
from clusterwright.provision.alike import alike
from clusterwright.provision.packages import packages
from clusterwright.provision.resources import File, Resource, RoleContext, Unit

DEPENDENCIES = ("base", "accounts")

IDS = 65536  # subordinate IDs per user: images use IDs up to 65534 (nobody)
FIRST_SUBUID = 1 << 20  # above the ranges that useradd assigns by itself (login.defs: from 100000 on)
PACKAGES = ("podman", "uidmap", "fuse-overlayfs", "slirp4netns")
CDI = "clusterwright-cdi.service"
NVIDIA_CTK = "/usr/bin/nvidia-ctk"


@alike
def containers_podman(cluster: Cluster, host: Host, context: RoleContext) -> tuple[Resource, ...]:
    """Return Podman and its settings for compute and login hosts, if `environments.containers` lists it."""
    if "podman" not in cluster.environments.containers or host.group.role == "control":
        return ()
    ids = "".join(_ids(name, uid) for name, uid in cluster.unix_users().items())
    return (
        *packages(cluster, *PACKAGES),
        File(path="/etc/subuid", content=ids),
        File(path="/etc/subgid", content=ids),
        File(path="/etc/containers/storage.conf", content=_storage(cluster, context.header())),
        *(_devices(context.header()) if host.group.gpus else ()),
    )


def _ids(name: str, uid: int) -> str:
    """Return a line of /etc/subuid and /etc/subgid: the range follows from the UID, so it is equal on all hosts."""
    return f"{name}:{FIRST_SUBUID + (uid - 1000) * IDS}:{IDS}\n"


def _storage(cluster: Cluster, header: str) -> str:
    scratch = cluster.environments.scratch
    return f"""{header}[storage]
driver = "overlay"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
# Layers are many small files with mapped IDs, which shared file systems cannot store.
rootless_storage_path = "{scratch}/$USER/containers"

[storage.options.overlay]
mount_program = "/usr/bin/fuse-overlayfs"
"""


def _devices(header: str) -> tuple[Resource, ...]:
    """Return the unit that writes the CDI specification (`--device nvidia.com/gpu=all`) at each boot.

    The specification names files of the loaded driver.
    """
    text = f"""{header}[Unit]
Description=Device files and driver libraries of GPUs, for containers (CDI)
ConditionPathExists={NVIDIA_CTK}
After=nvidia-persistenced.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={NVIDIA_CTK} cdi generate --output=/etc/cdi/nvidia.yaml

[Install]
WantedBy=multi-user.target
"""
    file = File(path=f"/etc/systemd/system/{CDI}", content=text)
    return (file, Unit(name=CDI, restart_on=(file.id,), independent=True))
