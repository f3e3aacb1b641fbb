"""gres.conf: which device files are GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.nodes import Cpus, Gpus, NodeGroup
from clusterwright.provision.render.site_slurm_conf import runs_jobs


def gres_conf(cluster: Cluster, header: str, only: NodeGroup | None = None) -> str:
    """Return gres.conf: all groups with GPUs, or the group `only` without node names; or the site's own text.

    Devices are listed, not detected. AutoDetect=nvml needs a Slurm built with NVML, the plugin package and an
    unversioned library, and silently finds no GPU without one of them (Debian, Ubuntu). AutoDetect=nvidia needs 24.11
    and ignores NVLink and MIG.
    """
    if (text := cluster.slurm.file_text("gres.conf", header)) is not None:
        return text
    if only is not None:
        return "".join([header, *_lines("", only)])
    groups = [group for name, group in cluster.nodes.items() if runs_jobs(cluster, name) and group.names()]
    return "".join(
        [header, *(line for group in groups for line in _lines(f"NodeName={fold(group.names())} ", group))]
    )


def _lines(hosts: str, group: NodeGroup) -> Iterator[str]:
    """Yield the lines of gres.conf of one node group: one for equal GPUs, one for each if NVLink or sockets differ.

    `hosts` begins each line. Nothing without GPUs.
    """
    gpus = group.gpus
    if gpus is None:
        return
    start = f"{hosts}Name=gpu Type={gpus.model} File={gpus.devices}"
    if not gpus.sockets and not (gpus.nvlink and gpus.count > 1):
        yield f"{start}{f'[0-{gpus.count - 1}]' if gpus.count > 1 else '0'}\n"
        return
    for index in range(gpus.count):
        yield f"{start}{index}{_cores(gpus, group.cpus, index)}{_links(gpus, index)}\n"


def _cores(gpus: Gpus, cpus: Cpus, index: int) -> str:
    """Return `Cores=` of the GPU's socket in Slurm's numbering, socket by socket.

    Empty if the group has no `gpus.sockets`.
    """
    if not gpus.sockets:
        return ""
    first_core = gpus.sockets[index] * cpus.cores_per_socket
    return f" Cores={first_core}-{first_core + cpus.cores_per_socket - 1}"


def _links(gpus: Gpus, index: int) -> str:
    """Return a GPU's `Links=`: -1 for itself, 1 for each other GPU, since NVLink joins all alike; "" without NVLink."""
    if not gpus.nvlink or gpus.count == 1:
        return ""
    return " Links=" + ",".join("-1" if peer == index else "1" for peer in range(gpus.count))
