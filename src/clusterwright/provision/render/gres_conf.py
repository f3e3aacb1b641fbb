"""gres.conf: which device files are GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.names import fold
from clusterwright.config.nodes import Cpus, Gpus, NodeGroup


def gres_conf(cluster: Cluster, header: str, only: NodeGroup | None = None) -> str:
    """The lines of each group with GPUs, or of one group, without names, for a host of it alone.

    Devices are named, not detected: AutoDetect=nvml needs a Slurm that was built with it, its plugin's package and
    a library without a number in its name, and finds no GPU, in silence, where one of them is missing (Debian and
    Ubuntu); AutoDetect=nvidia is there from 24.11 on and knows neither NVLink nor MIG.
    """
    if only is not None:
        return "".join([header, *_lines("", only)])
    groups = [group for group in cluster.nodes.values() if group.role == "compute" and group.names()]
    return "".join(
        [header, *(line for group in groups for line in _lines(f"NodeName={fold(group.names())} ", group))]
    )


def _lines(hosts: str, group: NodeGroup) -> Iterator[str]:
    """One line where nothing tells the GPUs apart; one for each where NVLink or sockets do."""
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
    """All cores of its socket, as Slurm numbers them: socket by socket. Only where the file says which one it is."""
    if not gpus.sockets:
        return ""
    first_core = gpus.sockets[index] * cpus.cores_per_socket
    return f" Cores={first_core}-{first_core + cpus.cores_per_socket - 1}"


def _links(gpus: Gpus, index: int) -> str:
    """-1 for itself, 1 for each of the others: the file says that NVLink joins all of them alike."""
    if not gpus.nvlink or gpus.count == 1:
        return ""
    return " Links=" + ",".join("-1" if peer == index else "1" for peer in range(gpus.count))
