"""A link is cut: packets vanish in both directions, nobody is told; all links unless a network is named."""

from __future__ import annotations

from collections.abc import Mapping

from clusterwright.lab import network
from clusterwright.lab.faults import links
from clusterwright.lab.layout import LabHost
from clusterwright.lab.state import LabState

OPTIONS = ("network",)
LASTS = True


def inject(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """The machine's end goes down: inside, the interface has lost its carrier, as with a pulled cable."""
    network.set_links(links(host, options), up=False)
    return lab


def undo(lab: LabState, host: LabHost, options: Mapping[str, str]) -> LabState:
    """The cable is back, unless the host was killed meanwhile: then its links come with it."""
    if not any(fault.kind == "kill-host" and fault.host == host.name for fault in lab.faults):
        network.set_links(links(host, options), up=True)
    return lab
