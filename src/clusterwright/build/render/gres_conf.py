"""gres.conf: which device files are GPUs, the same on every host."""

from __future__ import annotations

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold


def gres_conf(cluster: Cluster, header: str) -> str:
    """One line for each group with GPUs.

    Devices are named, not detected: Debian's and Ubuntu's Slurm is built without NVML, and detects none in silence.
    """
    lines = [
        f"NodeName={fold(group.names())} Name=gpu Type={group.gpus.model} File={_files(group.gpus.devices, group.gpus.count)}\n"
        for group in cluster.nodes.values()
        if group.gpus and group.role == "compute"
    ]
    return "".join([header, *lines])


def _files(devices: str, count: int) -> str:
    return f"{devices}[0-{count - 1}]" if count > 1 else f"{devices}0"
