"""What Slurm says of its hosts, and what it is told of them."""

from typing import Dict, List, Optional

from clusterwright.onhost.lib import processes
from clusterwright.slurm.nodes import Node, parse_nodes

LIMIT_S = 20


def nodes() -> Optional[Dict[str, Node]]:
    """Every host; None where slurmctld does not answer."""
    output = _run(["scontrol", "--oneliner", "show", "nodes"])
    return None if output is None else parse_nodes(output)


def update(hosts: List[str], *fields: str) -> str:
    """One `scontrol update` of these hosts; its complaint, or nothing."""
    output = _run(["scontrol", "update", "NodeName=" + ",".join(hosts), *fields], complaint=True)
    return (output or "").strip()


def _run(argv: List[str], complaint: bool = False) -> Optional[str]:
    """What it prints; with `complaint`, only where it fails."""
    result = processes.run(argv, LIMIT_S, merge=True)
    if complaint:
        return "" if result.ok else (result.stopped or result.out or "scontrol failed")
    return result.out if result.ok else None
