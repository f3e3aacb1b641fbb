"""Whether slurmctld answers."""

from __future__ import annotations

import re

from clusterwright.check.fact import fact
from clusterwright.slurm import client

_LINE = re.compile(r"Slurmctld\((\w+)\) at (\S+) is (UP|DOWN)")
_LIMIT_S = 25  # two slurmctlds that are silent for MessageTimeout, 10 s each


@fact(*client.ping(), limit_s=_LIMIT_S, codes=(0, 1))
def slurmctld_ping(out: str) -> dict[str, bool]:
    """By control host, the primary first: True if its slurmctld answers this host."""
    states = {match[2]: match[3] == "UP" for match in _LINE.finditer(out)}
    if not states:
        raise ValueError(out)
    return states
