"""What Slurm says of its hosts, and what it is told of them."""

import subprocess
from typing import Dict, List, Optional

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
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as why:
        return str(why) if complaint else None
    out = done.stdout.decode(errors="replace")
    if complaint:
        return (out or "scontrol failed") if done.returncode else ""
    return out if done.returncode == 0 else None
