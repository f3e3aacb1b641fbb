"""The rates of the host's links."""

from __future__ import annotations

from clusterwright.check.fact import fact
from clusterwright.units import MB


@fact("sh", "-c", "cd /sys/class/net && for link in *; do echo $link $(cat $link/speed 2>/dev/null); done")
def link_rates(out: str) -> dict[str, int]:
    """Link speed in bit/s by interface; interfaces without a carrier or a speed are left out."""
    rates = dict(line.split() for line in out.splitlines() if " " in line.strip())
    return {link: int(mbit_s) * MB for link, mbit_s in rates.items() if int(mbit_s) > 0}
