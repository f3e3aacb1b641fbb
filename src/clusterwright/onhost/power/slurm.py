"""What Slurm says of its hosts, and what it is told of them."""

from typing import Dict, List, Optional

from clusterwright.onhost.lib import processes
from clusterwright.slurm.nodes import Node, parse_nodes

LIMIT_S = 20


def nodes() -> Optional[Dict[str, Node]]:
    """Every host; None where slurmctld does not answer."""
    done = _run(["scontrol", "--oneliner", "show", "nodes"])
    return None if done is None else parse_nodes(done)


def update(hosts: List[str], *words: str) -> str:
    """One `scontrol update` of these hosts; its complaint, or nothing."""
    done = _run(["scontrol", "update", "NodeName=" + ",".join(hosts), *words], complaint=True)
    return (done or "").strip()


def _run(argv: List[str], complaint: bool = False) -> Optional[str]:
    """What it prints; with `complaint`, only where it fails."""
    done = processes.run(argv, LIMIT_S, merge=True)
    if complaint:
        return "" if done.ok else (done.stopped or done.out or "scontrol failed")
    return done.out if done.ok else None
