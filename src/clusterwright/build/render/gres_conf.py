"""gres.conf: which device files are GPUs, the same on every host."""

from __future__ import annotations

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.names import fold
from clusterwright.spec.nodes import Gpus
from clusterwright.spec.once import once


@once
def gres_conf(cluster: Cluster, header: str) -> str:
    """One line for each group with GPUs.

    Devices are named, not detected: Debian's and Ubuntu's Slurm is built without NVML and detects none, in
    silence.
    """
    groups = [group for group in cluster.nodes.values() if group.gpus and group.role == "compute"]
    return "".join([header, *(_line(fold(group.names()), group.gpus) for group in groups if group.gpus)])


def _line(hosts: str, gpus: Gpus) -> str:
    """Slurm's own brackets for more than one device."""
    index = f"[0-{gpus.count - 1}]" if gpus.count > 1 else "0"
    return f"NodeName={hosts} Name=gpu Type={gpus.model} File={gpus.devices}{index}\n"
