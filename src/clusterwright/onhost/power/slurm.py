"""Queries and updates Slurm's nodes by scontrol."""

from typing import Dict, List, Optional

from clusterwright.onhost.lib import processes
from clusterwright.slurm.nodes import Node, parse_undamaged_nodes

LIMIT_S = 20


def nodes() -> Optional[Dict[str, Node]]:
    """Return the nodes of slurmctld by name; None if it does not respond."""
    output = _run(["scontrol", "--oneliner", "show", "nodes"])
    return None if output is None else parse_undamaged_nodes(output)


def update(hosts: List[str], *fields: str) -> str:
    """Run one `scontrol update` with these fields (`KEY=VALUE`) for all these nodes; return "" or its error."""
    output = _run(["scontrol", "update", "NodeName=" + ",".join(hosts), *fields], complaint=True)
    return (output or "").strip()


def _run(argv: List[str], complaint: bool = False) -> Optional[str]:
    """Run a command of Slurm and return its output, None if it failed.

    With `complaint` return its error instead, "" if it succeeded.
    """
    result = processes.run(argv, LIMIT_S, merge=True)
    if complaint:
        return "" if result.ok else (result.stopped or result.out or "scontrol failed")
    return result.out if result.ok else None
