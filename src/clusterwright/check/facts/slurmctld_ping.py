"""Whether slurmctld answers."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact
from clusterwright.slurm import client

_LINE = re.compile(r"Slurmctld\((\w+)\) at (\S+) is (UP|DOWN)")


@fact(*client.ping(), limit_s=10, codes=(0, 1))
def slurmctld_ping(out: str) -> dict[str, bool]:
    """By control host, the primary first: True if its slurmctld answers this host."""
    states = {match[2]: match[3] == "UP" for match in _LINE.finditer(out)}
    if not states:
        raise ValueError(out)
    return states
