"""A CUDA toolkit knows the GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash

# CUDA's release notes: the first toolkit that compiles for a GPU. Models are named as Slurm's gres types.
_FIRST = {
    "a100": (11, 0), "a800": (11, 0), "a30": (11, 0), "l4": (11, 8), "l40": (11, 8), "l40s": (11, 8),
    "h100": (11, 8), "h800": (11, 8), "h200": (11, 8), "b200": (12, 8), "gb200": (12, 8),
}  # fmt: skip


def cuda_gpus(cluster: Cluster) -> Iterator[Clash]:
    """No group's GPUs are younger than the toolkit."""
    cuda = cluster.software.cuda
    for name, group in cluster.nodes.items():
        first = _FIRST.get(group.gpus.model.lower()) if group.gpus else None
        if cuda and group.gpus and first and _first_two(cuda) < first:
            known = ".".join(map(str, first))
            yield Clash(
                "cuda-too-old",
                f"CUDA {cuda} compiles nothing for the {group.gpus.model} of `{name}`, which came with {known}",
                f"set software.cuda to {known} or later",
                (("software", "cuda"), ("nodes", name, "gpus", "model")),
            )


def _first_two(version: str) -> tuple[int, int]:
    """The 12 and the 8 of 12.8.1."""
    major, minor = [*version.replace("-", ".").split("."), "0"][:2]
    return int(major), int(minor) if minor.isdecimal() else 0
