"""Slurm's nodes, as slurmctld sees them."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.slurm import client
from clusterwright.slurm.nodes import Node, parse_nodes


@fact(*client.show_nodes(), limit_s=10)
def slurm_nodes(out: str) -> tuple[Node, ...]:
    """Every node that slurmctld knows, one line each."""
    nodes = tuple(parse_nodes(out).values())
    if not nodes:
        raise ValueError("no node")
    return nodes
