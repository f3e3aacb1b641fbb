"""Slurm's nodes, as slurmctld sees them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterwright.check.fact import fact
from clusterwright.units import MiB

_GPU = re.compile(r"gpu(?::([A-Za-z][\w.-]*))?:(\d+)")


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """One node: its state in Slurm's words, the reason and the comment if any, and what it offers."""

    name: str
    state: tuple[str, ...]
    reason: str
    comment: str
    cpus: int
    memory_bytes: int
    gpus: int
    gpu_model: str


@fact("scontrol", "-o", "show", "node", limit_s=10)
def slurm_nodes(out: str) -> tuple[SlurmNode, ...]:
    """Every node that slurmctld knows, one line each."""
    nodes = tuple(_node(line) for line in out.splitlines() if line.strip())
    if not nodes:
        raise ValueError("no node")
    return nodes


def _node(line: str) -> SlurmNode:
    line, _, comment = line.partition(" Comment=")  # free text comes last, so nothing is read from behind it
    told, _, reason = line.partition(" Reason=")
    values = dict(re.findall(r"(?:^|\s)([A-Za-z][A-Za-z:/]*)=(\S+)", told))
    gpu = _GPU.search(values.get("Gres", ""))
    return SlurmNode(
        name=values["NodeName"],
        state=tuple(values["State"].split("+")),
        reason=reason.strip(),
        comment=comment.strip(),
        cpus=int(values["CPUTot"]),
        memory_bytes=int(values["RealMemory"]) * MiB,
        gpus=int(gpu[2]) if gpu else 0,
        gpu_model=(gpu[1] or "") if gpu else "",
    )
