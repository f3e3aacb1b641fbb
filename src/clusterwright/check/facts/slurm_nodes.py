"""Slurm's nodes in slurmctld."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.slurm import client
from clusterwright.slurm.nodes import Node, parse_nodes


@fact(*client.show_nodes(), limit_s=10)
def slurm_nodes(out: str) -> tuple[Node, ...]:
    """Every node of slurmctld, from `scontrol show node`."""
    nodes = tuple(parse_nodes(out).values())
    if not nodes:
        raise ValueError("no node")
    return nodes
