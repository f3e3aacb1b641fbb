"""Link down: packets are lost in both directions without an error; all links unless a network is named."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import network
from clusterwright.lab.faults import links
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS = ("network",)
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Set the machine's ends of the host's links down, as with a pulled cable; return the lab's state.

    The host's interfaces lose their carrier.
    """
    network.set_links(links(host, options), up=False)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """Bring the host's links up, unless the host is killed, whose links come up with it; return the lab's state."""
    if not any(fault.kind == "kill-host" and fault.host == host.name for fault in lab.faults):
        network.set_links(links(host, options), up=True)
    return lab
