"""The cluster as containers on one machine: compose.yaml, Dockerfile, and the entrypoint of a container.

Each host is one container that runs all daemons of the host, because slurmdbd reaches its database by a Unix socket.
Containers run no systemd. They have the addresses of the cluster file, in networks that the compose file declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from clusterwright.config.cluster import Cluster, Host
from clusterwright.config.storage import Local, Nfs
from clusterwright.provision.export.entrypoint import ENTRYPOINT
from clusterwright.provision.export.steps import ExportStep, of_kind
from clusterwright.provision.resources import Directory, Group, Package, User

Tree = dict[str, Any]

# Parts of the names of packages that a container does not need or cannot run.
_LEFT_OUT = (
    "chrony",
    "nftables",
    "firewalld",
    "node-exporter",
    "nfs-",
    "ceph-",
    "cpupower",
    "policycoreutils",
)
MOUNTED = "/export"  # where the export folder is mounted in a container


def compose(cluster: Cluster) -> Tree:
    """Return the content of the compose file: one service per host, the networks and the volumes."""
    nets = {
        name: {"ipam": {"config": [{"subnet": str(network.subnet)}]}}
        for name, network in cluster.networks.named().items()
    }
    names = _names(cluster)  # the same list object, so YAML writes it once and refers to it by an anchor
    services = {host.name: _service(cluster, host) | {"extra_hosts": names} for host in cluster.hosts()}
    return {"services": services, "networks": nets, "volumes": {name: {} for name in _volumes(cluster)}}


def _service(cluster: Cluster, host: Host) -> Tree:
    is_controller = host.name == cluster.control.name
    gpus = host.group.gpus
    service: Tree = {
        "build": ".",
        "image": f"clusterwright/{cluster.name}",
        "hostname": host.name,
        "privileged": True,  # slurmd creates cgroups; the entrypoint creates device files if there are no GPUs
        "init": True,
        "environment": {
            "NODE_ROLE": host.group.role,
            "NODE_GROUP": host.group_name,
            "DAEMONS": " ".join(_daemons(cluster, host)),
            "GPU_FILES": " ".join(gpus.device_files() if gpus else ()),
        },
        "volumes": [f"./:{MOUNTED}:ro", *(f"{name}:{path}" for name, path in _volumes(cluster).items())],
        "networks": {net: {"ipv4_address": str(address)} for net, address in host.addresses.items()},
        "restart": "unless-stopped",
    }
    return service if is_controller else service | {"depends_on": [cluster.control.name]}


def _daemons(cluster: Cluster, host: Host) -> list[str]:
    """Return the daemons of the host's container in start order; the last one stays in the foreground.

    Munged is first.
    """
    accountant = cluster.accountant is not None and cluster.accountant.name == host.name
    daemons = ["munged", *(["mariadbd", "slurmdbd"] if accountant else [])]
    if host.name == cluster.control.name:
        daemons.append("slurmctld")
    return [*daemons, *(["slurmd"] if host.group.role == "compute" else [])]


def _names(cluster: Cluster) -> list[str]:
    """Return the entries `extra_hosts` of the compose file, `NAME:ADDRESS` for every host and network.

    The container engine writes /etc/hosts from them.
    """
    rows = [(host.name, str(host.management)) for host in cluster.hosts()]
    for host in cluster.hosts():
        rows += [(f"{host.name}-{net}", str(to)) for net, to in host.addresses.items() if net != "management"]
    return [f"{name}:{address}" for name, address in rows]


def _volumes(cluster: Cluster) -> dict[str, str]:
    """Return the volumes that all containers mount: name and mount path of each local or NFS folder."""
    return {name: folder.path for name, folder in cluster.storage.items() if isinstance(folder, Local | Nfs)}


def dockerfile(cluster: Cluster, all_steps: Sequence[ExportStep], header: str) -> str:
    """Return the Dockerfile of one image for all roles: distribution, packages of every host, all accounts.

    Packages of sets (drivers, CUDA) and those in `_LEFT_OUT` are left out.
    """
    dnf = cluster.platform.package_manager == "dnf"
    packages = [
        package.name + (f"{'-' if dnf else '='}{package.version}*" if package.version else "")
        for _step, package in of_kind(all_steps, Package)
        if not package.set_name and not any(fragment in package.name for fragment in _LEFT_OUT)
    ]
    groups = [
        f"getent group {group.name} >/dev/null || groupadd --gid {group.gid} {group.name}"
        for _step, group in of_kind(all_steps, Group)
    ]
    users = [
        f"getent passwd {user.name} >/dev/null || useradd --create-home --shell /bin/bash "
        f"--uid {user.uid} --gid {user.group} {user.name}"
        for _step, user in of_kind(all_steps, User)
    ]
    accounts = " \\\n && ".join([*groups, *users] or ["true"])
    return f"""{header}
# Packages from the site's repositories need their source lines here before they are installed.
FROM {cluster.platform.container_image}
RUN {_install(cluster, dict.fromkeys(packages))}
RUN {accounts}
COPY --chmod=755 entrypoint.sh /entrypoint.sh
ENTRYPOINT ["/entrypoint.sh"]
"""


def _install(cluster: Cluster, packages: dict[str, None]) -> str:
    names = " \\\n    ".join(f"'{name}'" if "*" in name else name for name in packages)
    if cluster.platform.package_manager == "dnf":
        epel = "dnf install -y epel-release \\\n && " if cluster.platform.uses_epel else ""
        return f"{epel}dnf install -y --setopt=install_weak_deps=False \\\n    {names}"
    quiet = "export DEBIAN_FRONTEND=noninteractive"
    return f"{quiet} \\\n && apt-get update \\\n && apt-get install -y --no-install-recommends procps \\\n    {names}"


def entrypoint(all_steps: Sequence[ExportStep], header: str) -> str:
    """Return the entrypoint of a container, which creates the roles' folders in /etc and /var and starts daemons."""
    folders = [
        f"install -d -m {folder.mode:04o} -o {folder.owner} -g {folder.group} {folder.path}"
        for _step, folder in of_kind(all_steps, Directory)
        if PurePosixPath(folder.path).parts[1:2] in {("etc",), ("var",)}
    ]
    start, end = ENTRYPOINT
    return f"#!/bin/sh\n{header}{start}" + "\n".join(folders) + end
