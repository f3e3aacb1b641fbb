"""Idle hosts are switched off by one program and on by another."""

from __future__ import annotations

from collections.abc import Iterator

from clusterwright.spec.cluster import Cluster
from clusterwright.spec.rules._clash import Clash
from clusterwright.spec.rules._unknown import unknown

_AT = ("slurm", "power_saving")


def power_saving(cluster: Cluster) -> Iterator[Clash]:
    """The groups that stay on exist and are compute hosts, and the two programs differ."""
    saving = cluster.slurm.power_saving
    if saving is None:
        return
    compute = [name for name, group in cluster.nodes.items() if group.role == "compute"]
    for index, name in enumerate(saving.keep):
        at = (*_AT, "keep", index)
        if name not in cluster.nodes:
            yield unknown("power_saving", "node group", name, compute, (at, ("nodes",)))
        elif name not in compute:
            yield Clash(
                "not-compute",
                f"power_saving keeps `{name}` on, which is never switched off: its role is "
                f"{cluster.nodes[name].role}",
                f"take `{name}` out; only compute hosts are switched off",
                (at, ("nodes", name, "role")),
            )
    if saving.suspend == saving.resume:
        yield Clash(
            "same-program",
            f"{saving.suspend} is to switch hosts off and on, and is not told which of the two",
            "give suspend and resume a program each",
            ((*_AT, "suspend"), (*_AT, "resume")),
        )
