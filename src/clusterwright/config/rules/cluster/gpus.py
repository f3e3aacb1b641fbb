"""The device files of GPUs can be there."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def gpus(cluster: Cluster) -> Iterator[Clash]:
    """Device files lie under /dev, and their name is written without the index that is added."""
    for name, group in cluster.nodes.items():
        if group.gpus is None:
            continue
        devices, at = group.gpus.devices, ("nodes", name, "gpus", "devices")
        first = f"their files would be {group.gpus.device_files()[0]} and so on"
        if not devices.startswith("/dev/"):
            mend = "write it as /dev/nvidia"
            yield Clash("gpu-devices", f"the GPUs of `{name}` do not lie in /dev: {first}", mend, (at,))
        elif devices[-1].isdigit():
            mend = f"write it without the index: {devices.rstrip('0123456789')}"
            yield Clash("gpu-devices", f"the GPUs of `{name}` end in a number: {first}", mend, (at,))
