"""Each GPU hangs on a socket that its host has."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.config.cluster import Cluster
from clusterwright.config.rules._clash import Clash


def gpu_sockets(cluster: Cluster) -> Iterator[Clash]:
    """One socket for each GPU, and none beyond the last."""
    for name, group in cluster.nodes.items():
        gpus, at = group.gpus, ("nodes", name, "gpus", "sockets")
        if gpus is None or not gpus.sockets:
            continue
        if len(gpus.sockets) != gpus.count:
            yield Clash(
                "gpu-sockets",
                f"`{name}` has {gpus.count} GPUs a host, and sockets are given for {len(gpus.sockets)}",
                "name the socket of each GPU, in the order of their device files, or leave the line out",
                (at, ("nodes", name, "gpus", "count")),
            )
        for index, socket in enumerate(gpus.sockets):
            if not 0 <= socket < group.cpus.sockets:
                yield Clash(
                    "gpu-sockets",
                    f"GPU {index} of `{name}` is on socket {socket}; its hosts have {group.cpus.sockets}, from 0 on",
                    "take the number that `nvidia-smi topo -m` and lscpu say",
                    ((*at, index), ("nodes", name, "cpus", "sockets")),
                )
