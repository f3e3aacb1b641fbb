"""Link whose rate falls each minute, as of a cable with more and more errors; all links unless a network is named.

--per-minute and --percent, the lowest, are percentages of the rate in the cluster file, which undo restores.
"""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import network
from clusterwright.lab.faults import links, slow_link
from clusterwright.lab.layout import LabHost
from clusterwright.lab.options import falling_percent
from clusterwright.lab.state import LabState

OPTIONS = ("per-minute", "percent", "network")
LASTS = True
undo = slow_link.undo


def refuse(lab: LabState, host: LabHost, options: Mapping[str, str]) -> None:
    """Raise an error if an option is out of range."""
    falling_percent(options, 0)


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Shape the host's links to the rate in the cluster file: the start of the gradual fault."""
    step(lab, host, options, 0)
    return lab


def step(lab: LabState, host: LabHost, options: Mapping[str, str], minutes: float) -> bool:
    """Limit the host's links to the rate that the gradual fault has after so many minutes.

    Return False once that is its lowest.
    """
    percent, lowest = falling_percent(options, minutes)
    for link in links(host, options):
        network.reshape(host, link, int(link.rate_bits_per_s * percent / 100))
    return percent > lowest
