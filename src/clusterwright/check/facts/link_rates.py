"""The rates of the host's links."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.units import MB


@fact("sh", "-c", "cd /sys/class/net && for link in *; do echo $link $(cat $link/speed 2>/dev/null); done")
def link_rates(out: str) -> dict[str, int]:
    """By interface: bits per second that its driver says; an interface without a carrier or a speed is left out."""
    rows = (line.split() for line in out.splitlines())
    return {row[0]: int(row[1]) * MB for row in rows if len(row) == 2 and int(row[1]) > 0}  # noqa: PLR2004 (name, speed)
